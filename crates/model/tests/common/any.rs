//! Draws drives, machines and loads of all valid shapes.

use iogauge_core::plan::{EngineKind, Rw};
use iogauge_model::link::LinkSpec;
use iogauge_model::machine::{EngineCosts, IdleSpec};
use iogauge_model::media::disk::DiskSpec;
use iogauge_model::media::nand::{NandSpec, SlcSpec, State};
use iogauge_model::media::ram::RamSpec;
use iogauge_model::media::xpoint::{RefreshSpec, XpointSpec};
use iogauge_model::power::{LowPowerSpec, PowerSpec, ThermalSpec};
use iogauge_model::stalls::StallSpec;
use iogauge_model::{DriveSpec, Machine, MediaSpec, NoiseSpec};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{Load, rich};

/// Bytes of all drives here.
pub const CAPACITY: u64 = 32 << 20;

/// Returns a configuration of `cases` cases, the same in every run, so that a failure repeats.
pub fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    }
}

pub fn link() -> impl Strategy<Value = LinkSpec> {
    let pcie = (1u32..=6, 1u32..=16, 0.1..=1.0, 0.0..2e3).prop_map(
        |(generation, lanes, efficiency, switch_ns)| LinkSpec::Pcie {
            generation,
            lanes,
            efficiency,
            switch_ns,
        },
    );
    let sata = (1u32..=3, 0.1..=1.0, 1u32..=32).prop_map(|(generation, efficiency, queue)| {
        LinkSpec::Sata {
            generation,
            efficiency,
            queue,
        }
    });
    prop_oneof![3 => pcie, 1 => sata]
}

fn stalls() -> impl Strategy<Value = Vec<StallSpec>> {
    let stall =
        (1.0..500.0, 0.0..5e4, 0.0..=1.0).prop_map(|(every_services, mean_ns, spread)| StallSpec {
            every_services,
            mean_ns,
            spread,
        });
    prop::collection::vec(stall, 0..3)
}

fn xpoint() -> impl Strategy<Value = MediaSpec> {
    let refresh =
        (0.0..4.0, 2e4..1e6, 0.0..1e4).prop_map(|(powered_h, every_ns, piece_ns)| RefreshSpec {
            powered_h,
            lasts_h: 3.0,
            every_ns,
            piece_ns,
        });
    let chunks = [1e2..5e3, 1e2..5e3, 1e2..5e3, 1e2..5e3];
    let media = (1u32..10, [0.0..2e4, 0.0..2e4]);
    let others = (0.0..1e3, 0.0..2e3, 0.0..2e4, 0.0..2e3, 0.0..1e3);
    (
        chunks,
        media,
        others,
        stalls(),
        stalls(),
        prop::option::of(refresh),
    )
        .prop_map(
            |(chunks, (channels, media), others, read_stalls, write_stalls, refresh)| {
                MediaSpec::Xpoint(XpointSpec {
                    read_chunk_ns: chunks[0],
                    read_next_chunk_ns: chunks[1],
                    write_chunk_ns: chunks[2],
                    write_next_chunk_ns: chunks[3],
                    misaligned_chunk_ns: others.0,
                    turnaround_ns: others.1,
                    channels,
                    read_media_ns: media[0],
                    write_media_ns: media[1],
                    latency_ns: others.2,
                    jitter_ns: others.3,
                    command_ns: others.4,
                    read_stalls,
                    write_stalls,
                    refresh,
                })
            },
        )
}

/// Draws SLC regions and initial states. The tests of flash draw its other parameters.
pub fn nand() -> impl Strategy<Value = NandSpec> {
    let shape = (1u32..9, 1u32..4, 1u32..9, 1u32..4);
    let times = (1e3..1e5, 1e4..2e6, 0.0..0.5, 0.0..0.2);
    let state = prop_oneof![
        Just(State::Fresh),
        Just(State::Sequential),
        Just(State::Random)
    ];
    let slc = prop::option::of(any::<bool>());
    (shape, times, 1u64..20, any::<bool>(), 0.05..0.7, slc, state).prop_map(
        |(shape, times, units, buffer_protected, over_provisioning, slc, initial)| {
            let (dies, planes, channels, pages) = shape;
            let (read_ns, program_ns, program_spread, retry_share) = times;
            let page_bytes = 4096 * pages;
            NandSpec {
                dies,
                planes,
                channels: channels.min(dies),
                page_bytes,
                read_ns,
                slow_read_ns: 2.0 * read_ns,
                program_ns,
                program_spread,
                retry_share,
                buffer_bytes: units * u64::from(page_bytes * planes),
                buffer_protected,
                over_provisioning,
                slc: slc.map(|fold_when_full| SlcSpec {
                    bytes: 1 << 20,
                    program_ns: program_ns / 2.0,
                    read_ns,
                    fold_after_ns: 1e6,
                    fold_when_full,
                }),
                initial,
                ..rich::nand()
            }
        },
    )
}

fn disk() -> impl Strategy<Value = MediaSpec> {
    let rates = (5e7..3e8, 5e7..3e8);
    (
        5e3..15e3,
        0.0..1e6,
        0.0..2e7,
        rates,
        0u64..1 << 24,
        any::<bool>(),
    )
        .prop_map(
            |(rpm, seek_shortest_ns, more, (outer_Bps, inner_Bps), cache_bytes, reorders)| {
                MediaSpec::Disk(DiskSpec {
                    rpm,
                    seek_shortest_ns,
                    seek_longest_ns: seek_shortest_ns + more,
                    outer_Bps,
                    inner_Bps,
                    command_ns: 20e3,
                    cache_bytes,
                    reorders,
                    longest_wait_ns: 1e8,
                })
            },
        )
}

fn ram() -> impl Strategy<Value = MediaSpec> {
    (0.0..1e5).prop_map(|latency_ns| MediaSpec::Ram(RamSpec { latency_ns }))
}

fn power() -> impl Strategy<Value = PowerSpec> {
    let state =
        (1e4..1e7, 0.0..1e5, 0.0..1e5).prop_map(|(after_ns, entry_ns, exit_ns)| LowPowerSpec {
            after_ns,
            entry_ns,
            exit_ns,
            idle_W: 0.5,
        });
    (0.0..10.0, 0.0..20.0, 0.0..20.0, prop::option::of(state)).prop_map(
        |(idle_W, read_W, write_W, state)| PowerSpec {
            idle_W,
            read_W: idle_W.max(read_W),
            write_W: idle_W.max(write_W),
            states: Vec::from_iter(state),
        },
    )
}

fn thermal() -> impl Strategy<Value = ThermalSpec> {
    (1.0..10.0, 0.005..1.0, 26.0..80.0, 1e7..1e9).prop_map(
        |(rise_C_per_W, time_constant_s, throttle_C, throttled_Bps)| ThermalSpec {
            ambient_C: 25.0,
            rise_C_per_W,
            time_constant_s,
            throttle_C,
            resume_C: throttle_C - 1.0,
            throttled_Bps,
        },
    )
}

/// Draws a drive with any media.
pub fn drive() -> impl Strategy<Value = DriveSpec> {
    let media = prop_oneof![xpoint(), nand().prop_map(MediaSpec::Nand), disk(), ram()];
    drive_of(media)
}

/// Draws any drive with these media.
pub fn drive_of(media: impl Strategy<Value = MediaSpec>) -> impl Strategy<Value = DriveSpec> {
    let shape = (1u32..4, 1u64..33, 1u32..33);
    (media, link(), shape, power(), prop::option::of(thermal())).prop_map(
        |(media, link, (controllers, stripe, transfer), power, thermal)| DriveSpec {
            capacity_bytes: CAPACITY,
            controllers,
            stripe_bytes: stripe * 4096,
            max_transfer_bytes: transfer * 4096,
            link,
            media,
            power,
            thermal,
        },
    )
}

pub fn machine() -> impl Strategy<Value = Machine> {
    let costs = || {
        (0u64..3_000, 0u64..3_000, 0u64..3_000).prop_map(|(call_ns, request_ns, reap_ns)| {
            EngineCosts {
                call_ns,
                request_ns,
                reap_ns,
            }
        })
    };
    let noise = prop_oneof![
        (1e-4..1e-1, 0.0..1e5).prop_map(|(every_s, mean_ns)| NoiseSpec::Time { every_s, mean_ns }),
        (1.0..1e3, 0.0..1e4).prop_map(|(every_requests, mean_ns)| NoiseSpec::Request {
            every_requests,
            mean_ns
        }),
        (1.0..1e3, 0.0..1e4).prop_map(|(every_wakes, mean_ns)| NoiseSpec::Wake {
            every_wakes,
            mean_ns
        }),
    ];
    let noise = prop::collection::vec(noise, 0..3);
    let idle = prop::collection::btree_map(0u64..100_000, 0u64..20_000, 0..3).prop_map(|states| {
        let state = |(after_ns, exit_ns)| IdleSpec { after_ns, exit_ns };
        states.into_iter().map(state).collect()
    });
    (
        costs(),
        costs(),
        0u64..5_000,
        idle,
        0u64..500,
        0u64..50_000,
        any::<bool>(),
        noise,
    )
        .prop_map(
            |(sync, queued, wake_ns, idle, poll_ns, timer_late_ns, polls, noise)| Machine {
                sync,
                queued,
                wake_ns,
                idle,
                poll_ns,
                timer_late_ns,
                polls,
                noise,
            },
        )
}

/// Draws a hundred requests or so of any kind.
pub fn load() -> impl Strategy<Value = Load> {
    let rw = prop::sample::select(vec![
        Rw::Read,
        Rw::Write,
        Rw::Readwrite,
        Rw::Randread,
        Rw::Randwrite,
        Rw::Randrw,
        Rw::Randtrim,
    ]);
    let bytes = prop::sample::select(vec![512u32, 4096, 8192, 65_536, 131_072]);
    let engine = (
        prop::sample::select(vec![
            EngineKind::Libaio,
            EngineKind::IoUring,
            EngineKind::Pvsync2,
        ]),
        any::<bool>(),
        any::<bool>(),
    );
    let rate = prop_oneof![2 => Just(0u64), 1 => 1_000u64..200_000];
    let fsync = prop_oneof![2 => Just(0u64), 1 => 1u64..20];
    let pause = prop_oneof![3 => Just(0u64), 1 => 0u64..3_000_000];
    (
        rw,
        bytes,
        any::<bool>(),
        engine,
        (1u32..33, 1u32..9),
        1u64..150,
        (rate, fsync, pause),
    )
        .prop_map(
            |(rw, bytes, aligned, (engine, polls, durable), (depth, submit_batch), ios, rest)| {
                let (rate_iops, fsync_every, pause_ns) = rest;
                Load {
                    bytes,
                    align_bytes: if aligned { bytes } else { 512 },
                    submit_batch,
                    engine,
                    polls,
                    durable,
                    fsync_every,
                    read_percent: 60.0,
                    ios,
                    rate_iops,
                    pause: (10, pause_ns),
                    ..Load::new(
                        rw,
                        if engine == EngineKind::Pvsync2 {
                            1
                        } else {
                            depth
                        },
                    )
                }
            },
        )
}
