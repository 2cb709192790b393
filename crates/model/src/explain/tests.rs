//! Compares the parts of single requests with times computed by hand.

use iogauge_core::{Kind, Nanos};

use super::Part::*;
use super::{Part, Spent};
use crate::device::Device;
use crate::device::tests::{access, done, drive};
use crate::drive::{Access, Drive};
use crate::link::LinkSpec;
use crate::media::MediaSpec;
use crate::media::nand::tests::plain as flash;
use crate::power::LowPowerSpec;
use crate::spec::DriveSpec;
use crate::stalls::StallSpec;

/// Submits each request at its instant. Returns the parts of each that took time.
fn parts_of(spec: &DriveSpec, requests: &[(Nanos, Access)]) -> Vec<Vec<(Part, Nanos)>> {
    let mut device = Device::new(spec, 1).unwrap();
    device.explain();
    let at = done(&mut device, requests);
    let ledgers = requests.iter().map(|(now, access)| {
        let ended = at[access.ticket as usize];
        let spent = device.take_spent(access.ticket, ended).unwrap();
        assert_eq!(spent.total(), ended - now);
        positive(&spent)
    });
    ledgers.collect()
}

fn positive(spent: &Spent) -> Vec<(Part, Nanos)> {
    let all = Part::ALL.iter().map(|&part| (part, spent.of(part)));
    all.filter(|&(_, time)| time > 0).collect()
}

fn read(ticket: u64, chunk: u64, chunks: u32) -> Access {
    access(ticket, Kind::Read, chunk * 4096, chunks * 4096)
}

fn write(ticket: u64, chunk: u64, chunks: u32) -> Access {
    access(ticket, Kind::Write, chunk * 4096, chunks * 4096)
}

#[test]
fn requests_wait_for_the_pipe_and_its_turnarounds_and_for_their_channel() {
    let requests = [read(0, 0, 1), write(1, 1, 1), read(2, 2, 1), read(3, 2, 1)];
    let parts = parts_of(&drive(), &requests.map(|access| (0, access)));
    let served = [(Controller, 1_000), (Channel, 4_000), (Link, 1_000)];
    assert_eq!(parts[0], [&[(Pipe, 1_600)], &served[..]].concat());
    // Its data is there after 1000 ns, when the pipe is free in 600.
    let behind_a_read = [
        (Queue, 600),
        (Turnaround, 500),
        (Pipe, 2_000),
        (Controller, 1_000),
        (Channel, 5_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[1], behind_a_read);
    // It waits for the write's change of direction too.
    let before = [(Queue, 3_600), (Turnaround, 1_000), (Pipe, 1_600)];
    assert_eq!(parts[2], [&before, &served[..]].concat());
    // Its channel is free at 10,200, and the pipe has served this read at 7,800.
    let same_chunk = [
        (Queue, 5_200),
        (Turnaround, 1_000),
        (Pipe, 1_600),
        (Controller, 1_000),
        (ChannelWait, 2_400),
        (Channel, 4_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[3], same_chunk);
}

#[test]
fn who_waits_behind_a_stall_waits_for_the_stall() {
    let MediaSpec::Xpoint(mut spec) = drive().media else {
        panic!("an XPoint drive");
    };
    spec.write_stalls = vec![StallSpec {
        every_services: 1.0,
        mean_ns: 20_000.0,
        spread: 0.0,
    }];
    let spec = DriveSpec {
        media: MediaSpec::Xpoint(spec),
        ..drive()
    };
    let parts = parts_of(&spec, &[(0, write(0, 0, 1)), (5_000, read(1, 0, 1))]);
    let stalled = [
        (Turnaround, 500),
        (Pipe, 2_000),
        (Controller, 1_000),
        (Stall, 20_000),
        (Channel, 5_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[0], stalled);
    // The channel stalls until 23,500 and is done at 28,500. The read has left the pipe at 7,100.
    let behind = [
        (Turnaround, 500),
        (Pipe, 1_600),
        (Controller, 1_000),
        (ChannelWait, 5_000),
        (Stall, 16_400),
        (Channel, 4_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[1], behind);
}

#[test]
fn of_pipe_and_link_the_slower_one_counts() {
    let slow = LinkSpec::Pcie {
        generation: 3,
        lanes: 1,
        efficiency: 4.096e9 / 8e9 * 130.0 / 128.0,
        switch_ns: 100.0,
    };
    let spec = DriveSpec {
        link: slow,
        ..drive()
    };
    let parts = parts_of(&spec, &[(0, read(0, 0, 4)), (100_000, write(1, 8, 4))]);
    // A chunk takes 8 us on this link, and the first is ready after 5.6.
    let reading = [
        (Pipe, 1_600),
        (Controller, 1_000),
        (Channel, 4_000),
        (Link, 100 + 32_000),
    ];
    assert_eq!(parts[0], reading);
    // The first of four chunks is there after 8 us; they need the pipe for 8, and the last its channel for 5.
    let writing = [(Controller, 1_000), (Link, 100 + 32_000)];
    assert_eq!(parts[1], writing);
}

#[test]
fn of_a_split_request_the_last_command_counts() {
    let spec = DriveSpec {
        max_transfer_bytes: 4096,
        ..drive()
    };
    let parts = parts_of(&spec, &[(0, read(0, 0, 2))]);
    let second = [
        (Queue, 1_600),
        (Pipe, 1_600),
        (Controller, 1_000),
        (Channel, 4_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[0], second);
}

#[test]
fn a_request_waits_for_a_sleeping_drive_and_for_an_entry_of_its_queue() {
    let mut spec = drive();
    spec.link = LinkSpec::Sata {
        generation: 3,
        efficiency: 1.0,
        queue: 1,
    };
    spec.power.states = vec![LowPowerSpec {
        after_ns: 50_000.0,
        entry_ns: 0.0,
        exit_ns: 10_000.0,
        idle_W: 1.0,
    }];
    let requests = [(100_000, read(0, 0, 1)), (100_000, read(1, 9, 1))];
    let parts = parts_of(&spec, &requests);
    let link = 6_827;
    let served = [
        (Pipe, 1_600),
        (Controller, 1_000),
        (Channel, 4_000),
        (Link, link),
    ];
    assert_eq!(parts[0], [&[(LowPower, 10_000)], &served[..]].concat());
    let waits = 10_000 + 1_600 + 5_000 + link;
    assert_eq!(parts[1][0], (Entry, waits));
    assert_eq!(parts[1][1..], served);
}

#[test]
fn reads_wait_for_what_their_die_does() {
    let spec = DriveSpec {
        media: MediaSpec::Nand(flash()),
        capacity_bytes: 256 << 20,
        ..drive()
    };
    let requests = [
        // A unit, which goes to the first die.
        (0, write(0, 400, 4)),
        // The first unit of the drive is on the first die, the second on the second.
        (10_000, read(1, 0, 1)),
        (10_000, read(2, 1, 1)),
        (10_000, read(3, 4, 1)),
    ];
    let parts = parts_of(&spec, &requests);
    let written = [(Controller, 500), (Fixed, 6_000), (Link, 4_000)];
    assert_eq!(parts[0], written);
    // The data is on the die after 4,500 + 4,000 ns, and programmed 1 ms later.
    let first = [
        (Controller, 500),
        (ProgramWait, 998_000),
        (PageRead, 50_000),
        (Channel, 1_000),
        (Fixed, 5_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[1], first);
    let second = [
        (Queue, 500),
        (Controller, 500),
        (ReadWait, 50_000),
        (ProgramWait, 997_500),
        (PageRead, 50_000),
        (Channel, 1_000),
        (Fixed, 5_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[2], second);
    let elsewhere = [
        (Queue, 1_000),
        (Controller, 500),
        (PageRead, 50_000),
        (Channel, 1_000),
        (Fixed, 5_000),
        (Link, 1_000),
    ];
    assert_eq!(parts[3], elsewhere);
}

#[test]
fn a_write_waits_for_room_in_the_buffer_and_a_sync_for_programs() {
    let mut small = flash();
    (small.buffer_bytes, small.buffer_protected) = (16_384, false);
    let spec = DriveSpec {
        media: MediaSpec::Nand(small),
        capacity_bytes: 256 << 20,
        ..drive()
    };
    let sync = access(2, Kind::Sync, 0, 0);
    let requests = [(0, write(0, 0, 4)), (0, write(1, 8, 4)), (2_000_000, sync)];
    let parts = parts_of(&spec, &requests);
    // The first write is in the buffer after 4,500 ns, on its die 4,000 later, and programmed after 1 ms.
    assert_eq!(
        parts[1][1..],
        [
            (Controller, 500),
            (Fixed, 6_000),
            (Link, 7_500),
            (Buffer, 1_000_000)
        ]
    );
    assert_eq!(parts[2], [(Controller, 500), (Flush, 12_000)]);
}
