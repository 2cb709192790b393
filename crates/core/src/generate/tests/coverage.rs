//! Coverage, bounds, alignment and repetition of every pattern, by property tests.

use proptest::prelude::*;

use super::*;
use crate::plan::{BlockSizeShare, Zone};
use crate::testing::range_syncs;

const UNIT: u32 = 512;

fn any_rw() -> impl Strategy<Value = Rw> {
    prop::sample::select(vec![
        Rw::Read,
        Rw::Write,
        Rw::Trim,
        Rw::Randread,
        Rw::Randwrite,
        Rw::Randtrim,
        Rw::Readwrite,
        Rw::Randrw,
        Rw::Trimwrite,
        Rw::Randtrimwrite,
    ])
}

prop_compose! {
    fn any_sizes()(
        unit in 1u32..9,
        times in 1u32..6,
        shares in prop::collection::vec((1u32..6, 0u8..101), 0..4),
        odd_end in 0u32..UNIT,
        align in prop::option::of(1u32..20),
    ) -> SizesPlan {
        let minimum_bytes = unit * UNIT;
        let (maximum_bytes, split) = if shares.is_empty() {
            (minimum_bytes * times + if times > 1 { odd_end } else { 0 }, vec![])
        } else {
            let mut split: Vec<BlockSizeShare> = shares
                .iter()
                .map(|&(times, percent)| BlockSizeShare {
                    size_bytes: minimum_bytes * times + odd_end,
                    percent: f64::from(percent),
                })
                .collect();
            split.push(BlockSizeShare { size_bytes: minimum_bytes, percent: 1.0 });
            (minimum_bytes * 6, split)
        };
        SizesPlan { minimum_bytes, maximum_bytes, split, align_bytes: align.map_or(minimum_bytes, |align| align * UNIT) }
    }
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    let center = || prop::option::of(0.0..=1.0);
    prop_oneof![
        4 => Just(Distribution::Random),
        1 => (0.01..5.0, center()).prop_map(|(theta, center)| Distribution::Zipf { theta, center }),
        1 => (0.01..0.99, center()).prop_map(|(h, center)| Distribution::Pareto { h, center }),
        1 => (0.0..=100.0, center())
            .prop_map(|(deviation_percent, center)| Distribution::Normal { deviation_percent, center }),
        1 => prop::collection::vec((1.0..100.0, 0.0..100.0), 1..5).prop_map(|zones| Distribution::Zoned {
            zones: zones
                .into_iter()
                .map(|(access_percent, size_percent)| Zone { access_percent, size_percent })
                .collect(),
        }),
    ]
}

prop_compose! {
    fn any_plan()(
        rw in any_rw(),
        sequence in prop_oneof![Just(0i64), -20i64..20],
        read in any_sizes(),
        write in any_sizes(),
        trim in any_sizes(),
        distribution in any_distribution(),
        random in prop_oneof![Just(100.0), 0.0..=100.0],
        reads in 0.0..=100.0,
        random_map: bool,
        syncs in (0u64..4, 0u64..4, 0u64..4),
        file_order in prop_oneof![
            2 => Just(FileOrder::Roundrobin), 1 => Just(FileOrder::Random), 1 => Just(FileOrder::Sequential)
        ],
        file_run in prop_oneof![Just(1u64), 2u64..5],
        open_files in 0u64..4,
        file_distribution in prop_oneof![3 => Just(Distribution::Random), 1 => any_distribution()],
    ) -> PatternPlan {
        PatternPlan {
            rw,
            sequence: if rw.random() { sequence.abs() } else { sequence * i64::from(UNIT) },
            sizes: PerDirection { read, write, trim },
            distribution: same(&distribution),
            percentage_random: same(&random),
            rwmix_read_percent: reads,
            random_map,
            fsync_every: syncs.0,
            fdatasync_every: syncs.1,
            sync_file_range: range_syncs(syncs.2),
            sync_at_end: false,
            file_order,
            file_run,
            file_distribution,
            open_files,
            strides: None,
        }
    }
}

fn any_regions() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((0u64..1 << 40, 12 * 1024u64..200_000), 1..4)
}

proptest! {
    #[test]
    fn every_request_lies_within_its_region_and_every_pass_has_one(
        plan in any_plan(),
        regions in any_regions(),
        seed: u64,
    ) {
        let mut pattern = Pattern::new(&plan, &regions, seed).expect("regions have room");
        for round in 0..4 {
            let ios: Vec<Io> = pass(&mut pattern);
            prop_assert!(ios.iter().any(|io| io.length_bytes > 0));
            for io in &ios {
                let (start, bytes) = regions[io.target as usize];
                if matches!(io.kind, Kind::Sync | Kind::DataSync | Kind::RangeSync) {
                    prop_assert_eq!((io.offset_bytes, io.length_bytes), (0, 0));
                } else {
                    prop_assert!(io.length_bytes > 0);
                    prop_assert!(io.offset_bytes >= start);
                    prop_assert!(io.offset_bytes + u64::from(io.length_bytes) <= start + bytes);
                }
            }
            if round % 2 == 0 { pattern.rewind() } else { pattern.replay() }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_requests(plan in any_plan(), regions in any_regions(), seed: u64) {
        let mut one = Pattern::new(&plan, &regions, seed).expect("regions have room");
        let mut other = one.clone();
        let first = pass(&mut one);
        prop_assert_eq!(&first, &pass(&mut other));
        one.rewind();
        other.rewind();
        prop_assert_eq!(pass(&mut one), pass(&mut other));
    }

    #[test]
    fn a_map_hands_out_every_block_once_a_pass(
        blocks in prop::collection::vec(1u64..3000, 1..4),
        start in 0u64..1 << 40,
        tail in 0u64..4096,
        rw in prop::sample::select(vec![Rw::Randread, Rw::Randwrite, Rw::Randtrim, Rw::Randrw]),
        seed: u64,
    ) {
        let regions: Vec<(u64, u64)> = blocks.iter().map(|blocks| (start, blocks * 4096 + tail)).collect();
        let mut pattern = Pattern::new(&plan(rw), &regions, seed).expect("regions have room");
        for _ in 0..3 {
            let ios = pass(&mut pattern);
            for (target, blocks) in blocks.iter().enumerate() {
                let mut offsets: Vec<u64> = ios
                    .iter()
                    .filter(|io| io.target as usize == target)
                    .map(|io| (io.offset_bytes - start) / 4096)
                    .collect();
                offsets.sort_unstable();
                prop_assert!(offsets.into_iter().eq(0..*blocks));
            }
            pattern.rewind();
        }
    }

    #[test]
    fn a_map_of_varying_sizes_covers_the_region_without_overlap(
        sizes in any_sizes(),
        bytes in 12 * 1024u64..300_000,
        rw in prop::sample::select(vec![Rw::Randwrite, Rw::Randtrimwrite]),
        seed: u64,
    ) {
        let sizes = SizesPlan { align_bytes: sizes.minimum_bytes, ..sizes };
        let minimum = u64::from(sizes.minimum_bytes);
        let plan = PatternPlan { sizes: same(&sizes), ..plan(rw) };
        let mut pattern = Pattern::new(&plan, &[(0, bytes)], seed).expect("the region has room");
        for _ in 0..3 {
            let mut ios = pass(&mut pattern);
            ios.retain(|io| io.kind == Kind::Write);
            ios.sort_unstable_by_key(|io| io.offset_bytes);
            let mut end = 0;
            for io in &ios {
                // The largest size of a range may end within a block. The rest of that block is then skipped.
                prop_assert_eq!(io.offset_bytes, end);
                let length = u64::from(io.length_bytes);
                prop_assert!(length % minimum == 0 || io.length_bytes == sizes.maximum_bytes);
                end += length.div_ceil(minimum) * minimum;
            }
            prop_assert_eq!(end.min(bytes / minimum * minimum), bytes / minimum * minimum);
            pattern.rewind();
        }
    }

    #[test]
    fn random_offsets_are_aligned(plan in any_plan(), regions in any_regions(), seed: u64) {
        let plan = PatternPlan {
            sequence: 0,
            percentage_random: same(&100.0),
            fsync_every: 0,
            fdatasync_every: 0,
            sync_file_range: None,
            sync_at_end: false,
            ..plan
        };
        let plan = PatternPlan { rw: if plan.rw.random() { plan.rw } else { Rw::Randrw }, ..plan };
        let mut pattern = Pattern::new(&plan, &regions, seed).expect("regions have room");
        for io in pass(&mut pattern) {
            let align = match (io.kind, plan.rw) {
                (Kind::Read, _) => plan.sizes.read.align_bytes,
                (Kind::Write, Rw::Randwrite | Rw::Randrw) => plan.sizes.write.align_bytes,
                _ => plan.sizes.trim.align_bytes,
            };
            prop_assert_eq!((io.offset_bytes - regions[io.target as usize].0) % u64::from(align), 0);
        }
    }
}

/// fio 3.33 says "Any use of blockalign= turns off randommap", even of the trims of a job that only reads.
#[test]
fn a_direction_that_is_not_aligned_to_its_size_turns_the_map_off_for_all() {
    let blocks = 1000;
    let mut plan = plan(Rw::Randread);
    let distinct = |plan: &PatternPlan| {
        let mut pattern = Pattern::new(plan, &[(0, blocks * 4096)], 1).unwrap();
        let mut offsets: Vec<u64> = pass(&mut pattern)
            .iter()
            .map(|io| io.offset_bytes)
            .collect();
        offsets.sort_unstable();
        offsets.dedup();
        offsets.len() as u64
    };
    assert_eq!(distinct(&plan), blocks);
    plan.sizes.trim.align_bytes = 512;
    assert!(distinct(&plan) < blocks * 3 / 4);
}
