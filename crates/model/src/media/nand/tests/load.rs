//! Closed loads of a constant queue depth, without workers, plans and statistics.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::{Kind, Nanos};

use super::super::Nand;
use crate::drive::{Access, Drive, Returned};

/// Requests of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Percentage of reads.
    pub(super) reads_percent: u64,
    pub(super) depth: usize,
    pub(super) bytes: u64,
    pub(super) sequential: bool,
    /// Least time between two submissions in one slot.
    pub(super) pace_ns: Nanos,
    /// Offsets are below this.
    pub(super) region_bytes: u64,
}

impl Load {
    pub(super) fn reads(depth: usize, bytes: u64, region_bytes: u64) -> Self {
        Self {
            reads_percent: 100,
            depth,
            bytes,
            sequential: false,
            pace_ns: 0,
            region_bytes,
        }
    }

    pub(super) fn writes(depth: usize, bytes: u64, region_bytes: u64) -> Self {
        Self {
            reads_percent: 0,
            ..Self::reads(depth, bytes, region_bytes)
        }
    }
}

/// The outcome of one load, from the end of the ramp on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) bytes: u64,
    pub(super) lengths_ns: Nanos,
    pub(super) latencies: Vec<Nanos>,
    /// When the last request was done, counted or not.
    pub(super) last: Nanos,
}

impl Outcome {
    pub(super) fn mean_us(&self) -> f64 {
        self.latencies.iter().sum::<u64>() as f64 / self.latencies.len() as f64 / 1e3
    }

    /// Returns a quantile in us.
    pub(super) fn quantile(&self, q: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * q) as usize] as f64 / 1e3
    }

    pub(super) fn iops(&self) -> f64 {
        self.latencies.len() as f64 * 1e9 / self.lengths_ns as f64
    }

    #[allow(non_snake_case)]
    pub(super) fn rate_MBps(&self) -> f64 {
        self.bytes as f64 * 1e3 / self.lengths_ns as f64
    }
}

/// Runs loads side by side from `begin` on for `ramp + length`, and counts the requests that are done after the ramp.
pub(super) fn run(
    drive: &mut Nand,
    loads: &[Load],
    begin: Nanos,
    ramp: Nanos,
    length: Nanos,
) -> Vec<Outcome> {
    let mut rng = Rng::new(3, Stream::Offsets);
    let mut outcomes = vec![Outcome::default(); loads.len()];
    let mut next_offset = vec![0; loads.len()];
    let places: Vec<usize> = loads
        .iter()
        .enumerate()
        .flat_map(|(index, load)| std::iter::repeat_n(index, load.depth))
        .collect();
    let mut started = vec![0; places.len()];
    let mut due: BinaryHeap<Reverse<(Nanos, usize)>> = (0..places.len())
        .map(|place| Reverse((begin, place)))
        .collect();
    let (count_from, end) = (begin + ramp, begin + ramp + length);
    let mut returned: Vec<Returned> = Vec::new();
    loop {
        let submission = due.peek().map(|Reverse((at, _))| *at);
        let event = drive.next_event();
        match (submission, event) {
            (_, Some(event)) if submission.is_none_or(|at| event <= at) => {
                drive.advance(event, &mut returned);
            }
            (Some(at), _) => {
                let Some(Reverse((_, place))) = due.pop() else {
                    break;
                };
                let index = places[place];
                let load = &loads[index];
                let blocks = load.region_bytes / load.bytes;
                let block = if load.sequential {
                    next_offset[index] += 1;
                    (next_offset[index] - 1) % blocks
                } else {
                    rng.below(blocks)
                };
                let read = load.reads_percent == 100
                    || load.reads_percent > 0 && rng.below(100) < load.reads_percent;
                started[place] = at;
                let access = Access {
                    ticket: place as u64,
                    kind: if read { Kind::Read } else { Kind::Write },
                    offset_bytes: block * load.bytes,
                    length_bytes: load.bytes as u32,
                    durable: false,
                };
                drive.submit(at, access);
            }
            (None, None) => break,
            (None, Some(_)) => unreachable!("taken above"),
        }
        for done in returned.drain(..) {
            let place = done.ticket as usize;
            let (index, since) = (places[place], started[place]);
            outcomes[index].last = done.at;
            if done.at >= count_from && done.at < end {
                let outcome = &mut outcomes[index];
                outcome.bytes += loads[index].bytes;
                outcome.latencies.push(done.at - since);
            }
            let next = done.at.max(since + loads[index].pace_ns);
            if next < end {
                due.push(Reverse((next, place)));
            }
        }
    }
    for outcome in &mut outcomes {
        outcome.lengths_ns = length;
    }
    outcomes
}
