//! Looks for the largest depth at which requests keep within a latency: fio's `latency_target`.
//!
//! The depth begins at 1 and is tried for a window. It doubles until it fails; then each window halves the distance to
//! the depth that failed or to the one that succeeded. A depth that cannot be raised is confirmed by one more window.
//! The window after that is measured, whatever becomes of it: one that also decided would be a lucky one.
//!
//! Source: fio 3.33's io_u.c (`lat_target_check`), which measures the window that confirms. Two more differences:
//! requests that return while a failed depth drains do not lower the next one, and a failure of the job's own iodepth
//! is bisected, where fio tries that depth for ever.

use super::Worker;
use crate::plan::{LatencyTargetPlan, WorkerPlan};
use crate::request::{Completion, Direction, Want};
use crate::results::{DepthOutcome, LatencyTargetResult};
use crate::time::Nanos;

/// After so many successes in a row just below a depth that failed, that depth is tried again.
const STABLE: u32 = 3;

/// What its window is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// To find the next depth.
    Searching,
    /// To confirm the depth that it has found.
    Confirming,
    /// To measure at that depth.
    Measuring,
    /// It has ended.
    Over,
}

/// What a search does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Issues at this depth, which may be new.
    Depth(u32),
    /// Waits for its requests in flight.
    Drain,
    /// Ends.
    End,
}

/// A worker's search for its depth.
#[derive(Debug)]
pub(super) struct DepthSearch {
    plan: LatencyTargetPlan,
    most: u32,
    depth: u32,
    /// The largest depth that succeeded, or 1.
    low: u32,
    /// The smallest depth that failed, if one did.
    high: Option<u32>,
    /// How many windows in a row succeeded just below `high`.
    stable: u32,
    phase: Phase,
    /// Whether it waits for its requests in flight before the next window.
    draining: bool,
    /// Whether a request missed the limit at depth 1 where none may.
    hopeless: bool,
    /// When the search began.
    began: Nanos,
    /// The window: its start, its requests, and those that missed the limit.
    since: Nanos,
    ios: u64,
    missed: u64,
}

impl DepthSearch {
    pub(super) fn new(plan: &WorkerPlan) -> Option<Box<Self>> {
        plan.latency_target.map(|target| {
            Box::new(Self {
                plan: target,
                most: plan.iodepth,
                depth: 1,
                low: 1,
                high: None,
                stable: 0,
                phase: Phase::Searching,
                draining: false,
                hopeless: false,
                began: 0,
                since: 0,
                ios: 0,
                missed: 0,
            })
        })
    }

    /// Whether all that it does is measured.
    pub(super) fn keeps_adjusting(&self) -> bool {
        self.plan.keeps_adjusting
    }

    /// Begins at `now`.
    pub(super) fn begin(&mut self, now: Nanos) {
        self.began = now;
        self.begin_window(now);
    }

    fn begin_window(&mut self, now: Nanos) {
        (self.since, self.ios, self.missed) = (now, 0, 0);
    }

    /// Takes the completion of a request that took `latency`.
    fn returned(&mut self, latency: Nanos) {
        if self.draining || self.phase == Phase::Over {
            return;
        }
        self.ios += 1;
        if latency <= self.plan.limit_ns {
            return;
        }
        self.missed += 1;
        if self.plan.percent >= 100.0 && self.phase != Phase::Measuring {
            self.hopeless = !self.lower();
        }
    }

    /// Whether enough requests of the window kept the limit.
    fn keeps(&self) -> bool {
        let kept = (self.ios - self.missed) as f64 / self.ios as f64;
        kept * 100.0 >= self.plan.percent
    }

    /// Judges the window if it is over.
    fn next(&mut self, now: Nanos, in_flight: u32) -> Next {
        // A window in which nothing returned goes on.
        let over = now >= self.since.saturating_add(self.plan.window_ns) && self.ios > 0;
        if over && !self.draining {
            match self.phase {
                Phase::Measuring => self.phase = Phase::Over,
                _ if self.keeps() => self.raise(now),
                // At depth 1 the window goes on, as in fio.
                _ => _ = self.lower(),
            }
        }
        match self.phase {
            Phase::Over => Next::End,
            _ if self.draining && in_flight > 0 => Next::Drain,
            _ => Next::Depth(self.depth),
        }
    }

    /// Tries a smaller depth. Returns false if there is none.
    fn lower(&mut self) -> bool {
        if self.depth == 1 {
            return false;
        }
        self.high = Some(self.depth);
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = u32::midpoint(self.depth, self.low);
        self.stable = 0;
        self.phase = Phase::Searching;
        self.draining = true;
        true
    }

    /// Tries a larger depth. If there is none, confirms this one, and then measures at it.
    fn raise(&mut self, now: Nanos) {
        let depth = self.depth;
        self.low = depth;
        if self.high == Some(depth + 1) {
            self.stable += 1;
            if self.stable >= STABLE {
                self.high = Some(depth + 2);
                self.stable = 0;
            }
        }
        let larger = match self.high {
            Some(high) => u32::midpoint(depth, high),
            None => depth.saturating_mul(2),
        };
        self.depth = larger.min(self.most);
        self.begin_window(now);
        if self.depth == depth && !self.plan.keeps_adjusting {
            self.phase = match self.phase {
                Phase::Searching => Phase::Confirming,
                _ => Phase::Measuring,
            };
            self.draining = true;
        }
    }

    fn result(&self) -> LatencyTargetResult {
        let outcome = match self.phase {
            Phase::Measuring | Phase::Over if self.draining || self.ios == 0 => {
                DepthOutcome::Searching
            }
            Phase::Measuring | Phase::Over if self.keeps() => DepthOutcome::Kept,
            Phase::Measuring | Phase::Over => DepthOutcome::Missed,
            _ if self.hopeless => DepthOutcome::Missed,
            _ if self.plan.keeps_adjusting => DepthOutcome::Adjusting,
            _ => DepthOutcome::Searching,
        };
        LatencyTargetResult {
            depth: self.depth,
            outcome,
        }
    }
}

impl Worker {
    /// Follows its search for a depth, if it has one. Returns what it wants while it waits for the next depth.
    pub(super) fn search_depth(&mut self, now: Nanos) -> Option<Want> {
        if self.ramp_end != Nanos::MAX || now >= self.end {
            return None;
        }
        let in_flight = self.slots.in_flight();
        let search = self.search.as_mut()?;
        let depth = match search.next(now, in_flight) {
            Next::Depth(depth) => depth,
            Next::Drain => return Some(self.wait_for_one(now)),
            Next::End => return Some(self.drain(now)),
        };
        if search.draining {
            search.draining = false;
            search.begin_window(now);
            if search.phase == Phase::Measuring {
                let searched = now - search.began;
                self.measure_from(now, searched);
            }
        }
        if depth as usize != self.slots.depth() {
            self.use_depth(depth, now);
        }
        None
    }

    /// Notes a completion for the search, and stops where no depth keeps the latency.
    pub(super) fn note_latency(&mut self, completion: &Completion) {
        let kind = self.slots.request(completion.slot).kind;
        let Some(search) = &mut self.search else {
            return;
        };
        if self.ramp_end != Nanos::MAX
            || kind.direction() == Direction::Sync
            || completion.result.is_err()
        {
            return;
        }
        search.returned(completion.done - completion.start);
        if search.hopeless {
            self.stop(completion.done);
        }
    }

    /// Returns what has become of its search for a depth, if it has one.
    pub fn searched_depth(&self) -> Option<LatencyTargetResult> {
        self.search.as_ref().map(|search| search.result())
    }

    /// Whether it has stopped because depth 1 misses its latency, too.
    pub fn is_hopeless(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.hopeless)
    }

    /// Uses `depth` slots from now on.
    pub(super) fn use_depth(&mut self, depth: u32, now: Nanos) {
        self.slots.set_depth(depth, now);
        self.refill_at = self
            .iodepth_low
            .min(depth.saturating_sub(self.complete_min));
    }

    /// Measures from now on: the limits count anew, and so does the runtime, without the time that it `searched`.
    fn measure_from(&mut self, now: Nanos, searched: Nanos) {
        self.measured_from = now;
        self.end = self.end.saturating_add(searched);
        self.ramp_end = now;
        self.end_ramp();
    }
}
