//! What one worker completed in one fixed slice of a run, and such slices merged.

use std::collections::BTreeMap;

use crate::plan::WorkerPlan;
use crate::recorder::histogram::{Histogram, Merged};
use crate::request::{Direction, Errno, Latency};
use crate::time::Nanos;

/// How many different errnos are counted separately; further ones count as errno 0.
const ERRNOS: usize = 8;

/// Counts beside the histograms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Completed without error.
    pub ios: u64,
    /// Bytes that those I/Os moved.
    pub bytes: u64,
    /// Completed with fewer bytes than requested.
    pub short: u64,
    /// In flight across a long loop gap.
    pub flagged: u64,
    /// Started over 1 ms after they were ready.
    pub late: u64,
    /// Failed, by errno; unused entries have count 0.
    pub errors: [(i32, u64); ERRNOS],
}

impl Counts {
    /// Counts failures.
    pub fn error(&mut self, errno: Errno, times: u64) {
        let known = self
            .errors
            .iter()
            .position(|&(seen, count)| count > 0 && seen == errno.0);
        let place = known.or_else(|| {
            self.errors[..ERRNOS - 1]
                .iter()
                .position(|&(_, count)| count == 0)
        });
        match place {
            Some(place) => self.errors[place] = (errno.0, self.errors[place].1 + times),
            None => self.errors[ERRNOS - 1].1 += times,
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Counts) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.short += other.short;
        self.flagged += other.flagged;
        self.late += other.late;
        for &(errno, count) in other.errors.iter().filter(|&&(_, count)| count > 0) {
            self.error(Errno(errno), count);
        }
    }

    /// Returns the number of failures of every kind.
    pub fn failed(&self) -> u64 {
        self.errors.iter().map(|&(_, count)| count).sum()
    }
}

/// One direction of one slice. Only latencies that can differ have a histogram.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Counts.
    pub counts: Counts,
    /// By [`Latency`].
    pub histograms: [Option<Histogram>; Latency::COUNT],
}

/// The latencies of the requests of one direction that have one I/O priority.
#[derive(Clone, Debug)]
pub struct PrioritySide {
    /// Their direction.
    pub direction: Direction,
    /// What the requests have: 0 stands for the priority of their thread.
    of_requests: u16,
    /// As ioprio_set takes it; 0: none.
    pub priority: u16,
    /// One latency.
    pub histogram: Histogram,
}

/// Which part of a run a slice covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// In units of the interval since the stage's start.
    pub index: u64,
    /// Whether the ramp was still on. A slice that the end of the ramp cuts comes in two parts.
    pub ramp: bool,
}

/// Which latencies are recorded, by [`Direction`] and [`Latency`]; `None` for directions that are never issued.
pub type KeptLatencies = [Option<[bool; Latency::COUNT]>; Direction::COUNT];

/// What one worker completed in one fixed slice of a run.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Which slice this is.
    pub span: Span,
    /// Its beginning, since the stage's start.
    pub start: Nanos,
    /// Its end, since the stage's start.
    pub end: Nanos,
    /// By [`Direction`]; `None` for directions that the job never issues.
    pub sides: [Option<Side>; Direction::COUNT],
    /// Gaps between two looks at the completions.
    pub loop_gap: Histogram,
    /// Empty in a job whose requests have one priority.
    pub priorities: Box<[PrioritySide]>,
    /// Which latency these have.
    priority_latency: Latency,
}

impl Slice {
    /// Creates an empty slice for the latencies in `kept` and touches its memory.
    pub fn new(kept: KeptLatencies) -> Self {
        let side = |latencies: [bool; Latency::COUNT]| Side {
            counts: Counts::default(),
            histograms: latencies.map(|kept| kept.then(Histogram::new)),
        };
        Self {
            span: Span {
                index: 0,
                ramp: false,
            },
            start: 0,
            end: 0,
            sides: kept.map(|latencies| latencies.map(side)),
            loop_gap: Histogram::new(),
            priorities: Box::default(),
            priority_latency: Latency::Lat,
        }
    }

    /// Creates an empty slice of the latencies in `kept`, and of each priority that the plan reports.
    pub fn with_priorities(kept: KeptLatencies, plan: &WorkerPlan) -> Self {
        let Some(latency) = plan.priority_latency else {
            return Self::new(kept);
        };
        let own = plan.io_priority.unwrap_or(0);
        let sides = plan.priorities_of_requests().into_iter();
        Self {
            priorities: sides
                .map(|(direction, of_requests)| PrioritySide {
                    direction,
                    of_requests,
                    priority: if of_requests == 0 { own } else { of_requests },
                    histogram: Histogram::new(),
                })
                .collect(),
            priority_latency: latency,
            ..Self::new(kept)
        }
    }

    /// Creates an empty slice of the same shape and touches its memory.
    pub fn touched(&self) -> Self {
        let latencies = |side: &Side| side.histograms.each_ref().map(Option::is_some);
        let emptied = |side: &PrioritySide| PrioritySide {
            histogram: Histogram::new(),
            ..*side
        };
        Self {
            priorities: self.priorities.iter().map(emptied).collect(),
            priority_latency: self.priority_latency,
            ..Self::new(
                self.sides
                    .each_ref()
                    .map(|side| side.as_ref().map(latencies)),
            )
        }
    }

    /// Counts completions with the same latencies by their I/O priority.
    pub(super) fn record_priority(
        &mut self,
        direction: Direction,
        priority: u16,
        values: &[Nanos; Latency::COUNT],
        times: u32,
    ) {
        let value = values[self.priority_latency as usize];
        let mut sides = self.priorities.iter_mut();
        if let Some(side) =
            sides.find(|side| (side.direction, side.of_requests) == (direction, priority))
        {
            side.histogram.record(value, times);
        }
    }

    /// Clears all counts.
    pub fn clear(&mut self) {
        for side in self.sides.iter_mut().flatten() {
            side.counts = Counts::default();
            side.histograms
                .iter_mut()
                .flatten()
                .for_each(Histogram::clear);
        }
        self.loop_gap.clear();
        for side in &mut self.priorities {
            side.histogram.clear();
        }
    }
}

/// One direction of several slices, merged.
#[derive(Clone, Debug, Default)]
pub struct MergedSide {
    /// Counts.
    pub counts: Counts,
    /// By [`Latency`]; `None` where no slice kept it.
    pub histograms: [Option<Merged>; Latency::COUNT],
}

/// Slices of several workers, or of several intervals, merged.
#[derive(Clone, Debug, Default)]
pub struct MergedSlice {
    /// By [`Direction`].
    pub sides: [Option<MergedSide>; Direction::COUNT],
    /// Gaps of all workers' loops.
    pub loop_gap: Merged,
    /// One latency by direction, as a number, and I/O priority; empty where requests have one priority.
    pub priorities: BTreeMap<(u8, u16), Merged>,
}

impl MergedSlice {
    /// Adds one worker's slice.
    pub fn add(&mut self, slice: &Slice) {
        for (into, from) in self.sides.iter_mut().zip(&slice.sides) {
            let Some(from) = from else { continue };
            let into = into.get_or_insert_default();
            into.counts.merge(&from.counts);
            for (into, from) in into.histograms.iter_mut().zip(&from.histograms) {
                if let Some(from) = from {
                    into.get_or_insert_default().add(from);
                }
            }
        }
        self.loop_gap.add(&slice.loop_gap);
        for side in &slice.priorities {
            let key = (side.direction as u8, side.priority);
            self.priorities.entry(key).or_default().add(&side.histogram);
        }
    }

    /// Adds merged slices.
    pub fn merge(&mut self, other: &MergedSlice) {
        for (into, from) in self.sides.iter_mut().zip(&other.sides) {
            let Some(from) = from else { continue };
            let into = into.get_or_insert_default();
            into.counts.merge(&from.counts);
            for (into, from) in into.histograms.iter_mut().zip(&from.histograms) {
                if let Some(from) = from {
                    into.get_or_insert_default().merge(from);
                }
            }
        }
        self.loop_gap.merge(&other.loop_gap);
        for (key, from) in &other.priorities {
            self.priorities.entry(*key).or_default().merge(from);
        }
    }
}
