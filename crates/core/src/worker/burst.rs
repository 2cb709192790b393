//! Issues many requests at one instant.

use super::{Source, Worker};
use crate::request::{Request, Want};
use crate::time::Nanos;

impl Worker {
    /// Appends the requests to issue at `now` to `batch`, until it holds `limit`. Returns what the worker wants then,
    /// or `None` if the batch is full and more may follow.
    ///
    /// The requests and their times are those that [`Worker::next`] would return one by one.
    #[inline(always)]
    pub fn fill(&mut self, now: Nanos, limit: usize, batch: &mut Vec<Request>) -> Option<Want> {
        loop {
            self.burst(now, limit - batch.len(), batch);
            if batch.len() < limit || self.slots.full() {
                match self.next(now) {
                    Want::Issue(request) => batch.push(request),
                    want => return Some(want),
                }
            }
            if batch.len() == limit && !self.slots.full() {
                return None;
            }
        }
    }

    /// The fast path, for workers whose requests differ only in their block: checks once for all requests.
    #[inline(always)]
    fn burst(&mut self, now: Nanos, most: usize, batch: &mut Vec<Request>) {
        let over = now >= self.end || now >= self.ramp_end;
        let constrained = over || self.draining || self.blocked || self.issue_gap.requests > 0;
        if constrained || !self.unconstrained {
            return;
        }
        let free = self.slots.depth() - self.slots.in_flight() as usize;
        let Source::Pattern(pattern) = &mut self.source else {
            return;
        };
        let Some(ios) = pattern.burst(most.min(free)) else {
            return;
        };
        for io in ios {
            batch.push(self.slots.take(&io, now, now));
        }
    }
}
