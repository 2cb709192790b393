//! One worker's thread in virtual time. It does one thing at a time, and the machine's model says how long each takes.

use iogauge_core::busy::Busy;
use iogauge_core::flow::Share;
use iogauge_core::generate::{Rng, Stream};
use iogauge_core::log_record::{LogOrigin, LogRecord};
use iogauge_core::plan::{EngineKind, StagePlan, SyncMode, WorkerPlan};
use iogauge_core::recorder::{self, Cutter, Recorder};
use iogauge_core::replay::Feed;
use iogauge_core::{Completion, Kind, Nanos, Want, Worker};

use crate::drive::{Access, Drive};
use crate::explain::HostBook;
use crate::exponential::Exponential;
use crate::machine::{IdleSpec, Machine};
use crate::noise::Noise;
use crate::pending::Pending;
use crate::slices::Slices;

/// What the thread does next.
#[derive(Clone, Copy, Debug)]
enum Activity {
    /// Takes requests from its worker.
    Deciding,
    /// Submits the `next` request of its batch to the drive; the call began at `start`.
    Submitting { next: usize, start: Nanos },
    /// Waits for `min` completions, or until an instant.
    Waiting { min: usize, until: Nanos },
    /// Busy-waits until an instant.
    Spinning { until: Nanos },
    /// Ends once its current work is done.
    Finished,
    /// Has ended.
    Ended,
}

/// The time that this thread spends on requests: the machine's costs for its job's engine.
#[derive(Clone, Copy, Debug)]
struct Costs {
    call: Nanos,
    request: Nanos,
    /// From a completion until the waiting thread continues.
    notice: Nanos,
    /// Mean lateness of a sleep until an instant.
    late: Nanos,
    reap: Nanos,
    polls: bool,
}

impl Costs {
    fn new(machine: &Machine, plan: &WorkerPlan) -> Self {
        let polls = machine.polls || plan.engine.hipri;
        let engine = match plan.engine.kind {
            EngineKind::Pvsync2 | EngineKind::Psync | EngineKind::Mmap => machine.sync,
            EngineKind::IoUring
            | EngineKind::IoUringCmd
            | EngineKind::Libaio
            | EngineKind::Posixaio
            | EngineKind::Null => machine.queued,
        };
        Self {
            // Under SQPOLL, a kernel thread submits, and no call is made.
            call: engine.call_ns * Nanos::from(!plan.engine.sqthread_poll),
            request: engine.request_ns,
            notice: if polls {
                machine.poll_ns
            } else {
                machine.wake_ns
            },
            late: machine.timer_late_ns,
            reap: engine.reap_ns,
            polls,
        }
    }
}

/// One worker's thread.
#[derive(Debug)]
pub(crate) struct Thread<'a> {
    pub(crate) plan: &'a WorkerPlan,
    pub(crate) worker: Worker,
    pub(crate) recorder: Recorder<Slices>,
    pub(crate) busy: Busy,
    /// CPU time used since the ramp's end.
    pub(crate) cpu_ns: Nanos,
    /// Bytes completed by direction: read, write, trim.
    pub(crate) bytes: [u64; 3],
    stamps_issue: bool,
    /// Whether its job verifies data.
    pub(crate) verifies: bool,
    durable: bool,
    costs: Costs,
    /// The idle states that its CPU enters while it sleeps; none if it polls.
    idle: &'a [IdleSpec],
    noise: Noise,
    /// Draws the lateness of sleeps until an instant, and the next draw.
    timer: Exponential,
    late: Nanos,
    /// Whether its requests are not yet measured.
    in_ramp: bool,
    /// Index in its stage.
    index: u64,
    /// Most requests of one submission.
    submit_limit: usize,
    /// Most completions of one reap.
    reap_limit: usize,
    /// When it continues.
    at: Nanos,
    activity: Activity,
    /// What to do after the batch that is being submitted.
    after_batch: Activity,
    /// The slots of its requests.
    batch: Vec<u32>,
    /// Start and issue of the request in each slot.
    stamps: Box<[(Nanos, Nanos)]>,
    /// The slots of requests whose completions it has not reaped.
    arrivals: Pending<u32>,
    stage_start: Nanos,
    interval: Nanos,
    log_origin: Option<LogOrigin>,
    /// Where the time of its requests goes, if they are explained.
    pub(crate) book: Option<Box<HostBook>>,
}

/// A thread's place in its run.
#[derive(Debug)]
pub(crate) struct Position {
    /// Index in its stage.
    pub(crate) index: usize,
    /// When the stage began.
    pub(crate) stage_start: Nanos,
    /// Length of an interval.
    pub(crate) interval: Nanos,
    /// Seed of its disturbances.
    pub(crate) noise_seed: u64,
    /// What log records of this worker have in common, if it logs.
    pub(crate) log_origin: Option<LogOrigin>,
    /// Its share of a flow, if it has one.
    pub(crate) share: Option<Share>,
    /// Whether its requests are explained.
    pub(crate) explained: bool,
}

impl<'a> Thread<'a> {
    /// Creates the thread of the stage's worker at `position`, which has not begun; `feed` has the rows that it replays.
    ///
    /// # Errors
    /// If no request can be drawn.
    pub(crate) fn new(
        stage: &'a StagePlan,
        machine: &'a Machine,
        position: Position,
        feed: Option<Box<dyn Feed>>,
    ) -> Result<Self, String> {
        let plan = &stage.workers[position.index];
        let mut worker =
            Worker::with_feed(plan, feed).map_err(|cause| format!("{}: {cause}", plan.name))?;
        worker.join(plan, position.share);
        let stamps_issue = plan.stamps_issue();
        let slice = recorder::slice_of(plan, stamps_issue);
        let recorder = Recorder::new(Box::new(slice), Slices::default());
        let depth = plan.iodepth;
        let costs = Costs::new(machine, plan);
        let mut thread = Self {
            plan,
            worker,
            recorder,
            busy: Busy::default(),
            cpu_ns: 0,
            bytes: [0; 3],
            stamps_issue,
            verifies: plan.verify.is_some(),
            durable: plan.engine.sync != SyncMode::None,
            costs,
            idle: if costs.polls { &[] } else { &machine.idle },
            noise: Noise::new(&machine.noise, position.noise_seed, position.stage_start),
            timer: Exponential::new(Rng::new(position.noise_seed, Stream::Mix)),
            late: 0,
            in_ramp: true,
            index: position.index as u64,
            submit_limit: plan.engine.submit_batch.get().min(depth) as usize,
            reap_limit: plan.engine.reap_batch as usize,
            at: Nanos::MAX,
            activity: Activity::Deciding,
            after_batch: Activity::Deciding,
            batch: Vec::with_capacity(depth as usize),
            stamps: vec![(0, 0); depth as usize].into(),
            arrivals: Pending::default(),
            stage_start: position.stage_start,
            interval: position.interval,
            log_origin: position.log_origin,
            book: (position.explained).then(|| Box::new(HostBook::new(depth as usize))),
        };
        thread.set_timer();
        Ok(thread)
    }

    /// Begins at `start`.
    pub(crate) fn begin(&mut self, start: Nanos) {
        let (plan, stage_start) = (self.plan, self.stage_start);
        let cutter = Cutter::of(plan, start - stage_start, self.interval);
        self.worker.begin(start, plan.ramp_ns, plan.runtime_ns);
        self.recorder.begin(cutter, stage_start, start);
        if let Some(log_origin) = &mut self.log_origin {
            log_origin.stage_start = stage_start;
            log_origin.ramp_end = stage_start.saturating_add(cutter.ramp_end);
        }
        self.at = start;
    }

    /// Whether it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.at < Nanos::MAX
    }

    /// Draws the lateness of the next sleep until an instant. A polling thread does not sleep.
    fn set_timer(&mut self) {
        if !self.costs.polls {
            self.late = (self.timer.draw() * self.costs.late as f64) as Nanos;
        }
    }

    /// Returns when it takes its next step; `Nanos::MAX` if it waits for a completion or has ended.
    #[inline]
    pub(crate) fn due(&self) -> Nanos {
        match self.activity {
            Activity::Ended => Nanos::MAX,
            Activity::Waiting { min, until } => {
                let seen = match self.arrivals.end_of(min) {
                    Some(at) if at > self.at => at + self.wake_time(at - self.at),
                    Some(_) => self.at,
                    None => Nanos::MAX,
                };
                seen.min(until.saturating_add(self.late).max(self.at))
            }
            Activity::Spinning { until } => until.max(self.at),
            _ => self.at,
        }
    }

    /// Returns how long after a completion it continues, if it slept for `slept` until then.
    #[inline]
    fn wake_time(&self, slept: Nanos) -> Nanos {
        let entered = self.idle.iter().take_while(|state| state.after_ns <= slept);
        self.costs.notice + entered.last().map_or(0, |state| state.exit_ns)
    }

    /// Notes that it looks for completions at `now`, after it waited for `min` of them.
    #[cold]
    fn note_look(&mut self, now: Nanos, min: usize) {
        let exit = match self.arrivals.end_of(min) {
            Some(at) if at > self.at => self.wake_time(at - self.at) - self.costs.notice,
            _ => 0,
        };
        let notice = now.saturating_sub(self.at).min(self.costs.notice);
        if let Some(book) = &mut self.book {
            book.looks(now, exit, notice);
        }
    }

    /// Whether it has ended.
    pub(crate) fn finished(&self) -> bool {
        matches!(self.activity, Activity::Ended)
    }

    /// Stops issuing requests at `now`, and ends its sleep.
    pub(crate) fn stop(&mut self, now: Nanos) {
        self.worker.stop(now);
        if let Activity::Waiting { until, .. } | Activity::Spinning { until } = &mut self.activity {
            *until = now.min(*until);
        }
    }

    /// Notes that the drive finishes the request in `slot` at `at`.
    #[inline]
    pub(crate) fn arrive(&mut self, slot: u32, at: Nanos) {
        self.arrivals.push(slot, at);
    }

    /// Does its work that is due at `now`, until it waits or has called a drive. Returns whether it called one.
    #[inline]
    pub(crate) fn step(
        &mut self,
        now: Nanos,
        drives: &mut [impl Drive],
        log: &mut impl FnMut(LogRecord),
    ) -> bool {
        match self.activity {
            Activity::Deciding => self.decide(),
            Activity::Submitting { next, start } => {
                self.submit(now, next, start, drives);
                return true;
            }
            Activity::Waiting { min, .. } => {
                if self.book.is_some() {
                    self.note_look(now, min);
                }
                self.notice(now);
                self.reap(log);
                self.decide();
            }
            Activity::Spinning { .. } => {
                if let Some(book) = &mut self.book {
                    book.looks(now, 0, 0);
                }
                self.cpu_ns += now.saturating_sub(self.at);
                let resumes_at = self.noise.work(now, 0);
                self.pass(resumes_at);
                self.reap(log);
                self.decide();
            }
            Activity::Finished => self.activity = Activity::Ended,
            Activity::Ended => {}
        }
        false
    }

    /// Advances time to `now`.
    #[inline]
    fn pass(&mut self, now: Nanos) {
        if now > self.at {
            self.busy.in_flight(self.worker.in_flight(), now - self.at);
            self.at = now;
        }
    }

    /// Spends CPU time.
    #[inline]
    fn pay(&mut self, cost: Nanos) {
        self.cpu_ns += cost;
        let ends = self.noise.work(self.at, cost);
        self.pass(ends);
    }

    /// Continues after a wait.
    #[inline]
    fn notice(&mut self, now: Nanos) {
        let slept = now > self.at && !self.costs.polls;
        if self.costs.polls {
            self.cpu_ns += now.saturating_sub(self.at);
        }
        if slept && self.arrivals.is_empty() {
            // The timer ended the wait.
            self.set_timer();
        }
        let late = if slept { self.noise.of_wake() } else { 0 };
        let resumes_at = self.noise.work(now, late);
        self.pass(resumes_at);
    }

    /// Takes requests from the worker, as long as that takes no time.
    fn decide(&mut self) {
        loop {
            self.recorder.advance(self.at);
            self.batch.clear();
            let want = self.worker.fill(self.at, self.submit_limit, |request| {
                self.batch.push(request.slot)
            });
            // Its fields are read one by one: copying it at once would wait for the narrower stores into it.
            self.after_batch = match want {
                Some(Want::Finished) => Activity::Finished,
                Some(Want::Wait { completions, until }) => Activity::Waiting {
                    min: completions as usize,
                    until: until.unwrap_or(Nanos::MAX),
                },
                Some(Want::Spin { until }) => Activity::Spinning { until },
                // A modelled drive holds no data that a page cache could hide.
                Some(Want::Issue(_) | Want::Settle) | None => Activity::Deciding,
            };
            if self.in_ramp && self.at >= self.worker.measured_from() {
                self.ramped();
            }
            if !self.batch.is_empty() {
                let start = self.at;
                self.pay(self.costs.call);
                self.prepare();
                self.activity = Activity::Submitting { next: 0, start };
                return;
            }
            self.activity = self.after_batch;
            if !matches!(self.activity, Activity::Deciding) {
                return;
            }
        }
    }

    #[cold]
    fn ramped(&mut self) {
        self.in_ramp = false;
        self.busy = Busy::default();
        self.cpu_ns = 0;
        self.recorder.end_ramp(self.at);
        if let Some(origin) = &mut self.log_origin {
            origin.ramp_end = origin.ramp_end.min(self.at);
        }
    }

    /// Prepares one request.
    #[inline]
    fn prepare(&mut self) {
        let cost = self.costs.request + self.noise.of_request();
        self.pay(cost);
    }

    #[inline]
    fn submit(&mut self, now: Nanos, next: usize, start: Nanos, drives: &mut [impl Drive]) {
        let slot = self.batch[next];
        let request = self.worker.request(slot);
        let file = &self.plan.files[request.target as usize];
        let access = Access {
            ticket: self.index << 32 | u64::from(slot),
            kind: request.kind,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            durable: self.durable && request.kind == Kind::Write,
        };
        // A modelled drive has no page cache in front of it, so that a range has nothing to write back.
        let done = match request.kind {
            Kind::RangeSync => Some(now),
            _ => drives[file.fd as usize].submit(now, access),
        };
        if let Some(book) = &mut self.book {
            let usual = self.costs.call + (next as Nanos + 1) * self.costs.request;
            book.submitted(request.slot, start, now, usual);
            if let Some(at) = done {
                let inside = drives[file.fd as usize].take_spent(access.ticket, at);
                book.returned(request.slot, at, inside);
            }
        }
        if let Some(at) = done {
            self.arrive(slot, at);
        }
        self.stamps[slot as usize] = (start, now);
        if next + 1 < self.batch.len() {
            self.prepare();
            self.activity = Activity::Submitting {
                next: next + 1,
                start,
            };
            return;
        }
        if next > 0 {
            // As in an engine, all requests of a call share one stamp.
            for &slot in &self.batch {
                self.stamps[slot as usize].1 = now;
            }
        }
        let in_flight = self.worker.in_flight();
        self.busy.submitted(1, self.batch.len() as u32, in_flight);
        self.activity = self.after_batch;
    }

    #[inline]
    fn reap(&mut self, log: &mut impl FnMut(LogRecord)) {
        let now = self.at;
        let mut count = 0;
        while count < self.reap_limit
            && let Some((_, slot)) = self.arrivals.take(now)
        {
            count += 1;
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
            if let Some(book) = &mut self.book {
                let measured = completion.done >= self.worker.measured_from();
                book.done(slot, request.kind.direction(), completion.done, measured);
            }
            if let Some(log_origin) = &self.log_origin {
                log(LogRecord::new(log_origin, request, &completion));
            }
            let direction = request.kind.direction() as usize;
            if let Some(bytes) = self.bytes.get_mut(direction) {
                *bytes += u64::from(request.length_bytes);
            }
            self.worker.complete(&completion);
        }
        if count > 0 {
            self.busy.reaped(count as u32);
            self.pay(self.costs.reap * count as u64);
        }
    }
}
