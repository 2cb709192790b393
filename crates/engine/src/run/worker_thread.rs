//! One worker's thread, from its preparation to its end.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use iogauge_core::busy::Busy;
use iogauge_core::flow::Share;
use iogauge_core::log_record::LogOrigin;
use iogauge_core::plan::{EngineKind, RunPlan, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Recorder};
use iogauge_core::replay::Feed;
use iogauge_core::results::{ThreadUsage, VerifyResult};
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Nanos, Worker};

use crate::affinity;
use crate::clock::Clock;
use crate::engines::files;
use crate::engines::{Engine, StampLog, UseEngine, open};
use crate::error::Error;
use crate::priority::{self, RealTimePriority};
use crate::run::exchange::{Signals, Slices, slices_like};
use crate::run::heartbeat::Heartbeat;
use crate::run::revocable::Revocable;
use crate::run::rows_file::Prefetch;
use crate::run::spill::{Spill, WorkerLog};
use crate::run::worker_loop::{End, Loop};
use crate::run::worker_state::WorkerState;
use crate::thread_memory::{self, Locked};
use crate::wait::{STARTING, Waiter};

/// The gate where the threads of a stage wait for one another, or one thread for the end of others.
#[derive(Debug, Default)]
pub struct Gate {
    opened: Mutex<Option<Option<Nanos>>>,
    changed: Condvar,
}

impl Gate {
    /// Lets all threads through; `stage_start` is when their stage began. `None`: they do not begin.
    pub fn open(&self, stage_start: Option<Nanos>) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage_start);
        self.changed.notify_all();
    }

    fn pass(&self) -> Option<Nanos> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.changed.wait_while(opened, |opened| opened.is_none());
        opened.unwrap_or_else(PoisonError::into_inner).flatten()
    }
}

/// What a thread reports to the collecting one.
#[derive(Debug)]
pub enum Report {
    /// The thread waits at the gate. With its state and the exchange of its slices.
    Ready(Arc<Revocable<WorkerState>>, Slices),
    /// The thread had waited for others, and begins at this instant.
    Begun(Nanos),
    /// The thread ended. `Err`: its engine could not be opened, or failed.
    Ended(Result<ThreadEnd, Error>),
}

/// How a thread ended.
#[derive(Clone, Debug)]
pub struct ThreadEnd {
    /// When, on the run's clock.
    pub at: Nanos,
    /// Whether it left requests in flight.
    pub gave_up: bool,
    /// What it used from the end of the ramp on; without a ramp, from right before its start.
    pub usage: ThreadUsage,
    /// CPUs that it was seen on.
    pub cpus: Vec<u32>,
}

impl ThreadEnd {
    /// The end of a thread whose usage is unknown.
    pub fn without_usage(at: Nanos, gave_up: bool) -> Self {
        Self {
            at,
            gave_up,
            usage: ThreadUsage::default(),
            cpus: Vec::new(),
        }
    }
}

/// One worker's thread, and what it needs.
#[derive(Debug)]
pub struct WorkerThread {
    /// Its index in its stage.
    pub worker: usize,
    /// Its plan.
    pub plan: WorkerPlan,
    /// The run's plan.
    pub run: Arc<RunPlan>,
    /// The run's clock.
    pub clock: Clock,
    /// Where it waits for the others.
    pub gate: Arc<Gate>,
    /// Orders to it, and its progress.
    pub signals: Arc<Signals>,
    /// Whether the process stood still.
    pub heartbeat: Arc<Heartbeat>,
    /// Where its requests are logged, if they are.
    pub spill: Option<Spill>,
    /// Where its writes and flushes are noted, if it stamps them.
    pub stamp_log: Option<StampLog>,
    /// What its log records have in common.
    pub log_origin: LogOrigin,
    /// Its share of a flow, until its worker takes it.
    pub share: Mutex<Option<Share>>,
    /// Where it reports.
    pub reports: Sender<(usize, Report)>,
}

impl WorkerThread {
    /// Runs the thread from start to end.
    pub fn run(self) {
        // The collecting thread waits for every end, even that of a thread that panics.
        let work = AssertUnwindSafe(|| self.prepare_and_run().and_then(|inner| inner));
        let panicked = |_| {
            Err(Error::Thread {
                what: "a worker's thread panicked",
            })
        };
        let ended = std::panic::catch_unwind(work).unwrap_or_else(panicked);
        let _ = self.reports.send((self.worker, Report::Ended(ended)));
    }

    fn prepare_and_run(&self) -> Result<Result<ThreadEnd, Error>, Error> {
        affinity::run_on(&self.plan.cpus)?;
        priority::add_nice(self.plan.nice)?;
        priority::set_io_priority(self.plan.io_priority)?;
        thread_memory::set_policy(self.plan.memory.numa.as_ref())?;
        let _locked = Locked::new(self.plan.memory.locked_bytes)?;
        if self.plan.waits_for.is_empty() {
            self.prepare_cache()?;
        }
        let waiter = Waiter::new(self.clock, self.plan.spin);
        open(
            &self.plan,
            self.clock,
            waiter,
            InThread {
                thread: self,
                waiter,
            },
        )
    }

    /// Drops what the page cache has of its files, or reads it, as the job says.
    fn prepare_cache(&self) -> Result<(), Error> {
        if self.plan.invalidate {
            // A failure belongs to what others wrote.
            let _ = files::invalidate(&self.plan);
        }
        if self.plan.pre_read {
            files::pre_read(&self.plan, || self.signals.stopped())?;
        }
        Ok(())
    }

    /// Allocates and touches what the thread works on.
    fn new_state(&self) -> Result<(WorkerState, Slices), Error> {
        let feed = self.plan.replay.as_ref().map(Prefetch::start).transpose()?;
        let feed = feed.map(|feed| Box::new(feed) as Box<dyn Feed>);
        let mut worker = Worker::with_feed(&self.plan, feed).map_err(|cause| Error::Pattern {
            job: self.plan.name.clone(),
            cause: cause.to_string(),
        })?;
        let share = self.share.lock().expect("no holder panics").take();
        worker.join(&self.plan, share);
        let stamps_issue = self.plan.stamps_issue();
        let first = recorder::slice_of(&self.plan, stamps_issue);
        let slices = slices_like(&first);
        let log = self
            .spill
            .as_ref()
            .map(|spill| WorkerLog::new(spill, &self.run, self.plan.iodepth, self.log_origin));
        let recorder = Recorder::new(Box::new(first), slices.clone());
        Ok((
            WorkerState {
                worker,
                recorder,
                busy: Busy::default(),
                log,
                verified: VerifyResult::default(),
            },
            slices,
        ))
    }
}

/// The part of a thread's work that needs an engine.
struct InThread<'a> {
    thread: &'a WorkerThread,
    waiter: Waiter,
}

impl UseEngine for InThread<'_> {
    type Out = Result<ThreadEnd, Error>;

    fn run<E: Engine>(self, mut engine: E) -> Self::Out {
        let thread = self.thread;
        let (state, slices) = thread.new_state()?;
        if let (Some(log), Some(buffers)) = (&thread.stamp_log, engine.buffers()) {
            buffers.stamp(log.clone(), &thread.plan);
        }
        let state = Arc::new(Revocable::new(state));
        let _ = thread
            .reports
            .send((thread.worker, Report::Ready(state.clone(), slices)));
        // Only the first stage has an instant.
        let starts_together = thread.run.start_at_ns.is_some()
            && thread.log_origin.stage == 0
            && thread.plan.start_delay_ns == 0
            && thread.plan.waits_for.is_empty();
        // A busy process must not delay some of the hosts that start on one computer at the same instant. The C library
        // gives its threads for POSIX AIO the priority that it sees first, for good.
        let priority = (starts_together && thread.plan.engine.kind != EngineKind::Posixaio)
            .then(RealTimePriority::raise);
        let Some(stage_start) = thread.gate.pass() else {
            return Ok(ThreadEnd::without_usage(thread.clock.now(), false));
        };
        let mut start = stage_start + thread.plan.start_delay_ns;
        if !thread.plan.waits_for.is_empty() {
            // What it waited for may have filled the cache.
            thread.prepare_cache()?;
            start = start.max(thread.clock.now());
            let _ = thread.reports.send((thread.worker, Report::Begun(start)));
        }
        let begins = start - stage_start;
        let cutter = Cutter::of(&thread.plan, begins, thread.run.interval_ns);
        if let Some(mut state) = state.acquire() {
            state
                .worker
                .begin(start, thread.plan.ramp_ns, thread.plan.runtime_ns);
            state.recorder.begin(cutter, stage_start, start);
            if let Some(log) = &mut state.log {
                log.begin(stage_start, stage_start.saturating_add(cutter.ramp_end));
            }
        }
        // Before the wait, so that it delays neither the first request nor other threads that start on this CPU.
        let mut before = affinity::thread_usage();
        self.wait_for(start);
        let is_raised = priority.as_ref().is_some_and(RealTimePriority::is_raised);
        let mut cpus = vec![affinity::current_cpu()];
        let settle = || files::invalidate(&thread.plan);
        let looping = Loop {
            state: &state,
            signals: &thread.signals,
            heartbeat: &thread.heartbeat,
            iodepth: thread.plan.iodepth,
            submit_batch: thread.plan.engine.submit_batch.get(),
            tick: thread
                .run
                .interval_ns
                .clamp(5 * MILLISECOND, 100 * MILLISECOND),
            settle: &settle,
            // With a real-time priority, the others start all the same. Other engines sleep while their first request
            // is under way; a drive is not kept waiting for other hosts.
            lets_start_until: match thread.plan.engine.kind {
                EngineKind::Null if starts_together && !is_raised => start + STARTING,
                _ => 0,
            },
        };
        let end = looping.run(&mut engine, priority, || before = affinity::thread_usage());
        let usage = affinity::thread_usage().since(before);
        let last = affinity::current_cpu();
        if !cpus.contains(&last) {
            cpus.push(last);
        }
        let (at, gave_up) = match end {
            Ok(End::Finished(at)) => (at, false),
            Ok(End::GaveUp(at)) => (at, true),
            Ok(End::Revoked) => (thread.clock.now(), true),
            Err(error) => {
                // The kernel still holds requests, so their memory must stay mapped.
                std::mem::forget(engine);
                return Err(error);
            }
        };
        if gave_up {
            std::mem::forget(engine);
        }
        Ok(ThreadEnd {
            at,
            gave_up,
            usage,
            cpus,
        })
    }
}

impl InThread<'_> {
    /// Waits for the worker's own start, or for an order to stop.
    fn wait_for(&self, start: Nanos) {
        loop {
            let now = self.thread.clock.now();
            if now >= start || self.thread.signals.stopped() {
                return;
            }
            self.waiter.sleep_until(start.min(now + 100 * MILLISECOND));
        }
    }
}
