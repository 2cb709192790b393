//! A histogram of latencies in HdrHistogram's layout. Counting a value costs an array index and an addition.
//!
//! The layout is that of HdrHistogram, to which tests compare it: 3 significant digits from 1 ns to [`HIGHEST_NS`], so
//! buckets are at most 1/1024 of their value wide. Counting is our own because it is on the I/O path: it does not
//! resize, has no error to handle, and touches its memory before the run.

use crate::time::Nanos;

/// Largest value with a bucket of its own, ns: 73 minutes. Larger ones count as this one; their exact maximum is kept.
pub const HIGHEST_NS: Nanos = (1 << 42) - 1;

const HALF_BITS: u32 = 10;
const HALF: u64 = 1 << HALF_BITS;
const MAGNITUDES: u32 = 42 - (HALF_BITS + 1) + 1;
/// Number of buckets.
pub const BUCKETS: usize = ((MAGNITUDES as usize) + 1) << HALF_BITS;

/// Returns the bucket that counts `value`.
#[inline]
pub fn bucket_of(value: Nanos) -> usize {
    let value = value.min(HIGHEST_NS);
    let magnitude = 63 - (value | (2 * HALF - 1)).leading_zeros() - HALF_BITS;
    (((u64::from(magnitude) + 1) << HALF_BITS) + (value >> magnitude) - HALF) as usize
}

/// Returns the smallest and the largest value that a bucket counts.
#[inline]
pub fn range_of(bucket: usize) -> (Nanos, Nanos) {
    let bucket = bucket as u64;
    let (magnitude, steps) = match bucket >> HALF_BITS {
        0 => (0, bucket),
        row => (row - 1, (bucket & (HALF - 1)) + HALF),
    };
    let low = steps << magnitude;
    (low, low + (1 << magnitude) - 1)
}

/// Exact figures, kept beside the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Exact {
    /// Number of values.
    pub count: u64,
    /// Their sum, ns; saturates.
    pub sum_ns: u64,
    /// The smallest; `u64::MAX` if there is none.
    pub min_ns: Nanos,
    /// The largest; 0 if there is none.
    pub max_ns: Nanos,
}

impl Exact {
    /// The figures of no values.
    pub const NOTHING: Exact = Exact {
        count: 0,
        sum_ns: 0,
        min_ns: Nanos::MAX,
        max_ns: 0,
    };

    /// Counts `value` `times` times.
    #[inline]
    fn record(&mut self, value: Nanos, times: u64) {
        self.count += times;
        self.sum_ns = self.sum_ns.saturating_add(value.saturating_mul(times));
        self.min_ns = self.min_ns.min(value);
        self.max_ns = self.max_ns.max(value);
    }

    /// Adds another's values.
    pub fn merge(&mut self, other: &Exact) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Counts of one interval: 32 bits each, so that the caches hold more of them.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Box<[u32]>,
    exact: Exact,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Creates an empty histogram and touches its memory.
    pub fn new() -> Self {
        // Ones first, so that the pages are really mapped before the run.
        let mut counts = std::hint::black_box(vec![1u32; BUCKETS]);
        counts.fill(0);
        Self {
            counts: counts.into_boxed_slice(),
            exact: Exact::NOTHING,
        }
    }

    /// Counts `value` `times` times.
    #[inline]
    pub fn record(&mut self, value: Nanos, times: u32) {
        self.counts[bucket_of(value)] += times;
        self.exact.record(value, u64::from(times));
    }

    /// Returns count, sum, minimum and maximum.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Clears all counts.
    pub fn clear(&mut self) {
        if self.exact.count > 0 {
            self.counts[bucket_of(self.exact.min_ns)..=bucket_of(self.exact.max_ns)].fill(0);
            self.exact = Exact::NOTHING;
        }
    }

    /// Returns the buckets that are not empty, in order.
    pub fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let (first, end) = match self.exact.count {
            0 => (0, 0),
            _ => (
                bucket_of(self.exact.min_ns),
                bucket_of(self.exact.max_ns) + 1,
            ),
        };
        (first..end)
            .map(|bucket| (bucket, u64::from(self.counts[bucket])))
            .filter(|&(_, count)| count > 0)
    }
}

/// Counts of several intervals or workers, merged: only the buckets in use take memory.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Buckets that are not empty, in order.
    pub(super) counts: Vec<(u32, u64)>,
    exact: Exact,
}

impl Default for Merged {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            exact: Exact::NOTHING,
        }
    }
}

impl Merged {
    /// Adds the counts of one interval.
    pub fn add(&mut self, histogram: &Histogram) {
        self.add_counts(
            histogram
                .nonzero()
                .map(|(bucket, count)| (bucket as u32, count)),
        );
        self.exact.merge(histogram.exact());
    }

    /// Adds merged counts.
    pub fn merge(&mut self, other: &Merged) {
        self.add_counts(other.counts.iter().copied());
        self.exact.merge(&other.exact);
    }

    /// Adds counts whose buckets are in order.
    fn add_counts(&mut self, counts: impl Iterator<Item = (u32, u64)>) {
        let mut place = 0;
        let mut new = Vec::new();
        for (bucket, count) in counts {
            while self
                .counts
                .get(place)
                .is_some_and(|&(known, _)| known < bucket)
            {
                place += 1;
            }
            match self.counts.get_mut(place) {
                Some((known, sum)) if *known == bucket => *sum += count,
                _ => new.push((bucket, count)),
            }
        }
        if !new.is_empty() {
            self.counts.append(&mut new);
            // Two runs in order, which a stable sort merges in one pass.
            self.counts.sort_by_key(|&(bucket, _)| bucket);
        }
    }

    /// Returns count, sum, minimum and maximum.
    pub fn exact(&self) -> &Exact {
        &self.exact
    }

    /// Returns the largest value of the bucket that holds the quantile `q`, in `[0, 1]`, and never more than the
    /// maximum; 0 if nothing was counted.
    pub fn quantile(&self, q: f64) -> Nanos {
        let rank =
            (libm::ceil(q * self.exact.count as f64) as u64).clamp(1, self.exact.count.max(1));
        let mut seen = 0;
        for &(bucket, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return range_of(bucket as usize).1.min(self.exact.max_ns);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The crate's own layout, to compare with.
    fn peer() -> hdrhistogram::Histogram<u64> {
        hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, 3).unwrap()
    }

    #[test]
    fn as_many_buckets_as_the_peer() {
        assert_eq!(peer().distinct_values(), BUCKETS);
    }

    proptest! {
        #[test]
        fn buckets_are_the_peers(value in prop_oneof![0..5000u64, 0..=HIGHEST_NS, any::<u64>()]) {
            let (low, high) = range_of(bucket_of(value));
            let value = value.min(HIGHEST_NS);
            prop_assert!(low <= value && value <= high);
            let peer = peer();
            prop_assert_eq!(low, peer.lowest_equivalent(value));
            prop_assert_eq!(high, peer.highest_equivalent(value));
        }

        #[test]
        fn a_bucket_is_narrow(value in 1..=HIGHEST_NS) {
            let (low, high) = range_of(bucket_of(value));
            prop_assert!((high - low) as f64 <= low as f64 / 1024.0);
        }

        #[test]
        fn merging_is_exact_and_decodes(values in prop::collection::vec((1..HIGHEST_NS, 1..5u32), 1..200)) {
            let (mut one, mut two, mut merged, mut expected) = (Histogram::new(), Histogram::new(), Merged::default(), peer());
            for (place, &(value, times)) in values.iter().enumerate() {
                if place % 2 == 0 { one.record(value, times) } else { two.record(value, times) }
                expected.record_n(value, u64::from(times)).unwrap();
            }
            merged.add(&one);
            merged.add(&two);
            let decoded: hdrhistogram::Histogram<u64> =
                hdrhistogram::serialization::Deserializer::new().deserialize(&mut merged.encode().as_slice()).unwrap();
            prop_assert_eq!(decoded, expected);
            prop_assert_eq!(merged.exact().count, values.iter().map(|v| u64::from(v.1)).sum::<u64>());
            prop_assert_eq!(merged.exact().max_ns, values.iter().map(|v| v.0).max().unwrap());
            one.clear();
            prop_assert_eq!(one.nonzero().count(), 0);
        }
    }
}
