//! Compares one or a few requests at a time with times computed by hand.

use iogauge_core::Kind;

use super::*;
use crate::Device;
use crate::device::tests::{access, done, drive};
use crate::drive::{Access, Drive};
use crate::media::MediaSpec;
use crate::spec::DriveSpec;

fn read(ticket: u64, chunk: u64, chunks: u32) -> Access {
    access(ticket, Kind::Read, chunk * 4096, chunks * 4096)
}

fn write(ticket: u64, chunk: u64, chunks: u32) -> Access {
    access(ticket, Kind::Write, chunk * 4096, chunks * 4096)
}

#[test]
fn a_read_takes_controller_die_channel_link_and_the_rest() {
    let ends = done(&mut small(plain()), &[(0, read(0, 0, 1))]);
    assert_eq!(ends[0], 500 + 50_000 + 1_000 + 500 + 5_000);
}

#[test]
fn pages_of_several_planes_are_read_at_once() {
    // Four chunks are one unit of a die; the next four lie on the next die and channel.
    let ends = done(&mut small(plain()), &[(0, read(0, 0, 4))]);
    assert_eq!(ends[0], 500 + 50_000 + 4_000 + 2_000 + 5_000);
    let ends = done(&mut small(plain()), &[(0, read(0, 0, 8))]);
    assert_eq!(ends[0], 500 + 50_000 + 4_000 + 4_000 + 5_000);
}

#[test]
fn reads_of_one_die_wait_for_each_other() {
    let ends = done(
        &mut small(plain()),
        &[(0, read(0, 0, 1)), (0, read(1, 1, 1))],
    );
    assert_eq!(ends[0], 57_000);
    assert_eq!(ends[1], 57_000 + 50_000);
}

#[test]
fn dies_of_one_channel_take_turns_on_it() {
    // Units 0 and 2.
    let ends = done(
        &mut small(plain()),
        &[(0, read(0, 0, 1)), (0, read(1, 8, 1))],
    );
    assert_eq!(ends[1], ends[0] + 1_000);
    // Units 0 and 1.
    let ends = done(
        &mut small(plain()),
        &[(0, read(0, 0, 1)), (0, read(1, 4, 1))],
    );
    assert_eq!(ends[1], ends[0] + 500);
}

#[test]
fn a_write_is_done_when_it_is_in_the_buffer() {
    let mut drive = small(plain());
    let ends = done(&mut drive, &[(0, write(0, 0, 1)), (20_000, read(1, 0, 1))]);
    assert_eq!(ends[0], 500 + 500 + 6_000);
    // The chunk is still in the buffer, so no die reads.
    assert_eq!(ends[1], 20_000 + 500 + 500 + 5_000);
    assert_eq!(drive.counters().buffer_hits, 1);
}

#[test]
fn the_controller_takes_chunks_of_a_write_one_after_the_other() {
    let took = |take_chunk_ns, chunks| {
        let spec = NandSpec {
            take_chunk_ns,
            ..plain()
        };
        done(&mut small(spec), &[(0, write(0, 0, chunks))])[0]
    };
    // The link takes 500 ns for a chunk. It is the limit until the controller takes longer.
    assert_eq!(took(0.0, 4), 500 + 4 * 500 + 6_000);
    assert_eq!(took(400.0, 4), 500 + 4 * 500 + 400 + 6_000);
    assert_eq!(took(2_000.0, 4), 500 + 500 + 4 * 2_000 + 6_000);
    // The next write waits for its turn.
    let spec = NandSpec {
        take_chunk_ns: 2_000.0,
        ..plain()
    };
    let ends = done(
        &mut small(spec),
        &[(0, write(0, 0, 4)), (0, write(1, 8, 4))],
    );
    assert_eq!(ends[1], ends[0] + 4 * 2_000);
}

#[test]
fn data_that_was_never_written_needs_no_die() {
    let spec = NandSpec {
        initial: State::Fresh,
        ..plain()
    };
    let mut drive = small(spec);
    let ends = done(&mut drive, &[(0, read(0, 0, 1))]);
    assert_eq!(ends[0], 500 + 500 + 5_000);
    assert_eq!(drive.counters().unwritten_reads, 1);
}

#[test]
fn a_part_of_a_chunk_is_read_before_it_is_written() {
    let mut drive = small(plain());
    let part = access(0, Kind::Write, 1024, 2048);
    let ends = done(&mut drive, &[(0, part)]);
    assert_eq!(ends[0], 500 + 50_000 + 1_000 + 6_000);
    assert_eq!(drive.counters().modify_reads, 1);
}

/// The first die programs the host's unit for 1 ms, from 6.5 us on.
fn programming() -> (u64, Access) {
    (0, write(0, 400, 4))
}

#[test]
fn a_read_waits_for_a_program_that_runs() {
    let ends = done(
        &mut small(plain()),
        &[programming(), (100_000, read(1, 0, 1))],
    );
    assert_eq!(ends[1], 1_006_500 + 50_000 + 1_000 + 500 + 5_000);
}

#[test]
fn a_read_suspends_a_program_where_the_drive_can_do_that() {
    let spec = NandSpec {
        suspend_ns: Some(5_000.0),
        buffer_protected: false,
        ..plain()
    };
    let sync = access(3, Kind::Sync, 0, 0);
    let reads = [(100_000, read(1, 0, 1)), (110_000, read(2, 0, 1))];
    let requests = [programming(), reads[0], reads[1], (200_000, sync)];
    let ends = done(&mut small(spec), &requests);
    assert_eq!(ends[1], 100_500 + 5_000 + 50_000 + 6_500);
    // The program is suspended already.
    assert_eq!(ends[2], 155_500 + 50_000 + 6_500);
    // The program continues where it stopped.
    assert_eq!(ends[3], 1_006_500 + 5_000 + 100_000);
}

#[test]
fn reads_go_ahead_of_a_program_that_waits_but_not_for_ever() {
    let at = |now: u64, ticket: u64| (now, read(ticket, 0, 1));
    let requests = [
        at(0, 0),
        at(0, 1),
        at(0, 2),
        (1_000, write(3, 400, 4)),
        at(100_000, 4),
        at(101_000, 5),
    ];
    // The first three end at 150.5 us on the die, and the program waits for them.
    let ends = done(&mut small(plain()), &requests);
    assert_eq!(ends[4], 200_500 + 6_500);
    assert_eq!(ends[5], 250_500 + 6_500);
    let spec = NandSpec {
        reads_before_write: 1,
        ..plain()
    };
    let ends = done(&mut small(spec), &requests);
    assert_eq!(ends[4], 200_500 + 6_500);
    assert_eq!(ends[5], 200_500 + 1_000_000 + 50_000 + 6_500);
}

#[test]
fn writes_wait_for_room_in_the_buffer() {
    // Nine units: eight have room and four dies program.
    let writes: Vec<_> = (0..9).map(|unit| (0, write(unit, 4 * unit, 4))).collect();
    let ends = done(&mut small(plain()), &writes);
    assert_eq!(ends[7], 500 + 8 * 2_000 + 6_000);
    assert_eq!(ends[8], 1_006_500 + 6_000);
}

#[test]
fn an_incomplete_unit_is_programmed_when_no_write_comes() {
    let mut drive = small(plain());
    let reads = [(1_000_000, read(1, 400, 1)), (1_200_000, read(2, 400, 1))];
    done(&mut drive, &[(0, write(0, 400, 1)), reads[0], reads[1]]);
    // From 101 us on: 4 us of channel, 1 ms of a die.
    assert_eq!(drive.counters().buffer_hits, 1);
    assert_eq!(drive.counters().page_reads, 1);
    // Three quarters of the programmed unit are padding.
    assert_eq!(drive.counters().write_amplification(), 4.0);
}

#[test]
fn a_flush_waits_if_the_buffer_is_volatile() {
    let requests = [(0, write(0, 400, 1)), (10_000, access(1, Kind::Sync, 0, 0))];
    assert_eq!(done(&mut small(plain()), &requests)[1], 10_500);
    let spec = NandSpec {
        buffer_protected: false,
        ..plain()
    };
    let ends = done(&mut small(spec.clone()), &requests);
    assert_eq!(ends[1], 10_500 + 4_000 + 1_000_000);
    // Without writes, a flush need not wait.
    assert_eq!(
        done(&mut small(spec), &[(0, access(0, Kind::Sync, 0, 0))])[0],
        500
    );
}

#[test]
fn a_durable_write_is_on_the_media_when_it_is_done() {
    let durable = Access {
        durable: true,
        ..write(0, 0, 1)
    };
    // Behind a link of 1 us for 4 KiB.
    for (buffer_protected, expected) in [
        (true, 500 + 1_000 + 6_000),
        (false, 500 + 1_000 + 6_000 + 500 + 4_000 + 1_000_000),
    ] {
        let nand = NandSpec {
            buffer_protected,
            ..plain()
        };
        let spec = DriveSpec {
            capacity_bytes: 64 * MIB,
            media: MediaSpec::Nand(nand),
            ..drive()
        };
        let mut device = Device::new(&spec, 1).unwrap();
        assert_eq!(device.volatile(), !buffer_protected);
        assert_eq!(done(&mut device, &[(0, durable)])[0], expected);
    }
}

#[test]
fn a_trim_takes_its_time_and_leaves_nothing() {
    let mut drive = small(plain());
    let requests = [
        (0, write(0, 256, 1)),
        (10_000, access(1, Kind::Trim, MIB, 1 << 20)),
        (20_000, read(2, 256, 1)),
    ];
    let ends = done(&mut drive, &requests);
    assert_eq!(ends[1], 10_500 + 1_000);
    assert_eq!(ends[2], 20_500 + 500 + 5_000);
    assert_eq!(drive.counters().unwritten_reads, 1);
    assert_eq!(drive.counters().buffer_hits, 0);
}
