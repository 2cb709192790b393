//! Compares requests with those that fio 3.33 logs (write_iolog) on files of the region's size, and shows the intended
//! differences.
//!
//! Lengths and offsets are in KiB: `r8+4` reads 4 KiB at 8 KiB.

use std::collections::HashSet;

use super::statistics::assert_chi_square;
use super::*;
use crate::plan::BlockSizeShare;
use crate::request::Direction;
use crate::testing::range_syncs;

fn requests_of(plan: &PatternPlan, sizes_kib: &[u64]) -> String {
    let regions: Vec<(u64, u64)> = sizes_kib.iter().map(|kib| (0, kib * KIB)).collect();
    pass(&mut pattern(plan, &regions))
        .iter()
        .map(show)
        .collect::<Vec<_>>()
        .join(" ")
}

fn with_gap(rw: Rw, gap_kib: i64) -> PatternPlan {
    PatternPlan {
        sequence: gap_kib * KIB as i64,
        ..plan(rw)
    }
}

#[test]
fn sequential_holes() {
    for (rw, gap_kib, size_kib, expected) in [
        // --rw=read --size=32k
        (
            Rw::Read,
            0,
            32,
            "r0+4 r4+4 r8+4 r12+4 r16+4 r20+4 r24+4 r28+4",
        ),
        // --rw=read:4k --size=32k: past the end the holes wrap around, until 32k are read.
        (
            Rw::Read,
            4,
            32,
            "r0+4 r8+4 r16+4 r24+4 r0+4 r8+4 r16+4 r24+4",
        ),
        // --rw=write:4k --size=36k: a request that ends at the file's end is the last.
        (Rw::Write, 4, 36, "w0+4 w8+4 w16+4 w24+4 w32+4"),
        // --rw=write:4k --size=34k: a request after which the next has no room is the last.
        (Rw::Write, 4, 34, "w0+4 w8+4 w16+4 w24+4"),
        // --rw=read:-8k --size=32k: backwards, after the first.
        (
            Rw::Read,
            -8,
            32,
            "r0+4 r24+4 r20+4 r16+4 r12+4 r8+4 r4+4 r0+4",
        ),
        // --rw=read:-4k --size=32k: back to where it began.
        (Rw::Read, -4, 32, "r0+4 r0+4 r0+4 r0+4 r0+4 r0+4 r0+4 r0+4"),
        // --rw=read:-12k --size=32k
        (
            Rw::Read,
            -12,
            32,
            "r0+4 r20+4 r12+4 r4+4 r20+4 r12+4 r4+4 r20+4",
        ),
        // --rw=read:40k --size=32k: a hole larger than the file.
        (Rw::Read, 40, 32, "r0+4 r0+4 r0+4 r0+4 r0+4 r0+4 r0+4 r0+4"),
        // --rw=read:-40k --size=32k
        (Rw::Read, -40, 32, "r0+4"),
    ] {
        assert_eq!(
            requests_of(&with_gap(rw, gap_kib), &[size_kib]),
            expected,
            "{rw:?}:{gap_kib}k of {size_kib}k"
        );
    }
    // --rw=read:4k --bs=8k --size=32k
    let large = PatternPlan {
        sizes: same(&sizes(8192, 8192)),
        ..with_gap(Rw::Read, 4)
    };
    assert_eq!(requests_of(&large, &[32]), "r0+8 r12+8 r24+8");
}

#[test]
fn a_tail_smaller_than_a_block_is_left_alone() {
    // --rw=write --size=10k, and --rw=randread, which ends when the map is used up.
    assert_eq!(requests_of(&plan(Rw::Write), &[10]), "w0+4 w4+4");
    let random = requests_of(&plan(Rw::Randread), &[10]);
    assert!(
        ["r0+4 r4+4", "r4+4 r0+4"].contains(&random.as_str()),
        "{random}"
    );
    // --norandommap: until at least 10k are read.
    let without_map = PatternPlan {
        random_map: false,
        ..plan(Rw::Randread)
    };
    assert_eq!(pass(&mut pattern(&without_map, &[(0, 10 * KIB)])).len(), 3);
}

#[test]
fn a_split_fills_the_region_to_the_end() {
    // --rw=write --size=40k --bssplit=4k/50:16k/50 gives 4, 16, 16, 4: sizes that do not fit are not drawn.
    let split = [4096, 16384]
        .map(|size_bytes| BlockSizeShare {
            size_bytes,
            percent: 50.0,
        })
        .to_vec();
    let plan = PatternPlan {
        sizes: same(&SizesPlan {
            split,
            ..sizes(4096, 16384)
        }),
        ..plan(Rw::Write)
    };
    for seed in 0..50 {
        let mut pattern = Pattern::new(&plan, &[(0, 40 * KIB)], seed).expect("the plan is valid");
        let ios = pass(&mut pattern);
        let mut end = 0;
        for io in &ios {
            assert_eq!(io.offset_bytes, end);
            end += u64::from(io.length_bytes);
        }
        assert_eq!(end, 40 * KIB);
    }
}

#[test]
fn a_trim_is_followed_by_a_write_of_the_same_blocks() {
    // --rw=trimwrite --size=16k, and on two files of 8k.
    assert_eq!(
        requests_of(&plan(Rw::Trimwrite), &[16]),
        "t0+4 w0+4 t4+4 w4+4 t8+4 w8+4 t12+4 w12+4"
    );
    assert_eq!(
        requests_of(&plan(Rw::Trimwrite), &[8, 8]),
        "t0+4 1:t0+4 w0+4 1:w0+4 t4+4 1:t4+4 w4+4 1:w4+4"
    );
    // --rw=randtrimwrite --bssplit=4k/50:16k/50 --size=64k: every block is trimmed once and written once.
    let split = [4096, 16384]
        .map(|size_bytes| BlockSizeShare {
            size_bytes,
            percent: 50.0,
        })
        .to_vec();
    let plan = PatternPlan {
        sizes: same(&SizesPlan {
            split,
            ..sizes(4096, 16384)
        }),
        ..plan(Rw::Randtrimwrite)
    };
    let ios = pass(&mut pattern(&plan, &[(0, 64 * KIB)]));
    for pair in ios.chunks(2) {
        assert_eq!((pair[0].kind, pair[1].kind), (Kind::Trim, Kind::Write));
        assert_eq!(
            (pair[0].offset_bytes, pair[0].length_bytes),
            (pair[1].offset_bytes, pair[1].length_bytes)
        );
    }
    assert_eq!(
        ios.iter().map(|io| u64::from(io.length_bytes)).sum::<u64>(),
        2 * 64 * KIB
    );
}

#[test]
fn syncs_follow_writes() {
    for (fsync_every, fdatasync_every, range_every, expected) in [
        // --fsync=1 --size=16k: none after the last write.
        (1, 0, 0, "w0+4 f w4+4 f w8+4 f w12+4"),
        // --fsync=2
        (2, 0, 0, "w0+4 w4+4 f w8+4 w12+4"),
        // --fsync=3 --fdatasync=2
        (3, 2, 0, "w0+4 w4+4 d w8+4 f w12+4"),
        // Both at once: one fsync.
        (2, 2, 0, "w0+4 w4+4 f w8+4 w12+4"),
        // --sync_file_range=write
        (0, 0, 1, "w0+4 s w4+4 s w8+4 s w12+4"),
        // --fdatasync=3 --sync_file_range=write:2
        (0, 3, 2, "w0+4 w4+4 s w8+4 d w12+4"),
        // --fsync=2 --sync_file_range=write:2
        (2, 0, 2, "w0+4 w4+4 f w8+4 w12+4"),
    ] {
        let plan = PatternPlan {
            fsync_every,
            fdatasync_every,
            sync_file_range: range_syncs(range_every),
            sync_at_end: false,
            ..plan(Rw::Write)
        };
        assert_eq!(requests_of(&plan, &[16]), expected);
    }
    // --fsync=3 --loops=2 --size=32k: the count continues past the end of a pass.
    let plan = PatternPlan {
        fsync_every: 3,
        ..plan(Rw::Write)
    };
    let mut pattern = pattern(&plan, &[(0, 32 * KIB)]);
    pass(&mut pattern);
    pattern.replay();
    let second: Vec<String> = pass(&mut pattern).iter().take(5).map(show).collect();
    assert_eq!(second, ["w0+4", "f", "w4+4", "w8+4", "w12+4"]);
}

/// Returns the file of each request.
fn files_of(requests: &str) -> String {
    let file = |request: &str| {
        request
            .split_once(':')
            .map_or("0", |(file, _)| file)
            .to_owned()
    };
    requests.split(' ').map(file).collect()
}

#[test]
fn files_take_turns_or_are_finished_one_by_one() {
    // --nrfiles=3 --size=96k --bs=8k --file_service_type=...
    for (file_order, file_run, expected) in [
        (FileOrder::Roundrobin, 1, "012012012012"),
        (FileOrder::Roundrobin, 3, "000111222012"),
        (FileOrder::Sequential, 1, "000011112222"),
    ] {
        let plan = PatternPlan {
            sizes: same(&sizes(8192, 8192)),
            file_order,
            file_run,
            ..plan(Rw::Read)
        };
        assert_eq!(files_of(&requests_of(&plan, &[32, 32, 32])), expected);
        let mut pattern = pattern(&plan, &[(0, 32 * KIB), (0, 32 * KIB), (0, 32 * KIB)]);
        let first = pass(&mut pattern);
        pattern.rewind();
        assert_eq!(pass(&mut pattern), first, "a second pass begins anew");
    }
}

#[test]
fn files_drawn_at_random_are_finished_and_have_their_runs() {
    let plan = PatternPlan {
        file_order: FileOrder::Random,
        file_run: 2,
        ..plan(Rw::Read)
    };
    let files = files_of(&requests_of(&plan, &[4000, 4000, 4000]));
    let runs: Vec<&[u8]> = files.as_bytes().chunks(2).collect();
    assert!(runs.iter().all(|run| run[0] == run[1]));
    // None of the three files is finished by the 600th of 1500 runs.
    for file in b"012" {
        let share = runs[..600].iter().filter(|run| run[0] == *file).count();
        assert!((140..260).contains(&share), "{share}");
        assert_eq!(runs.iter().filter(|run| run[0] == *file).count(), 500);
    }
}

#[test]
fn files_drawn_by_a_distribution_get_their_shares() {
    // --nrfiles=8 --file_service_type=zipf:1.2:0.25: the likeliest is the third file, and their ranks are neighbours.
    let (files, theta) = (8, 1.2);
    let weight = |rank: u32| libm::pow(f64::from(rank + 1), -theta);
    let shares: Vec<f64> = (0..files)
        .map(|file| (file * 1024..(file + 1) * 1024).map(weight).sum())
        .collect();
    let total: f64 = shares.iter().sum();
    for rw in [Rw::Read, Rw::Randread] {
        let plan = PatternPlan {
            random_map: false,
            ..favouring(
                rw,
                Distribution::Zipf {
                    theta,
                    center: Some(0.25),
                },
            )
        };
        let ios = pass(&mut pattern(&plan, &[(0, 1000 * 4 * KIB); 8]));
        assert_eq!(
            ios.len(),
            8000,
            "likely files begin again until the pass has its bytes"
        );
        let mut counts = vec![0; 8];
        for io in &ios {
            counts[(io.target as usize + 8 - 2) % 8] += 1;
        }
        let expected: Vec<f64> = shares.iter().map(|share| 8000.0 * share / total).collect();
        assert_chi_square(&counts, &expected);
    }
}

fn favouring(rw: Rw, file_distribution: Distribution) -> PatternPlan {
    PatternPlan {
        file_order: FileOrder::Random,
        file_distribution,
        ..plan(rw)
    }
}

/// Almost all go to the first of a few files.
const FIRST: Distribution = Distribution::Zipf {
    theta: 20.0,
    center: Some(0.0),
};

#[test]
fn a_likely_file_repeats_no_block_before_it_begins_again() {
    let ios = pass(&mut pattern(
        &favouring(Rw::Randread, FIRST),
        &[(0, 100 * 4 * KIB); 3],
    ));
    assert!(ios.iter().all(|io| io.target == 0));
    for round in ios.chunks(100) {
        let blocks: HashSet<u64> = round.iter().map(|io| io.offset_bytes).collect();
        assert_eq!(blocks.len(), 100);
    }
}

#[test]
fn a_random_file_begins_again_at_random() {
    // --rw=randread:4: runs of four requests, of which each begins at a random block, also the first of a round.
    let plan = PatternPlan {
        sequence: 4,
        ..favouring(Rw::Randread, FIRST)
    };
    let ios = pass(&mut pattern(&plan, &[(0, 10 * 4 * KIB); 200]));
    let starts: HashSet<u64> = ios.chunks(4).map(|run| run[0].offset_bytes).collect();
    assert!(starts.len() > 8, "{starts:?}");
    let at_zero = ios.chunks(4).filter(|run| run[0].offset_bytes == 0).count();
    assert!(
        at_zero < ios.len() / 4 / 4,
        "{at_zero} of {}",
        ios.len() / 4
    );
}

#[test]
fn of_files_that_are_not_all_open_one_that_ends_makes_room() {
    // --openfiles=1: a file that is read in order is closed at its end, and one that is read at random stays open.
    for (rw, closes) in [(Rw::Read, true), (Rw::Randread, false)] {
        let flat = Distribution::Zipf {
            theta: 0.5,
            center: None,
        };
        let plan = PatternPlan {
            open_files: 1,
            ..favouring(rw, flat)
        };
        let ios = pass(&mut pattern(&plan, &[(0, 16 * KIB); 60]));
        let mut drawn = HashSet::new();
        for run in ios.chunks(4) {
            assert!(run.iter().all(|io| io.target == run[0].target));
            drawn.insert(run[0].target);
        }
        assert_eq!(drawn.len() > 5, closes, "{drawn:?}");
        assert_eq!(drawn.len() == 1, !closes, "{drawn:?}");
    }
}

#[test]
fn a_sync_goes_to_the_file_whose_turn_is_next() {
    // --filename=a:b --rw=write --fsync=1: the second file is written only when the first is full.
    let plan = PatternPlan {
        fsync_every: 1,
        ..plan(Rw::Write)
    };
    assert_eq!(
        requests_of(&plan, &[8, 8]),
        "w0+4 1:f w4+4 1:f 1:w0+4 1:f 1:w4+4"
    );
}

#[test]
fn holes_wrap_around_at_the_ends_of_the_file() {
    for (gap_kib, file_kib, expected) in [
        // --offset=8k --size=32k --rw=read:4k of a file of 40k: the region is at its end before the file is.
        (4, 40, "r8+4 r16+4 r24+4 r32+4"),
        // --rw=read:36k: the file's end is jumped over, and the wrap counts from the start of the file.
        (36, 40, "r8+4 r16+4 r16+4 r16+4 r16+4 r16+4 r16+4 r16+4"),
        // --rw=read:-8k: backwards from 24k, where the region ends in the file's own offsets.
        (-8, 40, "r24+4 r20+4 r16+4 r12+4 r8+4 r32+4 r28+4 r24+4"),
    ] {
        let mut pattern = Pattern::new(&with_gap(Rw::Read, gap_kib), &[(8 * KIB, 32 * KIB)], 1)
            .expect("the plan is valid")
            .with_holes(std::iter::once(file_kib * KIB), false);
        let ios: Vec<String> = pass(&mut pattern).iter().map(show).collect();
        assert_eq!(ios.join(" "), expected, "{gap_kib}k");
    }
}

#[test]
fn files_take_turns() {
    // --filename=a:b --rw=write, then with a file that is full before the other.
    assert_eq!(
        requests_of(&plan(Rw::Write), &[8, 8]),
        "w0+4 1:w0+4 w4+4 1:w4+4"
    );
    assert_eq!(
        requests_of(&plan(Rw::Write), &[4, 16]),
        "w0+4 1:w0+4 1:w4+4 1:w8+4 1:w12+4"
    );
}

#[test]
fn reads_and_writes_of_a_mix_advance_side_by_side() {
    // --rw=rw --size=32k: each direction counts from 0, together they move 32k.
    let ios = pass(&mut pattern(&plan(Rw::Readwrite), &[(0, 32 * KIB)]));
    assert_eq!(ios.len(), 8);
    for kind in [Kind::Read, Kind::Write] {
        let offsets: Vec<u64> = ios
            .iter()
            .filter(|io| io.kind == kind)
            .map(|io| io.offset_bytes / KIB)
            .collect();
        assert!(!offsets.is_empty());
        assert!(
            offsets
                .iter()
                .copied()
                .eq((0..offsets.len() as u64).map(|index| index * 4)),
            "{offsets:?}"
        );
    }
    // --time_based: after a pass that ended before the region's end, the next continues there.
    let mut pattern = pattern(&plan(Rw::Readwrite), &[(0, 32 * KIB)]);
    let reads: Vec<u64> = (0..40)
        .filter_map(|_| {
            pattern.next_toward(Direction::Read).or_else(|| {
                pattern.rewind();
                pattern.next_toward(Direction::Write)
            })
        })
        .filter(|io| io.kind == Kind::Read)
        .map(|io| io.offset_bytes / KIB)
        .collect();
    assert_eq!(reads[..9], [0, 4, 8, 12, 16, 20, 24, 28, 0]);
}

#[test]
fn runs_of_a_random_pattern_go_on_from_each_offset() {
    // --rw=randread:4 --norandommap
    let plan = PatternPlan {
        sequence: 4,
        random_map: false,
        ..plan(Rw::Randread)
    };
    let ios = pass(&mut pattern(&plan, &[(0, 1024 * KIB)]));
    assert_eq!(ios.len(), 256);
    let mut jumps = 0;
    for run in ios.chunks(4) {
        for pair in run.windows(2) {
            // Only a run that reaches the end of the region is cut short.
            if pair[1].offset_bytes != pair[0].offset_bytes + 4096 {
                assert_eq!(pair[0].offset_bytes, 1020 * KIB);
                jumps += 1;
            }
        }
    }
    assert!(jumps < 8, "{jumps}");
}

#[test]
fn loops_repeat_under_randrepeat() {
    // --rw=randread --loops=2 repeats the offsets; --randrepeat=0 does not, but covers every block again.
    for files in [vec![(0, 128 * KIB)], vec![(0, 64 * KIB), (4096, 64 * KIB)]] {
        let mut pattern = pattern(&plan(Rw::Randread), &files);
        let first = pass(&mut pattern);
        pattern.replay();
        assert_eq!(pass(&mut pattern), first);
        pattern.rewind();
        let other = pass(&mut pattern);
        assert_ne!(other, first);
        assert_eq!(other.len(), first.len());
    }
}
