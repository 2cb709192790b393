//! Where a worker's requests come from: a pattern, or the rows of a trace.

use super::Worker;
use crate::generate::Pattern;
use crate::replay::{Next, Replay};
use crate::request::Want;
use crate::time::{MILLISECOND, Nanos};

/// While rows of a trace are not ready, look again after this long.
const LATE_ROWS: Nanos = MILLISECOND / 20;

/// What a worker draws its requests from. A box would cost patterns an indirection for each request.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Source {
    /// Draws them by the job's laws. The worker's schedules say when they are due.
    Pattern(Pattern),
    /// Takes them from a trace, with their times.
    Trace(Replay),
}

impl Source {
    /// Whether the next request of a trace is due before `end`.
    pub(super) fn owes_before(&self, end: Nanos) -> bool {
        match self {
            Self::Pattern(_) => false,
            Self::Trace(replay) => replay.next_due().is_some_and(|due| due < end),
        }
    }

    /// Takes the completion of the request in `slot`.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: u32, done: Nanos) {
        if let Self::Trace(replay) = self {
            replay.complete(slot, done);
        }
    }
}

impl Worker {
    /// Issues the next request of a trace if it is due. Otherwise waits for its time, or for what it waits for.
    #[inline(never)] // Keeps the loop of patterns small.
    pub(super) fn next_of_trace(&mut self, now: Nanos) -> Want {
        let Source::Trace(replay) = &mut self.source else {
            return self.drain(now);
        };
        let over = match &self.limits {
            Some(limits) if self.ramp_end == Nanos::MAX => limits.reached(self.issued),
            _ => false,
        };
        let next = if over { Next::End } else { replay.peek() };
        let (io, due) = match next {
            Next::Request(io, due) => (io, due),
            Next::Blocked => {
                return Want::Wait {
                    completions: 1,
                    until: self.deadline(now),
                };
            }
            Next::NotYet => return self.wait_until(now + LATE_ROWS),
            Next::End => return self.drain(now),
            Next::Failed(errno) => {
                self.failed.get_or_insert(errno);
                return self.drain(now);
            }
        };
        if let Some(due) = due.filter(|&due| due > now || due >= self.end) {
            if now >= self.end {
                return self.drain(now);
            }
            return self.wait_until(due);
        }
        let intended = due.unwrap_or_else(|| self.unscheduled(now));
        self.last_due = self.last_due.max(intended);
        self.issue_gap.requests = self.issue_gap.requests.saturating_sub(1);
        self.count(&io);
        let request = self.slots.take(&io, intended, self.last_due);
        if let Source::Trace(replay) = &mut self.source {
            replay.take(request.slot);
        }
        self.prioritize(request);
        Want::Issue(request.slot)
    }
}
