//! Runs a plan from its first stage to its last, in virtual time: one thread, one clock, the earliest event first.
//!
//! The result has the shape of a real run's. The clock begins at zero. The clock and the state of the drives continue
//! from stage to stage.

use iogauge_core::generate::child_seed;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{ReplayPlan, RunPlan};
use iogauge_core::replay::Feed;
use iogauge_core::results::{Interval, RunResult, ThreadUsage, VerifyResult};
use iogauge_core::stage_account::{StageAccount, WorkerEnd};
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Nanos, Stop};

use crate::drive::{Drive, Returned};
use crate::explain::{RowParts, RowSums};
use crate::machine::Machine;
use crate::order::{Order, is_before};
use crate::thread::{Position, Thread};

/// The longest time between two checks of the stage.
const LOOK: Nanos = 100 * MILLISECOND;

/// What happens during a run.
#[derive(Debug)]
pub enum Event {
    /// An interval of a row is over.
    Interval(Box<Interval>),
    /// The stage at this index is next, and its plan says that the run waits; time stands still meanwhile.
    Held(usize),
    /// A request completed; only if the plan logs requests.
    Request(LogRecord),
    /// A stage is over, and this is where the time of a row's requests went; only if the drives are explained.
    Explained(Box<RowParts>),
}

/// Runs `plan` on `drives` behind `machine`, and passes events to `sink`. The `fd` of a file is the index of its drive.
/// Calls `should_continue` at least every 100 ms of virtual time. Once that returns false, no further request is
/// issued.
///
/// # Errors
/// If a worker's pattern cannot be drawn.
pub fn run<Clock>(
    plan: &RunPlan,
    machine: &Machine,
    drives: &mut [impl Drive],
    clock: Clock,
    sink: &mut impl FnMut(Event),
    should_continue: &mut impl FnMut() -> bool,
) -> Result<RunResult<Clock>, String> {
    let no_feed = |_: &ReplayPlan| Err("the plan replays a trace".into());
    replay(
        plan,
        machine,
        drives,
        clock,
        sink,
        should_continue,
        &no_feed,
    )
}

/// Makes the feed of a worker that replays a trace.
pub type OpenFeed<'a> = &'a dyn Fn(&ReplayPlan) -> Result<Box<dyn Feed>, String>;

/// Runs a plan as [`run`] does. Workers may replay traces, whose rows `open_feed` opens.
///
/// # Errors
/// As of [`run`], and if a feed cannot be opened.
pub fn replay<Clock>(
    plan: &RunPlan,
    machine: &Machine,
    drives: &mut [impl Drive],
    clock: Clock,
    sink: &mut impl FnMut(Event),
    should_continue: &mut impl FnMut() -> bool,
    open_feed: OpenFeed<'_>,
) -> Result<RunResult<Clock>, String> {
    let mut result = RunResult::new(clock);
    for index in 0..plan.stages.len() {
        if plan.stages[index].held {
            sink(Event::Held(index));
        }
        if !should_continue() {
            result.stopped_by = Some(Stop::Interrupt);
            break;
        }
        let explained = drives.iter().any(Drive::is_explained);
        let start = result.elapsed_ns;
        let mut runner = StageRunner::new(plan, machine, index, start, explained, open_feed)?;
        runner.run(drives, sink, should_continue);
        if explained {
            runner.explain(index, sink);
        }
        result.elapsed_ns = runner.now;
        let stage = runner.account.into_result();
        let ends_run = stage.ends_run;
        result.add(stage);
        if ends_run || result.stopped_by == Some(Stop::Interrupt) {
            break;
        }
    }
    Ok(result)
}

/// A stage in progress.
struct StageRunner<'a> {
    account: StageAccount<'a>,
    threads: Vec<Thread<'a>>,
    order: Order,
    /// When the next drive has an event, and which drive.
    event: (Nanos, usize),
    start: Nanos,
    now: Nanos,
    interval: Nanos,
    /// When to check the stage next.
    look: Nanos,
}

impl<'a> StageRunner<'a> {
    fn new(
        plan: &'a RunPlan,
        machine: &'a Machine,
        index: usize,
        start: Nanos,
        explained: bool,
        open_feed: OpenFeed<'_>,
    ) -> Result<Self, String> {
        let stage = &plan.stages[index];
        let mut account = StageAccount::new(plan, index);
        let mut threads = Vec::new();
        for worker in 0..stage.workers.len() {
            let replay = stage.workers[worker].replay.as_ref();
            let feed = replay.map(open_feed).transpose()?;
            threads.push(Thread::new(
                stage,
                machine,
                Position {
                    index: worker,
                    stage_start: start,
                    interval: plan.interval_ns,
                    noise_seed: child_seed(plan.seed, account.run_worker(worker) as u64),
                    log_origin: plan.request_log.then(|| account.log_origin(worker)),
                    share: account.share(worker),
                    explained,
                },
                feed,
            )?);
            account.ready(worker);
        }
        account.begin(start);
        for thread in &mut threads {
            if thread.plan.waits_for.is_empty() {
                thread.begin(start + thread.plan.start_delay_ns);
            }
        }
        Ok(Self {
            account,
            order: Order::new(threads.iter().map(Thread::due)),
            threads,
            event: (0, 0),
            start,
            now: start,
            interval: plan.interval_ns,
            look: start + plan.interval_ns.min(LOOK),
        })
    }

    fn run(
        &mut self,
        drives: &mut [impl Drive],
        sink: &mut impl FnMut(Event),
        should_continue: &mut impl FnMut() -> bool,
    ) {
        let mut returned: Vec<Returned> = Vec::new();
        self.event = soonest(drives);
        while !self.account.is_over() {
            let (thread, index) = self.order.first();
            let (event, drive) = self.event;
            let at = thread.min(event);
            if at == Nanos::MAX {
                // No thread and no drive has a next event: every worker is finished.
                break;
            }
            self.now = self.now.max(at);
            if self.now >= self.look {
                self.look_around(sink, should_continue);
            }
            if event <= thread {
                drives[drive].advance(at, &mut returned);
                self.event = soonest(drives);
                for done in returned.drain(..) {
                    let (index, slot) = ((done.ticket >> 32) as usize, done.ticket as u32);
                    if let Some(book) = &mut self.threads[index].book {
                        let inside = drives[drive].take_spent(done.ticket, done.at);
                        book.returned(slot, done.at, inside);
                    }
                    self.threads[index].arrive(slot, done.at);
                    self.order.set(index, self.threads[index].due());
                }
            } else {
                self.run_first(index, at, drives, sink);
            }
        }
        self.collect(sink);
    }

    /// Runs the first thread, at `index`, from `at` on, as long as neither another thread, nor a drive, nor a check of
    /// the stage is next.
    #[inline]
    fn run_first(
        &mut self,
        index: usize,
        mut at: Nanos,
        drives: &mut [impl Drive],
        sink: &mut impl FnMut(Event),
    ) {
        let mut log = |record| sink(Event::Request(record));
        let rival = self.order.second();
        let thread = &mut self.threads[index];
        loop {
            if thread.step(at, drives, &mut log) {
                self.event = soonest(drives);
            }
            let due = thread.due();
            if is_before(rival, (due, index)) || due >= self.look || due >= self.event.0 {
                self.order.set_first(due);
                break;
            }
            at = due;
            self.now = self.now.max(at);
        }
        if thread.finished() {
            self.end(index);
        }
    }

    /// Stops one thread from issuing. One that still waits for others never begins.
    fn stop(&mut self, index: usize) {
        if !self.threads[index].has_begun() {
            return self.end(index);
        }
        self.threads[index].stop(self.now);
        self.order.set(index, self.threads[index].due());
    }

    /// Passes on intervals, checks rates, and asks whether to continue.
    #[cold]
    fn look_around(
        &mut self,
        sink: &mut impl FnMut(Event),
        should_continue: &mut impl FnMut() -> bool,
    ) {
        self.look = self.now + self.interval.min(LOOK);
        self.collect(sink);
        for index in 0..self.threads.len() {
            let bytes = self.threads[index].bytes;
            let reading = self.threads[index].worker.reading_back();
            if self.account.is_too_slow(index, self.now, bytes, reading) {
                self.stop(index);
            }
        }
        if !should_continue() && self.account.interrupt() {
            (0..self.threads.len()).for_each(|index| self.stop(index));
        }
    }

    /// Merges the slices of the threads, and passes on the complete intervals.
    fn collect(&mut self, sink: &mut impl FnMut(Event)) {
        for (index, thread) in self.threads.iter().enumerate() {
            self.account.collect(index, thread.recorder.handover());
        }
        for interval in self.account.intervals(self.now) {
            sink(Event::Interval(Box::new(interval)));
        }
        for index in self.account.settled() {
            self.stop(index);
        }
    }

    /// Passes on where the time of the requests went, row by row in the order of their first workers.
    fn explain(&self, stage: usize, sink: &mut impl FnMut(Event)) {
        let mut rows: Vec<RowSums> = Vec::new();
        for thread in &self.threads {
            let row = rows.iter().position(|row| row.row() == thread.plan.row);
            let row = row.unwrap_or_else(|| {
                rows.push(RowSums::new(thread.plan.row, &thread.plan.name));
                rows.len() - 1
            });
            if let Some(book) = &thread.book {
                rows[row].add(book);
            }
        }
        for row in rows {
            sink(Event::Explained(Box::new(row.row_parts(stage as u32))));
        }
    }

    /// Ends a worker that has finished, or never begins.
    fn end(&mut self, index: usize) {
        if self.account.has_ended(index) {
            return;
        }
        let thread = &mut self.threads[index];
        let others = self.account.end(
            index,
            WorkerEnd {
                at: self.now,
                worker: &thread.worker,
                recorder: &mut thread.recorder,
                busy: &thread.busy,
                usage: ThreadUsage {
                    user_ns: thread.cpu_ns,
                    ..ThreadUsage::default()
                },
                cpus: Vec::new(),
                log_dropped: 0,
                // It holds no data, and so checks none; the account adds how long it read back.
                verify: thread.verifies.then(VerifyResult::default),
                gave_up: false,
                stuck: false,
            },
        );
        others.into_iter().for_each(|other| self.stop(other));
        self.release();
    }

    /// Begins the threads that wait no longer for others.
    fn release(&mut self) {
        for index in self.account.release() {
            let thread = &mut self.threads[index];
            let at = self.now.max(self.start + thread.plan.start_delay_ns);
            thread.begin(at);
            self.account.begun(index, at);
            self.order.set(index, self.threads[index].due());
        }
    }
}

/// Returns when the next drive has an event, and which drive.
#[inline]
fn soonest(drives: &[impl Drive]) -> (Nanos, usize) {
    if let [drive] = drives {
        return (drive.next_event().unwrap_or(Nanos::MAX), 0);
    }
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
