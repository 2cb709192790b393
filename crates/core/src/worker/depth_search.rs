//! Looks for the largest depth at which requests keep within a latency: fio's `latency_target`.
//!
//! The depth begins at 1 and is tried for a window. It doubles until it fails; then each window halves the distance to
//! the depth that failed or to the one that succeeded. Source: fio 3.33's io_u.c (`lat_target_check`). It differs in
//! two points: requests that return while a depth that failed drains do not lower the next depth, and a failure at the
//! job's own depth ends the doubling, where fio tries that depth for ever.

use super::Worker;
use crate::plan::{LatencyTargetPlan, WorkerPlan};
use crate::request::{Completion, Direction, Want};
use crate::time::Nanos;

/// After so many successes in a row just below a depth that failed, that depth is tried again.
const STABLE: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Tries its depth for a window.
    Trying,
    /// Waits for its requests in flight before it tries the next depth.
    Draining,
    /// Has measured at its last depth.
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
    step: Step,
    /// Whether it has arrived at a depth, so that what follows is measured.
    arrived: bool,
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
                step: Step::Trying,
                arrived: target.keeps_adjusting,
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
        self.ios += 1;
        if latency <= self.plan.limit_ns || self.step != Step::Trying {
            return;
        }
        self.missed += 1;
        if self.plan.percent >= 100.0 {
            self.hopeless = !self.lower();
        }
    }

    /// Judges the window if it is over.
    fn next(&mut self, now: Nanos, in_flight: u32) -> Next {
        if self.step == Step::Trying && now >= self.since.saturating_add(self.plan.window_ns) {
            let kept = (self.ios - self.missed) as f64 / self.ios as f64;
            if self.ios == 0 {
                // Nothing returned, so nothing is known: the window goes on.
            } else if kept * 100.0 >= self.plan.percent {
                self.raise(now);
            } else {
                // At depth 1 the window goes on, as in fio.
                self.lower();
            }
        }
        match self.step {
            Step::Over => Next::End,
            Step::Draining if in_flight > 0 => Next::Drain,
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
        self.step = Step::Draining;
        true
    }

    /// Tries a larger depth, or measures at this one if there is none.
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
            self.step = if self.arrived {
                Step::Over
            } else {
                Step::Draining
            };
            self.arrived = true;
        }
    }
}

impl Worker {
    /// Follows its search for a depth, if it has one. Returns what it wants while it waits for the next depth.
    pub(super) fn search_depth(&mut self, now: Nanos) -> Option<Want> {
        if self.ramp_end != Nanos::MAX {
            return None;
        }
        let in_flight = self.slots.in_flight();
        let search = self.search.as_mut()?;
        let depth = match search.next(now, in_flight) {
            Next::Depth(depth) => depth,
            Next::Drain => return Some(self.wait_for_one(now)),
            Next::End => return Some(self.drain(now)),
        };
        if search.step == Step::Draining {
            search.step = Step::Trying;
            search.begin_window(now);
        }
        if search.arrived && self.measured_from == Nanos::MAX {
            let searched = now - search.began;
            self.measure_from(now, searched);
        }
        if depth as usize != self.slots.depth() {
            self.use_depth(depth, now);
        }
        None
    }

    /// Notes a completion for the search, and stops where no depth keeps the latency.
    pub(super) fn tried(&mut self, completion: &Completion) {
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

    /// Returns the depth that it has arrived at, and whether it has, if it looks for one.
    pub fn searched_depth(&self) -> Option<(u32, bool)> {
        let search = self.search.as_ref()?;
        Some((search.depth, search.arrived))
    }

    /// Whether it has stopped because no depth keeps its latency.
    pub fn misses_target(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.hopeless)
    }

    /// Uses `depth` slots from now on.
    pub(super) fn use_depth(&mut self, depth: u32, now: Nanos) {
        self.slots.set_depth(depth, now);
        self.refill_at = self.low_depth.min(depth.saturating_sub(self.complete_min));
    }

    /// Measures from now on: the limits count anew, and so does the runtime, without the time that it `searched`.
    fn measure_from(&mut self, now: Nanos, searched: Nanos) {
        self.measured_from = now;
        self.end = self.end.saturating_add(searched);
        self.ramp_end = now;
        self.end_ramp();
    }
}
