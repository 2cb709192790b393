//! Sums of parts over requests, by the histogram's bucket of their latency.

use std::collections::BTreeMap;

use iogauge_core::Nanos;
use iogauge_core::recorder::histogram::bucket_of;

use super::book::Spent;
use super::part::Part;

/// The requests of one bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    pub(super) count: u64,
    pub(super) parts: [Nanos; Part::COUNT],
}

/// The requests of one direction, by bucket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums(pub(super) BTreeMap<usize, Bucket>);

impl Sums {
    /// Adds a request.
    pub(super) fn add(&mut self, spent: &Spent) {
        self.add_bucket(bucket_of(spent.total()), 1, spent.parts());
    }

    /// Adds the requests of other sums.
    pub(super) fn add_all(&mut self, others: &Self) {
        for (&bucket, other) in &others.0 {
            self.add_bucket(bucket, other.count, &other.parts);
        }
    }

    fn add_bucket(&mut self, bucket: usize, count: u64, parts: &[Nanos; Part::COUNT]) {
        let sums = self.0.entry(bucket).or_insert(Bucket {
            count: 0,
            parts: [0; Part::COUNT],
        });
        sums.count += count;
        for (sum, more) in sums.parts.iter_mut().zip(parts) {
            *sum += more;
        }
    }
}
