//! Requests in flight, ordered by their end; requests that end at one instant keep the order of their submission.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use iogauge_core::Nanos;

use crate::drive::Returned;

/// Requests in flight, the earliest end first.
#[derive(Debug, Default)]
pub struct Pending {
    heap: BinaryHeap<Reverse<(Nanos, u64, u64)>>,
    submitted: u64,
}

impl Pending {
    /// Adds `ticket`, which is done at `at`.
    pub fn push(&mut self, ticket: u64, at: Nanos) {
        self.heap.push(Reverse((at, self.submitted, ticket)));
        self.submitted += 1;
    }

    /// Returns when the next request is done.
    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes all requests that are done by `now`.
    pub fn take(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        while self.next().is_some_and(|at| at <= now) {
            let Some(Reverse((at, _, ticket))) = self.heap.pop() else {
                return;
            };
            returned.push(Returned { ticket, at });
        }
    }
}
