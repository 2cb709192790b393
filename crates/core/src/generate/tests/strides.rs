//! Zones of a strided pattern, against fio's rules.

use super::*;
use crate::plan::StridesPlan;
use proptest::prelude::*;

fn strided(rw: Rw, size: u64, range: u64, skip: u64) -> PatternPlan {
    PatternPlan {
        strides: Some(StridesPlan {
            size_bytes: size * KIB,
            range_bytes: range * KIB,
            skip_bytes: skip * KIB,
        }),
        ..plan(rw)
    }
}

fn blocks(plan: &PatternPlan, count: usize) -> Vec<u64> {
    let mut pattern = pattern(plan, &[(64 * KIB, 64 * KIB)]);
    (0..count)
        .map(|_| pattern.next().expect("the pass goes on").offset_bytes / (4 * KIB) - 16)
        .collect()
}

#[test]
fn zones_follow_each_other_with_gaps_and_begin_again() {
    let plan = strided(Rw::Read, 8, 8, 16);
    assert_eq!(blocks(&plan, 10), [0, 1, 6, 7, 12, 13, 0, 1, 6, 7]);
}

#[test]
fn a_zone_may_be_covered_in_part_or_several_times() {
    assert_eq!(blocks(&strided(Rw::Read, 4, 8, 8), 5), [0, 4, 8, 12, 0]);
    let twice = strided(Rw::Read, 16, 8, 8);
    assert_eq!(blocks(&twice, 9), [0, 1, 0, 1, 4, 5, 4, 5, 8]);
}

#[test]
fn a_zone_without_room_is_left_out() {
    let plan = strided(Rw::Read, 24, 24, 0);
    assert_eq!(
        blocks(&plan, 14),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1]
    );
}

proptest! {
    #[test]
    fn random_requests_stay_in_their_zone_and_cover_it(
        range in 1u64..8, times in 1u64..4, skip in 0u64..5, map: bool, seed: u64,
    ) {
        let plan = PatternPlan {
            random_map: map,
            ..strided(Rw::Randread, 4 * range * times, 4 * range, 4 * skip)
        };
        let bytes = 128 * 4 * KIB;
        let mut pattern = Pattern::new(&plan, &[(0, bytes)], seed).unwrap();
        let zones = (128 - range) / (range + skip) + 1;
        for turn in 0..2 * zones {
            let first = turn % zones * (range + skip);
            for _ in 0..times {
                let mut seen: Vec<u64> = Vec::new();
                for _ in 0..range {
                    let io = pattern.next().or_else(|| { pattern.rewind(); pattern.next() }).unwrap();
                    seen.push(io.offset_bytes / (4 * KIB));
                }
                prop_assert!(seen.iter().all(|block| (first..first + range).contains(block)));
                seen.sort_unstable();
                prop_assert!(!map || seen.into_iter().eq(first..first + range));
            }
        }
    }

    #[test]
    fn a_replay_makes_the_same_requests(size in 1u64..12, range in 1u64..8, skip in 0u64..5, seed: u64) {
        let plan = strided(Rw::Randwrite, 4 * size, 4 * range, 4 * skip);
        let mut pattern = Pattern::new(&plan, &[(0, 256 * KIB)], seed).unwrap();
        let first = pass(&mut pattern);
        pattern.replay();
        prop_assert_eq!(pass(&mut pattern), first);
    }
}
