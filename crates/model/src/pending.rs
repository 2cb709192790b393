//! Requests whose end is known, the earliest end first; those that end at one instant in the order in which they were
//! added.

use iogauge_core::Nanos;

use crate::drive::Returned;

/// Requests by their ends. Most end after all that were added before them, so that a new entry seldom moves others, and
/// costs less than in a heap.
#[derive(Debug)]
pub struct Pending<T> {
    /// The first `taken` are no longer part of it.
    entries: Vec<(Nanos, T)>,
    taken: usize,
}

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            taken: 0,
        }
    }
}

impl<T: Copy> Pending<T> {
    /// Adds a request that ends at `at`.
    #[inline]
    pub fn push(&mut self, request: T, at: Nanos) {
        if self.entries.len() == self.entries.capacity() {
            self.make_room();
        }
        let mut place = self.entries.len();
        self.entries.push((at, request));
        while place > self.taken && self.entries[place - 1].0 > at {
            self.entries.swap(place - 1, place);
            place -= 1;
        }
    }

    /// Removes those that were taken if they are half of the entries, so that this seldom happens.
    #[cold]
    fn make_room(&mut self) {
        if 2 * self.taken >= self.entries.len() {
            self.entries.drain(..self.taken);
            self.taken = 0;
        }
    }

    /// Returns when the next request ends.
    #[inline]
    pub fn next(&self) -> Option<Nanos> {
        self.entries.get(self.taken).map(|next| next.0)
    }

    /// Returns when the `count`-th request ends; `None` if there are fewer, or if `count` is 0.
    #[inline]
    pub fn end_of(&self, count: usize) -> Option<Nanos> {
        let last = count.checked_sub(1)?;
        self.entries.get(self.taken + last).map(|&(at, _)| at)
    }

    /// Takes the next request if it has ended by `now`. Returns it and when it ended.
    #[inline]
    pub fn take(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        let &next = self.entries.get(self.taken)?;
        if next.0 > now {
            return None;
        }
        self.taken += 1;
        if self.taken == self.entries.len() {
            self.entries.clear();
            self.taken = 0;
        }
        Some(next)
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.taken == self.entries.len()
    }
}

impl Pending<u64> {
    /// Takes all requests that have ended by `now`, which are tickets.
    #[inline]
    pub fn return_by(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        while let Some((at, ticket)) = self.take(now) {
            returned.push(Returned { ticket, at });
        }
    }
}

#[cfg(test)]
mod tests {
    use iogauge_core::generate::{Rng, Stream};

    use super::*;

    #[test]
    fn requests_come_by_their_ends_and_then_as_they_were_added() {
        let mut rng = Rng::new(1, Stream::Mix);
        let (mut pending, mut expected) = (Pending::default(), Vec::new());
        for ticket in 0..5000 {
            let at = ticket / 8 + rng.below(100);
            pending.push(ticket, at);
            expected.push((at, ticket));
            if rng.below(2) == 0 {
                expected.sort_unstable();
                let end_of = |count: usize| expected.get(count).map(|next| next.0);
                assert_eq!(pending.next(), end_of(0));
                assert_eq!(pending.end_of(3), end_of(2));
                assert_eq!(pending.end_of(0), None);
                assert_eq!(pending.take(expected[0].0 - 1), None);
                assert_eq!(pending.take(expected[0].0), Some(expected.remove(0)));
            }
            assert_eq!(pending.is_empty(), expected.is_empty());
        }
        expected.sort_unstable();
        let mut returned = Vec::new();
        pending.return_by(Nanos::MAX, &mut returned);
        let expected = expected.iter().map(|&(at, ticket)| Returned { ticket, at });
        assert!(returned.into_iter().eq(expected));
        assert!(pending.is_empty() && pending.next().is_none());
    }
}
