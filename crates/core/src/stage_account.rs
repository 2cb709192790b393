//! The account of one stage: which workers are ready, what they recorded, which have ended, and the results.
//!
//! Real engines and drive models drive the same [`StageAccount`]. The driver reports what its workers do and stops the
//! workers that the account names; the account merges slices into intervals, keeps errors and writes the results. It
//! starts no thread, reads no clock and does no I/O: every instant is an argument.

use std::collections::BTreeMap;

use crate::busy::Busy;
use crate::flow::Share;
use crate::log_record::LogOrigin;
use crate::plan::{RunPlan, StagePlan, WorkerPlan};
use crate::recorder::{Cutter, Handover, Recorder, SliceSource};
use crate::results::{
    InFlight, Interval, MOST_OVERDUE, StageResult, ThreadUsage, VerifyResult, WorkerResult,
};
use crate::rows::Row;
use crate::stage::Stage;
use crate::time::Nanos;
use crate::worker::Worker;

/// The account of one worker.
#[derive(Debug)]
struct Account {
    /// Which of the stage's rows reports it.
    row: usize,
    /// Why it failed; the first reason is kept.
    error: Option<String>,
    result: Option<WorkerResult>,
}

/// How a worker ended, and its last state.
#[derive(Debug)]
pub struct WorkerEnd<'a, Q: Handover> {
    /// When it ended, on the run's clock.
    pub at: Nanos,
    /// The worker, which decides nothing more.
    pub worker: &'a Worker,
    /// Its recorder, which records nothing more.
    pub recorder: &'a mut Recorder<Q>,
    /// How busy its loop was.
    pub busy: &'a Busy,
    /// What its thread cost.
    pub usage: ThreadUsage,
    /// The CPUs that its thread ran on.
    pub cpus: Vec<u32>,
    /// Requests that its log did not keep.
    pub log_dropped: u64,
    /// What the verification of its data found; absent if it verified none.
    pub verify: Option<VerifyResult>,
    /// Whether it gave up waiting for its requests in flight.
    pub gave_up: bool,
    /// Whether its thread never returned.
    pub stuck: bool,
}

/// The account of one stage.
///
/// Order of calls: [`ready`](Self::ready) for every worker, then [`begin`](Self::begin). While the stage runs:
/// [`release`](Self::release), [`begun`](Self::begun), [`collect`](Self::collect), [`intervals`](Self::intervals),
/// [`is_too_slow`](Self::is_too_slow), [`interrupt`](Self::interrupt) and [`fail`](Self::fail). At last:
/// [`end`](Self::end) once for every worker, the last [`intervals`](Self::intervals), and
/// [`into_result`](Self::into_result).
#[derive(Debug)]
pub struct StageAccount<'a> {
    plan: &'a StagePlan,
    index: u32,
    /// Index in the run of the stage's first worker.
    first_worker: usize,
    stage: Stage,
    start: Nanos,
    interval: Nanos,
    rows: Vec<Row>,
    /// By worker.
    accounts: Vec<Account>,
    in_flight: Vec<InFlight>,
    /// By worker: its share of a flow, until it takes it.
    shares: Vec<Option<Share>>,
}

impl<'a> StageAccount<'a> {
    /// Creates the account of the stage at `index` of `run`. Its workers are still preparing.
    pub fn new(run: &'a RunPlan, index: usize) -> Self {
        let plan = &run.stages[index];
        let mut rows: Vec<Row> = Vec::new();
        let mut row_of = BTreeMap::new();
        let mut accounts = Vec::with_capacity(plan.workers.len());
        for (worker, worker_plan) in plan.workers.iter().enumerate() {
            let row = *row_of.entry(worker_plan.row).or_insert_with(|| {
                let name = worker_plan.name.clone();
                rows.push(Row::new(
                    index as u32,
                    worker_plan.row,
                    name,
                    run.interval_ns,
                ));
                rows.len() - 1
            });
            if worker_plan.waits_for.is_empty() {
                let begins = worker_plan.start_delay_ns;
                let cutter = Cutter::of(worker_plan, begins, run.interval_ns);
                rows[row].join(worker, cutter, begins);
            }
            if let Some(steady) = worker_plan.steady {
                rows[row].watch(steady);
            }
            accounts.push(Account {
                row,
                error: None,
                result: None,
            });
        }
        Self {
            plan,
            index: index as u32,
            first_worker: run.stages[..index]
                .iter()
                .map(|stage| stage.workers.len())
                .sum(),
            stage: Stage::new(plan),
            start: 0,
            rows,
            accounts,
            interval: run.interval_ns,
            in_flight: Vec::new(),
            shares: shares(plan),
        }
    }

    /// Returns a worker's share of its flow, once.
    pub fn share(&mut self, worker: usize) -> Option<Share> {
        self.shares[worker].take()
    }

    /// Returns the index in the run of one of the stage's workers.
    pub fn run_worker(&self, worker: usize) -> usize {
        self.first_worker + worker
    }

    /// Returns what a worker's log records have in common. Its start sets the instants.
    pub fn log_origin(&self, worker: usize) -> LogOrigin {
        LogOrigin {
            worker: self.run_worker(worker) as u32,
            row: self.plan.workers[worker].row,
            stage: self.index as u16,
            priority: self.plan.workers[worker].io_priority.unwrap_or(0),
            ..LogOrigin::default()
        }
    }

    /// Notes that a worker is prepared. Returns true once all are.
    pub fn ready(&mut self, worker: usize) -> bool {
        self.stage.ready(worker)
    }

    /// Starts all workers that wait for no other at `start`, or their `start_delay` after it.
    ///
    /// # Panics
    /// If a worker is not ready: the driver keeps the barrier.
    pub fn begin(&mut self, start: Nanos) {
        self.start = start;
        self.stage.begin(start);
    }

    /// Returns the workers that have waited for others and wait no longer, once. The driver must begin each, and say
    /// when by [`begun`](Self::begun) before it begins. One that must end before that never begins.
    pub fn release(&mut self) -> Vec<usize> {
        self.stage.release()
    }

    /// Notes that a worker that had waited for others begins at `at`.
    pub fn begun(&mut self, worker: usize, at: Nanos) {
        let begins = at.saturating_sub(self.start);
        let cutter = Cutter::of(&self.plan.workers[worker], begins, self.interval);
        self.rows[self.accounts[worker].row].join(worker, cutter, begins);
        self.stage.begun(worker, begins);
    }

    /// Merges the slices that a worker handed over, and returns them to it empty.
    pub fn collect(&mut self, worker: usize, slices: &impl SliceSource) {
        if !self.stage.has_begun(worker) {
            return; // Its slices stay with it until it is said to have begun.
        }
        let row = &mut self.rows[self.accounts[worker].row];
        while let Some(mut slice) = slices.next_full() {
            row.add(worker, &slice);
            slice.clear();
            slices.give_back(slice);
        }
    }

    /// Returns the intervals that are complete at `now`, row by row.
    pub fn intervals(&mut self, now: Nanos) -> impl Iterator<Item = Interval> {
        let since_start = now.saturating_sub(self.start);
        self.rows
            .iter_mut()
            .flat_map(move |row| row.ready(since_start))
    }

    /// Returns the running workers of rows that have just become steady; the driver must stop them.
    pub fn settled(&mut self) -> Vec<usize> {
        let settled: Vec<bool> = self.rows.iter_mut().map(Row::settled).collect();
        let running: Vec<usize> = (0..self.accounts.len())
            .filter(|&worker| settled[self.accounts[worker].row])
            .filter(|&worker| self.accounts[worker].result.is_none())
            .collect();
        self.stage.stopping(&running);
        running
    }

    /// Checks how far a worker is (bytes completed by direction: read, write, trim). Returns true if it fell below its
    /// `rate_min`. It has then failed, and the driver must stop it. The stage's other workers continue, as in fio.
    /// `reading` is [`Worker::reading_back`].
    pub fn is_too_slow(
        &mut self,
        worker: usize,
        now: Nanos,
        bytes: [u64; 3],
        reading: Option<Nanos>,
    ) -> bool {
        let slow = self.stage.too_slow(worker, now, bytes, reading);
        if slow {
            let name = &self.plan.workers[worker].name;
            self.fail(
                worker,
                format!("{name}: slower than its rate_min or rate_iops_min"),
            );
        }
        slow
    }

    /// Notes an interrupt. Returns true the first time; the driver must then stop all workers.
    pub fn interrupt(&mut self) -> bool {
        self.stage.interrupt()
    }

    /// Notes that a worker failed. Keeps its first error; ignores errors after its end.
    pub fn fail(&mut self, worker: usize, error: String) {
        self.accounts[worker].error.get_or_insert(error);
    }

    /// Ends a worker. Returns the workers that the driver must stop with it, because of its `exitall`.
    pub fn end<Q: Handover + SliceSource>(
        &mut self,
        worker: usize,
        end: WorkerEnd<'_, Q>,
    ) -> Vec<usize> {
        let at = end.at.max(self.start);
        let since_start = at - self.start;
        // Counted before the end: the slice that the end cuts is not a late handover.
        let late_handovers = end.recorder.late_handovers();
        self.collect(worker, end.recorder.handover());
        if self.stage.has_begun(worker) {
            let row = &mut self.rows[self.accounts[worker].row];
            row.add(worker, end.recorder.close(at));
            row.end(worker, since_start);
        }
        // Closing may hand over earlier slices.
        self.collect(worker, end.recorder.handover());
        if end.gave_up {
            self.leave_in_flight(worker, end.worker, at);
        }
        let plan = &self.plan.workers[worker];
        if end.worker.is_hopeless() {
            let name = &plan.name;
            self.fail(
                worker,
                format!("{name}: a request missed latency_target at depth 1"),
            );
        }
        if let Some(exceeded) = end.worker.exceeded() {
            let (name, what) = (&plan.name, exceeded.direction.name());
            let us = |time: Nanos| time as f64 / 1000.0;
            let (took, limit) = (us(exceeded.took), us(exceeded.limit));
            self.fail(
                worker,
                format!("{name}: a {what} took {took} us, more than its max_latency of {limit} us"),
            );
        }
        let account = &mut self.accounts[worker];
        let measured_from = end.worker.measured_from().saturating_sub(self.start);
        account.result = Some(WorkerResult {
            cpus: end.cpus,
            overdue: end.worker.overdue(MOST_OVERDUE),
            late_handovers,
            log_dropped: end.log_dropped,
            verify: end.verify.map(|verify| VerifyResult {
                reading_ns: end.worker.reading_ns(at),
                unread: end.worker.unread(),
                state: end.worker.verify_state(),
                ..verify
            }),
            latency_target: end.worker.searched_depth(),
            took_too_long: end.worker.took_too_long(),
            start_ns: measured_from.min(since_start),
            error: account.error.clone(),
            stuck: end.stuck,
            ..WorkerResult::new(plan, self.index, since_start, end.busy, &end.usage)
        });
        let failed = account.error.is_some();
        self.stage.finished(worker, failed)
    }

    /// Lists a worker's requests that never returned.
    fn leave_in_flight(&mut self, worker: usize, state: &Worker, at: Nanos) {
        let index = self.run_worker(worker) as u32;
        let plan = &self.plan.workers[worker];
        self.in_flight.extend(
            state
                .requests_in_flight()
                .map(|request| InFlight::new(index, path(plan, request.target), request, at)),
        );
    }

    /// Whether a worker has ended.
    pub fn has_ended(&self, worker: usize) -> bool {
        self.accounts[worker].result.is_some()
    }

    /// Whether all workers have ended.
    pub fn is_over(&self) -> bool {
        self.stage.done()
    }

    /// Returns the results, once [`Self::intervals`] has returned the last intervals.
    pub fn into_result(self) -> StageResult {
        let results = self
            .accounts
            .into_iter()
            .filter_map(|account| account.result);
        let workers: Vec<WorkerResult> = results.collect();
        StageResult {
            rows: self.rows.iter().map(Row::result).collect(),
            error: workers.iter().find_map(|worker| worker.error.clone()),
            workers,
            in_flight: self.in_flight,
            stopped_by: self.stage.stopped(),
            ends_run: self.stage.ends_run(),
            started_ns: None,
            first_issued_ns: None,
        }
    }
}

/// Returns each worker's share of its flow.
fn shares(plan: &StagePlan) -> Vec<Option<Share>> {
    let mut members: BTreeMap<u32, Vec<(usize, u64)>> = BTreeMap::new();
    for (worker, plan) in plan.workers.iter().enumerate() {
        if let Some(flow) = plan.flow {
            members
                .entry(flow.id)
                .or_default()
                .push((worker, flow.weight));
        }
    }
    let mut shares: Vec<Option<Share>> = plan.workers.iter().map(|_| None).collect();
    for flow in members.values() {
        let weights = flow.iter().map(|&(_, weight)| weight);
        for (&(worker, _), share) in flow.iter().zip(Share::of_one_flow(weights)) {
            shares[worker] = Some(share);
        }
    }
    shares
}

/// Returns the path of one of a worker's files.
fn path(plan: &WorkerPlan, target: u32) -> &str {
    plan.files
        .get(target as usize)
        .map_or("", |file| file.path.as_str())
}

#[cfg(test)]
mod tests;
