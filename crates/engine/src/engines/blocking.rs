//! Requests that the calling thread makes itself, because an engine's queue cannot take them.

use std::collections::VecDeque;

use iogauge_core::{Completion, Errno, Nanos, Request};

use crate::clock::Clock;
use crate::engines::files::File;

/// Makes the request in `slot` with `call`, which blocks until it is done. `issued` is absent, since the submission
/// ends with the completion.
#[inline]
pub(crate) fn complete(
    clock: Clock,
    slot: u32,
    call: impl FnOnce() -> Result<u32, Errno>,
) -> Completion {
    let start = clock.now();
    let result = call();
    let done = clock.now();
    Completion {
        slot,
        start,
        issued: None,
        done,
        result,
    }
}

/// Completions that did not come through the kernel's queue and were not reaped yet.
#[derive(Debug)]
pub(crate) struct OutsideQueue {
    completions: VecDeque<Completion>,
}

impl OutsideQueue {
    /// Creates a queue with room for `depth` completions.
    pub(crate) fn new(depth: usize) -> Self {
        Self {
            completions: VecDeque::with_capacity(depth),
        }
    }

    /// Makes a trim or a sync on this thread. Returns when it was done.
    #[inline]
    pub(crate) fn make(&mut self, clock: Clock, file: &File, request: &Request) -> Nanos {
        let completion = complete(clock, request.slot, || file.without_data(request));
        self.push(completion);
        completion.done
    }

    /// Adds a completion.
    #[inline]
    pub(crate) fn push(&mut self, completion: Completion) {
        self.completions.push_back(completion);
    }

    /// Moves at most `limit` completions to `done`, the oldest first. Returns how many it moved.
    #[inline]
    pub(crate) fn reap(&mut self, limit: usize, done: &mut Vec<Completion>) -> usize {
        let count = self.completions.len().min(limit);
        done.extend(self.completions.drain(..count));
        count
    }
}
