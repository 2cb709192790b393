//! One or a few requests at a time, against times worked out by hand.

use iogauge_core::Kind;

use super::*;
use crate::device::tests::{access, done};
use crate::drive::Access;

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
fn what_planes_hold_together_is_read_at_once() {
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
fn a_write_is_done_when_it_is_in_the_buffer() {
    let mut drive = small(plain());
    let ends = done(&mut drive, &[(0, write(0, 0, 1)), (20_000, read(1, 0, 1))]);
    assert_eq!(ends[0], 500 + 500 + 6_000);
    // It is still there: no die is asked.
    assert_eq!(ends[1], 20_000 + 500 + 500 + 5_000);
    assert_eq!(drive.counters().buffer_hits, 1);
}

#[test]
fn what_was_never_written_needs_no_die() {
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
