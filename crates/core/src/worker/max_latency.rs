//! Ends a worker at the first request that takes too long: fio's `max_latency`.
//!
//! Source: fio 3.33's io_u.c (`account_io_completion`, `lat_fatal`): syncs have no limit, and requests that return
//! during the ramp or with an error are not judged. In fio, `ignore_error=ETIMEDOUT` lets the job go on; here it ends.

use super::Worker;
use crate::plan::WorkerPlan;
use crate::request::{Completion, Direction};
use crate::time::Nanos;

/// How long a worker's requests may take, and the first that took longer.
#[derive(Debug)]
pub(super) struct MaxLatency {
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

impl MaxLatency {
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
    /// Checks a request that returned, and stops at the first that took too long.
    pub(super) fn check_latency(&mut self, completion: &Completion) {
        let direction = self.slots.request(completion.slot).kind.direction();
        let Some(allowed) = &mut self.max_latency else {
            return;
        };
        let took = completion.done - completion.start;
        let limit = allowed.limits[direction as usize];
        let in_ramp = self.ramp_end != Nanos::MAX && completion.done < self.ramp_end;
        if took <= limit || in_ramp || completion.result.is_err() || allowed.exceeded.is_some() {
            return;
        }
        allowed.exceeded = Some(Exceeded {
            direction,
            took,
            limit,
        });
        self.stop(completion.done);
    }

    /// Whether it stopped because a request took too long: longer than it may, or than the latency that the worker keeps
    /// at depth 1.
    pub fn took_too_long(&self) -> bool {
        self.exceeded().is_some() || self.is_hopeless()
    }

    /// Returns the request at which it stopped because that took too long.
    pub fn exceeded(&self) -> Option<Exceeded> {
        self.max_latency.as_ref()?.exceeded
    }
}
