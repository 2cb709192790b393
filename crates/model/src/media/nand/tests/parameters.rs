//! Checks that each parameter changes something visible from outside, so that a fit can determine it.

use iogauge_core::{Kind, Nanos};

use super::load::{Load, run};
use super::*;
use crate::device::tests::{access, done};
use crate::drive::Drive;
use crate::stalls::StallSpec;

const MS: Nanos = 1_000_000;
const SIZE: u64 = 32 * MIB;

/// Creates a drive with every feature.
fn rich() -> NandSpec {
    NandSpec {
        dies: 8,
        channels: 4,
        channel_Bps: 4e8,
        read_jitter_ns: 2_000.0,
        write_jitter_ns: 2_000.0,
        slow_read_ns: 90_000.0,
        slow_read_share: 0.3,
        retry_share: 0.05,
        retry_ns: 40_000.0,
        stalls: vec![StallSpec {
            every_services: 50.0,
            mean_ns: 200_000.0,
            spread: 0.5,
        }],
        program_spread: 0.3,
        suspend_ns: Some(10_000.0),
        reads_before_write: 8,
        buffer_bytes: 16 * 16_384,
        buffer_protected: false,
        slc: Some(SlcSpec {
            bytes: 2 * MIB,
            program_ns: 200_000.0,
            read_ns: 25_000.0,
            fold_after_ns: 60e6,
            fold_when_full: false,
        }),
        initial: State::Random,
        ..plain()
    }
}

/// Returns the visible figures of a drive: rates, latencies, energy, and programs.
fn seen(spec: &NandSpec, seed: u64) -> Vec<f64> {
    let drive = || Nand::new(spec.clone(), SIZE, link(), seed);
    let mut seen = Vec::new();
    let mut see = |mut drive: Nand, begin: Nanos, loads: &[Load]| {
        for outcome in run(&mut drive, loads, begin, 0, 40 * MS) {
            let (mean, high) = (outcome.mean_us(), outcome.quantile(0.98));
            seen.extend([outcome.iops(), mean, outcome.quantile(0.5), high]);
        }
        let active = drive.active();
        seen.extend([
            active.read_ns,
            active.write_ns,
            drive.counters().write_amplification(),
        ]);
    };
    see(drive(), 0, &[Load::reads(1, 4096, SIZE)]);
    see(drive(), 0, &[Load::reads(64, 4096, SIZE)]);
    let in_order = |load| Load {
        sequential: true,
        ..load
    };
    see(drive(), 0, &[in_order(Load::reads(4, 131_072, SIZE))]);
    see(drive(), 0, &[in_order(Load::writes(4, 131_072, SIZE))]);
    see(drive(), 0, &[Load::writes(1, 4096, SIZE)]);
    see(
        drive(),
        0,
        &[Load::reads(8, 4096, SIZE), Load::writes(8, 4096, SIZE)],
    );
    // One write now and then, with idle time before and after.
    let rare = Load {
        pace_ns: MS,
        ..Load::writes(1, 4096, SIZE)
    };
    see(drive(), 0, &[Load::reads(1, 4096, SIZE), rare]);
    // Less than the SLC region holds.
    let mut rested = drive();
    let burst = in_order(Load::writes(4, 16_384, MIB));
    let burst = run(&mut rested, &[burst], 0, 0, MS).remove(0);
    see(rested, 10 * MS, &[Load::reads(1, 4096, MIB / 2)]);
    seen.push(burst.iops());
    let alone = |kind, bytes| done(&mut drive(), &[(0, access(0, kind, 0, bytes))])[0] as f64;
    let write_and_flush = |index: u64| {
        let now = index * 10 * MS;
        let (write, flush) = (2 * index, 2 * index + 1);
        let write = (now, access(write, Kind::Write, index * 4096, 4096));
        [write, (now + 10_000, access(flush, Kind::Sync, 0, 0))]
    };
    let requests: Vec<_> = (0..30).flat_map(write_and_flush).collect();
    let ends = done(&mut drive(), &requests);
    let flush = |index: usize| (ends[2 * index + 1] - requests[2 * index + 1].0) as f64;
    let longest = (0..30).map(flush).fold(0.0, f64::max);
    let shortest = (0..30).map(flush).fold(f64::INFINITY, f64::min);
    let mut late = drive();
    let read = (3 * MS, access(1, Kind::Read, 0, 4096));
    done(&mut late, &[(0, access(0, Kind::Write, 0, 4096)), read]);
    let hits = 1.0 + late.counters().buffer_hits as f64;
    seen.extend([
        alone(Kind::Trim, 1 << 20),
        longest,
        longest / shortest,
        hits,
    ]);
    seen
}

/// Lists each parameter by its name, with a drive that has another value for it.
#[allow(non_snake_case)]
fn changes() -> Vec<(&'static str, NandSpec)> {
    let mut changes: Vec<(&'static str, NandSpec)> = Vec::new();
    // No `..`: a parameter that is missing here does not compile.
    macro_rules! change {
        ($($name:ident => $value:expr),* $(,)?) => {{
            let NandSpec { $($name: _),* } = rich();
            $(changes.push((stringify!($name), NandSpec { $name: $value, ..rich() }));)*
        }};
    }
    change! {
        dies => 12,
        planes => 1,
        channels => 8,
        page_bytes => 4096,
        pages_per_block => 16,
        channel_Bps => 2e8,
        command_ns => 3_000.0,
        read_latency_ns => 9_000.0,
        read_jitter_ns => 8_000.0,
        write_latency_ns => 12_000.0,
        write_jitter_ns => 8_000.0,
        read_ns => 40_000.0,
        slow_read_ns => 120_000.0,
        slow_read_share => 0.6,
        retry_share => 0.2,
        retry_ns => 200_000.0,
        stalls => Vec::new(),
        program_ns => 1_500_000.0,
        program_spread => 0.0,
        erase_ns => 9_000_000.0,
        suspend_ns => None,
        reads_before_write => 1,
        take_chunk_ns => 3_000.0,
        buffer_bytes => 4 * 16_384,
        buffer_protected => true,
        drain_after_ns => 5e6,
        over_provisioning => 0.1,
        slc => None,
        trim_mebibyte_ns => 9_000.0,
        initial => State::Sequential,
    }
    let mut change = |name, slc: SlcSpec| {
        let slc = Some(slc);
        changes.push((name, NandSpec { slc, ..rich() }));
    };
    let slc = rich().slc.unwrap();
    let SlcSpec {
        bytes: _,
        program_ns: _,
        read_ns: _,
        fold_after_ns: _,
        fold_when_full: _,
    } = slc;
    change(
        "slc.bytes",
        SlcSpec {
            bytes: 4 * MIB,
            ..slc
        },
    );
    change(
        "slc.program_ns",
        SlcSpec {
            program_ns: 400_000.0,
            ..slc
        },
    );
    change(
        "slc.read_ns",
        SlcSpec {
            read_ns: 15_000.0,
            ..slc
        },
    );
    change(
        "slc.fold_after_ns",
        SlcSpec {
            fold_after_ns: 2e6,
            ..slc
        },
    );
    change(
        "slc.fold_when_full",
        SlcSpec {
            fold_when_full: true,
            ..slc
        },
    );
    changes
}

/// Returns the relative difference of each value.
fn apart(one: &[f64], other: &[f64]) -> Vec<f64> {
    let pairs = one.iter().zip(other);
    pairs
        .map(|(one, other)| (other / one - 1.0).abs())
        .collect()
}

#[test]
fn each_parameter_moves_something() {
    let before = seen(&rich(), 1);
    let by_chance = (2..6).map(|seed| apart(&before, &seen(&rich(), seed)));
    let noise = by_chance.reduce(|one, other| {
        let both = one.iter().zip(&other);
        both.map(|(one, other)| one.max(*other)).collect()
    });
    let noise = noise.unwrap();
    for (name, spec) in changes() {
        assert_eq!(spec.check(), Ok(()), "{name}");
        let moved = apart(&before, &seen(&spec, 1));
        let beyond_chance = moved
            .iter()
            .zip(&noise)
            .map(|(moved, noise)| moved - 2.0 * noise);
        let most = beyond_chance.fold(0.0, f64::max);
        assert!(most > 0.02, "{name} moves nothing: at most {most}");
    }
}

#[test]
fn a_parameter_out_of_range_is_named() {
    let said = |spec: NandSpec| spec.check().unwrap_err();
    let spec = NandSpec {
        channels: 9,
        ..rich()
    };
    assert_eq!(said(spec), "channels is 9, not in [1, 8]");
    let spec = NandSpec {
        page_bytes: 5_000,
        ..rich()
    };
    assert!(said(spec).contains("page_bytes is 5000"));
    let spec = NandSpec {
        buffer_bytes: 8192,
        ..rich()
    };
    assert!(said(spec).contains("buffer_bytes is 8192, not in [16384, "));
    let slc = rich().slc.map(|slc| SlcSpec {
        read_ns: f64::NAN,
        ..slc
    });
    assert!(said(NandSpec { slc, ..rich() }).contains("slc.read_ns is NaN"));
}
