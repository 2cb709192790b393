//! The steady state of garbage collection: its write amplification, how it is reached, and the effect of trim.

use iogauge_core::generate::{Rng, Stream};

use super::*;
use crate::device::tests::{access, done};
use crate::media::nand::ftl::tests::closed_form;
use crate::media::nand::space::Space;
use iogauge_core::Kind;

/// Creates a drive with short times, since only the number of moves matters.
fn quick(over_provisioning: f64, initial: State) -> NandSpec {
    NandSpec {
        over_provisioning,
        initial,
        read_ns: 100.0,
        program_ns: 4_000.0,
        erase_ns: 1_000.0,
        ..plain()
    }
}

const SIZE: u64 = 512 * MIB;

/// Returns the write amplification while random writes of the size of `region` go to the region.
fn amplification(drive: &mut Nand, region: u64) -> f64 {
    let before = drive.counters();
    // Other offsets each time.
    let mut rng = Rng::new(before.chunks_written, Stream::Offsets);
    let mut write = |ticket: u64| {
        let chunk = rng.below(region / 4096);
        access(ticket, Kind::Write, chunk * 4096, 4096)
    };
    // All at once, since waits do not matter.
    let writes: Vec<_> = (0..region / 4096)
        .map(|ticket| (0, write(ticket)))
        .collect();
    done(drive, &writes);
    let after = drive.counters();
    let chunks = after.chunks_programmed - before.chunks_programmed;
    (after.chunks_of_programs - before.chunks_of_programs) as f64 / chunks as f64
}

#[test]
fn random_writes_cost_as_much_as_the_closed_form() {
    let mut last = f64::INFINITY;
    for over_provisioning in [0.07, 0.15, 0.28, 0.4, 0.67] {
        let spec = quick(over_provisioning, State::Random);
        let mut drive = Nand::new(spec, SIZE, link(), 7);
        let expected = closed_form(over_provisioning);
        let factor = amplification(&mut drive, SIZE);
        assert!(
            (factor / expected - 1.0).abs() < 0.03,
            "OP {over_provisioning}: {factor:.3}, closed form {expected:.3}"
        );
        assert!(factor < last, "more over-provisioning, but more moves");
        last = factor;
    }
}

/// Random writes leave the layer in the same state as preconditioning, however many chunks a page stands for.
#[test]
fn preconditioning_reaches_the_state_of_random_writes() {
    const PAGES: u64 = 1 << 15;
    for chunks_per_page in [1, 8] {
        let bytes = PAGES * chunks_per_page * 4096;
        let of = |initial| Space::of_pages(bytes, &quick(0.2, initial), 3, PAGES);
        let (mut bulk, mut written) = (of(State::Random), of(State::Fresh));
        let chunks = bytes / 4096;
        let mut rng = Rng::new(9, Stream::Offsets);
        let write = |space: &mut Space, chunk: u64| {
            space.write(chunk, 1);
            space.pay(1.0).moved
        };
        (0..chunks).for_each(|chunk| {
            write(&mut written, chunk);
        });
        (0..4 * chunks).for_each(|_| {
            write(&mut written, rng.below(chunks));
        });
        let furthest = furthest_apart(&valid(&bulk), &valid(&written));
        // 309 blocks each: the 1 % point of Kolmogorov and Smirnov's test.
        assert!(furthest < 0.13, "{chunks_per_page}: {furthest}");
        let mut cost = |space: &mut Space| {
            let moved: f64 = (0..chunks).map(|_| write(space, rng.below(chunks))).sum();
            1.0 + moved / chunks as f64
        };
        let (bulk, written) = (cost(&mut bulk), cost(&mut written));
        assert!((bulk / written - 1.0).abs() < 0.02, "{bulk} {written}");
    }
}

/// The same through the entire drive.
#[test]
fn preconditioning_leaves_the_drive_as_writes_do() {
    let of = |initial| Nand::new(quick(0.2, initial), 128 * MIB, link(), 3);
    let (mut bulk, mut written) = (of(State::Random), of(State::Sequential));
    (0..4).for_each(|_| {
        amplification(&mut written, 128 * MIB);
    });
    let furthest = furthest_apart(&valid(&bulk.space), &valid(&written.space));
    assert!(furthest < 0.13, "{furthest}");
    let (bulk, written) = (
        amplification(&mut bulk, 128 * MIB),
        amplification(&mut written, 128 * MIB),
    );
    assert!((bulk / written - 1.0).abs() < 0.02, "{bulk} {written}");
}

#[test]
fn overwriting_in_order_moves_nothing() {
    let mut drive = Nand::new(quick(0.1, State::Sequential), 64 * MIB, link(), 3);
    let write = |ticket: u64| {
        let unit = ticket % (64 * MIB / 16_384);
        (0, access(ticket, Kind::Write, unit * 16_384, 16_384))
    };
    let writes: Vec<_> = (0..3 * 64 * MIB / 16_384).map(write).collect();
    done(&mut drive, &writes);
    assert_eq!(drive.counters().write_amplification(), 1.0);
    assert!(drive.counters().erases > 0 && drive.wear().mean_erases > 1.0);
}

#[test]
fn erases_make_room_for_programs() {
    let mut drive = Nand::new(quick(0.28, State::Random), 64 * MIB, link(), 3);
    (0..8).for_each(|_| {
        amplification(&mut drive, 64 * MIB);
    });
    let counters = drive.counters();
    let room = counters.erases * u64::from(plain().pages_per_block * plain().unit_chunks());
    let share = room as f64 / counters.chunks_of_programs as f64;
    assert!((share - 1.0).abs() < 0.05, "{share}");
    // All blocks of the layer together hold as much as those of the drive.
    let physical = 64.0 * 256.0 * 1.28;
    let overwrites = counters.chunks_of_programs as f64 / physical;
    let wear = drive.wear();
    assert!(
        (wear.mean_erases / overwrites - 1.0).abs() < 0.05,
        "{wear:?}"
    );
    assert!(f64::from(wear.most_erases) > wear.mean_erases);
}

#[test]
fn trimmed_pages_need_not_be_moved() {
    let mut drive = Nand::new(quick(0.15, State::Random), 64 * MIB, link(), 3);
    let full = amplification(&mut drive, 64 * MIB);
    let half = access(0, Kind::Trim, 32 * MIB, 32 << 20);
    done(&mut drive, &[(0, half)]);
    // Until the debt of earlier collections is paid and victims are those of the new state.
    amplification(&mut drive, 32 * MIB);
    amplification(&mut drive, 32 * MIB);
    let trimmed = amplification(&mut drive, 32 * MIB);
    let expected = closed_form(2.0 * 1.15 - 1.0);
    assert!(
        full > 3.0 && (trimmed / expected - 1.0).abs() < 0.03,
        "{full} {trimmed}"
    );
    let read = |ticket: u64, offset| (0, access(ticket, Kind::Read, offset, 8192));
    done(&mut drive, &[read(0, 32 * MIB), read(1, 31 * MIB)]);
    assert_eq!(drive.counters().unwritten_reads, 2);
    assert_eq!(drive.counters().page_reads, 1);
}

/// Returns the valid pages of each block, the fewest first.
fn valid(space: &Space) -> Vec<u32> {
    let mut valid: Vec<_> = space.ftl().valid_per_block().collect();
    valid.sort_unstable();
    valid
}

/// Returns the largest distance of two distribution functions.
fn furthest_apart(one: &[u32], other: &[u32]) -> f64 {
    let below = |all: &[u32], limit: u32| {
        all.partition_point(|&valid| valid <= limit) as f64 / all.len() as f64
    };
    let at = one.iter().chain(other);
    at.map(|&limit| (below(one, limit) - below(other, limit)).abs())
        .fold(0.0, f64::max)
}
