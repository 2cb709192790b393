//! What looks at requests besides the worker itself: verification, the ranges of syncs, a flow, the search for a depth,
//! a limit of latency, and I/O priorities. Few jobs have any of them, so that others pay for one test before a request,
//! one at its issue and one at its completion.

use super::Worker;
use crate::generate::Io;
use crate::request::{Completion, Request, Want};
use crate::time::Nanos;

impl Worker {
    /// Returns what the worker wants before the next request of its pattern; `None`: that request.
    #[cold]
    pub(super) fn before_request(&mut self, now: Nanos) -> Option<Want> {
        self.read_back(now)
            .or_else(|| self.search_depth(now))
            .or_else(|| self.held(now))
    }

    /// Notes a request that is being issued, and completes it in its slot.
    #[cold]
    pub(super) fn watch(&mut self, mut request: Request, io: &Io) {
        if let Some(verifying) = &mut self.verifying {
            request.check = verifying.issue(io);
        }
        if let Some(written) = &mut self.written {
            request = written.issue(request);
        }
        if let Some(flowing) = &mut self.flowing {
            flowing.count();
        }
        self.prioritize(request);
    }

    /// Gives a request that is being issued its I/O priority, and puts it into its slot.
    pub(super) fn prioritize(&mut self, mut request: Request) {
        if let Some(priorities) = &mut self.priorities {
            request.priority = priorities.draw(&request);
        }
        self.slots.replace(request);
    }

    /// Notes a completion.
    #[inline(never)]
    pub(super) fn watch_return(&mut self, completion: &Completion) {
        if self.verifying.is_some() {
            self.verified(completion);
        }
        if let Some(written) = &mut self.written {
            written.returned(self.slots.request(completion.slot), completion);
        }
        self.note_latency(completion);
        self.check_latency(completion);
    }
}
