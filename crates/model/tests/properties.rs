//! Properties of any drive behind any link and machine, under any load.

mod common;

use common::any::{self, CAPACITY, cases};
use common::{Load, RunOutcome, outcome_of, plan};
use iogauge_core::log_record::bytes_of;
use iogauge_core::plan::{EngineKind, Rw};
use iogauge_core::recorder::Exact;
use iogauge_core::results::RowResult;
use iogauge_core::time::MILLISECOND;
use iogauge_model::media::nand::{NandSpec, State};
use iogauge_model::{DriveSpec, Machine, MediaSpec};
use proptest::prelude::*;

/// By direction, as in the log.
const READ: u8 = 0;
const WRITE: u8 = 1;

/// Returns the bytes of one direction.
fn bytes(ran: &RunOutcome, direction: u8) -> f64 {
    let own = ran
        .log
        .iter()
        .filter(|record| record.direction == direction);
    own.map(|record| f64::from(record.length_bytes)).sum()
}

/// Returns the service latencies of a row, by direction.
fn lats(row: &RowResult) -> impl Iterator<Item = &Exact> {
    row.tallies
        .values()
        .filter_map(|tally| tally.exact.get("lat"))
}

proptest! {
    #![proptest_config(cases(120))]

    /// Each worker's requests return once, in order of their instants, and are counted once.
    #[test]
    fn every_request_returns_once_and_is_counted_once(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
        seed: u64,
    ) {
        prop_assert_eq!(spec.check(), Ok(()));
        prop_assert_eq!(machine.check(), Ok(()));
        let ran = outcome_of(&plan(std::slice::from_ref(&loads), seed), &machine, &spec);
        prop_assert!(ran.result.in_flight.is_empty());
        prop_assert_eq!(&ran.result.error, &None);
        for (index, load) in loads.iter().enumerate() {
            let data = || ran.of(index).filter(|record| record.direction < 3);
            prop_assert_eq!(data().count() as u64, load.ios);
            let tallies = &ran.result.rows[index].tallies;
            let of_data = || tallies.iter().filter(|(name, _)| **name != "sync").map(|(_, tally)| tally);
            let ios: u64 = of_data().map(|tally| tally.ios).sum();
            let bytes: u64 = of_data().map(|tally| tally.bytes).sum();
            prop_assert_eq!(ios, load.ios);
            prop_assert_eq!(bytes, data().map(|record| u64::from(record.length_bytes)).sum::<u64>());
            let lat: u64 = lats(&ran.result.rows[index]).map(|lat| lat.sum_ns).sum();
            prop_assert_eq!(lat, ran.of(index).map(|record| record.done_ns - record.start_ns).sum::<u64>());
        }
        for record in &ran.log {
            let issued = if record.issued_ns == u64::MAX { record.start_ns } else { record.issued_ns };
            let instants = [record.intended_ns, record.ready_ns, record.start_ns, issued, record.done_ns];
            prop_assert!(instants.is_sorted(), "{:?}", instants);
        }
    }

    /// Little's law: the loop's mean queue depth equals the recorder's rate times latency.
    #[test]
    fn littles_law_holds(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
    ) {
        let ran = outcome_of(&plan(std::slice::from_ref(&loads), 1), &machine, &spec);
        for ((row, worker), load) in ran.result.rows.iter().zip(&ran.result.workers).zip(&loads) {
            let count: u64 = lats(row).map(|lat| lat.count).sum();
            let sum: u64 = lats(row).map(|lat| lat.sum_ns).sum();
            let rate = count as f64 / worker.end_ns as f64;
            let law = rate * sum as f64 / count as f64;
            prop_assert!((law / worker.depth_mean - 1.0).abs() < 1e-6, "{} {}", law, worker.depth_mean);
            prop_assert!(worker.depth_mean <= f64::from(load.depth));
        }
    }

    /// Link and media do not exceed their rates, and a thread does one thing at a time.
    #[test]
    fn never_faster_than_any_part(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
    ) {
        let ran = outcome_of(&plan(std::slice::from_ref(&loads), 1), &machine, &spec);
        let last = ran.log.iter().map(|record| record.done_ns).max().unwrap() as f64;
        let controllers = f64::from(spec.controllers);
        let (read, written) = (bytes(&ran, READ), bytes(&ran, WRITE));
        // Each controller has its own link; SATA is half duplex.
        let link = spec.link.rate_Bps() * controllers * last / 1e9;
        let both_ways = spec.link.queue().is_none();
        let busiest_way = if both_ways { read.max(written) } else { read + written };
        prop_assert!(busiest_way <= link, "{busiest_way} {link}");
        prop_assert!(least_ns(&spec, &ran) <= controllers * last, "{} {}", least_ns(&spec, &ran), last);
        for (index, (load, worker)) in loads.iter().zip(&ran.result.workers).enumerate() {
            let costs = if load.engine == EngineKind::Pvsync2 { machine.sync } else { machine.queued };
            let requests = ran.of(index).count() as u64;
            prop_assert!(requests * (costs.request_ns + costs.reap_ns) <= worker.end_ns);
            prop_assert!(worker.user_ns <= worker.end_ns, "{} {}", worker.user_ns, worker.end_ns);
        }
    }

    /// The same seed makes the same run: every request, the histograms, and the drive's energy.
    #[test]
    fn repeats_by_seed(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
        seed: u64,
    ) {
        let plan = plan(&[loads], seed);
        let (one, other) = (outcome_of(&plan, &machine, &spec), outcome_of(&plan, &machine, &spec));
        prop_assert!(bytes_of(&one.log) == bytes_of(&other.log));
        let seen = |ran: &RunOutcome| format!("{:?}", (&ran.result, &ran.drive));
        prop_assert_eq!(seen(&one), seen(&other));
    }
}

/// Returns the least time that the media of all controllers together need for the requests, ns.
fn least_ns(spec: &DriveSpec, ran: &RunOutcome) -> f64 {
    let (read, written) = (bytes(ran, READ), bytes(ran, WRITE));
    match &spec.media {
        MediaSpec::Xpoint(spec) => {
            read / 4096.0 * spec.read_chunk_ns.min(spec.read_next_chunk_ns)
                + written / 4096.0 * spec.write_chunk_ns.min(spec.write_next_chunk_ns)
        }
        MediaSpec::Nand(spec) => {
            let slc = spec.slc.map_or(f64::INFINITY, |slc| slc.program_ns);
            let program = spec.program_ns.min(slc) * (1.0 - spec.program_spread);
            // Data in the buffers of the at most three controllers need not be programmed yet.
            let programmed = written - 3.0 * spec.buffer_bytes as f64;
            let commands = ran.log.len() as f64 * spec.command_ns;
            let dies = programmed / f64::from(spec.unit_bytes()) * program / f64::from(spec.dies);
            dies.max(commands)
        }
        MediaSpec::Disk(spec) => (read + written) * 1e9 / spec.outer_Bps.max(spec.inner_Bps),
        MediaSpec::Ram(_) => 0.0,
    }
}

proptest! {
    #![proptest_config(cases(60))]

    /// The drive holds exactly the data that was written, through stripes, splitting, collection and folding.
    #[test]
    fn no_page_is_lost(
        spec in any::drive_of(any::nand().prop_map(|spec| {
            MediaSpec::Nand(NandSpec { initial: State::Fresh, ..spec })
        })),
        machine in any::machine(),
        written in 1u64..=CAPACITY / 65_536,
        bytes in prop::sample::select(vec![512u32, 4096, 16_384]),
        depth in 1u32..9,
    ) {
        let region_bytes = written * 65_536;
        let fill = Load { bytes: 65_536, align_bytes: 65_536, ios: written, region_bytes, ..Load::new(Rw::Write, depth) };
        let over = Load { bytes, align_bytes: 512, ios: 300, region_bytes, ..Load::new(Rw::Randrw, depth) };
        let look = Load { bytes: 131_072, ios: CAPACITY / 131_072, ..Load::new(Rw::Read, depth) };
        let ran = outcome_of(&plan(&[vec![fill], vec![over], vec![look]], 1), &machine, &spec);
        prop_assert_eq!(ran.drive.unwritten_reads, (CAPACITY - region_bytes) / 4096);
    }

    /// With a host that takes no time, the queue is always full.
    #[test]
    fn the_queue_is_always_full(spec in any::drive(), depth in 1u32..33) {
        let end = 5 * MILLISECOND;
        let load = Load { runtime_ns: end, ..Load::new(Rw::Randrw, depth) };
        let ran = outcome_of(&plan(&[vec![load]], 1), &Machine::ideal(), &spec);
        let area: u64 = ran.log.iter().map(|record| record.done_ns.min(end) - record.start_ns).sum();
        prop_assert_eq!(area, u64::from(depth) * end);
    }
}
