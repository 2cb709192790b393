//! Draws the next request, before the worker checks when it is due.

use super::Worker;
use crate::generate::{Io, Schedule};
use crate::request::{Direction, Kind};
use crate::time::Nanos;

impl Worker {
    /// Returns the pattern's next request, or `None` once the job's limits are reached.
    #[inline]
    pub(super) fn draw(&mut self, now: Nanos) -> Option<Io> {
        let measured = self.ramp_end == Nanos::MAX;
        if let Some(io) = match &self.limits {
            Some(limits) if measured && limits.reached(self.issued) => return None,
            _ => self.next_due(now),
        } {
            return Some(io);
        }
        if measured
            && !self
                .limits
                .as_mut()
                .is_none_or(|limits| limits.next_pass(self.issued))
        {
            return None;
        }
        if self.replay {
            self.pattern.replay();
        } else {
            self.pattern.rewind();
        }
        self.next_due(now)
    }

    /// Returns the pattern's next request. If reads and writes both have a rate, it takes the direction that is due
    /// first. If only one has a rate, it takes the other one until the rated one is due.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Option<Io> {
        let not_due = |schedule: &Schedule| self.start.saturating_add(schedule.peek()) > now;
        let toward = match (&self.schedules[0], &self.schedules[1]) {
            (None, None) => return self.pattern.next(),
            (Some(reads), Some(writes)) => {
                return self.next_of_both(if reads.peek() <= writes.peek() {
                    Direction::Read
                } else {
                    Direction::Write
                });
            }
            (Some(reads), None) if not_due(reads) => Direction::Write,
            (None, Some(writes)) if not_due(writes) => Direction::Read,
            // After the end, only requests that were due before it are issued.
            (Some(_), None) if now >= self.end => Direction::Read,
            (None, Some(_)) if now >= self.end => Direction::Write,
            _ => return self.pattern.next(),
        };
        self.pattern.next_toward(toward)
    }

    /// Returns the next request of a direction, for reads and writes with a rate each.
    #[inline]
    fn next_of_both(&mut self, toward: Direction) -> Option<Io> {
        self.deferred
            .take_if(|io| io.kind.direction() == toward)
            .or_else(|| match &self.deferred {
                Some(io) if io.kind == Kind::Write => self.pattern.next_without_sync(toward),
                _ => self.pattern.next_toward(toward),
            })
            // The pass ends with the deferred request.
            .or_else(|| self.deferred.take())
    }
}
