//! Whether what is on a target may be there: one verdict for each block that was written.
//!
//! A sector is judged by the version that it holds: it may not have been replaced by a durable write. The sectors of an
//! atomic unit are judged together, too: there must be an order of writes that leaves them as they are. Write A must
//! come before B if A had ended when B began, or if a sector of A's holds B. If these have no order, the unit is torn.

use std::collections::BTreeMap;

use crate::block::{Block, Sector};
use crate::history::{History, Standing};
use crate::log::Header;
use crate::spans::{Span, Spans};

/// What a block holds. The first ones break the drive's promises, the last three do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Its checksum is wrong, or it holds what nobody wrote there.
    Corrupt,
    /// It holds what was written to another address.
    Misdirected,
    /// An atomic unit holds part of one version and part of another.
    Torn,
    /// It holds a write that had failed before the durable write began that it replaced.
    Late,
    /// It holds a version older than the durable one before the last: the drive lost several, or wrote an old one again.
    Stale,
    /// Its last durable write is missing: it holds what was there before.
    Lost,
    /// It holds a write that the log does not have, whose end may have been cut off.
    Unlogged,
    /// It holds an older version than the newest, and may.
    Older,
    /// It holds the newest version.
    Newest,
}

impl Class {
    /// All of them, the worst first.
    pub const ALL: [Class; 9] = [
        Class::Corrupt,
        Class::Misdirected,
        Class::Torn,
        Class::Late,
        Class::Stale,
        Class::Lost,
        Class::Unlogged,
        Class::Older,
        Class::Newest,
    ];

    /// Whether the drive broke a promise.
    pub fn violates(self) -> bool {
        self < Class::Unlogged
    }

    /// Returns its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Class::Corrupt => "corrupt",
            Class::Misdirected => "misdirected",
            Class::Torn => "torn",
            Class::Late => "late",
            Class::Stale => "stale",
            Class::Lost => "lost",
            Class::Unlogged => "unlogged",
            Class::Older => "older",
            Class::Newest => "newest",
        }
    }
}

/// What is to be said of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What it holds.
    pub class: Class,
    /// The sector that decided, bytes from the beginning of its file.
    pub address_bytes: u64,
    /// What that sector says.
    pub sector: Sector,
    /// How often the log says that the block was written.
    pub writes: u64,
}

/// Judges blocks.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// What the log begins with.
    pub header: Header,
    /// What the drive had to keep.
    pub history: &'a History,
    /// When the writes began and ended whose stamps were found.
    pub spans: &'a Spans,
    /// Bytes of the drive's atomic unit, a power of two from 512 on: a write of it is there or not, not in part.
    pub atomic_bytes: u32,
}

/// A sector, with what the log says of it.
struct Place<'a> {
    address_bytes: u64,
    sector: Sector,
    /// `None`: what was there before the run.
    span: Option<Span>,
    standing: &'a Standing,
}

impl<'a> Judge<'a> {
    /// Judges all blocks that were written, by their offsets, of whole atomic units. Returns the verdicts in order.
    pub fn judge(&self, blocks: &BTreeMap<u64, Block>) -> Vec<(u64, Verdict)> {
        let mut verdicts = Vec::with_capacity(blocks.len());
        let unit_bytes = u64::from(self.atomic_bytes.max(self.header.block_bytes));
        let mut rest = blocks.range(..);
        let mut next = rest.next();
        while let Some((&first, _)) = next {
            let unit = first / unit_bytes;
            let mut group = Vec::new();
            while let Some((&offset, block)) = next
                && offset / unit_bytes == unit
            {
                if let Some(standing) = self.history.standing(offset) {
                    group.push((offset, self.places(offset, block, standing)));
                }
                next = rest.next();
            }
            self.judge_unit(&group, &mut verdicts);
        }
        verdicts
    }

    fn places(&self, offset: u64, block: &Block, standing: &'a Standing) -> Vec<Place<'a>> {
        let addresses = (offset..).step_by(crate::SECTOR_BYTES);
        let places = block.sectors().zip(addresses);
        let places = places.map(|(sector, address_bytes)| Place {
            address_bytes,
            sector,
            span: match sector {
                Sector::Version { sequence, .. } => self.spans.get(sequence),
                _ => None,
            },
            standing,
        });
        places.collect()
    }

    /// Judges blocks that share an atomic unit, or the units of one block.
    fn judge_unit(&self, group: &[(u64, Vec<Place<'_>>)], verdicts: &mut Vec<(u64, Verdict)>) {
        let places: Vec<&Place<'_>> = group.iter().flat_map(|(_, places)| places).collect();
        let atomic = u64::from(self.atomic_bytes);
        let units = places.chunk_by(|a, b| a.address_bytes / atomic == b.address_bytes / atomic);
        let torn: Vec<u64> = units
            .filter(|unit| is_torn(unit))
            .map(|unit| unit[0].address_bytes / atomic)
            .collect();
        for (offset, places) in group {
            let judged = places.iter().map(|place| {
                let torn = torn.contains(&(place.address_bytes / atomic));
                let class = self.class_of(place);
                let class = if torn { class.min(Class::Torn) } else { class };
                (class, place)
            });
            if let Some((class, place)) = judged.min_by_key(|(class, _)| *class) {
                let verdict = Verdict {
                    class,
                    address_bytes: place.address_bytes,
                    sector: place.sector,
                    writes: place.standing.writes,
                };
                verdicts.push((*offset, verdict));
            }
        }
    }

    /// Judges a sector alone.
    fn class_of(&self, place: &Place<'_>) -> Class {
        let standing = place.standing;
        let (sequence, span) = match (place.sector, place.span) {
            (Sector::Damaged, _) => return Class::Corrupt,
            (Sector::Foreign, _) if self.header.zeroes => return Class::Corrupt,
            (Sector::Elsewhere { .. }, _) => return Class::Misdirected,
            (Sector::Blank | Sector::Foreign, _) => return before_the_run(standing),
            (Sector::Version { .. }, None) => return Class::Unlogged,
            (Sector::Version { sequence, .. }, Some(span)) => (sequence, span),
        };
        if !span.covers(place.address_bytes) {
            return Class::Corrupt;
        }
        if !span.ended_before(standing.durable_from) {
            return if sequence == standing.newest {
                Class::Newest
            } else {
                Class::Older
            };
        }
        if span.failed {
            Class::Late
        } else if span.ended_before(standing.earlier_from) {
            Class::Stale
        } else {
            Class::Lost
        }
    }
}

/// Judges a sector that holds what was there before the run.
fn before_the_run(standing: &Standing) -> Class {
    match (standing.durable_from, standing.earlier_from) {
        (0, _) => Class::Older,
        (_, 0) => Class::Lost,
        _ => Class::Stale,
    }
}

/// Whether no order of writes leaves the sectors of an atomic unit as they are.
fn is_torn(unit: &[&Place<'_>]) -> bool {
    if unit.iter().all(|place| place.sector == unit[0].sector) {
        return false;
    }
    // Damage and foreign writes have classes of their own.
    let mut left: Vec<&&Place<'_>> = unit
        .iter()
        .filter(|place| {
            place.span.is_some() || matches!(place.sector, Sector::Blank | Sector::Foreign)
        })
        .collect();
    // Take away versions before which no other has to come. If none is left, they have an order.
    loop {
        let before = left.len();
        let first: Vec<_> = left
            .iter()
            .filter(|version| {
                !left
                    .iter()
                    .any(|other| is_other(other, version) && must_precede(other, version, &left))
            })
            .copied()
            .collect();
        left.retain(|place| !first.iter().any(|taken| !is_other(taken, place)));
        if left.is_empty() {
            return false;
        }
        if left.len() == before {
            return true;
        }
    }
}

/// Whether two sectors hold different versions. What was there before the run is one.
fn is_other(a: &Place<'_>, b: &Place<'_>) -> bool {
    a.span.map(|span| span.begin) != b.span.map(|span| span.begin)
}

/// Whether the version at `a` must have been written before that at `b`.
fn must_precede(a: &Place<'_>, b: &Place<'_>, unit: &[&&Place<'_>]) -> bool {
    let Some(later) = b.span else {
        // What was there before the run shows although `a` writes there.
        return unit.iter().any(|place| {
            place.span.is_none() && a.span.is_some_and(|span| span.covers(place.address_bytes))
        });
    };
    let Some(earlier) = a.span else {
        return true;
    };
    let holding = unit.iter().filter(|place| !is_other(place, b));
    earlier.ended_before(later.begin)
        || holding.into_iter().any(|place| {
            earlier.covers(place.address_bytes) || earlier.ended_before(place.standing.durable_from)
        })
}
