//! The writes that are still to be read back, the last one of every block.
//!
//! As in fio, a write takes the place of earlier ones that it overlaps, even in part. Under a random map, which repeats no
//! block, the history is a list in the order of the writes; otherwise it is sorted by file and offset.
//!
//! Unlike fio's, it knows what is in flight: [`History::conflicts`] says whether a request would overlap a write that has
//! not returned, or a block that is being read back or trimmed. The order of the two would be unknown, and a block that is read
//! while it is written has half of each. The worker waits instead.
//!
//! Some writes are trimmed before they are read back; a queue has those that are still to be trimmed.
//!
//! Memory: 8 bytes and one bit for every block of the region, 4 bytes more for a list, and 8 for the queue. A block is the largest unit of
//! which all offsets and lengths are multiples. Nothing allocates after [`History::new`].
//!
//! Source: fio 3.33's iolog.c (log_io_piece) and verify.c (get_next_verify).

use std::ops::Range;

use super::marks::{Marks, filled};
use super::queue::Queue;
use crate::generate::{Io, PatternError, Rng, Stream};
use crate::plan::{PatternPlan, SizesPlan, VerifyTrims};
use crate::request::Kind;

/// A write that is remembered at its first block. `length` is zero where none begins.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u32,
    /// Blocks, [`IN_FLIGHT`] and [`TRIMMED`].
    length: u32,
}

const NOTHING: Entry = Entry {
    number: 0,
    length: 0,
};

/// Its write, or its trim, has not returned yet.
const IN_FLIGHT: u32 = 1 << 31;
/// It was trimmed, and is read back as zeroes.
const TRIMMED: u32 = 1 << 30;

impl Entry {
    const fn blocks(self) -> usize {
        (self.length & !(IN_FLIGHT | TRIMMED)) as usize
    }
}

/// Where the blocks of one file are.
#[derive(Clone, Copy, Debug)]
struct FileBlocks {
    region_offset_bytes: u64,
    first: usize,
    count: usize,
}

/// The order in which writes were made, where it is kept.
#[derive(Debug)]
struct Order {
    /// First blocks: a ring.
    ring: Box<[u32]>,
    head: usize,
    length: usize,
}

impl Order {
    fn push(&mut self, block: usize) {
        let capacity = self.ring.len();
        if self.length == capacity {
            self.pop();
        }
        self.ring[(self.head + self.length) % capacity] = block as u32;
        self.length += 1;
    }

    fn peek(&self) -> Option<usize> {
        (self.length > 0).then(|| self.ring[self.head] as usize)
    }

    fn pop(&mut self) {
        self.head = (self.head + 1) % self.ring.len();
        self.length -= 1;
    }
}

/// A write to read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recall {
    /// The read.
    pub io: Io,
    /// The number of the write.
    pub number: u32,
    /// Whether the write was trimmed.
    pub trimmed: bool,
}

/// The writes that are still to be trimmed.
#[derive(Debug)]
struct Trims {
    percentage: u64,
    /// Whether what was trimmed is read back.
    reads_zeroes: bool,
    draws: Rng,
    /// First blocks, in the order of the writes.
    queue: Queue,
}

/// The history of one worker's writes.
#[derive(Debug)]
pub struct History {
    unit_bytes: u64,
    files: Box<[FileBlocks]>,
    entries: Box<[Entry]>,
    marks: Marks,
    order: Option<Order>,
    /// Writes that are remembered.
    count: usize,
    /// The longest write, in blocks.
    longest: usize,
    /// Blocks that are being read back, or trimmed and forgotten: at most one range a slot.
    busy: Vec<Range<usize>>,
    trims: Option<Trims>,
}

impl History {
    /// Creates the history of a pattern over `(offset, bytes)` of each file, for `iodepth` requests in flight.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn new(
        plan: &PatternPlan,
        regions: &[(u64, u64)],
        iodepth: u32,
    ) -> Result<Self, PatternError> {
        let unit_bytes = unit_bytes(plan);
        let mut total = 0;
        let files: Box<[FileBlocks]> = regions
            .iter()
            .map(|&(region_offset_bytes, bytes)| {
                let first = total;
                let count = bytes.div_ceil(unit_bytes) as usize;
                total += count;
                FileBlocks {
                    region_offset_bytes,
                    first,
                    count,
                }
            })
            .collect();
        let ordered = plan.covers_blocks_once();
        let no_memory = || PatternError::NoHistory {
            blocks: total as u64,
        };
        if u32::try_from(total).is_err() {
            return Err(no_memory());
        }
        let order = || {
            Some(Order {
                ring: filled(total.max(1), 0)?,
                head: 0,
                length: 0,
            })
        };
        Ok(Self {
            unit_bytes,
            files,
            entries: filled(total, NOTHING).ok_or_else(no_memory)?,
            marks: Marks::new(total).ok_or_else(no_memory)?,
            order: if ordered {
                Some(order().ok_or_else(no_memory)?)
            } else {
                None
            },
            count: 0,
            longest: (u64::from(plan.sizes.write.largest_bytes()).div_ceil(unit_bytes)) as usize,
            busy: Vec::with_capacity(iodepth as usize),
            trims: None,
        })
    }

    /// Makes it draw which writes are trimmed.
    ///
    /// # Errors
    /// If memory does not suffice.
    pub fn with_trims(mut self, plan: &VerifyTrims, seed: u64) -> Result<Self, PatternError> {
        let blocks = self.entries.len();
        let queue = Queue::new(blocks).ok_or(PatternError::NoHistory {
            blocks: blocks as u64,
        })?;
        self.trims = Some(Trims {
            percentage: plan.percentage.into(),
            reads_zeroes: plan.reads_zeroes,
            draws: Rng::new(seed, Stream::Trims),
            queue,
        });
        Ok(self)
    }

    /// Returns the bytes that a history needs.
    pub fn needed_bytes(
        plan: &PatternPlan,
        regions_bytes: impl Iterator<Item = u64>,
        trims: bool,
    ) -> u64 {
        let unit = unit_bytes(plan);
        let blocks: u64 = regions_bytes.map(|bytes| bytes.div_ceil(unit)).sum();
        let ordered = plan.covers_blocks_once();
        let order = if ordered { 4 } else { 0 };
        let queue = if trims { 8 } else { 0 };
        blocks * (8 + order + queue) + blocks / 8
    }

    /// Returns how many writes it has.
    #[inline]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no writes.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a write or trim has to wait for a request in flight, because it overlaps it.
    #[inline]
    pub fn conflicts(&self, io: &Io) -> bool {
        let blocks = self.blocks(io);
        self.busy
            .iter()
            .any(|busy| busy.start < blocks.end && blocks.start < busy.end)
            || self
                .overlapped(&blocks)
                .any(|at| self.entries[at].length & IN_FLIGHT != 0)
    }

    /// Remembers a write that is being issued, instead of those that it overlaps. A trim makes it forget them.
    #[inline]
    pub fn issued(&mut self, io: &Io, number: u32) {
        let blocks = self.blocks(io);
        self.forget_overlapped(&blocks);
        if io.kind == Kind::Write {
            let length = blocks.len() as u32 | IN_FLIGHT;
            self.entries[blocks.start] = Entry { number, length };
            self.count += 1;
            match &mut self.order {
                Some(order) => order.push(blocks.start),
                None => self.marks.set(blocks.start),
            }
            if let Some(trims) = &mut self.trims
                && trims.draws.below(100) < trims.percentage
            {
                trims.queue.push(blocks.start);
            }
        }
    }

    /// Notes that a write, or the trim of one that is read back, returned. A failed one is forgotten: what the blocks hold is unknown.
    #[inline]
    pub fn returned(&mut self, io: &Io, succeeded: bool) {
        let start = self.blocks(io).start;
        if succeeded {
            self.entries[start].length &= !IN_FLIGHT;
        } else {
            self.forget(start);
        }
    }

    /// Takes the next write to read back. `None` if there is none, or if the next one has not returned.
    #[inline]
    pub fn take(&mut self) -> Option<Recall> {
        let start = self.first()?;
        let entry = self.entries[start];
        if entry.length & IN_FLIGHT != 0 {
            return None;
        }
        self.forget(start);
        self.busy.push(start..start + entry.blocks());
        Some(Recall {
            io: self.io(Kind::Read, start, entry.blocks()),
            number: entry.number,
            trimmed: entry.length & TRIMMED != 0,
        })
    }

    /// Notes that a write was read back.
    #[inline]
    pub fn was_read(&mut self, io: &Io) {
        let start = self.blocks(io).start;
        if let Some(at) = self.busy.iter().position(|busy| busy.start == start) {
            self.busy.swap_remove(at);
        }
    }

    /// Whether some writes are still to be trimmed.
    #[inline]
    pub fn owes_trims(&self) -> bool {
        let trims = self.trims.as_ref();
        trims.is_some_and(|trims| trims.queue.first().is_some())
    }

    /// Takes the next write to trim. `None` if there is none, or if the next one has not returned.
    #[inline]
    pub fn take_trim(&mut self) -> Option<Io> {
        let trims = self.trims.as_mut()?;
        let start = trims.queue.first()?;
        let entry = &mut self.entries[start];
        if entry.length & IN_FLIGHT != 0 {
            return None;
        }
        let blocks = entry.blocks();
        if trims.reads_zeroes {
            trims.queue.remove(start);
            entry.length |= IN_FLIGHT | TRIMMED;
        } else {
            self.forget(start);
            self.busy.push(start..start + blocks);
        }
        Some(self.io(Kind::Trim, start, blocks))
    }

    /// Notes that a write was trimmed. If that failed, what the blocks hold is unknown.
    #[inline]
    pub fn was_trimmed(&mut self, io: &Io, succeeded: bool) {
        if self.trims.as_ref().is_some_and(|trims| trims.reads_zeroes) {
            self.returned(io, succeeded);
        } else {
            self.was_read(io);
        }
    }

    /// Returns the first block of the next write.
    fn first(&mut self) -> Option<usize> {
        let Some(order) = &mut self.order else {
            return self.marks.first();
        };
        while let Some(start) = order.peek() {
            if self.entries[start].length != 0 {
                return Some(start);
            }
            order.pop(); // It was overwritten, or failed.
        }
        None
    }

    fn forget(&mut self, start: usize) {
        if self.entries[start].length != 0 {
            self.entries[start] = NOTHING;
            self.count -= 1;
            match &mut self.order {
                None => self.marks.unset(start),
                // So that no place in it outlives its write into the next pass.
                Some(order) if self.count == 0 => order.length = 0,
                Some(_) => {}
            }
            if let Some(trims) = &mut self.trims {
                trims.queue.remove(start);
            }
        }
    }

    #[inline]
    fn forget_overlapped(&mut self, blocks: &Range<usize>) {
        let from = blocks.start.saturating_sub(self.longest - 1);
        for start in from..blocks.end {
            let length = self.entries[start].blocks();
            if length > 0 && start + length > blocks.start {
                self.forget(start);
            }
        }
    }

    /// Returns the first blocks of the writes that blocks overlap.
    #[inline]
    fn overlapped<'a>(&'a self, blocks: &Range<usize>) -> impl Iterator<Item = usize> + use<'a> {
        let begin = blocks.start;
        let from = begin.saturating_sub(self.longest - 1);
        (from..blocks.end).filter(move |&start| {
            let length = self.entries[start].blocks();
            length > 0 && start + length > begin
        })
    }

    #[inline]
    fn blocks(&self, io: &Io) -> Range<usize> {
        let file = self.files[io.target as usize];
        let relative = io.offset_bytes - file.region_offset_bytes;
        let first = (relative / self.unit_bytes) as usize;
        let end = (relative + u64::from(io.length_bytes)).div_ceil(self.unit_bytes) as usize;
        file.first + first..file.first + end.min(file.count)
    }

    fn io(&self, kind: Kind, start: usize, blocks: usize) -> Io {
        let target = self.files.partition_point(|file| file.first <= start) - 1;
        let file = self.files[target];
        Io {
            target: target as u32,
            kind,
            offset_bytes: file.region_offset_bytes + (start - file.first) as u64 * self.unit_bytes,
            length_bytes: (blocks as u64 * self.unit_bytes) as u32,
        }
    }
}

/// Returns the largest unit of which all offsets, from the start of the region, and all lengths are multiples.
fn unit_bytes(plan: &PatternPlan) -> u64 {
    let sizes = |sizes: &SizesPlan| {
        let split = sizes.split.iter();
        split.fold(
            gcd(sizes.minimum_bytes.into(), sizes.align_bytes.into()),
            |unit, share| gcd(unit, share.size_bytes.into()),
        )
    };
    let mut unit = sizes(&plan.sizes.write);
    // A sequential stream continues where the last request ended, whatever its direction.
    if plan.rw.reads() {
        unit = gcd(unit, sizes(&plan.sizes.read));
    }
    if plan.rw.trims() {
        unit = gcd(unit, sizes(&plan.sizes.trim));
    }
    if plan.rw.random() {
        unit
    } else {
        gcd(unit, plan.sequence.unsigned_abs())
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
