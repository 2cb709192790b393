//! When a job has issued enough: size, io_size, loops and number_ios.

use proptest::prelude::*;

use super::sim::{START, World, run};
use crate::plan::{Rw, WorkerPlan};
use crate::request::Kind;
use crate::testing::{BLOCK, file, iops, plan, same};
use crate::time::SECOND;

fn randread(size_kib: u64, io_size_kib: u64, loops: u64, random_map: bool) -> WorkerPlan {
    let mut plan = plan(Rw::Randread);
    plan.files = vec![file(size_kib / 4)];
    plan.pattern.random_map = random_map;
    WorkerPlan {
        io_bytes: io_size_kib << 10,
        loops,
        replay_loops: true,
        iodepth: 1,
        iodepth_low: 1,
        ..plan
    }
}

fn offsets(plan: &WorkerPlan) -> Vec<u64> {
    let trace = run(plan, World::fast(1_000));
    trace
        .served
        .iter()
        .map(|served| served.request.offset_bytes)
        .collect()
}

/// As fio 3.33 issues them: `--rw=randread --bs=4k` with the size, io_size and loops given, in KiB.
#[test]
fn as_many_requests_as_fio() {
    for (size, io_size, loops, random_map, expected) in [
        (256, 0, 3, true, 192),
        (256, 128, 3, true, 96),
        (256, 1024, 8, true, 512),
        (256, 1024, 3, true, 256),
        (256, 1024, 2, true, 256),
        (256, 1000, 1, true, 250),
        (256, 600, 1, true, 150),
        (64, 48, 2, true, 24),
        (64, 48, 3, true, 36),
        (64, 48, 3, false, 36),
        (16, 0, 3, false, 12),
        (16, 24, 2, false, 12),
    ] {
        let made = offsets(&randread(size, io_size, loops, random_map)).len();
        assert_eq!(
            made, expected,
            "size={size}k io_size={io_size}k loops={loops}"
        );
    }
}

/// fio draws the same offsets again only if a random map was used up and randrepeat is on.
#[test]
fn a_pass_is_repeated_where_the_map_was_used_up() {
    let repeated = offsets(&randread(64, 160, 1, true));
    assert_eq!(repeated.len(), 40);
    assert!(
        repeated[16..]
            .iter()
            .eq(repeated[..16].iter().cycle().take(24))
    );
    let fresh = offsets(&WorkerPlan {
        replay_loops: false,
        ..randread(64, 160, 1, true)
    });
    assert_ne!(fresh[..16], fresh[16..32]);
    let unmapped = offsets(&randread(64, 160, 1, false));
    assert_ne!(unmapped[..16], unmapped[16..32]);
    // After a loop that ends before the region's end, the next continues there.
    let mut one_pass = offsets(&randread(64, 16, 4, true));
    one_pass.sort_unstable();
    assert!(one_pass.into_iter().eq((0..16).map(|block| block * BLOCK)));
}

#[test]
fn a_sequential_job_continues_over_its_loops() {
    let plan = WorkerPlan {
        io_bytes: 16 << 10,
        loops: 4,
        iodepth: 1,
        files: vec![file(6)],
        ..plan(Rw::Read)
    };
    let blocks: Vec<u64> = offsets(&plan)
        .into_iter()
        .map(|offset| offset / BLOCK)
        .collect();
    assert_eq!(blocks, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3]);
}

/// fio 3.33: number_ios is multiplied by loops, syncs do not count, and a trimwrite counts its writes.
#[test]
fn number_ios_counts_as_in_fio() {
    let only = |rw| WorkerPlan {
        number_ios: 100,
        files: vec![file(4096)],
        ..plan(rw)
    };
    assert_eq!(
        run(
            &WorkerPlan {
                loops: 3,
                ..only(Rw::Randread)
            },
            World::fast(1_000)
        )
        .count(Kind::Read),
        300
    );
    let mut synced = only(Rw::Randwrite);
    synced.pattern.fsync_every = 1;
    let trace = run(&synced, World::fast(1_000));
    assert_eq!(
        (trace.count(Kind::Write), trace.count(Kind::Sync)),
        (100, 99)
    );
    let trace = run(&only(Rw::Randtrimwrite), World::fast(1_000));
    assert_eq!(
        (trace.count(Kind::Trim), trace.count(Kind::Write)),
        (100, 100)
    );
    let trace = run(
        &WorkerPlan {
            io_bytes: 256 << 10,
            number_ios: 0,
            ..only(Rw::Randtrimwrite)
        },
        World::fast(1_000),
    );
    assert_eq!(
        (trace.count(Kind::Trim), trace.count(Kind::Write)),
        (64, 64)
    );
}

#[test]
fn time_based_goes_over_every_limit() {
    let plan = WorkerPlan {
        time_based: true,
        runtime_ns: 10_000_000,
        number_ios: 10,
        io_bytes: 20 * BLOCK,
        files: vec![file(30)],
        iodepth: 1,
        ..plan(Rw::Randread)
    };
    assert_eq!(run(&plan, World::fast(1_000)).served.len(), 10_000);
}

#[test]
fn the_ramp_does_not_count() {
    let plan = WorkerPlan {
        ramp_ns: 1_000_000,
        iodepth: 1,
        files: vec![file(4096)],
        ..plan(Rw::Read)
    };
    for limited in [
        WorkerPlan {
            number_ios: 100,
            ..plan.clone()
        },
        WorkerPlan {
            io_bytes: 100 * BLOCK,
            ..plan.clone()
        },
        WorkerPlan {
            io_bytes: 50 * BLOCK,
            loops: 2,
            ..plan
        },
    ] {
        let trace = run(&limited, World::fast(1_000));
        let ramp = trace
            .served
            .iter()
            .filter(|served| served.start < START + 1_000_000)
            .count();
        assert_eq!((ramp, trace.served.len() - ramp), (1_000, 100));
    }
}

proptest! {
    #[test]
    fn number_ios_is_exact(seed: u64, number_ios in 1u64..2_000, iodepth in 1u32..33, rate in prop_oneof![Just(0), 1_000u64..1_000_000]) {
        let unlimited = WorkerPlan { io_bytes: u64::MAX, runtime_ns: 3_600 * SECOND, ..plan(Rw::Randrw) };
        let plan = WorkerPlan { number_ios, iodepth, schedule: same(iops(rate)), ..unlimited };
        let trace = run(&plan, World::random(seed, 100_000, 50_000));
        prop_assert_eq!(trace.served.len() as u64, number_ios);
        // No request is overdue, however far the schedule advanced.
        prop_assert_eq!(trace.worker.overdue(u64::MAX), 0);
    }

    #[test]
    fn io_bytes_are_passed_by_less_than_a_request(
        seed: u64, io_bytes in 1u64..4_000_000, largest in 1u32..16, random_map: bool, loops in 1u64..4,
    ) {
        let mut plan = WorkerPlan { io_bytes, loops, files: vec![file(2_000)], ..plan(Rw::Randrw) };
        plan.pattern.random_map = random_map;
        let mut sizes = plan.pattern.sizes.read.clone();
        sizes.maximum_bytes = largest * 4096;
        plan.pattern.sizes = same(sizes);
        let trace = run(&plan, World::random(seed, 100_000, 0));
        // The region is larger than all loops together, unless a map of varying sizes is used up.
        let expected = io_bytes * loops;
        if expected <= 2_000 * BLOCK {
            prop_assert!((expected..expected + u64::from(largest) * 4096).contains(&trace.bytes()));
        }
        prop_assert!(trace.bytes() >= io_bytes);
    }

    #[test]
    fn a_pass_covers_the_region_once(seed: u64, blocks in 1u64..300, loops in 1u64..4, sequential: bool) {
        let mut plan = WorkerPlan { loops, files: vec![file(blocks)], ..plan(if sequential { Rw::Read } else { Rw::Randread }) };
        plan.pattern.random_map = true;
        let trace = run(&plan, World::random(seed, 100_000, 0));
        let mut times = vec![0; blocks as usize];
        for served in &trace.served {
            times[(served.request.offset_bytes / BLOCK) as usize] += 1;
        }
        prop_assert!(times.iter().all(|&times| times == loops));
    }
}
