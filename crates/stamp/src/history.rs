//! What a drive had to keep: the log, summed up for each block of a part of a file.
//!
//! A version is replaced if it ended before a durable write began. So of all durable writes of a block, the one that
//! began last decides, and a block needs little more than the position of its beginning, however long the log is.

use std::collections::HashMap;
use std::ops::Range;

use crate::log::Record;

/// Which completed writes survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surviving {
    /// Those that were flushed or had FUA: the power was cut, and the cache is volatile.
    Flushed,
    /// All: the drive kept its power, or its cache is not volatile.
    Completed,
}

/// What the log says of one block. Positions are those of records; the first is 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Writes of it that began.
    pub writes: u64,
    /// The last of them.
    pub newest: u64,
    /// Where the last durable write began; 0: none is durable.
    pub durable_from: u64,
    /// The same before `durable_from` last rose.
    pub earlier_from: u64,
    /// The record by which it last rose.
    raised_by: u64,
    /// Writes that completed and were not flushed since: by the number of flushes that had begun, where the last of
    /// them began.
    completed: Vec<(u64, u64)>,
}

impl Standing {
    /// Notes that a write that began at a position is durable, because of the record at `event`.
    fn raise(&mut self, begin: u64, event: u64) {
        if begin <= self.durable_from {
            return;
        }
        if self.raised_by != event {
            self.earlier_from = self.durable_from;
            self.raised_by = event;
        }
        self.durable_from = begin;
    }

    /// Notes a completed write that began at a position. Returns whether it is the first that is not flushed.
    fn complete(&mut self, flushes: u64, begin: u64) -> bool {
        match self.completed.last_mut() {
            Some((number, last)) if *number == flushes => *last = begin.max(*last),
            _ => self.completed.push((flushes, begin)),
        }
        self.completed.len() == 1
    }

    /// Notes that a flush completed before which `number` others began. Returns whether writes are left that it did not
    /// cover.
    fn flush(&mut self, number: u64, event: u64) -> bool {
        let covered = self
            .completed
            .partition_point(|&(flushes, _)| flushes <= number);
        if let Some(begin) = self
            .completed
            .drain(..covered)
            .map(|(_, begin)| begin)
            .max()
        {
            self.raise(begin, event);
        }
        !self.completed.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    begin: u64,
    offset_bytes: u64,
    length_bytes: u32,
    fua: bool,
}

/// What a drive had to keep, of a part of a file.
#[derive(Debug)]
pub struct History {
    surviving: Surviving,
    file: u16,
    block_bytes: u32,
    window: Range<u64>,
    blocks: HashMap<u64, Standing>,
    open: HashMap<u64, Open>,
    /// By the number of a flush in flight: how many began before.
    flushing: HashMap<u64, u64>,
    flushes: u64,
    /// Blocks that have writes that completed and were not flushed.
    unflushed: Vec<u64>,
}

impl History {
    /// Begins with an empty log. `window`: the bytes of the file that count, from a multiple of `block_bytes`.
    pub fn new(surviving: Surviving, file: u16, block_bytes: u32, window: Range<u64>) -> Self {
        Self {
            surviving,
            file,
            block_bytes,
            window,
            blocks: HashMap::new(),
            open: HashMap::new(),
            flushing: HashMap::new(),
            flushes: 0,
            unflushed: Vec::new(),
        }
    }

    /// Takes the next record, from its position in the log.
    pub fn record(&mut self, position: u64, record: Record) {
        match record {
            Record::Write {
                sequence,
                file,
                offset_bytes,
                length_bytes,
                fua,
            } if file == self.file => {
                let write = Open {
                    begin: position,
                    offset_bytes,
                    length_bytes,
                    fua,
                };
                self.begin(sequence, write);
            }
            Record::Written { sequence } => {
                if let Some(write) = self.open.remove(&sequence) {
                    self.complete(position, write);
                }
            }
            Record::Failed { sequence } => {
                self.open.remove(&sequence);
            }
            Record::Flush { sequence, file } if file == self.file => {
                self.flushing.insert(sequence, self.flushes);
                self.flushes += 1;
            }
            Record::Flushed { sequence } => {
                if let Some(number) = self.flushing.remove(&sequence) {
                    self.flush(position, number);
                }
            }
            Record::Write { .. } | Record::Flush { .. } => {}
        }
    }

    fn begin(&mut self, sequence: u64, write: Open) {
        let blocks = self.blocks_of(&write);
        if blocks.is_empty() {
            return;
        }
        for block in blocks {
            let standing = self.blocks.entry(block).or_default();
            standing.writes += 1;
            standing.newest = sequence;
        }
        self.open.insert(sequence, write);
    }

    fn complete(&mut self, position: u64, write: Open) {
        let durable = write.fua || self.surviving == Surviving::Completed;
        for block in self.blocks_of(&write) {
            let standing = self.blocks.entry(block).or_default();
            if durable {
                standing.raise(write.begin, position);
            } else if standing.complete(self.flushes, write.begin) {
                self.unflushed.push(block);
            }
        }
    }

    fn flush(&mut self, position: u64, number: u64) {
        let blocks = &mut self.blocks;
        self.unflushed.retain(|block| {
            let standing = blocks.get_mut(block);
            standing.is_some_and(|standing| standing.flush(number, position))
        });
    }

    /// Returns the numbers of a write's blocks within the window.
    fn blocks_of(&self, write: &Open) -> Range<u64> {
        let size = u64::from(self.block_bytes);
        let end = write.offset_bytes.saturating_add(write.length_bytes.into());
        let first = write.offset_bytes.max(self.window.start) / size;
        let end = end.min(self.window.end).div_ceil(size);
        first..end.max(first)
    }

    /// Returns what the log says of the block at an offset; `None` if none of its writes began.
    pub fn standing(&self, offset_bytes: u64) -> Option<&Standing> {
        self.blocks
            .get(&(offset_bytes / u64::from(self.block_bytes)))
    }

    /// Returns the ranges of the file that were written, in order and apart, bytes.
    pub fn written(&self) -> Vec<Range<u64>> {
        let size = u64::from(self.block_bytes);
        let mut blocks: Vec<u64> = self.blocks.keys().copied().collect();
        blocks.sort_unstable();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for block in blocks {
            match ranges.last_mut() {
                Some(last) if last.end == block * size => last.end += size,
                _ => ranges.push(block * size..(block + 1) * size),
            }
        }
        ranges
    }
}
