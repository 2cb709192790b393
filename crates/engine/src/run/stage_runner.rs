//! Runs one stage: starts its threads together, watches them, and collects their slices.
//!
//! The threads' reports go into a [`StageAccount`], which says which workers to stop. This file has the threads and the
//! clock.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iogauge_core::plan::{RunPlan, WorkerPlan};
use iogauge_core::results::StageResult;
use iogauge_core::stage_account::{StageAccount, WorkerEnd};
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_core::{Errno, Nanos, Stop};

use crate::clock::Clock;
use crate::engines::StampLog;
use crate::error::Error;
use crate::priority::RealTimePriority;
use crate::run::events::{Event, Events, StopFlags};
use crate::run::exchange::{READING, Signals, Slices};
use crate::run::heartbeat::{BEAT, Heartbeat};
use crate::run::revocable::Revocable;
use crate::run::spill::Spill;
use crate::run::starting::Start;
use crate::run::worker_state::WorkerState;
use crate::run::worker_thread::{Gate, Report, ThreadEnd, WorkerThread};

/// How long a thread that was ordered to give up has before its state is revoked.
const NOTICE: Nanos = 500 * MILLISECOND;

/// What a stage needs from its run.
pub struct Context<'a> {
    pub plan: &'a Arc<RunPlan>,
    /// Index of the stage in the plan.
    pub index: usize,
    pub clock: Clock,
    pub heartbeat: &'a Arc<Heartbeat>,
    pub spill: Option<&'a Spill>,
    /// In the order of the plan's.
    pub stamp_logs: &'a [StampLog],
    pub stop_flags: &'a StopFlags,
    pub events: &'a Events,
}

impl Context<'_> {
    fn is_stopped(&self) -> bool {
        self.stop_flags.stop.load(Ordering::Relaxed)
    }

    /// The instant at which the stage starts. Only the first one has an instant.
    fn start_at_ns(&self) -> Option<Nanos> {
        self.plan.start_at_ns.filter(|_| self.index == 0)
    }

    /// Returns when the stage starts, in time to open the gate.
    fn start(&self) -> Option<Start> {
        Start::await_opening(self.clock, self.start_at_ns(), self.stop_flags)
    }

    /// Returns the stamp log of a worker, if it stamps any.
    fn stamp_log(&self, plan: &WorkerPlan) -> Option<&StampLog> {
        plan.stamp_log.map(|index| &self.stamp_logs[index as usize])
    }

    fn gives_up(&self) -> bool {
        self.stop_flags.give_up.load(Ordering::Relaxed)
    }
}

/// One worker as the collecting thread sees it.
struct WatchedWorker<'a> {
    plan: &'a WorkerPlan,
    signals: Arc<Signals>,
    state: Option<Arc<Revocable<WorkerState>>>,
    slices: Option<Slices>,
    /// Completions at the last look, and when they last grew.
    progress: (u64, Nanos),
    /// When it was ordered to give up its requests in flight.
    gives_up_since: Option<Nanos>,
}

/// Runs one stage to its end.
///
/// # Errors
/// If a worker could not be prepared. No worker has then begun.
pub fn run(context: &Context<'_>) -> Result<StageResult, Error> {
    let shared = Arc::new(Gate::default());
    let gates = gates(context, &shared);
    let mut account = StageAccount::new(context.plan, context.index);
    let (sender, reports) = mpsc::channel();
    let prepared = start_threads(context, &mut account, &gates, &sender);
    // From here on only threads hold a sender, so the channel closes with the last thread.
    drop(sender);
    let mut priority = None;
    let prepared = prepared.and_then(|mut workers| {
        let all = gather(context, &mut workers, &reports, &mut account)?;
        // A busy process must not delay the opening of the gate.
        priority = context.start_at_ns().map(|_| RealTimePriority::raise());
        let start = all.then(|| context.start()).flatten();
        Ok(start.map(|start| (workers, start)))
    });
    let (workers, start) = match prepared {
        Ok(Some(prepared)) => prepared,
        Ok(None) => {
            gates.iter().for_each(|gate| gate.open(None));
            return Ok(StageResult {
                stopped_by: Some(Stop::Interrupt),
                ..StageResult::default()
            });
        }
        Err(error) => {
            gates.iter().for_each(|gate| gate.open(None));
            return Err(error);
        }
    };
    let Start { at: start, anchor } = start;
    context.heartbeat.begin(start);
    account.begin(start);
    let mut runner = StageRunner {
        context,
        workers,
        gates,
        account,
        start,
    };
    shared.open(Some(start));
    drop(priority);
    runner.watch(&reports);
    let first_issued = runner.first_issued();
    Ok(StageResult {
        started_ns: Some(anchor.to_monotonic(start)),
        first_issued_ns: first_issued.map(|at| anchor.to_monotonic(at)),
        ..runner.account.into_result()
    })
}

/// Returns the gate of each worker: the shared one, or its own if it waits for others.
fn gates(context: &Context<'_>, shared: &Arc<Gate>) -> Vec<Arc<Gate>> {
    let workers = &context.plan.stages[context.index].workers;
    let gate = |plan: &WorkerPlan| match plan.waits_for.is_empty() {
        true => shared.clone(),
        false => Arc::default(),
    };
    workers.iter().map(gate).collect()
}

/// Starts a thread for every worker of the stage.
fn start_threads<'a>(
    context: &'a Context<'_>,
    account: &mut StageAccount<'_>,
    gates: &[Arc<Gate>],
    reports: &Sender<(usize, Report)>,
) -> Result<Vec<WatchedWorker<'a>>, Error> {
    let plans = &context.plan.stages[context.index].workers;
    let mut workers = Vec::with_capacity(plans.len());
    for (worker, plan) in plans.iter().enumerate() {
        let signals = Arc::new(Signals {
            stop_run: context.stop_flags.stop.clone(),
            ..Signals::default()
        });
        let thread = WorkerThread {
            worker,
            plan: plan.clone(),
            run: context.plan.clone(),
            clock: context.clock,
            gate: gates[worker].clone(),
            signals: signals.clone(),
            heartbeat: context.heartbeat.clone(),
            spill: context.spill.cloned(),
            stamp_log: context.stamp_log(plan).cloned(),
            log_origin: account.log_origin(worker),
            share: Mutex::new(account.share(worker)),
            reports: reports.clone(),
        };
        std::thread::Builder::new()
            .name(format!("iogauge-{worker}"))
            .spawn(move || thread.run())
            .map_err(|cause| Error::NoThread {
                what: format!("worker {} of {}", worker + 1, plans.len()),
                cause,
            })?;
        workers.push(WatchedWorker {
            plan,
            signals,
            state: None,
            slices: None,
            progress: (0, 0),
            gives_up_since: None,
        });
    }
    Ok(workers)
}

/// Waits until every worker is at the gate. Returns false if an interrupt came first.
fn gather(
    context: &Context<'_>,
    workers: &mut [WatchedWorker<'_>],
    reports: &Receiver<(usize, Report)>,
    account: &mut StageAccount<'_>,
) -> Result<bool, Error> {
    while !context.is_stopped() {
        match reports.recv_timeout(Duration::from_nanos(BEAT)) {
            Ok((worker, Report::Ready(state, slices))) => {
                (workers[worker].state, workers[worker].slices) = (Some(state), Some(slices));
                if account.ready(worker) {
                    return Ok(true);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok((_, Report::Ended(Err(error)))) => return Err(error),
            Ok((_, Report::Begun(_) | Report::Ended(Ok(_))))
            | Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Thread {
                    what: "a worker ended before it began",
                });
            }
        }
    }
    Ok(false)
}

/// A stage whose workers have begun.
struct StageRunner<'a> {
    context: &'a Context<'a>,
    workers: Vec<WatchedWorker<'a>>,
    /// Where each thread waits until it begins.
    gates: Vec<Arc<Gate>>,
    account: StageAccount<'a>,
    start: Nanos,
}

impl StageRunner<'_> {
    fn watch(&mut self, reports: &Receiver<(usize, Report)>) {
        let beat = BEAT.min(self.context.plan.interval_ns).max(MILLISECOND);
        let mut now = self.context.clock.now();
        for worker in &mut self.workers {
            worker.progress.1 = now;
        }
        while !self.account.is_over() {
            match reports.recv_timeout(Duration::from_nanos(beat)) {
                // Take all waiting reports at once, since the checks below visit every worker.
                Ok(first) => std::iter::once(first)
                    .chain(reports.try_iter())
                    .for_each(|(worker, report)| self.take_report(worker, report)),
                Err(RecvTimeoutError::Timeout) => {}
                // Every thread reports its end, so no worker stays unfinished for ever. Continue with the checks.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(Duration::from_nanos(beat))
                }
            }
            now = self.context.clock.now();
            self.context.heartbeat.beat(now);
            self.pass_on_interrupt();
            self.release(now);
            if !self.context.events.full() {
                self.collect(now);
            }
            self.check_workers(now);
        }
        self.collect(now);
    }

    /// Returns when the first request was issued, if any was.
    fn first_issued(&self) -> Option<Nanos> {
        let issued = self.workers.iter().map(|worker| {
            let at = &worker.signals.first_issued_ns;
            at.load(Ordering::Relaxed)
        });
        issued.filter(|&at| at > 0).min()
    }

    fn pass_on_interrupt(&mut self) {
        if self.context.is_stopped() && self.account.interrupt() {
            self.stop(0..self.workers.len());
        }
    }

    /// Lets the threads begin that wait no longer for others.
    fn release(&mut self, now: Nanos) {
        for worker in self.account.release() {
            self.workers[worker].progress.1 = now;
            self.gates[worker].open(Some(self.start));
        }
    }

    fn take_report(&mut self, worker: usize, report: Report) {
        // Workers check for an interrupt themselves, so they may end before this thread has seen it.
        self.pass_on_interrupt();
        match report {
            Report::Ended(end) => self.take_end(worker, end),
            Report::Begun(at) if !self.account.has_ended(worker) => {
                self.account.begun(worker, at);
            }
            Report::Begun(_) | Report::Ready(..) => {}
        }
    }

    fn stop(&self, workers: impl IntoIterator<Item = usize>) {
        for worker in workers {
            let watched = &self.workers[worker];
            watched.signals.stop.store(true, Ordering::Relaxed);
            if !watched.plan.waits_for.is_empty() {
                // If it still waits, it never begins.
                self.gates[worker].open(None);
            }
        }
    }

    /// Merges what the workers handed over, and passes on the complete intervals.
    fn collect(&mut self, now: Nanos) {
        for (worker, watched) in self.workers.iter().enumerate() {
            if let Some(slices) = &watched.slices {
                self.account.collect(worker, slices);
            }
        }
        for interval in self.account.intervals(now) {
            let event = Event::Interval(Box::new(interval));
            self.context.events.push(event);
        }
        let settled = self.account.settled();
        self.stop(settled);
    }

    /// Checks for workers that are too slow, and for threads that do not return from the kernel.
    fn check_workers(&mut self, now: Nanos) {
        let give_up_ns = self.context.plan.give_up_ns;
        if let Some(spill) = self.context.spill {
            spill.watch(Duration::from_nanos(give_up_ns));
        }
        let at_once = self.context.gives_up();
        for worker in 0..self.workers.len() {
            if self.account.has_ended(worker) {
                continue;
            }
            let watched = &mut self.workers[worker];
            let signals = &watched.signals;
            let bytes = signals.bytes.each_ref();
            let bytes = bytes.map(|counter| counter.load(Ordering::Relaxed));
            let reading = signals.reading_ns.load(Ordering::Relaxed);
            let reading = (reading != READING).then_some(reading);
            if self.account.is_too_slow(worker, now, bytes, reading) {
                signals.stop.store(true, Ordering::Relaxed);
            }
            // Before the worker is judged: one that waits for its log's disk has not issued its request.
            let patience = Duration::from_nanos(give_up_ns);
            let log = self.context.stamp_log(watched.plan);
            if let Some(why) = log.and_then(|log| log.failure(patience)) {
                self.account
                    .fail(worker, unlogged(&watched.plan.name, &why));
                signals.stop.store(true, Ordering::Relaxed);
            }
            let completions = signals.completions.load(Ordering::Relaxed);
            let idle = signals.in_flight.load(Ordering::Relaxed) == 0;
            if completions != watched.progress.0 || idle {
                watched.progress = (completions, now);
            }
            let silent = now.saturating_sub(watched.progress.1) > give_up_ns;
            match watched.gives_up_since {
                None if silent || at_once => {
                    watched.gives_up_since = Some(now);
                    signals.give_up.store(true, Ordering::Relaxed);
                    signals.stop.store(true, Ordering::Relaxed);
                }
                Some(since) if now.saturating_sub(since) > NOTICE => {
                    // The thread is stuck inside the kernel.
                    self.end(worker, ThreadEnd::without_usage(now, true), true);
                }
                _ => {}
            }
        }
    }

    fn take_end(&mut self, worker: usize, end: Result<ThreadEnd, Error>) {
        if self.account.has_ended(worker) {
            return; // Its state was revoked; it came back after all.
        }
        let end = end.unwrap_or_else(|error| {
            self.account.fail(worker, error.to_string());
            ThreadEnd::without_usage(self.context.clock.now(), true)
        });
        self.end(worker, end, false);
    }

    /// Ends a worker whose thread does not hold its state.
    fn end(&mut self, worker: usize, end: ThreadEnd, stuck: bool) {
        let Some(cell) = self.workers[worker].state.clone() else {
            return;
        };
        let Some(state) = cell.revoke() else { return };
        let plan = self.workers[worker].plan;
        let log_dropped = state.end_log(end.at);
        let verify = plan.verify.is_some().then(|| state.verified.clone());
        let goes_on = plan.verify.as_ref().is_some_and(|verify| verify.continues);
        if let Some(error) = state.verified.error(&plan.name).filter(|_| !goes_on) {
            self.account.fail(worker, error);
        }
        if let Some(errno) = state.worker.failed() {
            self.account.fail(worker, failure(plan, errno));
        }
        // A caller that gave the run up expects this. Otherwise a drive that does not answer is an error.
        let in_flight = state.worker.in_flight();
        if end.gave_up && in_flight > 0 && !self.context.gives_up() {
            let patience = self.context.plan.give_up_ns / SECOND;
            let name = &plan.name;
            let error = format!(
                "{name}: {in_flight} requests in flight, and none completed for {patience} s"
            );
            self.account.fail(worker, error);
        }
        let others = self.account.end(
            worker,
            WorkerEnd {
                at: end.at,
                worker: &state.worker,
                recorder: &mut state.recorder,
                busy: &state.busy,
                usage: end.usage,
                cpus: end.cpus,
                log_dropped,
                verify,
                gave_up: end.gave_up,
                stuck,
            },
        );
        self.stop(others);
    }
}

/// Says that a worker's writes could no longer be logged.
pub(super) fn unlogged(name: &str, why: &str) -> String {
    format!("{name}: writing the stamp log failed: {why}")
}

/// Describes a failed request.
fn failure(plan: &WorkerPlan, errno: Errno) -> String {
    let cause = std::io::Error::from_raw_os_error(errno.0);
    let paths: Vec<_> = plan.files.iter().map(|file| file.path.as_str()).collect();
    format!(
        "{}: a request to {} failed: {cause}",
        plan.name,
        paths.join(", ")
    )
}
