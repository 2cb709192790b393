//! Issues many requests at one instant.

use super::{Source, Worker};
use crate::request::{Request, Want};
use crate::time::Nanos;

impl Worker {
    /// Passes the requests to issue at `now` to `add`, at most `limit`. Returns what the worker wants then, or `None` if
    /// these were as many and more may follow.
    ///
    /// The requests and their times are those that [`Worker::next`] would return one by one.
    #[inline(always)]
    pub fn fill(
        &mut self,
        now: Nanos,
        limit: usize,
        mut add: impl FnMut(&Request),
    ) -> Option<Want> {
        let mut count = 0;
        loop {
            count += self.burst(now, limit - count, &mut add);
            if count < limit || self.slots.full() {
                match self.next(now) {
                    Want::Issue(slot) => add(self.slots.request(slot)),
                    want => return Some(want),
                }
                count += 1;
            }
            if count == limit && !self.slots.full() {
                return None;
            }
        }
    }

    /// The fast path, for workers whose requests differ only in their block: checks once for all requests. Returns how
    /// many it passed to `add`.
    #[inline(always)]
    fn burst(&mut self, now: Nanos, most: usize, add: &mut impl FnMut(&Request)) -> usize {
        let over = now >= self.end || now >= self.ramp_end;
        let constrained = over || self.draining || self.issue_gap.requests > 0;
        if constrained || !self.is_uniform || self.pending.is_some() {
            return 0;
        }
        if self.blocked {
            if self.slots.in_flight() > self.refill_at {
                return 0;
            }
            self.blocked = false;
        }
        let Source::Pattern(pattern) = &mut self.source else {
            return 0;
        };
        let Some(length) = pattern.burst_length() else {
            return 0;
        };
        let free = self.slots.depth() - self.slots.in_flight() as usize;
        let most = most.min(free);
        // The requests before a limit need a look at each. During the ramp nothing counts toward the limits.
        if self.ramp_end == Nanos::MAX
            && let Some(limits) = &self.limits
            && limits.reached(self.issued.plus(most as u64, length))
        {
            return 0;
        }
        let Some(ios) = pattern.burst(most) else {
            return 0;
        };
        let count = ios.len();
        self.issued = self.issued.plus(count as u64, length);
        for io in ios {
            add(&self.slots.take(&io, now, now));
        }
        count
    }
}
