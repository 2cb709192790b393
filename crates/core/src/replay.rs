//! Draws the requests of a trace, in its order, and says when each may be issued.
//!
//! The rows of a trace come in chunks from a [`Feed`], so that a trace may be longer than memory. Whoever drives the
//! worker fills chunks ahead of time; taking one costs an exchange.
//!
//! A request of a trace may wait for others: those that had completed in the trace before it was issued. Rows say for
//! each request which row is the first that waits for it. Requests that a row waits for are also those of every later
//! row, so one instant, `base`, sums them up: when the last of them completed in this replay.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Debug;

use bytemuck::{Pod, Zeroable};

use crate::generate::Io;
use crate::plan::{Pacing, ReplayPlan};
use crate::request::{Errno, Kind};
use crate::time::Nanos;

/// The row that waits for a request which none waits for.
pub const NEVER: u32 = u32::MAX;

/// Rows of a chunk.
pub const CHUNK_ROWS: usize = 1 << 14;

/// One request of a trace, as Python compiles it: 32 bytes, little-endian, no padding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Row {
    /// When it is due: since the worker's start, or, if requests wait for others, since the last of these completed.
    pub due_ns: u64,
    /// Where, from the start of the file.
    pub offset_bytes: u64,
    /// How much.
    pub length_bytes: u32,
    /// Index into the worker's files.
    pub target: u32,
    /// How many rows later the first is that waits for this request; [`NEVER`] if none does.
    pub needed_after: u32,
    /// 0 read, 1 write, 2 trim, 3 sync, 4 datasync.
    pub kind: u8,
    /// 1 if it waits for a request that no row before it waited for.
    pub waits: u8,
    /// Zero.
    pub padding: u16,
}

impl Row {
    /// Returns the bytes of rows, to be read or written.
    pub fn bytes_of(rows: &mut [Row]) -> &mut [u8] {
        bytemuck::cast_slice_mut(rows)
    }

    fn io(&self) -> Io {
        let kind = match self.kind {
            0 => Kind::Read,
            1 => Kind::Write,
            2 => Kind::Trim,
            3 => Kind::Sync,
            _ => Kind::DataSync,
        };
        Io {
            target: self.target,
            kind,
            offset_bytes: self.offset_bytes,
            length_bytes: self.length_bytes,
        }
    }
}

/// What a feed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// The chunk was exchanged for the next.
    Chunk,
    /// The next chunk is not ready. The rows are late, which is the generator's fault.
    NotYet,
    /// The trace is over.
    End,
    /// The rows could not be read.
    Failed(Errno),
}

/// Where the rows of a trace come from.
pub trait Feed: Debug + Send {
    /// Exchanges a chunk that was used up for the next one, which is not empty. It neither allocates nor waits.
    fn exchange(&mut self, chunk: &mut Vec<Row>) -> Fed;
}

/// What follows in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This request, from this instant on; `None`: as soon as a slot is free.
    Request(Io, Option<Nanos>),
    /// A request that waits for others in flight.
    Blocked,
    /// Not known yet.
    NotYet,
    /// Nothing.
    End,
    /// Nothing, since the rows could not be read.
    Failed(Errno),
}

/// A request in flight, as far as rows may wait for it.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// The first row that waits for it.
    needed_by: u64,
}

/// The position in a trace.
#[derive(Debug)]
pub struct Replay {
    pacing: Pacing,
    feed: Box<dyn Feed>,
    chunk: Vec<Row>,
    /// The next row of the chunk, and its number in the trace.
    at: usize,
    number: u64,
    start: Nanos,
    /// When the last request completed that the next row waits for.
    base: Nanos,
    /// Requests in flight that the next row waits for; `None`: not counted yet.
    blockers: Option<u32>,
    /// By slot.
    in_flight: Box<[InFlight]>,
    /// Requests that completed before the row that waits for them: that row, and when they completed. Their number is
    /// at most the depth of the trace, so it never grows.
    early: BinaryHeap<Reverse<(u64, Nanos)>>,
}

/// A slot whose request no row waits for.
const FREE: InFlight = InFlight {
    needed_by: u64::MAX,
};

impl Replay {
    /// Creates a position before the first row. It allocates nothing after this.
    pub fn new(plan: &ReplayPlan, iodepth: u32, feed: Box<dyn Feed>) -> Self {
        let waits = plan.pacing.waits();
        let early = if waits {
            plan.trace_depth as usize + 1
        } else {
            0
        };
        Self {
            pacing: plan.pacing,
            feed,
            chunk: Vec::new(),
            at: 0,
            number: 0,
            start: 0,
            base: 0,
            blockers: None,
            in_flight: vec![FREE; iodepth as usize].into(),
            early: BinaryHeap::with_capacity(early),
        }
    }

    /// Begins at `start`.
    pub fn begin(&mut self, start: Nanos) {
        (self.start, self.base) = (start, start);
    }

    /// Returns the next request without taking it.
    #[inline]
    pub fn peek(&mut self) -> Next {
        if self.at == self.chunk.len() {
            match self.feed.exchange(&mut self.chunk) {
                Fed::Chunk => self.at = 0,
                Fed::NotYet => return Next::NotYet,
                Fed::End => return Next::End,
                Fed::Failed(errno) => return Next::Failed(errno),
            }
        }
        let row = self.chunk[self.at];
        if self.pacing.waits() && self.count_blockers(row.waits != 0) > 0 {
            return Next::Blocked;
        }
        Next::Request(row.io(), self.due(&row))
    }

    /// Takes the request that [`Replay::peek`] returned. It is in flight in `slot` from now on.
    #[inline]
    pub fn take(&mut self, slot: u32) {
        let row = self.chunk[self.at];
        if self.pacing.waits() {
            let needed_by = match row.needed_after {
                NEVER => u64::MAX,
                after => self.number + u64::from(after),
            };
            self.in_flight[slot as usize] = InFlight { needed_by };
            self.blockers = None;
        }
        self.at += 1;
        self.number += 1;
    }

    /// Takes the completion of the request in `slot`.
    #[inline]
    pub fn complete(&mut self, slot: u32, done: Nanos) {
        if !self.pacing.waits() {
            return;
        }
        let needed_by = std::mem::replace(&mut self.in_flight[slot as usize], FREE).needed_by;
        match &mut self.blockers {
            Some(blockers) if needed_by <= self.number => {
                *blockers -= 1;
                self.base = self.base.max(done);
            }
            _ if needed_by != u64::MAX => self.early.push(Reverse((needed_by, done))),
            _ => {}
        }
    }

    /// Returns when the next known request is due; `None`: it has no instant of its own, or is not known.
    pub fn next_due(&self) -> Option<Nanos> {
        let row = self.chunk.get(self.at)?;
        (self.pacing == Pacing::Timed).then(|| self.start.saturating_add(row.due_ns))
    }

    /// Counts the known rows that are due before `end`, up to `limit`.
    pub fn due_before(&self, end: Nanos, limit: u64) -> u64 {
        if self.pacing != Pacing::Timed {
            return 0;
        }
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let due = rest.partition_point(|row| self.start.saturating_add(row.due_ns) < end);
        limit.min(due as u64)
    }

    fn due(&self, row: &Row) -> Option<Nanos> {
        match self.pacing {
            Pacing::Timed => Some(self.start.saturating_add(row.due_ns)),
            Pacing::Closed => None,
            Pacing::Dependent => Some(self.base),
            Pacing::Think => Some(self.base.saturating_add(row.due_ns)),
        }
    }

    /// Returns how many requests in flight the next row waits for. Counts them once for each row that `waits` for more
    /// than the rows before it.
    fn count_blockers(&mut self, waits: bool) -> u32 {
        if let Some(blockers) = self.blockers {
            return blockers;
        }
        while let Some(&Reverse((needed_by, done))) = self.early.peek() {
            if needed_by > self.number {
                break;
            }
            self.early.pop();
            self.base = self.base.max(done);
        }
        let needed = |request: &&InFlight| request.needed_by <= self.number;
        let blockers = if waits {
            self.in_flight.iter().filter(needed).count() as u32
        } else {
            0
        };
        self.blockers = Some(blockers);
        blockers
    }
}
