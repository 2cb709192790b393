//! Takes completions: frees their slots, charges the generator with what it lost, and counts errors.

use super::Worker;
use crate::recorder::LATE;
use crate::request::{Check, Completion, Direction, Errno, Kind};
use crate::time::Nanos;

impl Worker {
    /// Notes that the driver did not look for completions from `from` to `to`. A completion seen at the end of that gap
    /// may have come at any instant in it. The delay of the completion, and of the requests behind it, is charged to
    /// the generator.
    pub fn reaping_resumed(&mut self, from: Nanos, to: Nanos) {
        self.reap_gap = (from, to);
    }

    /// Computes how much earlier a slot would have been free if its request had started on time and its completion had
    /// been seen at once.
    #[inline]
    fn generator_delay(&self, ready: Nanos, completion: &Completion) -> Nanos {
        let lateness = completion.start.saturating_sub(ready);
        let late = if lateness > LATE { lateness } else { 0 };
        let (from, to) = self.reap_gap;
        if completion.start >= to || completion.done.saturating_sub(to) > LATE {
            return late;
        }
        late + completion
            .done
            .min(to)
            .saturating_sub(from.max(completion.start))
    }

    /// Takes the completion of a request in flight.
    #[inline(always)] // Called for every request, from one place.
    pub fn complete(&mut self, completion: &Completion) {
        if self.watched {
            self.watch_return(completion);
        }
        let ready = self.slots.request(completion.slot).ready;
        let lost = self.generator_delay(ready, completion);
        let free_at = completion.done - lost;
        let kind = self.slots.give(completion.slot, free_at, lost > 0);
        self.source.complete(completion.slot, completion.done);
        if self.blocked
            && self.slots.in_flight() == self.refill_at
            && self.refill_at as usize + 1 < self.slots.depth()
        {
            self.slots.drained_at = free_at;
        }
        if self.think.pause > 0 {
            let recalled = self.verifying.is_some()
                && kind != Kind::Write
                && self.slots.request(completion.slot).check != Check::Nothing;
            let counts =
                kind.direction() != Direction::Sync && completion.result.is_ok() && !recalled;
            self.think
                .completed(counts, completion.done, self.slots.in_flight());
        }
        if let Err(errno) = completion.result {
            self.fail(kind, errno, completion.done);
        }
    }

    #[cold]
    fn fail(&mut self, kind: Kind, errno: Errno, at: Nanos) {
        let (continues, ignored) = match kind {
            Kind::Read => (self.continue_on_read_error, &self.ignored_read_errors),
            _ => (self.continue_on_write_error, &self.ignored_write_errors),
        };
        let tolerable = match ignored.is_empty() {
            true => errno.is_medium_error(),
            false => ignored.contains(&errno.0),
        };
        if !(continues && tolerable) {
            self.failed.get_or_insert(errno);
            self.stop(at);
        }
    }
}
