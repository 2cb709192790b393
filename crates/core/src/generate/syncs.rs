//! Inserts a sync after every N writes: fio's fsync and fdatasync.
//!
//! Writes of all files are counted together, as in fio. If both are due, one fsync serves for both. A sync goes to the
//! file that was written last; fio sends it to the next file in turn, and so never syncs a file that is alternately
//! written and synced.
//!
//! The syncs at the end of a job (fio's end_fsync) are not here: the worker issues them when its queue is empty.

use crate::request::Kind;

/// Counts writes and says when a sync is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syncs {
    sync: Countdown,
    data_sync: Countdown,
    due: Option<(Kind, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Countdown {
    /// 0: never.
    every: u64,
    left: u64,
}

impl Countdown {
    const fn new(every: u64) -> Self {
        Self { every, left: every }
    }

    #[inline]
    fn tick(&mut self) -> bool {
        if self.every == 0 {
            return false;
        }
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.every;
        true
    }
}

impl Syncs {
    /// Creates counters for a sync and a data sync after every N writes; 0: never.
    pub(super) const fn new(sync_every: u64, data_sync_every: u64) -> Self {
        Self {
            sync: Countdown::new(sync_every),
            data_sync: Countdown::new(data_sync_every),
            due: None,
        }
    }

    /// Counts a write to `target`.
    #[inline]
    pub(super) fn written(&mut self, target: u32) {
        let (sync, data_sync) = (self.sync.tick(), self.data_sync.tick());
        if sync {
            self.due = Some((Kind::Sync, target));
        } else if data_sync {
            self.due = Some((Kind::DataSync, target));
        }
    }

    /// Returns the sync that is due before anything else, once.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<(Kind, u32)> {
        self.due.take()
    }
}
