//! The trait of a modelled drive.

use iogauge_core::{Kind, Nanos};

use crate::explain::Spent;

/// Bytes that media read or write at a time, and the unit of maps and buffers.
pub const CHUNK: u64 = 4096;

/// Returns an instant in whole ns, rounded up. It is what the rounding of a library gives, without the call, for
/// instants of less than 292 years.
#[inline]
pub(crate) fn rounded_up(at: f64) -> Nanos {
    let below = at as i64;
    below as Nanos + Nanos::from((below as f64) < at)
}

/// One request as a drive sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Returned with the completion; unique among the requests in flight.
    pub ticket: u64,
    /// What it does.
    pub kind: Kind,
    /// Where. Zero for syncs.
    pub offset_bytes: u64,
    /// How much. Zero for syncs.
    pub length_bytes: u32,
    /// Whether a write must survive a power failure once it is done (sync, dsync, force unit access).
    pub durable: bool,
}

impl Access {
    /// Returns the first and the last chunk that it touches.
    #[inline]
    pub fn chunks(&self) -> (u64, u64) {
        let end = self.offset_bytes + u64::from(self.length_bytes).max(1);
        (self.offset_bytes / CHUNK, (end - 1) / CHUNK)
    }
}

/// A request that the drive has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// The ticket of the [`Access`].
    pub ticket: u64,
    /// When the host could see its completion.
    pub at: Nanos,
}

/// A drive model. It has no I/O, threads or wall clock, so it cannot fail, and the same seed repeats it.
pub trait Drive {
    /// Takes a request at `now`, which never decreases between calls of any method. If the drive already knows the end
    /// of the request, returns it, and [`Drive::advance`] does not return the request.
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos>;
    /// Returns when to call [`Drive::advance`] next; `None` if it has nothing left to return.
    fn next_event(&self) -> Option<Nanos>;
    /// Appends the requests that it has finished by `now`, in order.
    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>);
    /// Whether a power failure before a sync loses acknowledged writes.
    fn volatile(&self) -> bool {
        false
    }
    /// Returns how long its media have worked so far, by direction.
    fn active(&self) -> Active;
    /// Notes from now on where requests spend their time. Call it before the first request. A drive that cannot is not
    /// explained.
    fn explain(&mut self) {}
    /// Whether it notes where requests spend their time.
    fn is_explained(&self) -> bool {
        false
    }
    /// Takes what the request `ticket` spent its time on, from its submission until it returned at `at`; `None` if that
    /// was not noted. Call it for each request that returns before its ticket is used again.
    fn take_spent(&mut self, _ticket: u64, _at: Nanos) -> Option<Spent> {
        None
    }
}

/// Time for which the media worked, ns, weighted by the share that was busy: half of the dies for 2 ns count as 1 ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Active {
    /// For reads.
    pub read_ns: f64,
    /// For writes, and for the background work that they caused.
    pub write_ns: f64,
}
