//! A drive of every family and a machine, each with every feature.
//!
//! The tables have no `..`: a new parameter does not compile until it is added here, too.

use iogauge_model::link::LinkSpec;
use iogauge_model::machine::{EngineCosts, IdleSpec};
use iogauge_model::media::disk::DiskSpec;
use iogauge_model::media::nand::{NandSpec, SlcSpec, State};
use iogauge_model::media::ram::RamSpec;
use iogauge_model::media::xpoint::{RefreshSpec, XpointSpec};
use iogauge_model::power::{LowPowerSpec, PowerSpec, ThermalSpec};
use iogauge_model::stalls::StallSpec;
use iogauge_model::{DriveSpec, Machine, MediaSpec, NoiseSpec};

use super::any::CAPACITY;

const PCIE: LinkSpec = LinkSpec::Pcie {
    generation: 3,
    lanes: 4,
    efficiency: 0.8,
    switch_ns: 150.0,
};

const SATA: LinkSpec = LinkSpec::Sata {
    generation: 3,
    efficiency: 0.9,
    queue: 8,
};

/// Returns every family, behind every link.
pub fn drives() -> Vec<DriveSpec> {
    vec![
        drive(MediaSpec::Xpoint(xpoint()), PCIE, 2),
        drive(MediaSpec::Nand(nand()), PCIE, 2),
        drive(MediaSpec::Disk(disk()), SATA, 1),
        drive(MediaSpec::Ram(ram()), PCIE, 1),
    ]
}

fn drive(media: MediaSpec, link: LinkSpec, controllers: u32) -> DriveSpec {
    let state = |after_ns, idle_W| LowPowerSpec {
        after_ns,
        entry_ns: 300_000.0,
        exit_ns: 200_000.0,
        idle_W,
    };
    DriveSpec {
        capacity_bytes: CAPACITY,
        controllers,
        stripe_bytes: 16384,
        max_transfer_bytes: 32768,
        link,
        media,
        power: PowerSpec {
            idle_W: 5.0,
            read_W: 8.0,
            write_W: 12.0,
            states: vec![state(1e6, 0.9), state(4e6, 0.3)],
        },
        thermal: Some(ThermalSpec {
            ambient_C: 25.0,
            rise_C_per_W: 4.0,
            time_constant_s: 0.02,
            throttle_C: 47.0,
            resume_C: 46.5,
            throttled_Bps: 3e8,
        }),
    }
}

pub fn xpoint() -> XpointSpec {
    let stall = |every_services| StallSpec {
        every_services,
        mean_ns: 20_000.0,
        spread: 0.6,
    };
    XpointSpec {
        read_chunk_ns: 1_600.0,
        read_next_chunk_ns: 1_500.0,
        write_chunk_ns: 1_900.0,
        write_next_chunk_ns: 1_700.0,
        misaligned_chunk_ns: 200.0,
        turnaround_ns: 400.0,
        channels: 7,
        read_media_ns: 4_000.0,
        write_media_ns: 5_000.0,
        latency_ns: 1_000.0,
        jitter_ns: 300.0,
        read_stalls: vec![stall(200.0)],
        write_stalls: vec![stall(150.0)],
        command_ns: 300.0,
        refresh: Some(RefreshSpec {
            powered_h: 1.0,
            lasts_h: 3.0,
            every_ns: 60_000.0,
            piece_ns: 4_000.0,
        }),
    }
}

pub fn nand() -> NandSpec {
    NandSpec {
        dies: 8,
        planes: 2,
        channels: 4,
        page_bytes: 8192,
        pages_per_block: 64,
        channel_Bps: 4e8,
        command_ns: 500.0,
        read_latency_ns: 5_000.0,
        read_jitter_ns: 2_000.0,
        write_latency_ns: 6_000.0,
        write_jitter_ns: 1_000.0,
        read_ns: 50_000.0,
        slow_read_ns: 90_000.0,
        slow_read_share: 0.3,
        retry_share: 0.05,
        retry_ns: 40_000.0,
        stalls: vec![StallSpec {
            every_services: 50.0,
            mean_ns: 200_000.0,
            spread: 0.5,
        }],
        program_ns: 600_000.0,
        program_spread: 0.3,
        erase_ns: 3_000_000.0,
        suspend_ns: Some(10_000.0),
        reads_before_write: 8,
        take_chunk_ns: 400.0,
        buffer_bytes: 16 * 16_384,
        buffer_protected: false,
        drain_after_ns: 100_000.0,
        over_provisioning: 0.28,
        slc: Some(SlcSpec {
            bytes: 2 << 20,
            program_ns: 200_000.0,
            read_ns: 25_000.0,
            fold_after_ns: 2e6,
            fold_when_full: false,
        }),
        trim_mebibyte_ns: 1_000.0,
        initial: State::Random,
    }
}

pub fn disk() -> DiskSpec {
    DiskSpec {
        rpm: 7_200.0,
        seek_shortest_ns: 500_000.0,
        seek_longest_ns: 16e6,
        outer_Bps: 200e6,
        inner_Bps: 100e6,
        command_ns: 20_000.0,
        cache_bytes: 1 << 20,
        reorders: true,
        longest_wait_ns: 400e6,
    }
}

pub fn ram() -> RamSpec {
    RamSpec {
        latency_ns: 2_000.0,
    }
}

pub fn machine() -> Machine {
    Machine {
        sync: EngineCosts {
            call_ns: 900,
            request_ns: 300,
            reap_ns: 250,
        },
        queued: EngineCosts {
            call_ns: 700,
            request_ns: 200,
            reap_ns: 150,
        },
        wake_ns: 1_300,
        poll_ns: 90,
        timer_late_ns: 4_000,
        polls: false,
        idle: vec![
            IdleSpec {
                after_ns: 20_000,
                exit_ns: 6_000,
            },
            IdleSpec {
                after_ns: 400_000,
                exit_ns: 60_000,
            },
        ],
        noise: vec![
            NoiseSpec::Time {
                every_s: 0.002,
                mean_ns: 4_000.0,
            },
            NoiseSpec::Request {
                every_requests: 90.0,
                mean_ns: 2_500.0,
            },
            NoiseSpec::Wake {
                every_wakes: 70.0,
                mean_ns: 6_000.0,
            },
        ],
    }
}
