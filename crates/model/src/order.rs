//! Which thread continues next: the earliest; of several at one instant, the first in the job file.

use iogauge_core::Nanos;

/// When each thread of a stage continues, and its index, the next first. A stage has few threads, and the one that has
/// continued often becomes one of the last, so that keeping them sorted costs less than a heap.
#[derive(Debug)]
pub(crate) struct Order(Box<[(Nanos, usize)]>);

impl Order {
    /// Sorts threads by when they continue.
    pub(crate) fn new(due: impl Iterator<Item = Nanos>) -> Self {
        let mut order: Box<[_]> = due.zip(0..).collect();
        order.sort_unstable();
        Self(order)
    }

    /// Returns when the next thread continues, and its index; never, if there is none.
    #[inline]
    pub(crate) fn first(&self) -> (Nanos, usize) {
        self.0.first().copied().unwrap_or((Nanos::MAX, 0))
    }

    /// Returns the thread after the first, as [`Order::first`].
    #[inline]
    pub(crate) fn second(&self) -> (Nanos, usize) {
        self.0.get(1).copied().unwrap_or((Nanos::MAX, usize::MAX))
    }

    /// Notes that the first thread continues at `due`.
    #[inline]
    pub(crate) fn set_first(&mut self, due: Nanos) {
        let order = &mut *self.0;
        let Some(&mut (ref mut at, index)) = order.first_mut() else {
            return;
        };
        *at = due;
        let later = (due, index);
        let mut place = 0;
        while let Some(&next) = order.get(place + 1)
            && is_before(next, later)
        {
            order[place] = next;
            place += 1;
        }
        order[place] = later;
    }

    /// Notes that the thread at `index` continues at `due`.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, due: Nanos) {
        let order = &mut *self.0;
        let Some(mut place) = order.iter().position(|&(_, other)| other == index) else {
            return;
        };
        order[place].0 = due;
        while place > 0 && is_before(order[place], order[place - 1]) {
            order.swap(place - 1, place);
            place -= 1;
        }
        while place + 1 < order.len() && is_before(order[place + 1], order[place]) {
            order.swap(place, place + 1);
            place += 1;
        }
    }
}

/// Compares without the three-way comparison of tuples, because this runs several times for every request.
#[inline]
pub(crate) fn is_before(one: (Nanos, usize), other: (Nanos, usize)) -> bool {
    one.0 < other.0 || (one.0 == other.0 && one.1 < other.1)
}

#[cfg(test)]
mod tests {
    use iogauge_core::generate::{Rng, Stream};

    use super::*;

    #[test]
    fn the_next_is_the_earliest_and_then_the_first() {
        let mut rng = Rng::new(1, Stream::Mix);
        for threads in 1..6 {
            let mut due = vec![Nanos::MAX; threads];
            let mut order = Order::new(due.iter().copied());
            for _ in 0..1000 {
                let index = rng.below(threads as u64) as usize;
                due[index] = rng.below(8);
                order.set(index, due[index]);
                let mut sorted: Vec<_> = due.iter().copied().zip(0..).collect();
                sorted.sort_unstable();
                assert_eq!(order.first(), sorted[0]);
                let none = (Nanos::MAX, usize::MAX);
                assert_eq!(order.second(), sorted.get(1).copied().unwrap_or(none));
                let first = sorted[0].1;
                due[first] = rng.below(8);
                order.set_first(due[first]);
                let next = due.iter().copied().zip(0..).min();
                assert_eq!(Some(order.first()), next);
            }
        }
    }
}
