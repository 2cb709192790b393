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

    /// Returns the next thread besides the one at `index`, as [`Order::first`].
    #[inline]
    pub(crate) fn rival_of(&self, index: usize) -> (Nanos, usize) {
        match &*self.0 {
            [first, ..] if first.1 != index => *first,
            [_, second, ..] => *second,
            _ => (Nanos::MAX, usize::MAX),
        }
    }

    /// Notes that the thread at `index` continues at `due`.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, due: Nanos) {
        let order = &mut *self.0;
        let Some(mut place) = order.iter().position(|&(_, other)| other == index) else {
            return;
        };
        order[place].0 = due;
        while place > 0 && order[place] < order[place - 1] {
            order.swap(place - 1, place);
            place -= 1;
        }
        while place + 1 < order.len() && order[place + 1] < order[place] {
            order.swap(place, place + 1);
            place += 1;
        }
    }
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
                let rival = sorted.into_iter().find(|&(_, other)| other != index);
                let none = (Nanos::MAX, usize::MAX);
                assert_eq!(order.rival_of(index), rival.unwrap_or(none));
            }
        }
    }
}
