//! Counts and latencies of requests: by direction, and by I/O priority.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde::{Serialize, Serializer};

use crate::recorder::{Exact, Latency, Merged, MergedSide, MergedSlice};
use crate::request::Direction;

/// Bytes that JSON carries in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(&self.0))
    }
}

/// What one direction of one row did.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Tally {
    pub ios: u64,
    pub bytes: u64,
    pub errors: BTreeMap<i32, u64>,
    pub short: u64,
    pub flagged: u64,
    pub late: u64,
    pub histograms: BTreeMap<&'static str, Bytes>,
    pub exact: BTreeMap<&'static str, Exact>,
}

impl From<&MergedSide> for Tally {
    fn from(side: &MergedSide) -> Self {
        let kept = || {
            Latency::ALL
                .iter()
                .zip(&side.histograms)
                .filter_map(|(latency, merged)| Some((latency.name(), merged.as_ref()?)))
                .filter(|(_, merged)| merged.exact().count > 0)
        };
        let counts = &side.counts;
        Self {
            ios: counts.ios,
            bytes: counts.bytes,
            errors: counts
                .errors
                .iter()
                .filter(|&&(_, count)| count > 0)
                .copied()
                .collect(),
            short: counts.short,
            flagged: counts.flagged,
            late: counts.late,
            histograms: kept()
                .map(|(name, merged)| (name, Bytes(merged.encode())))
                .collect(),
            exact: kept()
                .map(|(name, merged)| (name, *merged.exact()))
                .collect(),
        }
    }
}

/// Returns the tallies of a merged slice, by direction.
pub fn tallies(slice: &MergedSlice) -> BTreeMap<&'static str, Tally> {
    let sides = Direction::ALL.iter().zip(&slice.sides);
    sides
        .filter_map(|(direction, side)| Some((direction.name(), side.as_ref()?.into())))
        .collect()
}

/// One latency of the requests of one direction that had one I/O priority.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct PriorityTally {
    pub direction: Direction,
    pub priority: u16,
    pub histogram: Bytes,
    pub exact: Exact,
}

/// Returns the latencies of each priority that requests of a merged slice had, by direction.
pub fn priority_tallies(slice: &MergedSlice) -> Vec<PriorityTally> {
    let all = Direction::ALL.iter().flat_map(|direction| {
        let first = (*direction as u8, 0);
        let last = (*direction as u8, u16::MAX);
        let of_direction = slice.priorities.range(first..=last);
        of_direction.map(|((_, priority), merged)| PriorityTally {
            direction: *direction,
            priority: *priority,
            histogram: encoded(merged),
            exact: *merged.exact(),
        })
    });
    all.filter(|tally| tally.exact.count > 0).collect()
}

/// Encodes a histogram that may be empty.
pub fn encoded(merged: &Merged) -> Bytes {
    Bytes(merged.encode())
}
