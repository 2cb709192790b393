//! The SLC region: how it fills, how writes slow down when it is full, and how its data moves out in idle time.

use iogauge_core::{Kind, Nanos};

use super::load::{Load, run};
use super::*;
use crate::device::tests::{access, done};
use crate::drive::Drive;

const MS: Nanos = 1_000_000;

/// Creates an SLC region of 64 units: ten times as fast to program, and twice as fast to read.
fn with_slc(fold_when_full: bool) -> NandSpec {
    NandSpec {
        slc: Some(SlcSpec {
            bytes: MIB,
            program_ns: 96_000.0,
            read_ns: 25_000.0,
            fold_after_ns: 10e6,
            fold_when_full,
        }),
        initial: State::Fresh,
        ..plain()
    }
}

/// Returns the MB/s of sequential writes from `begin` on, after a ramp.
#[allow(non_snake_case)]
fn write_MBps(drive: &mut Nand, begin: Nanos, ramp: Nanos, length: Nanos) -> f64 {
    let load = Load {
        sequential: true,
        ..Load::writes(16, 16_384, 256 * MIB)
    };
    run(drive, &[load], begin, ramp, length)[0].rate_MBps()
}

#[test]
fn writes_slow_down_when_the_region_is_full() {
    // A unit on each of four dies in 4 us of channel and the program.
    let fast = 4.0 * 16_384e3 / 100_000.0;
    let slow = 4.0 * 16_384e3 / 1_004_000.0;
    let mut drive = small(with_slc(false));
    let rate = write_MBps(&mut drive, 0, MS / 2, MS);
    assert!((rate / fast - 1.0).abs() < 0.1, "{rate} {fast}");
    let rate = write_MBps(&mut drive, 2 * MS, 10 * MS, 100 * MS);
    assert!((rate / slow - 1.0).abs() < 0.05, "{rate} {slow}");
    assert_eq!(drive.slc_chunks(), MIB / 4096);
    assert_eq!(drive.counters().fold_programs, 0);
    // If data moves out for each write that comes in, the dies do both.
    let slower = 4.0 * 16_384e3 / (100_000.0 + 25_000.0 + 8_000.0 + 1_000_000.0);
    let mut drive = small(with_slc(true));
    write_MBps(&mut drive, 0, 0, 2 * MS);
    let rate = write_MBps(&mut drive, 2 * MS, 10 * MS, 100 * MS);
    assert!((rate / slower - 1.0).abs() < 0.05, "{rate} {slower}");
    let counters = drive.counters();
    assert_eq!(counters.host_programs, 0);
    assert!(counters.fold_programs + 64 >= counters.slc_programs);
    assert!(counters.write_amplification() > 1.7);
}

#[test]
fn data_moves_out_when_there_is_time() {
    let mut drive = small(with_slc(false));
    let write = |unit: u64| (0, access(unit, Kind::Write, unit * 16_384, 16_384));
    let writes: Vec<_> = (0..64).map(write).collect();
    let end = *done(&mut drive, &writes).last().unwrap();
    let mut read = |now: Nanos| {
        let read = access(0, Kind::Read, 0, 4096);
        done(&mut drive, &[(now, read)])[0] - now
    };
    let soon = read(end + 5 * MS);
    assert_eq!(soon, 500 + 25_000 + 1_000 + 500 + 5_000);
    let late = read(end + 1_000 * MS);
    assert_eq!(late, soon + 25_000);
    assert_eq!(drive.slc_chunks(), 0);
    assert_eq!(drive.counters().fold_programs, 64);
    // There is room again.
    assert!(write_MBps(&mut drive, end + 2_000 * MS, MS / 2, MS) > 500.0);
}

#[test]
fn a_write_stops_the_moving() {
    let mut drive = small(with_slc(false));
    let write = |ticket: u64, now| (now, access(ticket, Kind::Write, ticket * 16_384, 16_384));
    let mut writes: Vec<_> = (0..64).map(|ticket| write(ticket, 0)).collect();
    let paced = (64..164).map(|ticket| write(ticket, (ticket - 63) * 5 * MS));
    writes.extend(paced);
    done(&mut drive, &writes);
    assert_eq!(drive.counters().fold_programs, 0);
    drive.advance(10_000 * MS, &mut Vec::new());
    assert_eq!(drive.slc_chunks(), 0);
}

#[test]
fn trimmed_data_need_not_move() {
    let mut drive = small(with_slc(false));
    let write = |unit: u64| (0, access(unit, Kind::Write, unit * 16_384, 16_384));
    let mut requests: Vec<_> = (0..64).map(write).collect();
    requests.push((8 * MS, access(64, Kind::Trim, 0, 1 << 20)));
    done(&mut drive, &requests);
    assert_eq!(drive.slc_chunks(), 0);
    drive.advance(1_000 * MS, &mut Vec::new());
    assert_eq!(drive.counters().fold_programs, 0);
}
