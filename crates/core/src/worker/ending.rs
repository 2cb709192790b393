//! Ends a worker: waits for its last requests, then syncs its files if the job asks for that.

use super::Worker;
use crate::generate::Io;
use crate::request::{Kind, Want};
use crate::time::Nanos;

impl Worker {
    /// Waits for the requests in flight one at a time. A wait for all of them would stamp the first completion as late
    /// as the last. Then syncs the files, one at a time, if the job asks for that.
    #[inline]
    pub(super) fn drain(&mut self, now: Nanos) -> Want {
        self.draining = true;
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
        if self.failed.is_some() || self.last_was_sync {
            return Want::Finished;
        }
        let Some(target) = self.end_syncs.next() else {
            return Want::Finished;
        };
        let io = Io {
            target,
            kind: Kind::Sync,
            offset_bytes: 0,
            length_bytes: 0,
        };
        Want::Issue(self.slots.take(&io, now, now))
    }
}
