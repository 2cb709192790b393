//! Runs plans for tests: a plan in, its full outcome out.
#![allow(dead_code)]

use std::fs::{File, OpenOptions};
use std::time::{Duration, Instant};

use iogauge_core::Direction;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{EngineKind, FilePlan, RunPlan, Rw, SchedulePlan, WorkerPlan};
use iogauge_core::results::{Interval, RowResult, RunResult, Tally};
pub use iogauge_core::testing::run_plan;
use iogauge_engine::run::spill::{FrameReader, Spilled};
use iogauge_engine::run::{Event, Run};
use iogauge_engine::{ClockFacts, Error};

use crate::common::{Scratch, plan};

/// Blocks of the file that [`worker`] works on.
pub const BLOCKS: u64 = 256;

/// A number of requests that is no multiple of any batch, depth or region.
pub const PRIME: u64 = 10_007;

/// Longer than any of these runs takes, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    pub intervals: Vec<Interval>,
    pub log: Vec<LogRecord>,
    pub spilled: Option<Spilled>,
    pub result: RunResult<ClockFacts>,
}

impl Outcome {
    pub fn row(&self, row: u32) -> &RowResult {
        self.result
            .rows
            .iter()
            .find(|result| result.row == row)
            .expect("the row is there")
    }

    /// Returns the intervals of a row, in the order in which they came.
    pub fn intervals_of(&self, row: u32) -> impl Iterator<Item = &Interval> {
        self.intervals
            .iter()
            .filter(move |interval| interval.row == row)
    }
}

/// Runs a plan. Calls `steer` after every event.
pub fn steered(plan: RunPlan, steer: impl FnMut(&Run, &[Interval])) -> Result<Outcome, Error> {
    let scratch = Scratch::new(b"");
    let spill = OpenOptions::new().append(true).open(&scratch.path).unwrap();
    let mut outcome = spilled(plan, spill, steer)?;
    let file = File::open(&scratch.path).unwrap();
    FrameReader::new(file, 0)
        .and_then(|mut frames| frames.read(usize::MAX, &mut outcome.log))
        .expect("the spill can be read");
    let log_outcome = outcome.spilled.as_ref().expect("it was closed");
    assert_eq!(
        (log_outcome.kept, &log_outcome.failure),
        (outcome.log.len() as u64, &None)
    );
    Ok(outcome)
}

/// Runs a plan whose log goes into `spill` and is not read.
pub fn spilled(
    plan: RunPlan,
    spill: File,
    mut steer: impl FnMut(&Run, &[Interval]),
) -> Result<Outcome, Error> {
    let begun = Instant::now();
    let run = Run::start(plan, Some(spill))?;
    let (mut intervals, mut ended) = (Vec::new(), None);
    while ended.is_none() {
        assert!(begun.elapsed() < PATIENCE, "the run does not end");
        for event in run.poll(Duration::from_millis(20)) {
            match event {
                Event::Interval(interval) => intervals.push(*interval),
                Event::Finished(result) => ended = Some(result),
                Event::Failed(error) => return Err(error),
                Event::Held(_) => run.proceed(Ok(())),
            }
        }
        steer(&run, &intervals);
    }
    Ok(Outcome {
        intervals,
        log: Vec::new(),
        spilled: run.spilled(),
        result: *ended.expect("it ended"),
    })
}

pub fn execute(plan: RunPlan) -> Outcome {
    steered(plan, |_, _| {}).expect("the run could be started")
}

/// A file of [`BLOCKS`] blocks of 4 KiB.
pub fn file() -> Scratch {
    Scratch::new(&vec![7; BLOCKS as usize * 4096])
}

/// Creates a worker: 4 KiB, mixed, without an end of its own, since io_bytes is never reached.
pub fn worker(kind: EngineKind, scratch: &Scratch) -> WorkerPlan {
    let file = match kind {
        EngineKind::Null => FilePlan {
            fd: -1,
            ..scratch.plan()
        },
        _ => scratch.plan(),
    };
    WorkerPlan {
        io_bytes: u64::MAX,
        ..plan(kind, Rw::Randrw, vec![file])
    }
}

/// Returns the null engine, a synchronous one, and io_uring if this machine has it.
pub fn engines() -> Vec<EngineKind> {
    let mut kinds = vec![EngineKind::Null, EngineKind::Psync];
    let scratch = file();
    let tried = run_plan(vec![WorkerPlan {
        number_ios: 1,
        ..worker(EngineKind::IoUring, &scratch)
    }]);
    match steered(tried, |_, _| {}) {
        Ok(_) => kinds.push(EngineKind::IoUring),
        Err(Error::UringMissing | Error::UringDisabled { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    kinds
}

/// Returns a schedule of this many requests a second.
pub fn iops(rate_iops: u64) -> SchedulePlan {
    SchedulePlan {
        rate_iops,
        rate_Bps: 0,
        rate_min_Bps: 0,
        first_ns: 0,
    }
}

pub fn ios(row: &RowResult) -> u64 {
    row.tallies.values().map(|tally| tally.ios).sum()
}

pub fn histogram(tally: &Tally, latency: &str) -> hdrhistogram::Histogram<u64> {
    let bytes = &tally.histograms[latency].0;
    hdrhistogram::serialization::Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .expect("it decodes")
}

pub fn direction(record: &LogRecord) -> &'static str {
    Direction::ALL[record.direction as usize].name()
}

/// Checks every run with a complete log: instants are in order, the depth is kept, and log, intervals and totals agree.
pub fn check(outcome: &Outcome, plans: &[WorkerPlan]) {
    assert!(
        outcome
            .result
            .workers
            .iter()
            .all(|worker| worker.log_dropped == 0),
        "the log is incomplete"
    );
    for record in &outcome.log {
        let issued = if record.issued_ns == u64::MAX {
            record.start_ns
        } else {
            record.issued_ns
        };
        assert!(
            record.intended_ns <= record.ready_ns && record.ready_ns <= record.start_ns,
            "{record:?}"
        );
        assert!(
            record.start_ns <= issued && issued <= record.done_ns,
            "{record:?}"
        );
        let file = &plans[record.worker as usize].files[record.target as usize];
        let within = record.offset_bytes..record.offset_bytes + u64::from(record.length_bytes);
        assert!(within.start >= file.region_offset_bytes);
        assert!(within.end <= file.region_offset_bytes + file.region_bytes);
    }
    for (worker, plan) in plans.iter().enumerate() {
        let of: Vec<_> = outcome
            .log
            .iter()
            .filter(|record| record.worker as usize == worker)
            .collect();
        assert!(most_at_once(&of) <= plan.iodepth as usize);
    }
    for row in &outcome.result.rows {
        for (name, total) in &row.tallies {
            let of = |ramp| {
                let of = outcome
                    .log
                    .iter()
                    .filter(move |record| u32::from(record.ramp) == ramp && record.row == row.row);
                of.filter(|record| direction(record) == *name && record.result >= 0)
            };
            assert_eq!(total.ios, of(0).count() as u64, "{name}");
            assert_eq!(total.bytes, of(0).map(|record| record.result as u64).sum());
            let lat = |record: &LogRecord| record.done_ns - record.start_ns;
            if total.ios > 0 {
                assert_eq!(total.exact["lat"].max_ns, of(0).map(lat).max().unwrap());
                assert_eq!(total.exact["lat"].sum_ns, of(0).map(lat).sum());
            }
            for ramp in [0, 1] {
                let parts = outcome
                    .intervals_of(row.row)
                    .filter(|part| u32::from(part.ramp) == ramp);
                let parts = parts.filter_map(|part| part.tallies.get(name));
                assert_eq!(
                    parts.map(|tally| tally.ios).sum::<u64>(),
                    of(ramp).count() as u64
                );
            }
        }
        // Each request is counted in the interval of its completion, and no interval is missing.
        let mut reached = outcome
            .intervals_of(row.row)
            .map(|part| part.start_ns)
            .min()
            .unwrap();
        let mut parts: Vec<_> = outcome.intervals_of(row.row).collect();
        parts.sort_by_key(|part| (part.start_ns, part.end_ns));
        for (place, part) in parts.iter().enumerate() {
            assert_eq!(part.start_ns, reached);
            let last = place + 1 == parts.len();
            let within = |record: &&LogRecord| {
                let at = record.done_ns;
                record.row == row.row
                    && record.result >= 0
                    && part.start_ns <= at
                    && (at < part.end_ns || last)
            };
            let seen: u64 = part.tallies.values().map(|tally| tally.ios).sum();
            assert_eq!(seen, outcome.log.iter().filter(within).count() as u64);
            reached = part.end_ns;
        }
        assert_eq!(reached, row.end_ns);
    }
}

/// Returns the most requests that were in flight together.
fn most_at_once(log: &[&LogRecord]) -> usize {
    let mut changes: Vec<(u64, i32)> = Vec::new();
    for record in log {
        changes.extend([(record.start_ns, 1), (record.done_ns, -1)]);
    }
    // A request that starts as another ends takes its place.
    changes.sort_unstable();
    let mut now = 0;
    changes
        .iter()
        .map(|&(_, change)| {
            now += change;
            now
        })
        .max()
        .unwrap_or(0) as usize
}
