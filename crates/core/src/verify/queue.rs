//! A queue of numbers from which any can be removed: a list whose links are in two arrays.

use super::marks::filled;

const NONE: u32 = u32::MAX;
/// In `next`, of a number that is not in the queue.
const ABSENT: u32 = u32::MAX - 1;

/// A queue of numbers in `[0, count)`, each at most once.
#[derive(Debug)]
pub(super) struct Queue {
    next: Box<[u32]>,
    previous: Box<[u32]>,
    first: u32,
    last: u32,
}

impl Queue {
    /// Creates an empty queue. Returns `None` if memory does not suffice, or if there are too many numbers.
    pub(super) fn new(count: usize) -> Option<Self> {
        (count <= ABSENT as usize).then_some(())?;
        Some(Self {
            next: filled(count, ABSENT)?,
            previous: filled(count, NONE)?,
            first: NONE,
            last: NONE,
        })
    }

    /// Returns the number that was added first.
    #[inline]
    pub(super) fn first(&self) -> Option<usize> {
        (self.first != NONE).then_some(self.first as usize)
    }

    /// Adds a number that is not in the queue.
    #[inline]
    pub(super) fn push(&mut self, number: usize) {
        debug_assert_eq!(self.next[number], ABSENT, "{number} is queued twice");
        self.next[number] = NONE;
        self.previous[number] = self.last;
        match self.last {
            NONE => self.first = number as u32,
            last => self.next[last as usize] = number as u32,
        }
        self.last = number as u32;
    }

    /// Removes a number, if it is in the queue.
    #[inline]
    pub(super) fn remove(&mut self, number: usize) {
        let next = std::mem::replace(&mut self.next[number], ABSENT);
        if next == ABSENT {
            return;
        }
        let previous = self.previous[number];
        match previous {
            NONE => self.first = next,
            previous => self.next[previous as usize] = next,
        }
        match next {
            NONE => self.last = previous,
            next => self.previous[next as usize] = previous,
        }
    }
}
