//! One worker's thread, from its preparation to its end.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use iogauge_core::busy::Busy;
use iogauge_core::log_record::Logged;
use iogauge_core::plan::{RunPlan, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Recorder, Slice};
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Nanos, Worker};

use crate::Engine;
use crate::affinity::{self, ThreadUsage};
use crate::clock::Clock;
use crate::desk::{Desk, Place};
use crate::drive::{End, Loop};
use crate::error::Error;
use crate::exchange::{Signals, Slices, slices_like};
use crate::files;
use crate::heartbeat::Heartbeat;
use crate::open::{UseEngine, open};
use crate::spill::{Spill, WorkerLog};
use crate::wait::Waiter;

/// Where the threads of a stage wait for one another.
#[derive(Debug, Default)]
pub struct Gate {
    opened: Mutex<Option<Option<Nanos>>>,
    changed: Condvar,
}

impl Gate {
    /// Lets everybody through, to begin at `start`; `None` sends them home.
    pub fn open(&self, start: Option<Nanos>) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.changed.notify_all();
    }

    fn pass(&self) -> Option<Nanos> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.changed.wait_while(opened, |opened| opened.is_none());
        opened.unwrap_or_else(PoisonError::into_inner).flatten()
    }
}

/// What a thread tells whoever collects.
#[derive(Debug)]
pub enum Report {
    /// It waits at the gate; its desk lies at this place.
    Ready(Arc<Place>, Slices),
    /// It ended. `Err`: the engine could not be opened, or failed.
    Ended(Result<Ended, Error>),
}

/// How a thread ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// When, on the run's clock.
    pub at: Nanos,
    /// Requests were left in flight.
    pub gave_up: bool,
    /// What it used from the end of the ramp on.
    pub usage: ThreadUsage,
    /// CPUs it was seen on.
    pub cpus: Vec<u32>,
}

/// Everything a worker's thread is given.
#[derive(Debug)]
pub struct Member {
    /// Its index in its stage.
    pub worker: usize,
    /// Its index in the run.
    pub run_worker: usize,
    /// Its stage.
    pub stage: u32,
    /// The plan of it.
    pub plan: WorkerPlan,
    /// The run's plan.
    pub run: Arc<RunPlan>,
    /// The run's clock.
    pub clock: Clock,
    /// Where it waits for the others.
    pub gate: Arc<Gate>,
    /// What it is told, and tells.
    pub signals: Arc<Signals>,
    /// Whether the process stood still.
    pub heartbeat: Arc<Heartbeat>,
    /// Where its requests are logged, if they are.
    pub spill: Option<Spill>,
    /// Where it reports.
    pub reports: Sender<(usize, Report)>,
}

impl Member {
    /// The whole life of the thread.
    pub fn run(self) {
        // Whoever collects must hear of the end, even of one that should never come.
        let whole = AssertUnwindSafe(|| self.prepare_and_run().and_then(|inner| inner));
        let panicked = |_| {
            Err(Error::Thread {
                what: "a worker's thread panicked",
            })
        };
        let ended = std::panic::catch_unwind(whole).unwrap_or_else(panicked);
        let _ = self.reports.send((self.worker, Report::Ended(ended)));
    }

    fn prepare_and_run(&self) -> Result<Result<Ended, Error>, Error> {
        affinity::run_on(&self.plan.cpus)?;
        if self.plan.invalidate {
            files::invalidate(&self.plan);
        }
        let waiter = Waiter::new(self.clock, self.plan.spin);
        open(
            &self.plan,
            self.clock,
            waiter,
            InThread {
                member: self,
                waiter,
            },
        )
    }

    /// A desk with everything on it, allocated and touched.
    fn desk(&self) -> Result<(Desk, Slices), Error> {
        let worker = Worker::new(&self.plan).map_err(|cause| Error::Pattern {
            job: self.plan.name.clone(),
            cause: cause.to_string(),
        })?;
        let stamps_issue = recorder::stamps_issue(&self.plan);
        let first = Slice::new(recorder::kept(&self.plan, stamps_issue));
        let slices = slices_like(&first);
        let log = self.spill.as_ref().map(|spill| {
            let logged = Logged {
                worker: self.run_worker as u32,
                row: self.plan.row,
                stage: self.stage as u16,
                ..Logged::default()
            };
            WorkerLog::new(spill, &self.run, self.plan.iodepth, logged)
        });
        let recorder = Recorder::new(Box::new(first), slices.clone());
        Ok((
            Desk {
                worker,
                recorder,
                busy: Busy::default(),
                log,
            },
            slices,
        ))
    }
}

/// The part of a thread's life that has an engine.
struct InThread<'a> {
    member: &'a Member,
    waiter: Waiter,
}

impl UseEngine for InThread<'_> {
    type Out = Result<Ended, Error>;

    fn run<E: Engine>(self, mut engine: E) -> Self::Out {
        let member = self.member;
        let (desk, slices) = member.desk()?;
        let place = Arc::new(Place::new(desk));
        let _ = member
            .reports
            .send((member.worker, Report::Ready(place.clone(), slices)));
        let sent_home = |at| Ended {
            at,
            gave_up: false,
            usage: ThreadUsage::default(),
            cpus: Vec::new(),
        };
        let Some(stage_start) = member.gate.pass() else {
            return Ok(sent_home(member.clock.now()));
        };
        let start = stage_start + member.plan.start_delay_ns;
        self.wait_for(start);

        let cutter = Cutter::of(&member.plan, member.run.interval_ns);
        if let Some(mut desk) = place.pick_up() {
            desk.worker
                .begin(start, member.plan.ramp_ns, member.plan.runtime_ns);
            desk.recorder.begin(cutter, stage_start, start);
            if let Some(log) = &mut desk.log {
                log.begin(stage_start, stage_start + cutter.ramp_end);
            }
        }
        let mut before = affinity::thread_usage();
        let mut cpus = vec![affinity::current_cpu()];
        let looping = Loop {
            place: &place,
            signals: &member.signals,
            heartbeat: &member.heartbeat,
            iodepth: member.plan.iodepth,
            submit_batch: member.plan.engine.submit_batch.get(),
            tick: member
                .run
                .interval_ns
                .clamp(5 * MILLISECOND, 100 * MILLISECOND),
            ramp_end: start + member.plan.ramp_ns,
        };
        let end = looping.run(&mut engine, || before = affinity::thread_usage());
        let usage = affinity::thread_usage().since(before);
        let last = affinity::current_cpu();
        if !cpus.contains(&last) {
            cpus.push(last);
        }
        let (at, gave_up) = match end {
            Ok(End::Finished(at)) => (at, false),
            Ok(End::GaveUp(at)) => (at, true),
            Ok(End::Abandoned) => (member.clock.now(), true),
            Err(error) => {
                // What the kernel still holds must stay where it is.
                std::mem::forget(engine);
                return Err(error);
            }
        };
        if gave_up {
            std::mem::forget(engine);
        }
        Ok(Ended {
            at,
            gave_up,
            usage,
            cpus,
        })
    }
}

impl InThread<'_> {
    /// Waits for the worker's own start, as long as nobody calls it off.
    fn wait_for(&self, start: Nanos) {
        loop {
            let now = self.member.clock.now();
            if now >= start || self.member.signals.stopped() {
                return;
            }
            self.waiter.sleep_until(start.min(now + 100 * MILLISECOND));
        }
    }
}
