//! The write buffer: chunks enter in order and leave in units that a die programs at once.
//!
//! A chunk keeps its place until it is programmed. Chunks of several requests share a unit in the order in which they
//! came; an overwrite of a buffered chunk takes another place. A table of recent chunks answers reads. It forgets a
//! chunk when a later one takes its entry, so a few reads go to a die without need.

use std::collections::VecDeque;

use crate::drive::CHUNK;

/// Most entries of the table of recent chunks.
const MOST_RECENT: u64 = 1 << 16;

/// The write buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    unit_chunks: u32,
    /// Most chunks that it holds: a multiple of a unit, so that a full buffer always has something to program.
    places: u64,
    /// Chunks in it.
    held: u64,
    /// Chunks put in so far.
    put: u64,
    /// Chunks of the unit that is being filled.
    open: u32,
    /// Chunks of each unit that waits for a die.
    ready: VecDeque<u32>,
    /// Units filled so far, and how many of them went to a die.
    filled: u64,
    on_dies: u64,
    /// The first unit that is not programmed, and whether each one after it is.
    programmed: u64,
    after: VecDeque<bool>,
    /// Entries of the table: a chunk, and its number among those put in.
    recent: Box<[(u64, u64)]>,
}

impl Buffer {
    pub(super) fn new(bytes: u64, unit_chunks: u32) -> Self {
        let unit = u64::from(unit_chunks);
        let places = (bytes / CHUNK / unit).max(1) * unit;
        let entries = (4 * places).next_power_of_two().min(MOST_RECENT);
        Self {
            unit_chunks,
            places,
            held: 0,
            put: 0,
            open: 0,
            ready: VecDeque::new(),
            filled: 0,
            on_dies: 0,
            programmed: 0,
            after: VecDeque::new(),
            recent: vec![(u64::MAX, 0); entries as usize].into(),
        }
    }

    /// Returns how many chunks it has room for.
    #[inline]
    pub(super) fn room(&self) -> u64 {
        self.places - self.held
    }

    /// Returns how many chunks are in it.
    #[inline]
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Puts chunks `[first, first + count)` in. There must be room.
    #[inline]
    pub(super) fn put(&mut self, first: u64, count: u64) {
        for chunk in first..first + count {
            let entry = chunk as usize & (self.recent.len() - 1);
            self.recent[entry] = (chunk, self.put);
            self.put += 1;
            self.open += 1;
            if self.open == self.unit_chunks {
                self.close();
            }
        }
        self.held += count;
    }

    /// Whether a chunk is still in the buffer.
    #[inline]
    pub(super) fn has(&self, chunk: u64) -> bool {
        if self.held == 0 {
            return false;
        }
        let (recent, number) = self.recent[chunk as usize & (self.recent.len() - 1)];
        recent == chunk && number + self.held >= self.put
    }

    /// Forgets the trimmed chunks `[first, first + count)`. They still keep their places.
    pub(super) fn forget(&mut self, first: u64, count: u64) {
        let trimmed = first..first + count;
        if count < self.recent.len() as u64 {
            for chunk in trimmed {
                let entry = &mut self.recent[chunk as usize & (self.recent.len() - 1)];
                if entry.0 == chunk {
                    entry.0 = u64::MAX;
                }
            }
        } else {
            for entry in &mut self.recent {
                if trimmed.contains(&entry.0) {
                    entry.0 = u64::MAX;
                }
            }
        }
    }

    /// Closes the unit that is being filled.
    pub(super) fn close(&mut self) {
        if self.open > 0 {
            self.ready.push_back(self.open);
            self.open = 0;
            self.filled += 1;
        }
    }

    /// Whether a unit is being filled.
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Whether a unit waits for a die.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the next unit for a die. Returns its number and its chunks.
    #[inline]
    pub(super) fn give(&mut self) -> Option<(u64, u32)> {
        let chunks = self.ready.pop_front()?;
        self.after.push_back(false);
        self.on_dies += 1;
        Some((self.on_dies - 1, chunks))
    }

    /// Notes that a unit is programmed.
    #[inline]
    pub(super) fn release(&mut self, unit: u64, chunks: u32) {
        self.held -= u64::from(chunks);
        self.after[(unit - self.programmed) as usize] = true;
        while self.after.front() == Some(&true) {
            self.after.pop_front();
            self.programmed += 1;
        }
    }

    /// Returns how many units were filled so far. A flush waits for all of them.
    pub(super) fn filled(&self) -> u64 {
        self.filled
    }

    /// Returns the first unit that is not programmed.
    #[inline]
    pub(super) fn programmed(&self) -> u64 {
        self.programmed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_leave_in_units_and_are_readable_until_then() {
        let mut buffer = Buffer::new(70_000, 4);
        assert_eq!(buffer.room(), 16);
        buffer.put(10, 5);
        assert!(buffer.has(10) && buffer.has(14) && !buffer.has(15));
        assert_eq!((buffer.give(), buffer.give()), (Some((0, 4)), None));
        buffer.close();
        assert_eq!(buffer.give(), Some((1, 1)));
        buffer.release(1, 1);
        // The first unit is not yet programmed, so a flush still waits.
        assert_eq!((buffer.programmed(), buffer.filled()), (0, 2));
        buffer.release(0, 4);
        assert_eq!((buffer.programmed(), buffer.room()), (2, 16));
        assert!(!buffer.has(14));
        buffer.put(20, 2);
        buffer.forget(21, 1);
        assert!(buffer.has(20) && !buffer.has(21));
        buffer.forget(0, 1 << 20);
        assert!(!buffer.has(20));
    }
}
