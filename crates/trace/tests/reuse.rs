//! Reuse against a cache that is simulated, and samples against the all.

use iogauge_trace::{Direction, Reuse, Row};
use proptest::prelude::*;

fn reads(blocks: &[i64]) -> Vec<Row> {
    blocks
        .iter()
        .map(|block| Row::request(0, 0, Direction::Read, block * 4096, 4096))
        .collect()
}

/// Returns the uses that an LRU cache of so many blocks serves.
fn simulated(blocks: &[i64], holds: usize) -> usize {
    let mut cache: Vec<i64> = Vec::new();
    let mut hits = 0;
    for block in blocks {
        if let Some(place) = cache.iter().position(|cached| cached == block) {
            cache.remove(place);
            hits += 1;
        }
        cache.insert(0, *block);
        cache.truncate(holds);
    }
    hits
}

proptest! {
    #[test]
    fn hits_are_those_of_a_cache(blocks in prop::collection::vec(0i64..40, 1..600)) {
        let mut reuse = Reuse::new(4096, 64);
        for piece in reads(&blocks).chunks(7) {
            reuse.feed(piece);
        }
        prop_assert!(reuse.exact());
        let mut different = blocks.clone();
        different.sort_unstable();
        different.dedup();
        prop_assert_eq!(reuse.blocks(), different.len() as f64);
        prop_assert_eq!(reuse.uses(), blocks.len() as f64);
        let hits = reuse.hits();
        for (holds, _) in &hits {
            let served: f64 = hits.iter().filter(|(cache, _)| cache <= holds).map(|(_, uses)| uses).sum();
            prop_assert_eq!(served, simulated(&blocks, *holds as usize) as f64, "a cache of {} blocks", holds);
        }
    }
}

#[test]
fn a_sample_is_near_the_whole() {
    // A walk over 100,000 blocks, half of the steps among the first tenth.
    let mut state = 7u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    };
    let blocks: Vec<i64> = (0..1_000_000)
        .map(|_| {
            if next() % 2 == 0 {
                next() % 10_000
            } else {
                next() % 100_000
            }
        })
        .collect();
    let measured = |most: usize| {
        let mut reuse = Reuse::new(4096, most);
        reuse.feed(&reads(&blocks));
        let near: f64 = reuse
            .hits()
            .iter()
            .filter(|(cache, _)| *cache < 40_000.0)
            .map(|(_, uses)| uses)
            .sum();
        (reuse.exact(), reuse.blocks(), near / reuse.uses())
    };
    let (all, sample) = (measured(200_000), measured(4_000));
    assert!(all.0 && !sample.0);
    assert!(
        (sample.1 / all.1 - 1.0).abs() < 0.05,
        "{} of {} blocks",
        sample.1,
        all.1
    );
    assert!(
        (sample.2 - all.2).abs() < 0.02,
        "{} of {} hits",
        sample.2,
        all.2
    );
}

#[test]
fn requests_use_all_blocks_that_they_reach_into() {
    let mut reuse = Reuse::new(4096, 64);
    reuse.feed(&[
        Row::request(0, 0, Direction::Write, 4095, 2),
        Row::request(0, 1, Direction::Read, 0, 4096),
        Row::request(0, 0, Direction::Trim, 0, 1 << 40),
        Row::request(0, 0, Direction::Sync, 0, 0),
    ]);
    assert_eq!((reuse.blocks(), reuse.uses()), (3.0, 3.0));
}
