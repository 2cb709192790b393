//! Draws the I/O priority of each request: fio's cmdprio options.

use iogauge_core::Request;
use iogauge_core::generate::{Rng, Stream};
use iogauge_core::plan::{PriorityPlan, WorkerPlan};

/// Which requests of a worker have a priority of their own.
#[derive(Debug)]
pub(crate) struct Priorities {
    shares: Box<[PriorityPlan]>,
    draws: Rng,
}

impl Priorities {
    pub(crate) fn new(plan: &WorkerPlan) -> Self {
        Self {
            shares: plan.priorities.as_slice().into(),
            draws: Rng::new(plan.seed, Stream::Priorities),
        }
    }

    /// Returns the priority of the next request; 0: that of its thread.
    #[inline]
    pub(crate) fn draw(&mut self, request: &Request) -> u16 {
        if self.shares.is_empty() {
            return 0;
        }
        let mut drawn = self.draws.below(100) as u32;
        for share in &self.shares {
            let is_of_length = [0, request.length_bytes].contains(&share.length_bytes);
            if share.direction != request.kind.direction() || !is_of_length {
                continue;
            }
            if drawn < share.percent {
                return share.priority;
            }
            drawn -= share.percent;
        }
        0
    }
}
