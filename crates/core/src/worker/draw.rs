//! Draws the next request, before the worker checks when it is due.

use super::limits::Limits;
use super::{Source, Worker};
use crate::generate::{Io, Schedule};
use crate::request::{Direction, Kind};
use crate::time::Nanos;

impl Worker {
    /// Returns the pattern's next request, or `None` once the job's limits are reached.
    #[inline]
    pub(super) fn draw(&mut self, now: Nanos) -> Option<Io> {
        if self.is_between_passes() {
            return None;
        }
        // A dry run takes no time, so that a ramp would never end.
        let measured = self.ramp_end == Nanos::MAX || self.is_dry();
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
        let endless = self.limits.as_ref().is_some_and(Limits::is_endless);
        if !endless {
            let syncs = measured && self.limits.is_some() && self.owes_syncs();
            if self.pass_is_owed() || syncs {
                return None;
            }
        }
        self.begin_pass();
        self.next_due(now)
    }

    /// Begins another pass over the regions.
    pub(super) fn begin_pass(&mut self) {
        let Source::Pattern(pattern) = &mut self.source else {
            return;
        };
        if self.replay {
            pattern.replay();
        } else {
            pattern.rewind();
        }
    }

    /// Returns the pattern's next request. If reads and writes both have a rate, it takes the direction that is due
    /// first. If only one has a rate, it takes the other one until the rated one is due.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Option<Io> {
        let Source::Pattern(pattern) = &mut self.source else {
            return None;
        };
        let not_due = |schedule: &Schedule| self.start.saturating_add(schedule.peek()) > now;
        let toward = match (&self.schedules[0], &self.schedules[1]) {
            (None, None) => return pattern.next(),
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
            _ => return pattern.next(),
        };
        pattern.next_toward(toward)
    }

    /// Returns the next request of a direction, for reads and writes with a rate each.
    #[inline]
    fn next_of_both(&mut self, toward: Direction) -> Option<Io> {
        let Source::Pattern(pattern) = &mut self.source else {
            return None;
        };
        self.deferred
            .take_if(|io| io.kind.direction() == toward)
            .or_else(|| match &self.deferred {
                Some(io) if io.kind == Kind::Write => pattern.next_without_sync(toward),
                _ => pattern.next_toward(toward),
            })
            // The pass ends with the deferred request.
            .or_else(|| self.deferred.take())
    }
}
