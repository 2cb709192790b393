//! Shares and distributions of entire patterns, and their independence of one another.

use super::statistics::{assert_chi_square, assert_uniform};
use super::*;
use crate::generate::PatternError;
use crate::request::Direction;

/// Draws `count` requests, over as many passes as necessary.
fn draw(pattern: &mut Pattern, count: usize) -> Vec<Io> {
    let mut ios = Vec::with_capacity(count);
    while ios.len() < count {
        match pattern.next() {
            Some(io) => ios.push(io),
            None => pattern.rewind(),
        }
    }
    ios
}

#[test]
fn the_mix_has_the_planned_share_of_reads() {
    for (percent, rw) in [
        (70.0, Rw::Randrw),
        (0.5, Rw::Randrw),
        (33.3, Rw::Readwrite),
        (99.0, Rw::Readwrite),
    ] {
        let plan = PatternPlan {
            rwmix_read_percent: percent,
            random_map: false,
            ..plan(rw)
        };
        let ios = draw(&mut pattern(&plan, &[(0, 1 << 24)]), 100_000);
        let reads = ios.iter().filter(|io| io.kind == Kind::Read).count() as u64;
        assert_chi_square(
            &[reads, 100_000 - reads],
            &[percent * 1e3, 1e5 - percent * 1e3],
        );
    }
    for (percent, only) in [(0.0, Kind::Write), (100.0, Kind::Read)] {
        let plan = PatternPlan {
            rwmix_read_percent: percent,
            ..plan(Rw::Randrw)
        };
        assert!(
            draw(&mut pattern(&plan, &[(0, 1 << 20)]), 10_000)
                .iter()
                .all(|io| io.kind == only)
        );
    }
}

#[test]
fn a_worker_may_choose_the_direction_of_a_mix() {
    let mut pattern = pattern(
        &PatternPlan {
            fsync_every: 1,
            ..plan(Rw::Randrw)
        },
        &[(0, 1 << 20)],
    );
    let mut next = |direction| pattern.next_toward(direction).map(|io| io.kind);
    assert_eq!(next(Direction::Read), Some(Kind::Read));
    assert_eq!(next(Direction::Write), Some(Kind::Write));
    assert_eq!(next(Direction::Read), Some(Kind::Sync));
    assert_eq!(next(Direction::Read), Some(Kind::Read));
}

#[test]
fn uniform_offsets_without_a_map_are_uniform_and_independent() {
    let plan = PatternPlan {
        random_map: false,
        ..plan(Rw::Randread)
    };
    let ios = draw(&mut pattern(&plan, &[(1 << 30, 100 * 4096)]), 200_000);
    let mut counts = [0; 100];
    let mut pairs = [0; 100];
    for pair in ios.windows(2) {
        let block = |io: &Io| ((io.offset_bytes - (1 << 30)) / 4096) as usize;
        counts[block(&pair[0])] += 1;
        pairs[block(&pair[0]) / 10 * 10 + block(&pair[1]) / 10] += 1;
    }
    assert_uniform(&counts);
    assert_uniform(&pairs);
}

#[test]
fn percentage_random_leaves_the_rest_sequential() {
    let plan = PatternPlan {
        percentage_random: same(&30.0),
        random_map: false,
        ..plan(Rw::Randread)
    };
    let ios = draw(&mut pattern(&plan, &[(0, 1 << 40)]), 100_000);
    let follows = |pair: &[Io]| pair[1].offset_bytes == pair[0].offset_bytes + 4096;
    let sequential = ios.windows(2).filter(|pair| follows(pair)).count() as u64;
    assert_chi_square(
        &[sequential, 99_999 - sequential],
        &[0.7 * 99_999.0, 0.3 * 99_999.0],
    );
}

#[test]
fn a_skewed_distribution_turns_the_map_off_and_keeps_its_hot_blocks() {
    let plan = PatternPlan {
        distribution: same(&Distribution::Zipf {
            theta: 1.2,
            center: None,
        }),
        random_map: true,
        ..plan(Rw::Randrw)
    };
    let mut pattern = pattern(&plan, &[(0, 1000 * 4096)]);
    let hottest = |ios: &[Io], kind| {
        let mut counts = vec![0; 1000];
        ios.iter()
            .filter(|io| io.kind == kind)
            .for_each(|io| counts[(io.offset_bytes / 4096) as usize] += 1);
        (0..1000).max_by_key(|block| counts[*block])
    };
    let first = draw(&mut pattern, 50_000);
    pattern.replay();
    pattern.rewind();
    let second = draw(&mut pattern, 50_000);
    assert_eq!(hottest(&first, Kind::Read), hottest(&first, Kind::Write));
    assert_eq!(hottest(&first, Kind::Read), hottest(&second, Kind::Read));
}

#[test]
fn a_map_of_varying_sizes_begins_uniformly() {
    let plan = PatternPlan {
        sizes: same(&sizes(4096, 16384)),
        ..plan(Rw::Randwrite)
    };
    let mut counts = [0; 64];
    for seed in 0..20_000 {
        let mut pattern = Pattern::new(&plan, &[(0, 64 * 4096)], seed).expect("the plan is valid");
        counts[(pattern.next().expect("the map is empty").offset_bytes / 4096) as usize] += 1;
    }
    assert_uniform(&counts);
}

#[test]
fn the_law_of_sizes_does_not_move_offsets() {
    let fixed = PatternPlan {
        random_map: false,
        ..plan(Rw::Randread)
    };
    let ranged = PatternPlan {
        sizes: same(&sizes(4096, 16384)),
        ..fixed.clone()
    };
    let offsets = |plan: &PatternPlan| -> Vec<u64> {
        draw(&mut pattern(plan, &[(0, 1 << 40)]), 1000)
            .iter()
            .map(|io| io.offset_bytes)
            .collect()
    };
    assert_eq!(offsets(&fixed), offsets(&ranged));
}

#[test]
fn directions_of_different_sizes_have_a_map_each() {
    let plan = PatternPlan {
        sizes: PerDirection {
            write: sizes(8192, 8192),
            ..same(&sizes(4096, 4096))
        },
        ..plan(Rw::Randrw)
    };
    let mut pattern = pattern(&plan, &[(0, 1 << 20)]);
    for (direction, length) in [(Direction::Read, 4096), (Direction::Write, 8192)] {
        let mut offsets = vec![];
        for _ in 0..64 {
            let io = pattern
                .next_toward(direction)
                .expect("the pass is not over");
            assert_eq!(u64::from(io.length_bytes), length);
            assert_eq!(io.offset_bytes % length, 0);
            offsets.push(io.offset_bytes);
        }
        offsets.sort_unstable();
        offsets.dedup();
        assert_eq!(offsets.len(), 64);
    }
}

#[test]
fn a_rewind_continues_streams_that_have_not_ended() {
    fn take(pattern: &mut Pattern, direction: Direction, count: usize) -> Vec<String> {
        (0..count)
            .map_while(|_| pattern.next_toward(direction))
            .map(|io| show(&io))
            .collect()
    }
    let mut pattern = pattern(&plan(Rw::Readwrite), &[(0, 8 * 4096)]);
    assert_eq!(
        take(&mut pattern, Direction::Read, 6)
            .last()
            .map(String::as_str),
        Some("r20+4")
    );
    assert_eq!(take(&mut pattern, Direction::Write, 3), ["w0+4", "w4+4"]);
    pattern.rewind();
    assert_eq!(take(&mut pattern, Direction::Read, 3), ["r24+4", "r28+4"]);
    pattern.rewind();
    assert_eq!(take(&mut pattern, Direction::Read, 1), ["r0+4"]);
    assert_eq!(take(&mut pattern, Direction::Write, 1), ["w8+4"]);
}

#[test]
fn a_rewind_keeps_a_map_that_is_not_used_up() {
    // Runs of four use up a quarter of the map in a pass.
    let plan = PatternPlan {
        sequence: 4,
        ..plan(Rw::Randread)
    };
    let mut pattern = pattern(&plan, &[(0, 1024 * 4096)]);
    let mut starts = Vec::new();
    for _ in 0..2 {
        starts.extend(
            pass(&mut pattern)
                .iter()
                .step_by(4)
                .map(|io| io.offset_bytes),
        );
        pattern.rewind();
    }
    assert_eq!(starts.len(), 512);
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 512);
}

#[test]
fn the_probe_reports_what_cannot_work() {
    let error = |plan: &PatternPlan, regions: &[(u64, u64)]| Pattern::new(plan, regions, 1).err();
    let good = plan(Rw::Randread);
    assert_eq!(error(&good, &[]), Some(PatternError::NoRegion));
    let too_small = PatternError::RegionTooSmall {
        target: 1,
        region_bytes: 4095,
        direction: Direction::Read,
        request_bytes: 4096,
    };
    assert_eq!(
        error(&good, &[(0, 4096), (0, 4095)]),
        Some(too_small.clone())
    );
    assert_eq!(
        too_small.to_string(),
        "file 1: its region of 4095 bytes has no room for an aligned read of 4096 bytes"
    );
    let wide = PatternPlan {
        sizes: same(&SizesPlan {
            align_bytes: 8192,
            ..sizes(4096, 4096)
        }),
        ..good.clone()
    };
    assert!(matches!(
        error(&wide, &[(0, 4096)]),
        Some(PatternError::RegionTooSmall { .. })
    ));
    assert_eq!(
        error(&good, &[(u64::MAX, 4096)]),
        Some(PatternError::RegionTooFar { target: 0 })
    );
    let no_size = PatternPlan {
        sizes: same(&sizes(0, 4096)),
        ..good.clone()
    };
    assert_eq!(
        error(&no_size, &[(0, 4096)]),
        Some(PatternError::NoSize {
            direction: Direction::Read
        })
    );
    let no_zone = PatternPlan {
        distribution: same(&Distribution::Zoned { zones: vec![] }),
        ..good
    };
    assert_eq!(
        error(&no_zone, &[(0, 4096)]),
        Some(PatternError::NoZone {
            direction: Direction::Read
        })
    );
}

#[test]
fn the_same_seed_gives_the_same_requests_on_every_machine() {
    let blocks = |distribution| -> Vec<u64> {
        let plan = PatternPlan {
            distribution: same(&distribution),
            ..plan(Rw::Randread)
        };
        let mut pattern =
            Pattern::new(&plan, &[(0, 1_000_000 * 4096)], 7).expect("the plan is valid");
        draw(&mut pattern, 4)
            .iter()
            .map(|io| io.offset_bytes / 4096)
            .collect()
    };
    assert_eq!(
        blocks(Distribution::Random),
        [972137, 351506, 96760, 677738]
    );
    assert_eq!(
        blocks(Distribution::Zipf {
            theta: 0.9,
            center: None
        }),
        [964422, 868323, 811800, 247587]
    );
    assert_eq!(
        blocks(Distribution::Pareto {
            h: 0.2,
            center: None
        }),
        [608875, 833394, 144248, 402226]
    );
    assert_eq!(
        blocks(Distribution::Normal {
            deviation_percent: 10.0,
            center: None
        }),
        [471897, 450474, 523253, 613741]
    );
}
