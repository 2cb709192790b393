//! The results of a run: the Rust twin of `python/iogauge/schema/results.py`, field by field, ready to serialize.

mod tallies;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::busy::Busy;
use crate::plan::{VerifyState, WorkerPlan};
use crate::recorder::{MergedSlice, Span};
use crate::request::{Direction, Request};
use crate::stage::Stop;
use crate::time::Nanos;
pub use tallies::{Bytes, PriorityTally, Tally, encoded, priority_tallies, tallies};

/// A fixed slice of a run for one row.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Interval {
    pub stage: u32,
    pub row: u32,
    pub index: u64,
    pub start_ns: Nanos,
    pub end_ns: Nanos,
    pub ramp: bool,
    pub tallies: BTreeMap<&'static str, Tally>,
    pub loop_gap: Option<Bytes>,
}

impl Interval {
    /// Creates the interval of `row` that `slice` holds.
    pub fn new(
        stage: u32,
        row: u32,
        span: Span,
        (start_ns, end_ns): (Nanos, Nanos),
        slice: &MergedSlice,
    ) -> Self {
        Self {
            stage,
            row,
            index: span.index,
            start_ns,
            end_ns,
            ramp: span.ramp,
            tallies: tallies(slice),
            loop_gap: (slice.loop_gap.exact().count > 0).then(|| encoded(&slice.loop_gap)),
        }
    }
}

/// A request that had not returned when the run gave up.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct InFlight {
    pub worker: u32,
    pub direction: Direction,
    pub path: String,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub age_ns: Nanos,
}

impl InFlight {
    /// Describes `request` of `worker` at `now`.
    pub fn new(worker: u32, path: &str, request: &Request, now: Nanos) -> Self {
        Self {
            worker,
            direction: request.kind.direction(),
            path: path.to_owned(),
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            age_ns: now.saturating_sub(request.ready),
        }
    }
}

/// What a thread cost the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time in user mode.
    pub user_ns: Nanos,
    /// CPU time in the kernel.
    pub system_ns: Nanos,
    /// Times it gave the CPU up.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Times it was moved to another CPU; zero where the kernel does not count them.
    pub migrations: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl ThreadUsage {
    /// Returns what was used between `earlier` and this one.
    #[must_use]
    pub fn since(self, earlier: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            migrations: self.migrations.saturating_sub(earlier.migrations),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

/// A block that does not hold what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Mismatch {
    pub path: String,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub request_offset_bytes: u64,
    pub request_length_bytes: u32,
    pub field: String,
    pub expected: String,
    pub actual: String,
    pub received: Option<Bytes>,
    pub written: Option<Bytes>,
}

impl Mismatch {
    /// The field whose two values are both computed from the block: the checksum that it stores, and its data's.
    pub const CHECKSUM: &str = "checksum of the data";

    fn what(&self) -> String {
        let Self {
            field,
            expected,
            actual,
            ..
        } = self;
        if field == Self::CHECKSUM {
            format!("the block stores {expected}, its data has {actual}")
        } else {
            format!("{field} is {actual}, expected {expected}")
        }
    }
}

/// What the verification of a worker's data found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct VerifyResult {
    pub requests: u64,
    pub failed: u64,
    pub unread: u64,
    pub mismatches: Vec<Mismatch>,
    pub reading_ns: Nanos,
    pub state: Option<VerifyState>,
}

impl VerifyResult {
    /// How many mismatches are described; further ones are counted.
    pub const MOST_DESCRIBED: usize = 16;

    /// Adds what another check found.
    pub fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.failed += other.failed;
        let room = Self::MOST_DESCRIBED.saturating_sub(self.mismatches.len());
        self.mismatches
            .extend(other.mismatches.into_iter().take(room));
    }

    /// Returns the sentence about the first mismatch; `None` if there was none.
    pub fn error(&self, name: &str) -> Option<String> {
        let Mismatch {
            path,
            offset_bytes,
            length_bytes,
            ..
        } = self.mismatches.first()?;
        let more = match self.failed {
            0 | 1 => String::new(),
            failed => format!("; {failed} requests read data that was not written"),
        };
        let what = self.mismatches[0].what();
        Some(format!(
            "{name}: {path} does not hold what was written at offset {offset_bytes}, length {length_bytes}: {what}{more}"
        ))
    }
}

/// How a worker's search for its depth ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DepthOutcome {
    /// It had not ended.
    Searching,
    /// It was to go on to the end.
    Adjusting,
    /// Enough of what was measured kept the latency.
    Kept,
    /// Too little of what was measured kept it, or no depth does.
    Missed,
}

/// What became of a worker's search for its depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct LatencyTargetResult {
    pub depth: u32,
    pub outcome: DepthOutcome,
}

/// What one thread cost and how busy it was.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct WorkerResult {
    pub name: String,
    pub row: u32,
    pub stage: u32,
    pub cpus: Vec<u32>,
    pub pinned: bool,
    pub start_ns: Nanos,
    pub end_ns: Nanos,
    pub user_ns: Nanos,
    pub system_ns: Nanos,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub migrations: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
    pub submit_calls: u64,
    pub reap_calls: u64,
    pub submit_batch: Vec<u64>,
    pub reap_batch: Vec<u64>,
    pub depth: Vec<u64>,
    pub depth_mean: f64,
    pub overdue: u64,
    pub late_handovers: u64,
    pub log_dropped: u64,
    pub log_wait_ns: Nanos,
    pub verify: Option<VerifyResult>,
    pub latency_target: Option<LatencyTargetResult>,
    pub took_too_long: bool,
    pub error: Option<String>,
    pub stuck: bool,
}

/// Requests that were due and not issued are counted up to this many.
pub const MOST_OVERDUE: u64 = 10_000_000;

impl WorkerResult {
    /// Creates the result of a worker that ended `end_ns` after its stage began, on a thread that cost `usage`. The
    /// fields that say how it ended are left empty.
    pub fn new(
        plan: &WorkerPlan,
        stage: u32,
        end_ns: Nanos,
        busy: &Busy,
        usage: &ThreadUsage,
    ) -> Self {
        Self {
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            migrations: usage.migrations,
            major_faults: usage.major_faults,
            minor_faults: usage.minor_faults,
            name: plan.name.clone(),
            row: plan.row,
            stage,
            pinned: plan.cpus.len() == 1,
            start_ns: (plan.start_delay_ns + plan.ramp_ns).min(end_ns),
            end_ns,
            submit_calls: busy.submit_calls,
            reap_calls: busy.reap_calls,
            submit_batch: busy.submit_batch.to_vec(),
            reap_batch: busy.reap_batch.to_vec(),
            depth: busy.depth.to_vec(),
            depth_mean: busy.depth_mean(),
            log_wait_ns: busy.log_wait,
            ..Self::default()
        }
    }
}

/// One check interval of a steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs, non_snake_case)]
pub struct SteadySample {
    pub iops: f64,
    pub bw_Bps: f64,
    pub lat_ns: f64,
}

/// What became of a row's criterion.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct SteadyResult {
    pub attained: bool,
    /// The figure that was compared with the limit at last; 0 before the samples cover the duration.
    pub criterion: f64,
    pub deviation: f64,
    pub slope: f64,
    pub samples: Vec<SteadySample>,
}

/// One reported row: a worker, or a group of them merged.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct RowResult {
    pub row: u32,
    pub stage: u32,
    pub name: String,
    pub start_ns: Nanos,
    pub end_ns: Nanos,
    pub tallies: BTreeMap<&'static str, Tally>,
    pub loop_gap: Bytes,
    pub steady: Option<SteadyResult>,
    pub priorities: Vec<PriorityTally>,
}

/// What a modelled drive did inside. A real drive does not report it.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs, non_snake_case)]
pub struct DriveResult {
    pub path: String,
    pub energy_J: f64,
    pub low_power_ns: f64,
    pub throttled_ns: f64,
    pub temperature_C: Option<f64>,
    pub hottest_C: Option<f64>,
    pub write_amplification: Option<f64>,
    pub erases_mean: Option<f64>,
    pub erases_max: Option<u32>,
    pub unwritten_reads: u64,
}

/// What a stamp log holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct StampLogResult {
    pub path: String,
    pub run: u64,
    pub writes: u64,
    pub flushes: u64,
    /// Why it is incomplete, if it is.
    pub failure: Option<String>,
}

/// The results of a stage, without its intervals.
#[derive(Clone, Debug, Default)]
pub struct StageResult {
    /// In the order of each row's first worker in the plan.
    pub rows: Vec<RowResult>,
    /// In the order of the plan.
    pub workers: Vec<WorkerResult>,
    /// Requests that never returned.
    pub in_flight: Vec<InFlight>,
    /// Why it ended before its workers were finished, if it did.
    pub stopped_by: Option<Stop>,
    /// The first error of a worker.
    pub error: Option<String>,
    /// Whether no stage follows, because of a worker's `exit_what`.
    pub ends_run: bool,
    /// When it started, on the host's CLOCK_MONOTONIC; absent: it did not, or not in real time.
    pub started_ns: Option<Nanos>,
    /// When its first request was issued, on the same clock; absent: none was, or not in real time.
    pub first_issued_ns: Option<Nanos>,
}

/// The results of a run, without its intervals. `drives` are those of a modelled run. `clock` describes what stamped
/// it: the engine's clock or a model's.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct RunResult<Clock> {
    pub rows: Vec<RowResult>,
    pub workers: Vec<WorkerResult>,
    pub in_flight: Vec<InFlight>,
    pub drives: Vec<DriveResult>,
    pub stamp_logs: Vec<StampLogResult>,
    pub clock: Clock,
    pub stopped_by: Option<Stop>,
    pub error: Option<String>,
    pub elapsed_ns: Nanos,
    pub started_ns: Option<Nanos>,
    pub first_issued_ns: Option<Nanos>,
}

impl<Clock> RunResult<Clock> {
    /// Creates the result of a run before its first stage.
    pub fn new(clock: Clock) -> Self {
        Self {
            rows: Vec::new(),
            workers: Vec::new(),
            in_flight: Vec::new(),
            drives: Vec::new(),
            stamp_logs: Vec::new(),
            clock,
            stopped_by: None,
            error: None,
            elapsed_ns: 0,
            started_ns: None,
            first_issued_ns: None,
        }
    }

    /// Adds a stage. Keeps the first error, the first reason to stop, and the first start and request.
    pub fn add(&mut self, stage: StageResult) {
        self.rows.extend(stage.rows);
        self.workers.extend(stage.workers);
        self.in_flight.extend(stage.in_flight);
        self.stopped_by = self.stopped_by.or(stage.stopped_by);
        self.error = self.error.take().or(stage.error);
        self.started_ns = self.started_ns.or(stage.started_ns);
        self.first_issued_ns = self.first_issued_ns.or(stage.first_issued_ns);
    }
}
