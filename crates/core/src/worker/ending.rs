//! Ends a worker: says what is owed at the end of its runtime, waits for its last requests, then syncs its files if the
//! job asks for that. As in fio, such a job also syncs them after each pass over its region.

use std::ops::Range;

use super::{Source, Worker};
use crate::generate::Io;
use crate::plan::WorkerPlan;
use crate::request::{Kind, Want};
use crate::time::Nanos;

/// The syncs of all files after each pass of a job with `end_fsync`.
#[derive(Clone, Debug)]
pub(super) struct ClosingSyncs {
    files: u32,
    /// The files that are still to be synced.
    left: Range<u32>,
    /// Whether a pass has ended, and the next waits for these syncs.
    between: bool,
}

impl ClosingSyncs {
    pub(super) fn new(plan: &WorkerPlan) -> Self {
        let dry = plan.verify.as_ref().is_some_and(|verify| verify.dry);
        let writes = plan.pattern.rw.writes() && !plan.create_only && !dry;
        let syncs = plan.pattern.sync_at_end && writes;
        let files = if syncs { plan.files.len() as u32 } else { 0 };
        Self {
            files,
            left: 0..files,
            between: false,
        }
    }

    /// Whether they follow a pass after which another pass begins.
    pub(super) fn follows_pass(&self) -> bool {
        self.between
    }
}

impl Worker {
    /// Waits for the requests in flight one at a time. A wait for all of them would stamp the first completion as late
    /// as the last. Then syncs the files, one at a time, if the job asks for that.
    #[inline]
    pub(super) fn drain(&mut self, now: Nanos) -> Want {
        self.draining = true;
        if self.watched {
            self.leave_flow();
        }
        match self.slots.in_flight() {
            0 => self.sync_at_end(now),
            _ => Want::Wait {
                completions: 1,
                until: None,
            },
        }
    }

    /// Returns the sync of the next file. As in fio, there is none after an error, or if the last request was a sync.
    #[cold]
    fn sync_at_end(&mut self, now: Nanos) -> Want {
        let gave_up = self.failed.is_some() || self.took_too_long();
        if gave_up || self.last_was_sync {
            return Want::Finished;
        }
        self.sync_next(now).unwrap_or(Want::Finished)
    }

    fn sync_next(&mut self, now: Nanos) -> Option<Want> {
        let io = Io {
            target: self.closing.left.next()?,
            kind: Kind::Sync,
            offset_bytes: 0,
            length_bytes: 0,
        };
        Some(Want::Issue(self.slots.take(&io, now, now).slot))
    }

    /// Notes the end of a pass that another one follows. Returns whether its files must be synced first: as in fio, not
    /// if its last request was a sync.
    #[cold]
    pub(super) fn owes_syncs(&mut self) -> bool {
        self.closing.between = self.closing.files > 0 && !self.last_was_sync;
        self.closing.between
    }

    /// Waits for the requests in flight, then syncs one file after the other. `None` once all are synced.
    #[cold]
    pub(super) fn sync_after_pass(&mut self, now: Nanos) -> Option<Want> {
        if self.slots.in_flight() > 0 {
            return Some(self.wait_for_one(now));
        }
        self.sync_next(now).or_else(|| {
            self.closing.between = false;
            self.closing.left = 0..self.closing.files;
            self.first_unsynced = Nanos::MAX;
            None
        })
    }

    /// Whether some requests that were due before the end have not been issued.
    #[cold]
    pub(super) fn has_backlog(&self) -> bool {
        let mut dues = self.schedules.iter().flatten();
        dues.any(|schedule| self.start.saturating_add(schedule.peek()) < self.end)
            || self.source.owes_before(self.end)
    }

    /// Whether to issue requests after the end, because a generator that is never late would have issued them before
    /// it. Requests that waited for the target are not issued; they count as overdue. A worker in a flow issues none,
    /// since the others may have ended.
    #[cold]
    pub(super) fn catches_up(&self) -> bool {
        if self.flowing.is_some() {
            return false;
        }
        // If all slots are taken, only a completion shows whether its slot should have been free before the end.
        let free_at = self.slots.usable_at();
        let resumes = self
            .think
            .until
            .map_or(self.think.resumed, |(_, until)| until);
        self.has_backlog() && free_at.max(resumes) < self.end
    }

    /// Counts the requests that were due before the end of its runtime and not issued, up to `limit`.
    pub fn overdue(&self, limit: u64) -> u64 {
        if let Source::Trace(replay) = &self.source {
            return replay.due_before(self.end, limit);
        }
        let mut count = 0;
        for schedule in self.schedules.iter().flatten() {
            let mut rest = schedule.clone();
            while count < limit
                && self.end != Nanos::MAX
                && self.start.saturating_add(rest.peek()) < self.end
            {
                rest.advance(self.last_length);
                count += 1;
            }
        }
        count
    }
}
