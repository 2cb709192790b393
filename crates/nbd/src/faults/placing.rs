//! How a fault carries out a write: where, which parts of it, and when.

use iogauge_core::Nanos;

use super::MOST_KEPT_BYTES;
use super::injector::Source;
use super::plan::FaultKind;
use super::versions::PAGE;
use crate::protocol::Request;

/// How a write is carried out.
#[derive(Debug, Default)]
pub(super) struct Placing {
    /// Where, if not where it should.
    pub(super) at: Option<u64>,
    /// Parts that are missing: offset and length.
    pub(super) missing: Vec<(u64, u64)>,
    /// Whether it stays behind the next flush.
    pub(super) stays: bool,
    /// Whether it goes to the medium before older ones.
    pub(super) overtakes: bool,
    pub(super) rotten_bit: Option<u64>,
    pub(super) comes_again: bool,
    pub(super) until_ns: Option<Nanos>,
}

impl Placing {
    /// Decides how a fault carries out a write; `None` if it cannot happen to it. `kept`: bytes of the writes that come
    /// again, and of those that come late.
    pub(super) fn new(
        source: &mut Source,
        at_ns: Nanos,
        request: &Request,
        size_bytes: u64,
        kept: [u64; 2],
    ) -> Option<Self> {
        let length = u64::from(request.length_bytes);
        let [fits_again, fits_late] = kept.map(|bytes| bytes + length <= MOST_KEPT_BYTES);
        let mut placing = Placing::default();
        match source.spec.kind {
            FaultKind::DroppedWrite => placing.missing = vec![(request.offset_bytes, length)],
            FaultKind::TornWrite => placing.missing = torn(source, request)?,
            FaultKind::ShortWrite => placing.missing = short(source, request)?,
            FaultKind::MisdirectedWrite => {
                placing.at = Some(elsewhere(source, request, size_bytes)?);
            }
            FaultKind::BitRot => placing.rotten_bit = Some(source.rng.below(length * 8)),
            // What is durable at its completion is in no order with others.
            FaultKind::Reordering if request.fua => return None,
            FaultKind::Reordering => {
                placing.stays = source.spec.across_flush;
                placing.overtakes = !source.spec.across_flush;
            }
            FaultKind::Duplicated if fits_again => placing.comes_again = true,
            FaultKind::Late if fits_late => {
                placing.until_ns = Some(at_ns.saturating_add(source.spec.delay_ns));
            }
            FaultKind::Duplicated | FaultKind::Late => return None,
            FaultKind::LostFlush | FaultKind::MisdirectedRead | FaultKind::StaleRead => {
                return None;
            }
        }
        Some(placing)
    }
}

/// Returns another place for a request within the fault's region; `None` if there is none.
pub(super) fn elsewhere(source: &mut Source, request: &Request, size_bytes: u64) -> Option<u64> {
    let step = u64::from(request.length_bytes).next_multiple_of(PAGE);
    let (start, end) = (source.spec.offset_bytes, source.region_end(size_bytes));
    let places = end.saturating_sub(start) / step;
    let own = (request.offset_bytes - start) / step;
    let others = places
        .checked_sub(1)
        .filter(|&others| others > 0 && own < places)?;
    let other = source.rng.below(others);
    let place = start + if other < own { other } else { other + 1 } * step;
    // It may not touch the place where the request should be.
    let reaches = request.offset_bytes + u64::from(request.length_bytes);
    let apart = place + u64::from(request.length_bytes) <= request.offset_bytes || reaches <= place;
    apart.then_some(place)
}

/// Returns the units that are missing of a torn write: some, and not all. `None` if it is a single unit.
fn torn(source: &mut Source, request: &Request) -> Option<Vec<(u64, u64)>> {
    let units = units_of(source.spec.unit_bytes, request);
    if units.len() < 2 {
        return None;
    }
    loop {
        let missing: Vec<_> = units
            .iter()
            .filter(|_| source.rng.below(2) == 0)
            .copied()
            .collect();
        if !missing.is_empty() && missing.len() < units.len() {
            return Some(missing);
        }
    }
}

/// Returns the end that is missing of a short write. `None` if it is a single unit.
fn short(source: &mut Source, request: &Request) -> Option<Vec<(u64, u64)>> {
    let units = units_of(source.spec.unit_bytes, request);
    let most = (units.len() as u64)
        .checked_sub(1)
        .filter(|&most| most > 0)?;
    let (start, _) = units[1 + source.rng.below(most) as usize];
    let end = request.offset_bytes + u64::from(request.length_bytes);
    Some(vec![(start, end - start)])
}

/// Cuts a request at multiples of `unit_bytes`. Returns offsets and lengths.
fn units_of(unit_bytes: u32, request: &Request) -> Vec<(u64, u64)> {
    let unit = u64::from(unit_bytes.max(1));
    let end = request.offset_bytes + u64::from(request.length_bytes);
    let mut units = Vec::new();
    let mut at = request.offset_bytes;
    while at < end {
        let next = end.min((at / unit + 1) * unit);
        units.push((at, next - at));
        at = next;
    }
    units
}

/// Returns the parts of a write's data, from and to, that are not missing.
pub(super) fn kept_parts(
    offset_bytes: u64,
    length: u64,
    missing: &[(u64, u64)],
) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut at = 0;
    for &(start, lost) in missing {
        let start = start - offset_bytes;
        if at < start {
            parts.push((at as usize, start as usize));
        }
        at = start + lost;
    }
    if at < length {
        parts.push((at as usize, length as usize));
    }
    parts
}
