//! One worker's thread in virtual time: it does one thing after the other, and each takes what the machine asks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use iogauge_core::busy::Busy;
use iogauge_core::log_record::{LogRecord, Logged};
use iogauge_core::plan::{StagePlan, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Handover, Recorder, Slice};
use iogauge_core::{Completion, Nanos, Request, Want, Worker};

use crate::drive::{Access, Drive};
use crate::machine::Machine;

#[derive(Debug, Default)]
struct Exchange {
    full: VecDeque<Box<Slice>>,
    empty: VecDeque<Box<Slice>>,
}

/// Full slices on their way out, and empty ones to go on with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slices(Rc<RefCell<Exchange>>);

impl Slices {
    /// The next full slice.
    pub(crate) fn pop(&self) -> Option<Box<Slice>> {
        self.0.borrow_mut().full.pop_front()
    }

    /// Gives a slice back.
    pub(crate) fn give_back(&self, mut slice: Box<Slice>) {
        slice.clear();
        self.0.borrow_mut().empty.push_back(slice);
    }
}

impl Handover for Slices {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        let exchange = &mut *self.0.borrow_mut();
        let spare = exchange.empty.pop_front();
        let next = spare.unwrap_or_else(|| Box::new(slice.touched()));
        exchange.full.push_back(std::mem::replace(slice, next));
        true
    }
}

/// What the thread does next.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// Asks its worker.
    Deciding,
    /// Hands the `next` request of its batch to the drive; the call began at `start`.
    Submitting { next: usize, start: Nanos },
    /// Waits for so many completions, or until an instant.
    Waiting { min: usize, until: Nanos },
    /// Has noticed what there is, and takes it.
    Reaping,
    /// Nothing more.
    Finished,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) plan: &'a WorkerPlan,
    pub(crate) worker: Worker,
    pub(crate) recorder: Recorder<Slices>,
    pub(crate) slices: Slices,
    pub(crate) busy: Busy,
    /// CPU time used so far.
    pub(crate) cpu_ns: Nanos,
    /// Bytes completed so far by direction: read, write, trim.
    pub(crate) bytes: [u64; 3],
    stamps_issue: bool,
    /// When it goes on.
    at: Nanos,
    doing: Doing,
    /// What the worker wanted beside the batch that is being submitted; `None`: to be asked again.
    then: Option<Want>,
    batch: Vec<Request>,
    /// Start and issue of the request in each slot.
    stamps: Box<[(Nanos, Nanos)]>,
    /// Slots whose requests the drive is done with, and when; the earliest first.
    arrived: VecDeque<(u32, Nanos)>,
    logged: Option<Logged>,
}

/// Where a thread is in its run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Index in its stage.
    pub(crate) index: usize,
    /// When the stage began.
    pub(crate) stage_start: Nanos,
    /// Length of an interval.
    pub(crate) interval: Nanos,
    /// What to log, if anything.
    pub(crate) logged: Option<Logged>,
}

impl<'a> Thread<'a> {
    /// The thread of one of a stage's workers, which begins with it.
    ///
    /// # Errors
    /// Where the pattern cannot be drawn.
    pub(crate) fn new(stage: &'a StagePlan, place: Place) -> Result<Self, String> {
        let plan = &stage.workers[place.index];
        let mut worker = Worker::new(plan).map_err(|cause| format!("{}: {cause}", plan.name))?;
        let start = place.stage_start + plan.start_delay_ns;
        worker.begin(start, plan.ramp_ns, plan.runtime_ns);
        let stamps_issue = recorder::stamps_issue(plan);
        let slice = Slice::new(
            recorder::directions(plan),
            recorder::latencies(plan, stamps_issue),
        );
        let slices = Slices::default();
        let mut recorder = Recorder::new(Box::new(slice), slices.clone());
        let cutter = Cutter::of(plan, place.interval);
        recorder.begin(cutter, place.stage_start, start);
        Ok(Self {
            plan,
            worker,
            recorder,
            slices,
            busy: Busy::default(),
            cpu_ns: 0,
            bytes: [0; 3],
            stamps_issue,
            at: start,
            doing: Doing::Deciding,
            then: None,
            batch: Vec::with_capacity(plan.iodepth as usize),
            stamps: vec![(0, 0); plan.iodepth as usize].into(),
            arrived: VecDeque::with_capacity(plan.iodepth as usize),
            logged: place.logged.map(|logged| Logged {
                stage_start: place.stage_start,
                ramp_end: place.stage_start + cutter.ramp_end,
                ..logged
            }),
        })
    }

    /// When it does its next step; `None` where only a completion can bring one about, or nothing at all.
    #[inline]
    pub(crate) fn due(&self, machine: &Machine) -> Option<Nanos> {
        match self.doing {
            Doing::Finished => None,
            Doing::Waiting { min, until } => {
                let last = min.checked_sub(1).and_then(|last| self.arrived.get(last));
                let seen = match last {
                    Some(&(_, at)) if at > self.at => at + machine.notice_ns(),
                    Some(_) => self.at,
                    None => Nanos::MAX,
                };
                Some(seen.min(until.max(self.at))).filter(|&at| at < Nanos::MAX)
            }
            _ => Some(self.at),
        }
    }

    /// Whether it has ended.
    pub(crate) fn finished(&self) -> bool {
        matches!(self.doing, Doing::Finished)
    }

    /// Issues nothing more from `now` on, and does not sleep any longer.
    pub(crate) fn stop(&mut self, now: Nanos) {
        self.worker.stop(now);
        if let Doing::Waiting { until, .. } = &mut self.doing {
            *until = now.min(*until);
        }
    }

    /// The drive is done with the request in `slot`.
    #[inline]
    pub(crate) fn arrive(&mut self, slot: u32, at: Nanos) {
        self.arrived.push_back((slot, at));
    }

    /// Does what is due at `now`.
    #[inline]
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        index: usize,
        machine: &Machine,
        drive: &mut impl Drive,
        log: &mut impl FnMut(LogRecord),
    ) {
        match self.doing {
            Doing::Deciding => self.decide(now, machine),
            Doing::Submitting { next, start } => {
                self.submit(now, index, next, start, machine, drive)
            }
            Doing::Waiting { .. } => {
                if machine.polls {
                    self.cpu_ns += now.saturating_sub(self.at);
                }
                self.pass(now);
                self.doing = Doing::Reaping;
            }
            Doing::Reaping => self.reap(now, machine, log),
            Doing::Finished => {}
        }
    }

    /// Time goes on to `now`.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        let length = now.saturating_sub(self.at);
        self.busy.in_flight(self.worker.in_flight(), length);
        self.at = self.at.max(now);
    }

    /// Spends CPU time.
    #[inline]
    fn pay(&mut self, cost: Nanos) {
        self.cpu_ns += cost;
        self.pass(self.at + cost);
    }

    fn decide(&mut self, now: Nanos, machine: &Machine) {
        self.recorder.advance(now);
        self.batch.clear();
        let depth = self.plan.iodepth;
        let limit = self
            .plan
            .engine
            .submit_batch
            .unwrap_or_else(|| depth.div_ceil(8));
        let limit = limit.clamp(1, depth) as usize;
        self.then = self.worker.fill(now, limit, &mut self.batch);
        if self.batch.is_empty() {
            self.go_on();
        } else {
            self.pay(machine.submit_call_ns + machine.submit_request_ns);
            self.doing = Doing::Submitting {
                next: 0,
                start: now,
            };
        }
    }

    fn submit(
        &mut self,
        now: Nanos,
        index: usize,
        next: usize,
        start: Nanos,
        machine: &Machine,
        drive: &mut impl Drive,
    ) {
        let request = self.batch[next];
        drive.submit(
            now,
            Access {
                ticket: (index as u64) << 32 | u64::from(request.slot),
                kind: request.kind,
                offset_bytes: request.offset_bytes,
                length_bytes: request.length_bytes,
            },
        );
        self.stamps[request.slot as usize] = (start, now);
        if next + 1 < self.batch.len() {
            self.pay(machine.submit_request_ns);
            self.doing = Doing::Submitting {
                next: next + 1,
                start,
            };
            return;
        }
        // As in an engine, one stamp serves the whole call.
        for request in &self.batch {
            self.stamps[request.slot as usize].1 = now;
        }
        let in_flight = self.worker.in_flight();
        self.busy.submitted(1, self.batch.len() as u32, in_flight);
        self.go_on();
    }

    /// Does what the worker wanted beside its requests.
    fn go_on(&mut self) {
        self.doing = match self.then {
            Some(Want::Finished) => Doing::Finished,
            Some(Want::Wait { completions, until }) => Doing::Waiting {
                min: completions as usize,
                until: until.unwrap_or(Nanos::MAX),
            },
            Some(Want::Spin { until }) => Doing::Waiting { min: 0, until },
            Some(Want::Issue(_)) | None => Doing::Deciding,
        };
        if let Some(Want::Spin { until }) = self.then {
            self.cpu_ns += until.saturating_sub(self.at);
        }
    }

    fn reap(&mut self, now: Nanos, machine: &Machine, log: &mut impl FnMut(LogRecord)) {
        let limit = self.plan.engine.reap_batch.unwrap_or(u32::MAX).max(1);
        let there = self.arrived.iter().take_while(|&&(_, at)| at <= now);
        let count = there.take(limit as usize).count();
        for (slot, _) in self.arrived.drain(..count) {
            let (start, issued) = self.stamps[slot as usize];
            let request = self.worker.request(slot);
            let completion = Completion {
                slot,
                start,
                issued: self.stamps_issue.then_some(issued),
                done: now.max(issued),
                result: Ok(request.length_bytes),
            };
            self.recorder.record(request, &completion);
            if let Some(logged) = &self.logged {
                log(LogRecord::new(logged, request, &completion));
            }
            let direction = request.kind.direction() as usize;
            if let Some(bytes) = self.bytes.get_mut(direction) {
                *bytes += u64::from(request.length_bytes);
            }
            self.worker.complete(&completion);
        }
        if count > 0 {
            self.busy.reaped(count as u32);
            self.pay(machine.reap_request_ns * count as u64);
        }
        self.doing = Doing::Deciding;
    }
}
