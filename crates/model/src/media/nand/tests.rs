//! Compares the drive with times computed by hand and with published figures of real drives, and checks its invariants.

mod load;
mod parameters;
mod properties;
mod published;
mod slc;
mod steady;
mod timing;

use super::{Nand, NandSpec, SlcSpec, State};
use crate::link::{Link, LinkSpec};

/// Creates a drive without noise and with round numbers: four dies on two channels, units of 16 KiB, channels of 1000
/// ns for 4 KiB.
pub(crate) fn plain() -> NandSpec {
    NandSpec {
        dies: 4,
        planes: 2,
        channels: 2,
        page_bytes: 8192,
        pages_per_block: 64,
        channel_Bps: 4.096e9,
        command_ns: 500.0,
        read_latency_ns: 5_000.0,
        read_jitter_ns: 0.0,
        write_latency_ns: 6_000.0,
        write_jitter_ns: 0.0,
        read_ns: 50_000.0,
        slow_read_ns: 50_000.0,
        slow_read_share: 0.0,
        retry_share: 0.0,
        retry_ns: 0.0,
        stalls: Vec::new(),
        program_ns: 1_000_000.0,
        program_spread: 0.0,
        erase_ns: 3_000_000.0,
        suspend_ns: None,
        reads_before_write: 1_000,
        take_chunk_ns: 0.0,
        buffer_bytes: 8 * 16_384,
        buffer_protected: true,
        drain_after_ns: 100_000.0,
        over_provisioning: 0.28,
        slc: None,
        trim_mebibyte_ns: 1_000.0,
        initial: State::Sequential,
    }
}

/// Returns a link of 500 ns for 4 KiB.
fn link() -> Link {
    let lane = 8e9 * 128.0 / 130.0 / 8.0;
    Link::new(&LinkSpec::Pcie {
        generation: 3,
        lanes: 10,
        efficiency: 2.0 * 4.096e9 / lane / 10.0,
        switch_ns: 0.0,
    })
}

const MIB: u64 = 1 << 20;

/// Creates a drive of 256 MiB.
fn small(spec: NandSpec) -> Nand {
    Nand::new(spec, 256 * MIB, link(), 7)
}
