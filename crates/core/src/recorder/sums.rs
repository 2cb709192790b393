//! Sums of many histograms, slot by slot: a slot is an interval of a group of hosts.
//!
//! Counts are dense within a page of 1,024 buckets, which is an octave of latencies. A page takes memory once something
//! is counted in it, so a slot takes as many pages as its latencies have octaves. Adding a histogram waits for memory
//! more than for anything else, so counts have 16 bits until one of their page needs more.
//!
//! Several threads add at the same time. Each run of slots has a lock of its own, so that threads whose intervals are
//! far from each other do not wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::encoding::{Decoder, Unreadable};
use super::histogram::{BUCKETS, range_of};
use crate::time::Nanos;

const PAGE: usize = 1024;
const PAGES: usize = BUCKETS / PAGE;
/// How many slots share a lock.
const LOCKED: usize = 64;

type Slot = [Option<Page>; PAGES];

enum Page {
    Narrow(Box<[u16; PAGE]>),
    Wide(Box<[u64; PAGE]>),
}

impl Page {
    /// Adds counts of buckets of this page.
    fn add(&mut self, counts: &[(u32, u64)]) {
        let mut counts = counts.iter();
        if let Page::Narrow(page) = self {
            for &(bucket, count) in counts.by_ref() {
                let place = &mut page[bucket as usize % PAGE];
                match u16::try_from(u64::from(*place) + count) {
                    Ok(sum) => *place = sum,
                    Err(_) => {
                        let mut wide = Box::new(page.map(u64::from));
                        wide[bucket as usize % PAGE] += count;
                        *self = Page::Wide(wide);
                        break;
                    }
                }
            }
        }
        if let Page::Wide(page) = self {
            for &(bucket, count) in counts {
                page[bucket as usize % PAGE] += count;
            }
        }
    }

    /// Returns the count of a place.
    fn at(&self, place: usize) -> u64 {
        match self {
            Page::Narrow(page) => u64::from(page[place]),
            Page::Wide(page) => page[place],
        }
    }
}

/// Counts of latencies, by slot.
pub struct Sums {
    slots: usize,
    parts: Vec<Mutex<Vec<Slot>>>,
    /// All that was counted, which fits into 63 bits: then so does every sum.
    count: AtomicU64,
}

impl Sums {
    /// Returns sums of no histograms.
    pub fn new(slots: usize) -> Self {
        let empty = || std::array::from_fn(|_| None);
        let part = |first: usize| (first..slots.min(first + LOCKED)).map(|_| empty());
        Self {
            slots,
            parts: (0..slots)
                .step_by(LOCKED)
                .map(|first| Mutex::new(part(first).collect()))
                .collect(),
            count: AtomicU64::new(0),
        }
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        self.slots
    }

    /// Returns whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.slots == 0
    }

    /// Adds the counts of histograms; after an error, none of them.
    pub fn add(&self, batch: &Batch) -> Result<(), Unreadable> {
        if batch.ends.iter().any(|&(slot, _)| slot >= self.slots) {
            return Err(Unreadable("it belongs to no slot"));
        }
        let counts = batch.counts.iter().map(|&(_, count)| count);
        let count = counts.fold(0, u64::saturating_add);
        let within = |sum: &u64| *sum <= i64::MAX as u64;
        self.count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| {
                sum.checked_add(count).filter(within)
            })
            .map_err(|_| Unreadable("its counts are too large to be added"))?;
        let mut start = 0;
        for ends in batch
            .ends
            .chunk_by(|one, next| one.0 / LOCKED == next.0 / LOCKED)
        {
            let mut part = locked(&self.parts[ends[0].0 / LOCKED]);
            for &(slot, end) in ends {
                let pages = &mut part[slot % LOCKED];
                let octaves = batch.counts[start..end]
                    .chunk_by(|one, next| page_of(one.0) == page_of(next.0));
                for octave in octaves {
                    pages[page_of(octave[0].0)]
                        .get_or_insert_with(|| Page::Narrow(Box::new([0; PAGE])))
                        .add(octave);
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Returns how much each slot counts.
    pub fn counts(&self) -> Vec<u64> {
        self.parts
            .iter()
            .flat_map(|part| {
                let part = locked(part);
                let counts = part
                    .iter()
                    .map(|slot| buckets(slot).map(|(_, count)| count).sum());
                counts.collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns the last value of the bucket of each rank, counted from 1; 0 for the rank 0. Ranks ascend.
    pub fn at_ranks(&self, slot: usize, ranks: &[u64]) -> Vec<Nanos> {
        let mut values = vec![0; ranks.len()];
        let mut next = ranks.partition_point(|&rank| rank == 0);
        let mut counted = 0u64;
        for (bucket, count) in buckets(&locked(&self.parts[slot / LOCKED])[slot % LOCKED]) {
            counted += count;
            while next < ranks.len() && ranks[next] <= counted {
                values[next] = range_of(bucket).1;
                next += 1;
            }
            if next == ranks.len() {
                break;
            }
        }
        values
    }

    /// Returns the sum over all slots, for each bucket.
    pub fn total(&self) -> Vec<u64> {
        let mut total = vec![0u64; BUCKETS];
        for part in &self.parts {
            for (bucket, count) in locked(part).iter().flat_map(buckets) {
                total[bucket] += count;
            }
        }
        total
    }
}

/// Returns the buckets of a slot that are not empty, in order.
fn buckets(slot: &Slot) -> impl Iterator<Item = (usize, u64)> + '_ {
    let pages = slot.iter().enumerate();
    pages
        .filter_map(|(page, counts)| counts.as_ref().map(|counts| (page * PAGE, counts)))
        .flat_map(|(first, page)| (0..PAGE).map(move |place| (first + place, page.at(place))))
        .filter(|&(_, count)| count > 0)
}

fn locked(part: &Mutex<Vec<Slot>>) -> MutexGuard<'_, Vec<Slot>> {
    part.lock().expect("nothing that holds the lock panics")
}

fn page_of(bucket: u32) -> usize {
    bucket as usize / PAGE
}

/// Decoded histograms on their way into [`Sums`].
#[derive(Default)]
pub struct Batch {
    decoder: Decoder,
    counts: Vec<(u32, u64)>,
    /// The slot of each histogram, and the end of its counts.
    ends: Vec<(usize, usize)>,
}

impl Batch {
    /// Decodes one more histogram, to be added to a slot.
    pub fn push(&mut self, slot: usize, data: &[u8]) -> Result<(), Unreadable> {
        self.decoder.decode(data, &mut self.counts)?;
        self.ends.push((slot, self.counts.len()));
        Ok(())
    }

    /// Drops what was decoded, and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Histogram, Merged};
    use proptest::prelude::*;

    /// The last lock has fewer slots than the others.
    const SLOTS: usize = 2 * LOCKED + 3;

    fn merged(values: &[u64]) -> Merged {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value, 1);
        }
        let mut merged = Merged::default();
        merged.add(&histogram);
        merged
    }

    proptest! {
        #[test]
        fn sums_are_those_of_histograms_merged(
            parts in prop::collection::vec((0..SLOTS, prop::collection::vec(1..1u64 << 42, 0..60)), 0..12),
        ) {
            let (sums, mut batch) = (Sums::new(SLOTS), Batch::default());
            let mut expected = vec![Merged::default(); SLOTS];
            for (slot, values) in &parts {
                let part = merged(values);
                batch.push(*slot, &part.encode()).unwrap();
                expected[*slot].merge(&part);
            }
            sums.add(&batch).unwrap();
            let mut total = Merged::default();
            for (slot, expected) in expected.iter().enumerate() {
                let count = expected.exact().count;
                prop_assert_eq!(sums.counts()[slot], count);
                let ranks = [0, count.div_ceil(2), count];
                let wanted = [0, expected.quantile(0.5), expected.quantile(1.0)];
                for (value, wanted) in sums.at_ranks(slot, &ranks).into_iter().zip(wanted) {
                    prop_assert_eq!(value.min(expected.exact().max_ns), wanted);
                }
                total.merge(expected);
            }
            prop_assert_eq!(sums.total().iter().sum::<u64>(), total.exact().count);
            let mut all = Batch::default();
            all.push(0, &total.encode()).unwrap();
            let one = Sums::new(1);
            one.add(&all).unwrap();
            prop_assert_eq!(one.total(), sums.total());
        }
    }

    proptest! {
        #[test]
        fn counts_that_outgrow_sixteen_bits_stay_exact(
            batches in prop::collection::vec(
                prop::collection::btree_map(0..3 * PAGE as u32, prop_oneof![1..9u64, 65_000..66_000u64, 1..1u64 << 50], 1..20),
                1..12,
            ),
        ) {
            let sums = Sums::new(1);
            let mut expected = vec![0; BUCKETS];
            for counts in &batches {
                let mut batch = Batch::default();
                batch.counts.extend(counts.iter().map(|(&bucket, &count)| (bucket, count)));
                batch.ends.push((0, counts.len()));
                sums.add(&batch).unwrap();
                for (&bucket, &count) in counts {
                    expected[bucket as usize] += count;
                }
                prop_assert_eq!(sums.total(), expected.clone());
                prop_assert_eq!(sums.counts(), vec![expected.iter().sum::<u64>()]);
            }
        }
    }

    #[test]
    fn a_slot_too_many_and_counts_too_large_are_refused() {
        let (sums, mut batch) = (Sums::new(1), Batch::default());
        for slot in 0..2 {
            batch.push(slot, &merged(&[7]).encode()).unwrap();
        }
        assert_eq!(sums.add(&batch), Err(Unreadable("it belongs to no slot")));
        assert_eq!(sums.counts(), [0]);
        batch.clear();
        batch.counts.push((7, i64::MAX as u64));
        batch.ends.push((0, 1));
        assert_eq!(sums.add(&batch), Ok(()));
        assert_eq!(
            sums.add(&batch),
            Err(Unreadable("its counts are too large to be added"))
        );
        assert_eq!(sums.total()[7], i64::MAX as u64);
    }

    #[test]
    fn threads_add_at_the_same_time() {
        let sums = Sums::new(SLOTS);
        let mut batch = Batch::default();
        for slot in 0..SLOTS {
            batch.push(slot, &merged(&[7, 9]).encode()).unwrap();
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| sums.add(&batch).unwrap()));
            }
        });
        assert_eq!(sums.counts(), vec![400; SLOTS]);
        assert_eq!(sums.total()[7], 200 * SLOTS as u64);
    }
}
