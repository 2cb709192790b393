//! Inserts a sync after every N writes: fio's fsync, fdatasync and sync_file_range.
//!
//! Writes of all files are counted together, as in fio. If several are due, one is made: fsync before
//! fdatasync, and that before sync_file_range. As in fio, a
//! sync goes to the file whose turn is next, not to the one that was written last.
//!
//! The syncs at the end of a job (fio's end_fsync) are not here: the worker issues them when its queue is empty.

use crate::request::Kind;

/// Counts writes and says when a sync is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Syncs {
    sync: Countdown,
    data_sync: Countdown,
    range_sync: Countdown,
    due: Option<Kind>,
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
    /// Creates counters for a sync, a data sync and a sync of a range after every N writes; 0: never.
    pub(super) const fn new(sync_every: u64, data_sync_every: u64, range_sync_every: u64) -> Self {
        Self {
            sync: Countdown::new(sync_every),
            data_sync: Countdown::new(data_sync_every),
            range_sync: Countdown::new(range_sync_every),
            due: None,
        }
    }

    /// Counts a write.
    #[inline]
    pub(super) fn written(&mut self) {
        let (sync, data_sync) = (self.sync.tick(), self.data_sync.tick());
        let range_sync = self.range_sync.tick();
        if sync {
            self.due = Some(Kind::Sync);
        } else if data_sync {
            self.due = Some(Kind::DataSync);
        } else if range_sync {
            self.due = Some(Kind::RangeSync);
        }
    }

    /// Whether a sync is due before anything else.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Returns the sync that is due, once.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<Kind> {
        self.due.take()
    }
}
