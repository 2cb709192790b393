//! A request for one I/O, and its completion.
//!
//! The instants are those of docs/latency.md: `intended <= ready <= start <= issued <= done`.

use crate::time::Nanos;

/// An errno of the kernel, as a positive number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Errno(pub i32);

impl Errno {
    /// EILSEQ, with which fio counts data that is not what was written.
    pub const MISMATCH: Self = Self(84);

    /// Whether the drive is at fault, not the request or the system: EIO and EILSEQ, after which fio can continue.
    /// Source: fio's td_error.c.
    pub const fn is_medium_error(self) -> bool {
        const EIO: i32 = 5;
        const EILSEQ: i32 = 84;
        matches!(self.0, EIO | EILSEQ)
    }
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read into the slot's buffer.
    Read,
    /// Write the slot's buffer.
    Write,
    /// Discard the range.
    Trim,
    /// fsync: data and metadata.
    Sync,
    /// fdatasync: data, and the metadata needed to find it.
    DataSync,
    /// sync_file_range: writes a range back from the page cache. Neither metadata nor the drive's cache follow.
    RangeSync,
}

/// The length of a [`Kind::RangeSync`] whose range goes on to the end of the file.
pub const TO_THE_END: u32 = u32::MAX;

impl Kind {
    /// Whether it makes durable, or begins to, what was written before.
    #[inline]
    pub const fn is_sync(self) -> bool {
        matches!(self.direction(), Direction::Sync)
    }

    /// Returns the direction under which this kind is reported.
    #[inline]
    pub const fn direction(self) -> Direction {
        match self {
            Kind::Read => Direction::Read,
            Kind::Write => Direction::Write,
            Kind::Trim => Direction::Trim,
            Kind::Sync | Kind::DataSync | Kind::RangeSync => Direction::Sync,
        }
    }
}

/// The directions that results group requests by; `as usize` indexes arrays of [`Direction::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Reads.
    Read = 0,
    /// Writes.
    Write = 1,
    /// Trims.
    Trim = 2,
    /// fsync, fdatasync and sync_file_range together.
    Sync = 3,
}

impl Direction {
    /// How many directions there are.
    pub const COUNT: usize = 4;
    /// All of them, in the order of their index.
    pub const ALL: [Direction; Self::COUNT] = [
        Direction::Read,
        Direction::Write,
        Direction::Trim,
        Direction::Sync,
    ];

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::Sync => "sync",
        }
    }
}

/// The latencies in docs/latency.md; `as usize` indexes arrays of [`Latency::COUNT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Latency {
    /// From start to done.
    Lat,
    /// From issued to done.
    Clat,
    /// From start to issued.
    Slat,
    /// From intended to done.
    Response,
    /// From intended to ready.
    Queued,
    /// From ready to start.
    Lateness,
}

impl Latency {
    /// How many latencies there are.
    pub const COUNT: usize = 6;
    /// All of them, in the order of their index.
    pub const ALL: [Latency; Self::COUNT] = [
        Latency::Lat,
        Latency::Clat,
        Latency::Slat,
        Latency::Response,
        Latency::Queued,
        Latency::Lateness,
    ];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Latency::Lat => "lat",
            Latency::Clat => "clat",
            Latency::Slat => "slat",
            Latency::Response => "response",
            Latency::Queued => "queued",
            Latency::Lateness => "lateness",
        }
    }
}

/// What a request has to do with the verification of data: fio's `verify`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// Nothing that the worker knows of.
    #[default]
    Nothing,
    /// A read of a block that some write made.
    Block,
    /// The write with this number; or a read of what it wrote.
    Write(u32),
    /// The trim of a block that some write made; or a read of it, which must be zeroes.
    Trimmed,
}

/// A request for one I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The slot that this request occupies until its completion, in `[0, iodepth)`.
    pub slot: u32,
    /// Index into the worker's files.
    pub target: u32,
    /// What it does.
    pub kind: Kind,
    /// Where, from the start of the file. Zero for syncs, unless they have a range.
    pub offset_bytes: u64,
    /// How much. Zero for syncs, unless they have a range.
    pub length_bytes: u32,
    /// When it was due by the schedule; without a schedule, the time of the call to `next`. A sync was intended
    /// together with the first write that it makes durable.
    pub intended: Nanos,
    /// When it was due, no earlier than the requests before it, and a slot was free.
    pub ready: Nanos,
    /// What it has to do with the verification of data.
    pub check: Check,
    /// Its I/O priority, as ioprio_set takes it; 0: that of its thread.
    pub priority: u16,
}

impl Request {
    /// Returns what a slot holds before its first request.
    pub(crate) const fn none(slot: u32) -> Self {
        Self {
            slot,
            target: 0,
            kind: Kind::Read,
            offset_bytes: 0,
            length_bytes: 0,
            intended: 0,
            ready: 0,
            check: Check::Nothing,
            priority: 0,
        }
    }
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's slot.
    pub slot: u32,
    /// Stamped before the submission call that took it.
    pub start: Nanos,
    /// Stamped after that call; `None` where no call is made (SQPOLL).
    pub issued: Option<Nanos>,
    /// Stamped when the completion was seen.
    pub done: Nanos,
    /// Bytes moved, or what went wrong.
    pub result: Result<u32, Errno>,
}

/// What a worker wants next. A worker never blocks, reads no clock and does no I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Submit the request in this slot. More may follow at the same instant: call `next` again before submitting, up to
    /// the size of a batch.
    Issue(u32),
    /// Wait for this many completions or until this instant, whichever comes first. `completions` is zero if nothing is
    /// in flight, and `until` is then set. `until` is `None` if only completions end the wait.
    Wait {
        /// How many completions to wait for.
        completions: u32,
        /// The latest instant at which to call `next` again.
        until: Option<Nanos>,
    },
    /// Busy-wait until this instant: this part of the think time stands for an application's own work.
    Spin {
        /// When to call `next` again.
        until: Nanos,
    },
    /// Make what was written durable and drop it from the page cache, then call `next` again: the writes are about to
    /// be read back. Nothing is in flight.
    Settle,
    /// Nothing more to issue, and nothing in flight.
    Finished,
}
