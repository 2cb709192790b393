//! A plan from its first stage to its last, in virtual time: one thread, one clock, the earliest event first.
//!
//! What comes of it has the shape of a real run's results. The clock begins at zero and goes on from stage to stage; so
//! does the state of the drive.

use std::collections::BTreeMap;

use iogauge_core::Nanos;
use iogauge_core::generate::child_seed;
use iogauge_core::log_record::{LogRecord, Logged};
use iogauge_core::plan::RunPlan;
use iogauge_core::recorder::Cutter;
use iogauge_core::results::{Interval, MOST_OVERDUE, RunResult, WorkerResult};
use iogauge_core::rows::Row;
use iogauge_core::stage::{Stage, Stop};
use iogauge_core::time::MILLISECOND;

use crate::drive::{Drive, Returned};
use crate::machine::Machine;
use crate::thread::{Place, Thread};

/// The stage is looked at this often at least.
const LOOK: Nanos = 100 * MILLISECOND;

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Told {
    /// An interval of a row is over.
    Interval(Box<Interval>),
    /// A request came back; only where the plan logs them.
    Request(LogRecord),
}

/// Runs `plan` on `drives` in front of which `machine` stands, and tells `sink` on the way. A file's descriptor is the
/// index of its drive. `go_on` is asked every [`LOOK`] of virtual time or sooner; where it says no, nothing more is issued.
///
/// # Errors
/// Where a worker's pattern cannot be drawn.
pub fn run<Clock>(
    plan: &RunPlan,
    machine: &Machine,
    drives: &mut [impl Drive],
    clock: Clock,
    sink: &mut impl FnMut(Told),
    go_on: &mut impl FnMut() -> bool,
) -> Result<RunResult<Clock>, String> {
    let mut result = RunResult {
        rows: Vec::new(),
        workers: Vec::new(),
        in_flight: Vec::new(),
        drives: Vec::new(),
        clock,
        stopped_by: None,
        error: None,
        elapsed_ns: 0,
    };
    for index in 0..plan.stages.len() {
        let first_worker = result.workers.len();
        let start = result.elapsed_ns;
        let mut running = Running::new(plan, machine, index, first_worker, start)?;
        running.run(drives, sink, go_on);
        result.elapsed_ns = running.now;
        result.stopped_by = result.stopped_by.or(running.stage.stopped());
        running.end(&mut result);
        if result.stopped_by == Some(Stop::Interrupt) {
            break;
        }
    }
    Ok(result)
}

/// A stage under way.
struct Running<'a> {
    index: u32,
    stage: Stage,
    threads: Vec<Thread<'a>>,
    /// When each thread does its next step.
    due: Vec<Nanos>,
    results: Vec<Option<WorkerResult>>,
    errors: Vec<Option<String>>,
    rows: Vec<Row>,
    /// For each thread, which of `rows` is its own.
    row_of: Vec<usize>,
    start: Nanos,
    now: Nanos,
    interval: Nanos,
    /// When to look at the stage next.
    look: Nanos,
}

impl<'a> Running<'a> {
    fn new(
        plan: &'a RunPlan,
        machine: &Machine,
        index: usize,
        first_worker: usize,
        start: Nanos,
    ) -> Result<Self, String> {
        let stage = &plan.stages[index];
        let mut rows: Vec<Row> = Vec::new();
        let mut places = BTreeMap::new();
        let mut row_of = Vec::with_capacity(stage.workers.len());
        let mut threads = Vec::new();
        let mut state = Stage::new(stage);
        for (place, worker) in stage.workers.iter().enumerate() {
            let logged = Logged {
                worker: (first_worker + place) as u32,
                row: worker.row,
                stage: index as u16,
                ..Logged::default()
            };
            threads.push(Thread::new(
                stage,
                machine,
                Place {
                    index: place,
                    stage_start: start,
                    interval: plan.interval_ns,
                    noise_seed: child_seed(plan.seed, (first_worker + place) as u64),
                    logged: plan.request_log.then_some(logged),
                },
            )?);
            let row = *places.entry(worker.row).or_insert_with(|| {
                let name = worker.name.clone();
                rows.push(Row::new(index as u32, worker.row, name, plan.interval_ns));
                rows.len() - 1
            });
            let cutter = Cutter::of(worker, plan.interval_ns);
            rows[row].join(place, cutter, worker.start_delay_ns);
            row_of.push(row);
            state.ready(place);
        }
        state.begin(start);
        Ok(Self {
            index: index as u32,
            stage: state,
            results: threads.iter().map(|_| None).collect(),
            errors: threads.iter().map(|_| None).collect(),
            due: threads.iter().map(Thread::due).collect(),
            threads,
            rows,
            row_of,
            start,
            now: start,
            interval: plan.interval_ns,
            look: start + plan.interval_ns.min(LOOK),
        })
    }

    fn run(
        &mut self,
        drives: &mut [impl Drive],
        sink: &mut impl FnMut(Told),
        go_on: &mut impl FnMut() -> bool,
    ) {
        let mut returned: Vec<Returned> = Vec::new();
        while !self.stage.done() {
            let (thread, index) = self.earliest();
            let (event, drive) = soonest(drives);
            let at = thread.min(event);
            if at == Nanos::MAX {
                // Nobody waits for anything: every worker is finished.
                break;
            }
            self.now = self.now.max(at);
            if self.now >= self.look {
                self.look_around(sink, go_on);
            }
            if event <= thread {
                drives[drive].advance(at, &mut returned);
                for done in returned.drain(..) {
                    let (index, slot) = ((done.ticket >> 32) as usize, done.ticket as u32);
                    self.threads[index].arrive(slot, done.at);
                    self.due[index] = self.threads[index].due();
                }
            } else {
                let mut log = |record| sink(Told::Request(record));
                self.threads[index].step(at, drives, &mut log);
                self.due[index] = self.threads[index].due();
                if self.threads[index].finished() {
                    self.finish(index);
                }
            }
        }
        self.tell(sink);
    }

    /// When the next thread goes on, and which; of several at one instant, the first of the job file.
    #[inline]
    fn earliest(&self) -> (Nanos, usize) {
        let mut earliest = (Nanos::MAX, 0);
        for (index, &due) in self.due.iter().enumerate() {
            if due < earliest.0 {
                earliest = (due, index);
            }
        }
        earliest
    }

    /// Issues nothing more in one thread.
    fn stop(&mut self, index: usize) {
        self.threads[index].stop(self.now);
        self.due[index] = self.threads[index].due();
    }

    /// What is done now and then: intervals told, rates watched, the outside asked.
    #[cold]
    fn look_around(&mut self, sink: &mut impl FnMut(Told), go_on: &mut impl FnMut() -> bool) {
        self.look = self.now + self.interval.min(LOOK);
        self.tell(sink);
        for index in 0..self.threads.len() {
            let bytes = self.threads[index].bytes;
            if self.stage.too_slow(index, self.now, bytes) {
                let name = &self.threads[index].plan.name;
                self.errors[index] = Some(format!("{name}: slower than its rate_min"));
                self.stop(index);
            }
        }
        if !go_on() && self.stage.interrupt() {
            (0..self.threads.len()).for_each(|index| self.stop(index));
        }
    }

    fn tell(&mut self, sink: &mut impl FnMut(Told)) {
        for index in 0..self.threads.len() {
            self.drain(index);
        }
        for row in &mut self.rows {
            for interval in row.ready(self.now - self.start) {
                sink(Told::Interval(Box::new(interval)));
            }
        }
    }

    /// Merges what a thread has handed over.
    fn drain(&mut self, index: usize) {
        let slices = &self.threads[index].slices;
        while let Some(slice) = slices.pop() {
            self.rows[self.row_of[index]].add(index, &slice);
            slices.give_back(slice);
        }
    }

    /// A worker has nothing more to do.
    fn finish(&mut self, index: usize) {
        let since_start = self.now - self.start;
        self.drain(index);
        let row = self.row_of[index];
        let last = self.threads[index].recorder.close(self.now);
        self.rows[row].add(index, last);
        // Closing may hand over the slices before the last.
        self.drain(index);
        self.rows[row].end(index, since_start);
        let thread = &self.threads[index];
        self.results[index] = Some(WorkerResult {
            user_ns: thread.cpu_ns,
            overdue: thread.worker.overdue(MOST_OVERDUE),
            error: self.errors[index].clone(),
            ..WorkerResult::new(thread.plan, self.index, since_start, &thread.busy)
        });
        for other in self.stage.finished(index, self.errors[index].is_some()) {
            self.stop(other);
        }
    }

    fn end<Clock>(self, result: &mut RunResult<Clock>) {
        result.rows.extend(self.rows.iter().map(Row::result));
        let workers = self.results.into_iter().flatten();
        result.workers.extend(workers);
        let mut errors = result
            .workers
            .iter()
            .filter_map(|worker| worker.error.as_ref());
        result.error = errors.next().cloned();
    }
}

/// When the next drive has something to tell, and which.
#[inline]
fn soonest(drives: &[impl Drive]) -> (Nanos, usize) {
    let mut soonest = (Nanos::MAX, 0);
    for (index, drive) in drives.iter().enumerate() {
        match drive.next_event() {
            Some(event) if event < soonest.0 => soonest = (event, index),
            _ => {}
        }
    }
    soonest
}

#[cfg(test)]
mod tests;
