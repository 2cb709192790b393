//! What a modelled drive is to the loop that drives it.

use iogauge_core::{Kind, Nanos};

/// Bytes that media read or write at a time; maps and buffers count in chunks, too.
pub const CHUNK: u64 = 4096;

/// One request as a drive sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Comes back with the completion; unique among those in flight.
    pub ticket: u64,
    /// What to do.
    pub kind: Kind,
    /// Where. Zero for syncs.
    pub offset_bytes: u64,
    /// How much. Zero for syncs.
    pub length_bytes: u32,
    /// A write that is not done before it would outlast a power failure (sync, dsync, force unit access).
    pub durable: bool,
}

impl Access {
    /// The first and the last chunk that it touches.
    #[inline]
    pub fn chunks(&self) -> (u64, u64) {
        let end = self.offset_bytes + u64::from(self.length_bytes).max(1);
        (self.offset_bytes / CHUNK, (end - 1) / CHUNK)
    }
}

/// A request that the drive is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Of the [`Access`].
    pub ticket: u64,
    /// When the host could see it.
    pub at: Nanos,
}

/// A drive model: no I/O, no threads, no wall clock, so it cannot fail and repeats by seed.
pub trait Drive {
    /// Takes a request at `now`, which never goes back between calls of any method. A drive that serves what comes in
    /// turn knows at once when it will be done, and returns that; then [`Drive::advance`] does not return the request.
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos>;
    /// When to call [`Drive::advance`] next; `None` where it has nothing left to return.
    fn next_event(&self) -> Option<Nanos>;
    /// Appends what it is done with by `now`, in order.
    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>);
    /// Whether what it has said to have written may be lost with its power, until a sync.
    fn volatile(&self) -> bool {
        false
    }
    /// How long its media have worked so far, by what for: 1e9 is one second with all of it busy.
    fn active(&self) -> Active;
}

/// Time for which the media worked, ns, as a share of all of them: half of the dies for 2 ns count 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Active {
    /// For reads.
    pub read_ns: f64,
    /// For writes, and for what writes made the drive do besides.
    pub write_ns: f64,
}
