//! Compares a drive like the P3700 of 800 GB with its published figures. The parameters are plausible, not fitted.

use super::load::{Load, Outcome, run};
use super::*;
use crate::stalls::StallSpec;

const GB: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Creates 20 nm flash with two bits to a cell on 18 channels.
pub(super) fn p3700() -> NandSpec {
    NandSpec {
        dies: 72,
        planes: 2,
        channels: 18,
        page_bytes: 16_384,
        pages_per_block: 256,
        channel_Bps: 333e6,
        command_ns: 2_150.0,
        read_latency_ns: 7_000.0,
        read_jitter_ns: 500.0,
        write_latency_ns: 15_000.0,
        write_jitter_ns: 1_000.0,
        read_ns: 51_000.0,
        slow_read_ns: 62_000.0,
        slow_read_share: 0.2,
        retry_share: 0.012,
        retry_ns: 15_000.0,
        stalls: vec![StallSpec {
            every_services: 20_000.0,
            mean_ns: 1_300_000.0,
            spread: 1.0,
        }],
        program_ns: 1_150_000.0,
        program_spread: 0.4,
        erase_ns: 3_000_000.0,
        suspend_ns: None,
        reads_before_write: 64,
        take_chunk_ns: 0.0,
        buffer_bytes: 4 * MIB,
        buffer_protected: true,
        drain_after_ns: 1e6,
        over_provisioning: 0.16,
        slc: None,
        trim_mebibyte_ns: 1_000.0,
        initial: State::Random,
    }
}

/// Returns a PCIe link of four lanes of generation 3.
fn lanes() -> Link {
    Link::new(&LinkSpec::Pcie {
        generation: 3,
        lanes: 4,
        efficiency: 0.82,
        switch_ns: 0.0,
    })
}

/// Creates a drive with the dies of the real one but less capacity on each, so that its steady state comes sooner.
fn drive(spec: NandSpec) -> Nand {
    Nand::new(spec, GB, lanes(), 11)
}

/// Returns the latency of reads one at a time, while each writer writes at up to 100 MB/s.
fn reads_under(writers: usize, spec: NandSpec) -> (Outcome, Outcome) {
    let paced = Load {
        pace_ns: 40_960,
        ..Load::writes(writers, 4096, GB)
    };
    let loads = [Load::reads(1, 4096, GB), paced];
    let mut outcomes = run(&mut drive(spec), &loads, 0, 200 * MS, 300 * MS);
    let writes = outcomes.pop().unwrap();
    (outcomes.pop().unwrap(), writes)
}

#[test]
fn one_read_at_a_time_takes_as_long_as_published() {
    let spec = NandSpec {
        initial: State::Sequential,
        ..p3700()
    };
    let reads = [Load::reads(1, 4096, GB)];
    let one = &run(&mut drive(spec), &reads, 0, 0, 5_000 * MS)[0];
    assert!(
        (one.mean_us() / 77.9 - 1.0).abs() < 0.03,
        "{}",
        one.mean_us()
    );
    assert!(
        (one.quantile(0.5) / 76.0 - 1.0).abs() < 0.05,
        "{}",
        one.quantile(0.5)
    );
    assert!(
        (one.quantile(0.99) / 96.0 - 1.0).abs() < 0.15,
        "{}",
        one.quantile(0.99)
    );
}

#[test]
fn collection_limits_sustained_random_writes() {
    let mut drive = drive(p3700());
    let writes = [Load::writes(64, 4096, GB)];
    let steady = &run(&mut drive, &writes, 0, 200 * MS, 500 * MS)[0];
    // The 400 GB drive reaches 75,000, the one of 1.6 TB 150,000.
    assert!((75e3..150e3).contains(&steady.iops()), "{}", steady.iops());
}

#[test]
fn reads_are_ten_times_slower_under_writes_without_suspend() {
    let (alone, _) = reads_under(0, p3700());
    let (pressed, writes) = reads_under(4, p3700());
    assert!(writes.rate_MBps() > 380.0, "{}", writes.rate_MBps());
    let factor = pressed.mean_us() / alone.mean_us();
    assert!((6.0..12.0).contains(&factor), "{factor}");
    let suspending = NandSpec {
        suspend_ns: Some(5_000.0),
        ..p3700()
    };
    let (pressed, _) = reads_under(4, suspending);
    let factor = pressed.mean_us() / alone.mean_us();
    assert!((1.05..2.0).contains(&factor), "{factor}");
}
