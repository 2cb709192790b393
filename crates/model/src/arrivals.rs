//! Completions that a thread has not reaped, the earliest first; those of one instant in the order in which they came.

use iogauge_core::Nanos;

/// The completions of one thread. Most requests end after all that were submitted before them, so that a new entry
/// seldom moves others.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// Instants and slots. The first `taken` are no longer part of it.
    entries: Vec<(Nanos, u32)>,
    taken: usize,
}

impl Arrivals {
    /// Creates an empty list for `depth` completions at most.
    pub(crate) fn new(depth: u32) -> Self {
        Self {
            // With room for twice as many, entries that were taken are removed once in `depth` requests.
            entries: Vec::with_capacity(2 * depth as usize),
            taken: 0,
        }
    }

    /// Adds the completion of the request in `slot`, which arrives at `at`.
    #[inline]
    pub(crate) fn add(&mut self, slot: u32, at: Nanos) {
        if self.entries.len() == self.entries.capacity() {
            self.entries.drain(..self.taken);
            self.taken = 0;
        }
        let mut place = self.entries.len();
        self.entries.push((at, slot));
        while place > self.taken && self.entries[place - 1].0 > at {
            self.entries.swap(place - 1, place);
            place -= 1;
        }
    }

    /// Returns when the `count`-th completion arrives; `None` if that is not known, or if `count` is 0.
    #[inline]
    pub(crate) fn arrival_of(&self, count: usize) -> Option<Nanos> {
        let last = count.checked_sub(1)?;
        self.entries.get(self.taken + last).map(|&(at, _)| at)
    }

    /// Takes the first completion if it has arrived by `now`. Returns its slot.
    #[inline]
    pub(crate) fn take(&mut self, now: Nanos) -> Option<u32> {
        let &(at, slot) = self.entries.get(self.taken)?;
        if at > now {
            return None;
        }
        self.taken += 1;
        Some(slot)
    }

    /// Whether no completion is known.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.taken == self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_come_by_their_instants_and_then_as_they_were_added() {
        let mut arrivals = Arrivals::new(4);
        for round in 0..10 {
            let begins = round * 100;
            for (slot, at) in [(0, 30), (1, 10), (2, 30), (3, 20)] {
                arrivals.add(slot, begins + at);
            }
            let known = [0, 1, 2, 3, 4, 5].map(|count| arrivals.arrival_of(count));
            let expected = [10, 20, 30, 30].map(|at| Some(begins + at));
            assert_eq!(known[1..5], expected);
            assert_eq!((known[0], known[5]), (None, None));
            assert_eq!(arrivals.take(begins + 9), None);
            let taken = [10, 20, 30, 30].map(|at| arrivals.take(begins + at));
            assert_eq!(taken, [Some(1), Some(3), Some(0), Some(2)]);
            assert!(arrivals.is_empty() && arrivals.take(Nanos::MAX).is_none());
        }
    }
}
