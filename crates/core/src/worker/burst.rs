//! Many requests at one instant.

use super::Worker;
use crate::request::{Request, Want};
use crate::time::Nanos;

impl Worker {
    /// Puts what is to be issued at `now` behind `batch`, which takes `limit` requests in all. Returns what the worker wants
    /// then; `None` where the batch is full and more may follow.
    ///
    /// What is issued, and when, is what [`Worker::next`] returns when it is called for one after the other.
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

    /// The short way for workers that have nothing to ask before each request: what holds for the first holds for all.
    #[inline(always)]
    fn burst(&mut self, now: Nanos, most: usize, batch: &mut Vec<Request>) {
        let over = now >= self.end || now >= self.ramp_end;
        let hindered = over || self.draining || self.blocked || self.issue_gap.requests > 0;
        if hindered || !self.unhindered {
            return;
        }
        let free = self.slots.depth() - self.slots.in_flight() as usize;
        let Some(ios) = self.pattern.burst(most.min(free)) else {
            return;
        };
        for io in ios {
            batch.push(self.slots.take(&io, now, now));
        }
    }
}
