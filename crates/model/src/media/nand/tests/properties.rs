//! Properties of any drive and any load.

use std::collections::HashSet;

use iogauge_core::{Kind, Nanos};
use proptest::prelude::*;

use super::load::{Load, Outcome, run};
use super::*;
use crate::device::tests::{access, done};
use crate::drive::{Access, Drive};

const MS: Nanos = 1_000_000;

/// Draws drives of all shapes.
fn specs() -> impl Strategy<Value = NandSpec> {
    let shape = (1u32..9, 1u32..4, 1u32..9, 1u32..4);
    let times = (1e3..1e5, 1e4..2e6, 0.0..0.5, 0.0..0.2);
    let buffer = (1u64..20, any::<bool>(), 0.0..1e6);
    let suspend = prop_oneof![Just(None), (0.0..2e4).prop_map(Some)];
    let slc = prop_oneof![
        2 => Just(None),
        1 => (1u64..1 << 21, 1e4..1e5, 0.0..1e7, any::<bool>()).prop_map(Some),
    ];
    let state = prop_oneof![
        Just(State::Fresh),
        Just(State::Sequential),
        Just(State::Random)
    ];
    (shape, times, buffer, suspend, slc, state, 1u32..20).prop_map(
        |(shape, times, buffer, suspend_ns, slc, initial, reads_before_write)| {
            let (dies, planes, channels, pages) = shape;
            let (read_ns, program_ns, program_spread, retry_share) = times;
            let (units, buffer_protected, drain_after_ns) = buffer;
            let page_bytes = 4096 * pages;
            NandSpec {
                dies,
                planes,
                channels: channels.min(dies),
                page_bytes,
                read_ns,
                slow_read_ns: 2.0 * read_ns,
                slow_read_share: 0.3,
                retry_share,
                retry_ns: 20_000.0,
                program_ns,
                program_spread,
                suspend_ns,
                reads_before_write,
                buffer_bytes: units * u64::from(page_bytes * planes),
                buffer_protected,
                drain_after_ns,
                slc: slc.map(
                    |(bytes, program_ns, fold_after_ns, fold_when_full)| SlcSpec {
                        bytes,
                        program_ns,
                        read_ns,
                        fold_after_ns,
                        fold_when_full,
                    },
                ),
                initial,
                ..plain()
            }
        },
    )
}

/// Chunks of these drives.
const CHUNKS: u64 = 2048;

fn of(spec: NandSpec) -> Nand {
    Nand::new(spec, CHUNKS * 4096, link(), 7)
}

/// Draws requests anywhere, of any length, close together or far apart. The last gap leaves time for idle work.
fn requests() -> impl Strategy<Value = Vec<(Nanos, Access)>> {
    let gap = prop_oneof![Just(0), 0u64..10_000, 0u64..50_000_000];
    let request = (gap, 0u8..9, 0..CHUNKS * 8, 1u32..300);
    prop::collection::vec(request, 1..150).prop_map(|requests| {
        let mut now = 0;
        let numbered = requests.into_iter().enumerate();
        let accesses = numbered.map(|(ticket, (gap, kind, sector, sectors))| {
            now += gap;
            let kind = match kind {
                0..3 => Kind::Read,
                3..7 => Kind::Write,
                7 => Kind::Trim,
                _ => Kind::Sync,
            };
            let offset = sector * 512;
            let length = (u64::from(sectors) * 512).min(CHUNKS * 4096 - offset) as u32;
            (now, access(ticket as u64, kind, offset, length))
        });
        accesses.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each request returns once, after its least time, and no work is left at the end.
    #[test]
    fn each_request_comes_back_once(spec in specs(), requests in requests()) {
        prop_assert_eq!(spec.check(), Ok(()));
        let mut drive = of(spec);
        let ends = done(&mut drive, &requests);
        for ((from, access), end) in requests.iter().zip(&ends) {
            let least = match access.kind {
                Kind::Read => 5_500.0 + f64::from(access.length_bytes) * 500.0 / 4096.0,
                Kind::Write => 6_500.0 + f64::from(access.length_bytes) * 500.0 / 4096.0,
                _ => 500.0,
            };
            prop_assert!((end - from) as f64 >= least, "{access:?}: {}", end - from);
        }
        drive.advance(ends.iter().max().unwrap() + 100_000 * MS, &mut Vec::new());
        prop_assert!(drive.requests.is_empty() && drive.waiting.is_empty());
        prop_assert_eq!(drive.buffer.held(), 0);
        prop_assert_eq!(drive.slc_chunks(), 0);
        prop_assert!(drive.moves_due < 1.0 && drive.erases_due < 1.0);
        prop_assert_eq!(drive.agenda.next(), None);
        prop_assert_eq!(drive.counters().chunks_programmed, drive.counters().chunks_written);
    }

    /// The drive holds exactly the chunks that were written and not trimmed since.
    #[test]
    fn no_page_is_lost(spec in specs(), requests in requests()) {
        let fresh = spec.initial == State::Fresh;
        let mut drive = of(spec);
        let mut there: HashSet<u64> = (0..CHUNKS).filter(|_| !fresh).collect();
        let mut now = 0;
        for &(_, access) in &requests {
            let access = Access { ticket: 0, ..access };
            now = done(&mut drive, &[(now, access)])[0];
            let end = access.offset_bytes + u64::from(access.length_bytes);
            match access.kind {
                Kind::Write => there.extend(access.offset_bytes / 4096..end.div_ceil(4096)),
                Kind::Trim => {
                    let chunks = access.offset_bytes.div_ceil(4096)..end / 4096;
                    there.retain(|chunk| !chunks.contains(chunk));
                }
                _ => {}
            }
        }
        for chunk in 0..CHUNKS {
            let before = drive.counters().unwritten_reads;
            let read = access(0, Kind::Read, chunk * 4096, 4096);
            now = done(&mut drive, &[(now, read)])[0];
            let unwritten = drive.counters().unwritten_reads > before;
            prop_assert_eq!(unwritten, !there.contains(&chunk), "chunk {}", chunk);
        }
        // The layer holds the same pages.
        prop_assert_eq!(drive.space.ftl().valid_pages(), there.len() as u64);
    }

    /// The same seed makes the same drive.
    #[test]
    fn repeats_by_seed(spec in specs(), requests in requests()) {
        let spec = NandSpec { read_jitter_ns: 1_000.0, write_jitter_ns: 1_000.0, ..spec };
        let (mut one, mut other) = (of(spec.clone()), of(spec));
        prop_assert_eq!(done(&mut one, &requests), done(&mut other, &requests));
        prop_assert_eq!(one.counters(), other.counters());
        prop_assert_eq!(one.active(), other.active());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Controller, dies, channels and link carry no more than they can.
    #[test]
    fn never_faster_than_any_part(
        spec in specs(),
        bytes in prop_oneof![Just(4096u64), Just(16_384), Just(131_072)],
        depth in 1usize..64,
        sequential: bool,
        reads_percent in prop_oneof![Just(0u64), Just(50), Just(100)],
    ) {
        let length = 50 * MS;
        let load = Load { reads_percent, sequential, ..Load::reads(depth, bytes, CHUNKS * 4096) };
        let mut drive = of(spec.clone());
        let outcome = &run(&mut drive, &[load], 0, 0, length)[0];
        let (seconds, last) = (length as f64 / 1e9, outcome.last as f64);
        let counters = drive.counters();
        let requests = outcome.latencies.len() as f64;
        prop_assert!(requests <= 1.0 + seconds * 1e9 / 500.0);
        let ways = if reads_percent == 50 { 2.0 } else { 1.0 };
        prop_assert!(outcome.bytes as f64 <= ways * seconds * 8.192e9);
        // Dies make one page read, program or erase at a time.
        let fastest = spec.slc.map_or(spec.program_ns, |slc| slc.program_ns.min(spec.program_ns));
        let busy = counters.page_reads as f64 * spec.read_ns
            + (counters.host_programs + counters.slc_programs) as f64 * fastest * (1.0 - spec.program_spread)
            + (counters.move_programs + counters.fold_programs) as f64
                * spec.program_ns * (1.0 - spec.program_spread)
            + counters.erases as f64 * spec.erase_ns;
        prop_assert!(busy <= f64::from(spec.dies) * last, "{busy} in {last}");
        // Channels carry all programmed data, the data read for that, and at least a chunk of each page read for the
        // host.
        let again = (counters.move_programs + counters.fold_programs) * u64::from(spec.unit_chunks());
        let moved = ((counters.chunks_of_programs + again + counters.page_reads) * 4096) as f64;
        let most = f64::from(spec.channels) * spec.channel_Bps * last / 1e9;
        prop_assert!(moved <= most, "{moved} {most}");
        // Acknowledged writes are on the dies or in the buffer.
        let room = (counters.chunks_programmed * 4096) as f64 + spec.buffer_bytes as f64;
        prop_assert!((counters.chunks_written * 4096) as f64 <= room);
        // Little's law: the load keeps `depth` requests in flight.
        if requests > 200.0 {
            let flying = outcome.mean_us() * requests / seconds / 1e6;
            prop_assert!(flying <= depth as f64 * 1.2 + 1.0, "{flying} of {depth}");
        }
    }
}

/// Returns the outcome of random reads or writes on a small drive.
fn outcome(spec: NandSpec, reads_percent: u64, depth: usize) -> Outcome {
    let load = Load {
        reads_percent,
        ..Load::reads(depth, 4096, 32 * MIB)
    };
    let mut drive = Nand::new(spec, 32 * MIB, link(), 7);
    run(&mut drive, &[load], 0, 20 * MS, 100 * MS).remove(0)
}

fn assert_rises(what: &str, values: &[f64], tolerance: f64) {
    for pair in values.windows(2) {
        assert!(pair[1] >= pair[0] * (1.0 - tolerance), "{what}: {values:?}");
    }
    assert!(values.last() > values.first(), "{what}: {values:?}");
}

#[test]
fn deeper_queues_and_more_dies_are_not_slower() {
    let at = |depth| outcome(plain(), 100, depth).iops();
    let deeper: Vec<f64> = [1, 2, 4, 8, 16, 64].map(at).to_vec();
    assert_rises("depth of reads", &deeper, 0.01);
    for reads_percent in [100, 50, 0] {
        let at = |dies| {
            let spec = NandSpec { dies, ..plain() };
            outcome(spec, reads_percent, 32).iops()
        };
        let more: Vec<f64> = [2, 4, 8, 16].map(at).to_vec();
        assert_rises("dies", &more, 0.01);
    }
}

#[test]
fn longer_programs_and_erases_and_less_over_provisioning_are_not_faster() {
    let iops = |spec: NandSpec, reads_percent| {
        let spec = NandSpec {
            initial: State::Random,
            ..spec
        };
        outcome(spec, reads_percent, 16).iops()
    };
    for reads_percent in [50, 0] {
        let shorter = [4e6, 2e6, 1e6, 5e5].map(|program_ns| {
            let spec = NandSpec {
                program_ns,
                ..plain()
            };
            iops(spec, reads_percent)
        });
        assert_rises("program", &shorter, 0.01);
        let shorter = [8e7, 2e7, 5e6].map(|erase_ns| {
            iops(
                NandSpec {
                    erase_ns,
                    ..plain()
                },
                reads_percent,
            )
        });
        assert_rises("erase", &shorter, 0.01);
    }
    let more = [0.07, 0.15, 0.28, 0.67].map(|over_provisioning| {
        let spec = NandSpec {
            over_provisioning,
            ..plain()
        };
        iops(spec, 0)
    });
    assert_rises("over-provisioning", &more, 0.01);
}

#[test]
fn reads_under_writes_are_not_better_with_longer_programs() {
    let worse = [5e5, 1e6, 2e6].map(|program_ns| {
        let spec = NandSpec {
            program_ns,
            ..plain()
        };
        let paced = Load {
            pace_ns: 2 * MS,
            ..Load::writes(4, 16_384, 32 * MIB)
        };
        let loads = [Load::reads(1, 4096, 32 * MIB), paced];
        let mut drive = Nand::new(spec, 32 * MIB, link(), 7);
        run(&mut drive, &loads, 0, 20 * MS, 200 * MS)[0].mean_us()
    });
    assert_rises("read latency", &worse, 0.01);
}
