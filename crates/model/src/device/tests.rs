//! Compares the longer path through a drive with the times of its parts.

use iogauge_core::{Kind, Nanos};
use proptest::prelude::*;

use super::Device;
use crate::drive::{Access, Drive, Returned};
use crate::link::LinkSpec;
use crate::media::MediaSpec;
use crate::media::nand::{NandSpec, State};
use crate::media::ram::RamSpec;
use crate::media::xpoint::XpointSpec;
use crate::media::xpoint::tests::plain;
use crate::power::{LowPowerSpec, PowerSpec};
use crate::spec::DriveSpec;

/// Creates an XPoint drive with round numbers behind a link of 1000 ns for 4 KiB.
pub(crate) fn drive() -> DriveSpec {
    let lane = 8e9 * 128.0 / 130.0 / 8.0;
    DriveSpec {
        capacity_bytes: 1 << 40,
        controllers: 1,
        stripe_bytes: 1 << 17,
        max_transfer_bytes: 1 << 17,
        link: LinkSpec::Pcie {
            generation: 3,
            lanes: 5,
            efficiency: 4.096e9 / lane / 5.0,
            switch_ns: 0.0,
        },
        media: MediaSpec::Xpoint(plain()),
        power: PowerSpec {
            idle_W: 5.0,
            read_W: 8.0,
            write_W: 13.0,
            states: Vec::new(),
        },
        thermal: None,
    }
}

pub(crate) fn access(ticket: u64, kind: Kind, offset_bytes: u64, length_bytes: u32) -> Access {
    Access {
        ticket,
        kind,
        offset_bytes,
        length_bytes,
        durable: false,
    }
}

/// Submits each request at its instant. Returns when each is done, by ticket.
pub(crate) fn done<D: Drive>(device: &mut D, requests: &[(Nanos, Access)]) -> Vec<Nanos> {
    let mut at = vec![Nanos::MAX; requests.len()];
    let mut returned: Vec<Returned> = Vec::new();
    let mut advance = |device: &mut D, until: Nanos, at: &mut Vec<Nanos>| {
        while let Some(event) = device.next_event().filter(|&event| event <= until) {
            device.advance(event, &mut returned);
            for one in returned.drain(..) {
                assert_eq!(one.at, event, "returned late");
                assert_eq!(at[one.ticket as usize], Nanos::MAX, "returned twice");
                at[one.ticket as usize] = one.at;
            }
        }
    };
    for &(now, access) in requests {
        advance(device, now, &mut at);
        if let Some(then) = device.submit(now, access) {
            at[access.ticket as usize] = then;
        }
    }
    advance(device, Nanos::MAX, &mut at);
    assert!(at.iter().all(|&at| at < Nanos::MAX), "one is lost");
    at
}

fn alone(spec: &DriveSpec, access: Access) -> Nanos {
    done(&mut Device::new(spec, 1).unwrap(), &[(0, access)])[0]
}

#[test]
fn a_request_of_one_command_takes_as_long_as_its_media() {
    assert_eq!(alone(&drive(), access(0, Kind::Read, 0, 4096)), 7_600);
}

#[test]
fn larger_requests_are_split_into_commands() {
    let spec = DriveSpec {
        max_transfer_bytes: 8192,
        ..drive()
    };
    // Writes show the split: the data of the second command arrives after that of the first, and each command has a
    // first chunk.
    let MediaSpec::Xpoint(media) = drive().media else {
        unreachable!()
    };
    let slow_first = |spec: DriveSpec| DriveSpec {
        media: MediaSpec::Xpoint(XpointSpec {
            write_chunk_ns: 3_000.0,
            ..media.clone()
        }),
        ..spec
    };
    // The pipe's turnaround, the transfer of the first chunk, and the service of the chunks.
    let begun = 500 + 1_000;
    let split = alone(&slow_first(spec), access(0, Kind::Write, 0, 16384));
    assert_eq!(split, begun + 2 * (3_000 + 2_000) + 6_000);
    let latency = alone(&slow_first(drive()), access(0, Kind::Write, 0, 16384));
    assert_eq!(latency, begun + 3_000 + 3 * 2_000 + 6_000);
}

#[test]
fn two_controllers_share_the_work() {
    let spec = DriveSpec {
        controllers: 2,
        stripe_bytes: 4096,
        ..drive()
    };
    let reads: Vec<_> = (0..8)
        .map(|chunk| (0, access(chunk, Kind::Read, chunk * 4096, 4096)))
        .collect();
    let mut device = Device::new(&spec, 1).unwrap();
    let ends = done(&mut device, &reads);
    assert_eq!(ends[6], ends[7]);
    assert_eq!(ends[7], 3 * 1_600 + 7_600);
    // Half of the media for a time counts as all of them for half of it.
    assert_eq!(device.active().read_ns, 8.0 * 1_600.0 / 2.0);
    assert_eq!(alone(&spec, access(0, Kind::Read, 0, 8192)), 7_600);
    assert_eq!(alone(&spec, access(0, Kind::Sync, 0, 0)), 300);
}

#[test]
fn no_more_requests_enter_than_the_link_has_tags() {
    let spec = DriveSpec {
        link: LinkSpec::Sata {
            generation: 3,
            efficiency: 1.0,
            queue: 2,
        },
        media: MediaSpec::Ram(RamSpec {
            latency_ns: 100_000.0,
        }),
        ..drive()
    };
    let reads: Vec<_> = (0..6)
        .map(|ticket| (0, access(ticket, Kind::Read, 0, 600)))
        .collect();
    let ends = done(&mut Device::new(&spec, 1).unwrap(), &reads);
    assert_eq!(ends[0], 101_000);
    assert_eq!(ends[1], 102_000);
    assert_eq!(ends[2], 202_000);
    assert_eq!(ends[5], 304_000);
}

#[test]
fn a_sleeping_drive_takes_time_to_wake() {
    let mut spec = drive();
    spec.power.states.push(LowPowerSpec {
        after_ns: 1e6,
        entry_ns: 0.0,
        exit_ns: 50_000.0,
        idle_W: 0.5,
    });
    let read = |ticket| access(ticket, Kind::Read, ticket << 12, 4096);
    let mut device = Device::new(&spec, 1).unwrap();
    let requests = [
        (0, read(0)),
        (2_000_000, read(1)),
        (2_000_000, read(2)),
        (2_060_000, read(3)),
    ];
    let ends = done(&mut device, &requests);
    assert_eq!(ends[0], 7_600);
    assert_eq!(ends[1], 2_050_000 + 7_600);
    assert_eq!(ends[2], 2_050_000 + 9_200);
    assert_eq!(ends[3], 2_060_000 + 7_600);
    // All of the time but one long sleep, which was counted at the wake-up.
    let drawn = device.drawn(2_060_000);
    assert_eq!(drawn.low_power_ns, 2_000_000.0 - 7_600.0 - 1e6);
}

#[test]
fn flash_behind_two_controllers_reports_both() {
    let spec = DriveSpec {
        capacity_bytes: 10 << 20,
        controllers: 2,
        stripe_bytes: 1 << 16,
        media: MediaSpec::Nand(NandSpec {
            initial: State::Fresh,
            ..crate::media::nand::tests::plain()
        }),
        ..drive()
    };
    let mut device = Device::new(&spec, 1).unwrap();
    // Writes all of the drive, of which a controller may hold more than half, then reads chunks that were never
    // written.
    let write = |ticket: u64| {
        let chunk = ticket << 16;
        (
            ticket * 10_000_000,
            access(ticket, Kind::Write, chunk, 1 << 16),
        )
    };
    let requests: Vec<_> = (0..159).map(write).collect();
    done(&mut device, &requests);
    let now = 2_000_000_000;
    done(
        &mut device,
        &[(now, access(0, Kind::Read, 159 << 16, 8192))],
    );
    let result = device.result("flash", now + 1_000_000);
    assert_eq!(result.write_amplification, Some(1.0));
    assert_eq!(result.unwritten_reads, 2);
    assert_eq!(
        (result.erases_mean, result.erases_max),
        (Some(0.0), Some(0))
    );
    let result = Device::new(&drive(), 1).unwrap().result("xpoint", now);
    assert_eq!(
        (result.write_amplification, result.erases_max),
        (None, None)
    );
}

#[test]
fn a_spec_out_of_range_is_refused_by_name() {
    let mut spec = drive();
    spec.controllers = 0;
    assert!(Device::new(&spec, 1).unwrap_err().contains("controllers"));
    let mut spec = drive();
    spec.media = MediaSpec::Ram(RamSpec { latency_ns: -1.0 });
    let said = Device::new(&spec, 1).unwrap_err();
    assert!(said.contains("media.latency_ns is -1"), "{said}");
}

proptest! {
    /// On either path, each request returns once, and none before its media could have done it.
    #[test]
    fn each_request_comes_back_once(
        controllers in 1u32..4,
        queue in 1u32..8,
        sata: bool,
        requests in prop::collection::vec((0u64..10_000, 0u8..4, 0u64..64, 1u32..64), 1..100),
    ) {
        let mut spec = DriveSpec { controllers, stripe_bytes: 16384, max_transfer_bytes: 32768, ..drive() };
        if sata {
            spec.link = LinkSpec::Sata { generation: 3, efficiency: 1.0, queue };
        }
        let mut now = 0;
        let requests: Vec<_> = requests.into_iter().enumerate().map(|(ticket, (gap, kind, at, length))| {
            now += gap;
            let kind = [Kind::Read, Kind::Write, Kind::Trim, Kind::Sync][kind as usize];
            let length = if kind == Kind::Sync { 0 } else { length * 4096 };
            (now, access(ticket as u64, kind, at * 4096, length))
        }).collect();
        let ends = done(&mut Device::new(&spec, 1).unwrap(), &requests);
        for ((from, access), end) in requests.iter().zip(ends) {
            let pipe = match access.kind {
                Kind::Read => 1_600.0 * f64::from(access.length_bytes / 4096) / f64::from(controllers) + 5_000.0,
                Kind::Write => 2_000.0 * f64::from(access.length_bytes / 4096) / f64::from(controllers) + 6_000.0,
                _ => 300.0,
            };
            // A controller may have one stripe more or less.
            prop_assert!((end - from) as f64 >= pipe - 4.0 * 2_000.0, "{access:?} {}", end - from);
        }
    }

    /// The same holds for flash, where the end of a request becomes known late, and for durable writes.
    #[test]
    fn each_request_to_flash_comes_back_once(
        controllers in 1u32..4,
        buffer_protected: bool,
        requests in prop::collection::vec((0u64..100_000, 0u8..5, 0u64..64, 1u32..64), 1..60),
    ) {
        let nand = NandSpec { buffer_protected, ..crate::media::nand::tests::plain() };
        let spec = DriveSpec {
            capacity_bytes: 2 << 20,
            controllers,
            stripe_bytes: 16384,
            max_transfer_bytes: 32768,
            media: MediaSpec::Nand(nand),
            ..drive()
        };
        let mut now = 0;
        let requests: Vec<_> = requests.into_iter().enumerate().map(|(ticket, (gap, kind, at, length))| {
            now += gap;
            let durable = kind == 4;
            let kind = [Kind::Read, Kind::Write, Kind::Trim, Kind::Sync, Kind::Write][kind as usize];
            let length = if kind == Kind::Sync { 0 } else { length * 4096 };
            (now, Access { durable, ..access(ticket as u64, kind, at * 4096, length) })
        }).collect();
        let mut device = Device::new(&spec, 1).unwrap();
        let ends = done(&mut device, &requests);
        for ((from, access), end) in requests.iter().zip(ends) {
            let least = if access.durable && device.volatile() { 1_000_000 } else { 500 };
            prop_assert!(end - from >= least, "{access:?} {}", end - from);
        }
    }
}

#[test]
fn tags_count_commands_and_a_request_of_too_many_enters_alone() {
    let spec = DriveSpec {
        max_transfer_bytes: 131_072,
        link: LinkSpec::Sata {
            generation: 3,
            efficiency: 1.0,
            queue: 4,
        },
        ..drive()
    };
    let mut device = Device::new(&spec, 1).unwrap();
    for ticket in 0..3 {
        assert_eq!(
            device.submit(0, access(ticket, Kind::Read, ticket << 20, 2 * 131_072)),
            None
        );
    }
    assert_eq!(device.inside, 4, "two of two commands each");
    assert_eq!(device.waiting.len(), 1);
    assert_eq!(
        device.submit(0, access(3, Kind::Read, 0, 64 * 131_072)),
        None
    );
    let mut returned = Vec::new();
    while let Some(at) = device.next_event() {
        device.advance(at, &mut returned);
        assert!(device.inside <= 64);
    }
    assert_eq!(returned.len(), 4);
    assert_eq!(device.inside, 0);
}
