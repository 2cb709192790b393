//! One stage: its threads brought to the gate, let through together, watched, and collected.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use iogauge_core::plan::{RunPlan, StagePlan, WorkerPlan};
use iogauge_core::recorder::Cutter;
use iogauge_core::results::{InFlight, MOST_OVERDUE, RowResult, WorkerResult};
use iogauge_core::rows::Row;
use iogauge_core::stage::{Stage, Stop};
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_core::{Errno, Nanos};

use crate::affinity::ThreadUsage;
use crate::clock::Clock;
use crate::desk::{Desk, Place};
use crate::error::Error;
use crate::exchange::{Signals, Slices};
use crate::heartbeat::{BEAT, Heartbeat};
use crate::member::{Ended, Gate, Member, Report};
use crate::run::{Asked, Event, Events};
use crate::spill::Spill;

/// Between the gate's opening and the first request: time for every thread to wake.
const LEAD: Nanos = 2 * MILLISECOND;

/// How long a thread that was told to give up has to do so before its desk is taken.
const NOTICE: Nanos = 500 * MILLISECOND;

/// What a stage is run in.
pub struct Context<'a> {
    pub plan: &'a Arc<RunPlan>,
    pub stage: &'a StagePlan,
    pub index: u32,
    /// Index in the run of the stage's first worker.
    pub first_worker: usize,
    pub clock: Clock,
    pub heartbeat: &'a Arc<Heartbeat>,
    pub spill: Option<&'a Spill>,
    pub asked: &'a Asked,
    pub events: &'a Events,
}

/// What a stage came to.
#[derive(Debug, Default)]
pub struct Outcome {
    pub rows: Vec<RowResult>,
    pub workers: Vec<WorkerResult>,
    pub in_flight: Vec<InFlight>,
    pub stopped_by: Option<Stop>,
    pub error: Option<String>,
}

/// One worker as the collecting thread sees it.
struct Watched<'a> {
    plan: &'a WorkerPlan,
    signals: Arc<Signals>,
    place: Option<Arc<Place>>,
    slices: Option<Slices>,
    /// Completions at the last look, and since when there have been no more.
    progress: (u64, Nanos),
    told_to_give_up: Option<Nanos>,
    result: Option<WorkerResult>,
    error: Option<String>,
}

/// Runs one stage to its end.
///
/// # Errors
/// Where a worker could not be prepared: then none has begun.
pub fn run(context: &Context<'_>) -> Result<Outcome, Error> {
    let gate = Arc::new(Gate::default());
    let (sender, reports) = mpsc::channel();
    let mut watched = Vec::new();
    for (place, plan) in context.stage.workers.iter().enumerate() {
        let signals = Arc::new(Signals {
            stop_run: context.asked.stop.clone(),
            ..Signals::default()
        });
        let member = Member {
            worker: place,
            run_worker: context.first_worker + place,
            stage: context.index,
            plan: plan.clone(),
            run: context.plan.clone(),
            clock: context.clock,
            gate: gate.clone(),
            signals: signals.clone(),
            heartbeat: context.heartbeat.clone(),
            spill: context.spill.cloned(),
            reports: sender.clone(),
        };
        watched.push(Watched {
            plan,
            signals,
            place: None,
            slices: None,
            progress: (0, 0),
            told_to_give_up: None,
            result: None,
            error: None,
        });
        let spawned = std::thread::Builder::new()
            .name(format!("iogauge-{place}"))
            .spawn(move || member.run());
        if let Err(cause) = spawned {
            gate.open(None);
            return Err(Error::NoThread {
                what: format!("worker {} of {}", place + 1, context.stage.workers.len()),
                cause,
            });
        }
    }
    drop(sender);

    let mut stage = Stage::new(context.stage);
    match gather(context, &mut watched, &reports, &mut stage) {
        Ok(Gathered::All) => {}
        Ok(Gathered::Interrupted) => {
            gate.open(None);
            return Ok(Outcome {
                stopped_by: Some(Stop::Interrupt),
                ..Outcome::default()
            });
        }
        Err(error) => {
            gate.open(None);
            return Err(error);
        }
    }
    let start = context.clock.now() + LEAD;
    context.heartbeat.begin(start);
    stage.begin(start);
    gate.open(Some(start));
    let (rows, row_of) = rows(context);
    let mut running = Running {
        context,
        watched,
        rows,
        row_of,
        stage,
        start,
        in_flight: Vec::new(),
    };
    running.watch(&reports);
    Ok(running.outcome())
}

/// How the wait at the gate ended.
enum Gathered {
    /// Every worker is there.
    All,
    /// An interrupt came first.
    Interrupted,
}

/// Waits until every worker is at the gate, or until the run is to end.
fn gather(
    context: &Context<'_>,
    watched: &mut [Watched<'_>],
    reports: &Receiver<(usize, Report)>,
    stage: &mut Stage,
) -> Result<Gathered, Error> {
    loop {
        if context.asked.stop.load(Ordering::Relaxed) {
            return Ok(Gathered::Interrupted);
        }
        match reports.recv_timeout(Duration::from_nanos(BEAT)) {
            Ok((worker, Report::Ready(place, slices))) => {
                (watched[worker].place, watched[worker].slices) = (Some(place), Some(slices));
                if stage.ready(worker) {
                    return Ok(Gathered::All);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok((_, Report::Ended(Err(error)))) => return Err(error),
            Ok((_, Report::Ended(Ok(_)))) | Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Thread {
                    what: "a worker ended before it began",
                });
            }
        }
    }
}

/// The stage's rows, each with its workers; and for each worker, which of them is its own.
fn rows(context: &Context<'_>) -> (Vec<Row>, Vec<usize>) {
    let mut rows: Vec<Row> = Vec::new();
    let mut places = BTreeMap::new();
    let mut row_of = Vec::with_capacity(context.stage.workers.len());
    for (worker, plan) in context.stage.workers.iter().enumerate() {
        let interval = context.plan.interval_ns;
        let place = *places.entry(plan.row).or_insert_with(|| {
            rows.push(Row::new(
                context.index,
                plan.row,
                plan.name.clone(),
                interval,
            ));
            rows.len() - 1
        });
        rows[place].join(worker, Cutter::of(plan, interval), plan.start_delay_ns);
        row_of.push(place);
    }
    (rows, row_of)
}

/// A stage whose workers have begun.
struct Running<'a> {
    context: &'a Context<'a>,
    watched: Vec<Watched<'a>>,
    rows: Vec<Row>,
    /// For each worker, which of `rows` is its own.
    row_of: Vec<usize>,
    stage: Stage,
    start: Nanos,
    in_flight: Vec<InFlight>,
}

impl Running<'_> {
    fn watch(&mut self, reports: &Receiver<(usize, Report)>) {
        let beat = BEAT.min(self.context.plan.interval_ns).max(MILLISECOND);
        let mut now = self.context.clock.now();
        for watched in &mut self.watched {
            watched.progress.1 = now;
        }
        while !self.stage.done() {
            match reports.recv_timeout(Duration::from_nanos(beat)) {
                // Take all reports that are there: the checks below visit every worker.
                Ok(first) => std::iter::once(first)
                    .chain(reports.try_iter())
                    .for_each(|(worker, report)| self.reported(worker, report)),
                Err(RecvTimeoutError::Timeout) => {}
                // Every thread reports its end, so this cannot leave a worker unfinished for ever: look, and go on.
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(Duration::from_nanos(beat))
                }
            }
            now = self.context.clock.now();
            self.context.heartbeat.beat(now);
            self.heed_interrupt();
            if !self.context.events.full() {
                self.collect(now);
            }
            self.look_after(now);
        }
        self.collect(now);
    }

    fn heed_interrupt(&mut self) {
        if self.context.asked.stop.load(Ordering::Relaxed) && self.stage.interrupt() {
            self.stop(0..self.watched.len());
        }
    }

    fn reported(&mut self, worker: usize, report: Report) {
        // Workers look for an interrupt themselves: their ends may come before this thread has seen it.
        self.heed_interrupt();
        match report {
            Report::Ended(ended) => self.ended(worker, ended),
            Report::Ready(..) => {}
        }
    }

    fn stop(&self, workers: impl IntoIterator<Item = usize>) {
        for worker in workers {
            self.watched[worker]
                .signals
                .stop
                .store(true, Ordering::Relaxed);
        }
    }

    /// Merges what the workers have handed over, and passes on the intervals that are whole.
    fn collect(&mut self, now: Nanos) {
        for worker in 0..self.watched.len() {
            self.merge(worker);
        }
        for row in &mut self.rows {
            for interval in row.ready(now.saturating_sub(self.start)) {
                self.context
                    .events
                    .push(Event::Interval(Box::new(interval)));
            }
        }
    }

    fn merge(&mut self, worker: usize) {
        let Some(slices) = &self.watched[worker].slices else {
            return;
        };
        let row = &mut self.rows[self.row_of[worker]];
        while let Some(mut slice) = slices.pop() {
            row.add(worker, &slice);
            slice.clear();
            slices.give_back(slice);
        }
    }

    /// Looks for workers that are too slow, and for those that the kernel does not give back.
    fn look_after(&mut self, now: Nanos) {
        let patience = Duration::from_nanos(self.context.plan.give_up_ns);
        if let Some(spill) = self.context.spill {
            spill.watch(patience);
        }
        let at_once = self.context.asked.give_up.load(Ordering::Relaxed);
        for worker in 0..self.watched.len() {
            let watched = &mut self.watched[worker];
            if watched.result.is_some() {
                continue;
            }
            let bytes = watched
                .signals
                .bytes
                .each_ref()
                .map(|counter| counter.load(Ordering::Relaxed));
            if self.stage.too_slow(worker, now, bytes) {
                watched.error = Some(format!("{}: slower than its rate_min", watched.plan.name));
                watched.signals.stop.store(true, Ordering::Relaxed);
            }
            let completions = watched.signals.completions.load(Ordering::Relaxed);
            if completions != watched.progress.0
                || watched.signals.in_flight.load(Ordering::Relaxed) == 0
            {
                watched.progress = (completions, now);
            }
            let silent = now.saturating_sub(watched.progress.1) > self.context.plan.give_up_ns;
            match watched.told_to_give_up {
                None if silent || at_once => {
                    watched.told_to_give_up = Some(now);
                    watched.signals.give_up.store(true, Ordering::Relaxed);
                    watched.signals.stop.store(true, Ordering::Relaxed);
                }
                Some(since) if now.saturating_sub(since) > NOTICE => self.take(worker, now),
                _ => {}
            }
        }
    }

    /// Takes the desk of a thread that is stuck inside the kernel.
    fn take(&mut self, worker: usize, now: Nanos) {
        let Some(place) = self.watched[worker].place.clone() else {
            return;
        };
        let Some(desk) = place.take() else { return };
        let ended = Ended {
            at: now,
            gave_up: true,
            usage: ThreadUsage::default(),
            cpus: Vec::new(),
        };
        self.close(worker, desk, &ended, true);
    }

    fn ended(&mut self, worker: usize, ended: Result<Ended, Error>) {
        if self.watched[worker].result.is_some() {
            return; // Its desk was taken; it came back after all.
        }
        let Some(place) = self.watched[worker].place.clone() else {
            return;
        };
        let Some(desk) = place.take() else { return };
        let ended = ended.unwrap_or_else(|error| {
            self.watched[worker]
                .error
                .get_or_insert_with(|| error.to_string());
            Ended {
                at: self.context.clock.now(),
                gave_up: true,
                usage: ThreadUsage::default(),
                cpus: Vec::new(),
            }
        });
        self.close(worker, desk, &ended, false);
    }

    /// The end of a worker: its last slice, its requests in flight, its result.
    fn close(&mut self, worker: usize, desk: &mut Desk, ended: &Ended, stuck: bool) {
        self.merge(worker);
        let at = ended.at.max(self.start);
        let since_start = at - self.start;
        let late_handovers = desk.recorder.late_handovers();
        let row = &mut self.rows[self.row_of[worker]];
        row.add(worker, desk.close(at));
        row.end(worker, since_start);
        self.merge(worker);
        let watched = &mut self.watched[worker];
        let plan = watched.plan;
        if let Some(errno) = desk.worker.failed() {
            watched.error.get_or_insert_with(|| failure(plan, errno));
        }
        if ended.gave_up {
            let index = (self.context.first_worker + worker) as u32;
            let path = |target: u32| {
                plan.files
                    .get(target as usize)
                    .map_or("", |file| file.path.as_str())
            };
            let before = self.in_flight.len();
            let left = desk.worker.requests_in_flight();
            self.in_flight.extend(
                left.map(|request| InFlight::new(index, path(request.target), request, at)),
            );
            // Whoever asked not to wait knows; otherwise a drive that does not answer is no success.
            let lost = self.in_flight.len() - before;
            if lost > 0 && !self.context.asked.give_up.load(Ordering::Relaxed) {
                let patience = self.context.plan.give_up_ns / SECOND;
                watched.error.get_or_insert_with(|| {
                    format!(
                        "{}: {lost} in flight, and none came back for {patience} s",
                        plan.name
                    )
                });
            }
        }
        let usage = ended.usage;
        watched.result = Some(WorkerResult {
            cpus: ended.cpus.clone(),
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            migrations: usage.migrations,
            major_faults: usage.major_faults,
            minor_faults: usage.minor_faults,
            overdue: desk.worker.overdue(MOST_OVERDUE),
            late_handovers,
            log_dropped: desk.log.as_ref().map_or(0, |log| log.dropped()),
            error: watched.error.clone(),
            stuck,
            ..WorkerResult::new(plan, self.context.index, since_start, &desk.busy)
        });
        let failed = watched.error.is_some();
        let others = self.stage.finished(worker, failed);
        self.stop(others);
    }

    fn outcome(self) -> Outcome {
        let workers: Vec<_> = self
            .watched
            .into_iter()
            .filter_map(|watched| watched.result)
            .collect();
        Outcome {
            rows: self.rows.iter().map(Row::result).collect(),
            error: workers.iter().find_map(|worker| worker.error.clone()),
            workers,
            in_flight: self.in_flight,
            stopped_by: self.stage.stopped(),
        }
    }
}

/// What a failed request means to the job, in words.
fn failure(plan: &WorkerPlan, errno: Errno) -> String {
    let cause = std::io::Error::from_raw_os_error(errno.0);
    let paths: Vec<_> = plan.files.iter().map(|file| file.path.as_str()).collect();
    format!(
        "{}: a request to {} failed: {cause}",
        plan.name,
        paths.join(", ")
    )
}
