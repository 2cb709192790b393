//! Ends a worker at the first request that takes too long: fio's `max_latency`.
//!
//! Source: fio 3.33's io_u.c (`account_io_completion`, `lat_fatal`): syncs have no limit, and requests that return
//! during the ramp or with an error are not judged.

use super::Worker;
use crate::plan::WorkerPlan;
use crate::request::{Completion, Direction};
use crate::time::Nanos;

/// How long a worker's requests may take, and the first that took longer.
#[derive(Debug)]
pub(super) struct LongestAllowed {
    /// By direction.
    limits: [Nanos; Direction::COUNT],
    exceeded: Option<Exceeded>,
}

/// A request that took longer than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// What it was.
    pub direction: Direction,
    /// From its start to its end.
    pub took: Nanos,
    /// How long it may take.
    pub limit: Nanos,
}

impl LongestAllowed {
    /// Returns `None` if no direction has a limit.
    pub(super) fn new(plan: &WorkerPlan) -> Option<Box<Self>> {
        let most = plan.max_latency_ns;
        let limits = [most.read, most.write, most.trim, 0];
        limits.iter().any(|&limit| limit > 0).then(|| {
            Box::new(Self {
                limits: limits.map(|limit| if limit == 0 { Nanos::MAX } else { limit }),
                exceeded: None,
            })
        })
    }
}

impl Worker {
    /// Notes a completion, and stops at the first that comes too late.
    pub(super) fn note_longest(&mut self, completion: &Completion) {
        let direction = self.slots.request(completion.slot).kind.direction();
        let Some(allowed) = &mut self.longest_allowed else {
            return;
        };
        let (took, limit) = (
            completion.done - completion.start,
            allowed.limits[direction as usize],
        );
        let counts = completion.result.is_ok() && completion.done >= self.measured_from;
        if took > limit && counts && allowed.exceeded.is_none() {
            allowed.exceeded = Some(Exceeded {
                direction,
                took,
                limit,
            });
            self.stop(completion.done);
        }
    }

    /// Returns the request at which it stopped because that took too long.
    pub fn exceeded_latency(&self) -> Option<Exceeded> {
        self.longest_allowed.as_ref()?.exceeded
    }
}
