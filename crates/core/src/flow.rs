//! Workers that proceed in the proportion of their weights: fio's `flow`.
//!
//! A worker is held while its part of the flow's requests exceeds its part of the flow's weights. That cannot hold for
//! all workers at once, so one can always issue. When a worker ends, its requests and weight are subtracted.
//!
//! Source: fio 3.33's flow.c.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the workers of one flow count together. Threads may see each other's counts late, which evens out.
#[derive(Debug)]
struct Flow {
    /// Requests issued, and one more.
    issued: AtomicU64,
    weights: AtomicU64,
}

/// One worker's part of a flow.
#[derive(Debug)]
pub struct Share {
    flow: Arc<Flow>,
    weight: u64,
    issued: u64,
}

impl Share {
    /// Creates the shares of workers with the given weights.
    pub fn of_one_flow(weights: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let weights: Vec<u64> = weights.into_iter().collect();
        let flow = Arc::new(Flow {
            issued: AtomicU64::new(1),
            weights: AtomicU64::new(weights.iter().sum()),
        });
        let share = |weight| Self {
            flow: flow.clone(),
            weight,
            issued: 0,
        };
        weights.into_iter().map(share).collect()
    }

    /// Whether its worker must let others issue first.
    pub(crate) fn is_held(&self) -> bool {
        let issued = u128::from(self.flow.issued.load(Ordering::Relaxed));
        let weights = u128::from(self.flow.weights.load(Ordering::Relaxed));
        u128::from(self.issued) * weights > u128::from(self.weight) * issued
    }

    /// Counts a request of its worker.
    pub(crate) fn count(&mut self) {
        self.issued += 1;
        self.flow.issued.fetch_add(1, Ordering::Relaxed);
    }

    /// Leaves the flow; the others share what is left. It is never held again.
    pub(crate) fn leave(&mut self) {
        let (issued, weight) = (
            std::mem::take(&mut self.issued),
            std::mem::take(&mut self.weight),
        );
        self.flow.issued.fetch_sub(issued, Ordering::Relaxed);
        self.flow.weights.fetch_sub(weight, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Share;

    /// Returns how many of `requests` each worker issues. `next` draws which worker tries; a held one does not issue.
    fn issue(shares: &mut [Share], requests: u64, mut next: impl FnMut() -> usize) -> Vec<u64> {
        let before: Vec<u64> = shares.iter().map(|share| share.issued).collect();
        let mut left = requests;
        while left > 0 {
            assert!(shares.iter().any(|share| !share.is_held()), "all are held");
            let share = &mut shares[next()];
            if !share.is_held() {
                share.count();
                left -= 1;
            }
        }
        let after = shares.iter().map(|share| share.issued);
        after
            .zip(before)
            .map(|(after, before)| after - before)
            .collect()
    }

    proptest! {
        #[test]
        fn workers_issue_in_the_proportion_of_their_weights_in_any_order(
            weights in prop::collection::vec(1u64..=1000, 1..6),
            order in prop::collection::vec(any::<prop::sample::Index>(), 1..50),
        ) {
            let count = weights.len();
            let mut shares = Share::of_one_flow(weights.iter().copied());
            // Everyone tries now and then.
            let mut turns = order.iter().map(|index| index.index(count)).chain(0..count).collect::<Vec<_>>().into_iter().cycle();
            let issued = issue(&mut shares, 10_000, || turns.next().unwrap());
            let total: u64 = weights.iter().sum();
            for (&issued, &weight) in issued.iter().zip(&weights) {
                let due = 10_000.0 * weight as f64 / total as f64;
                // No worker is more than a request ahead; one that is behind waits for all others to be ahead.
                prop_assert!(issued as f64 <= due + 2.0 && issued as f64 >= due - 2.0 * count as f64);
            }
        }
    }

    #[test]
    fn those_that_remain_share_what_one_leaves() {
        let mut shares = Share::of_one_flow([3, 2, 1]);
        let mut turn = 0;
        let mut next = |count: usize| {
            turn += 1;
            turn % count
        };
        let near = |issued: Vec<u64>, due: &[u64]| {
            let off = issued
                .iter()
                .zip(due)
                .map(|(&issued, &due)| issued.abs_diff(due));
            assert!(off.max() <= Some(2), "{issued:?}");
        };
        near(issue(&mut shares, 600, || next(3)), &[300, 200, 100]);
        drop(shares.remove(0));
        near(issue(&mut shares, 300, || next(2)), &[200, 100]);
        shares[1].leave();
        assert!(!shares[1].is_held());
        shares.remove(1);
        assert_eq!(issue(&mut shares, 100, || 0), [100]);
    }
}
