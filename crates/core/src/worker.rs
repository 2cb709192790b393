//! Decides the next request of one thread and when it is due. It does no I/O and reads no clock.
//!
//! The driver of a worker calls [`Worker::next`] until it wants to wait, submits the requests, and reports every
//! completion to [`Worker::complete`]. The same worker serves real engines and drive models.
//!
//! A scheduled worker that is late catches up as fast as its depth allows, without draining its queue; every request
//! keeps its intended instant. A late start also delays the requests behind it, and that delay is charged to the
//! generator too: a slot counts as free from the instant at which it would have been free if its last request had
//! started on time. Otherwise two seconds lost by the generator would look like two seconds of queueing.

mod burst;
mod draw;
mod ending;
mod limits;
mod slots;
mod think;

use std::ops::Range;

use crate::generate::{Io, Pattern, PatternError, Schedule, child_seed};
use crate::plan::{Rw, WorkerPlan};
use crate::recorder::LATE;
use crate::request::{Completion, Direction, Errno, Kind, Request, Want};
use crate::time::Nanos;
use limits::{Counted, Limits};
use slots::Slots;
use think::{Phase, Think};

/// A time in which the generator issued nothing for a reason of its own, and how many requests it should have issued in
/// that time.
#[derive(Clone, Copy, Debug, Default)]
struct IssueGap {
    since: Nanos,
    /// Requests that may still be intended in the gap: at most one for each free slot, and 0 once the worker waits for
    /// something else.
    requests: usize,
}

/// One thread's share of a job.
#[derive(Debug)]
pub struct Worker {
    pattern: Pattern,
    /// When requests are due since the worker's start, by direction: read, write, trim.
    schedules: [Option<Schedule>; 3],
    pending: Option<Io>,
    /// A request drawn during the ramp and not yet due at its end. It is issued when its direction is due again.
    deferred: Option<Io>,
    slots: Slots,
    /// A full queue is refilled once this many or fewer requests are in flight.
    refill_at: u32,
    /// How many completions each of these waits is for.
    complete_min: u32,
    /// Whether the queue was full and is draining to `refill_at`.
    blocked: bool,
    draining: bool,
    start: Nanos,
    /// End of its runtime; `Nanos::MAX` without a limit.
    end: Nanos,
    /// `Nanos::MAX` after the ramp, or without one.
    ramp_end: Nanos,
    /// What was issued since the end of the ramp.
    issued: Counted,
    limits: Option<Limits>,
    /// Length of the last request issued, which is assumed for overdue requests too.
    last_length: u32,
    /// Whether a new pass repeats the requests of the first.
    replay: bool,
    /// False in a trimwrite: only its writes count, since a trim precedes each of them.
    trims_count: bool,
    /// Whether only its runtime ends it and every request is due at once.
    unconstrained: bool,
    think: Think,
    /// When the last request with a rate was due. The next request is never due before that, even by its own schedule:
    /// a write of a trimwrite waits for the trims of other files.
    last_due: Nanos,
    /// When the first write since the last sync was intended; `Nanos::MAX` if there is none.
    first_unsynced: Nanos,
    /// The files that are still to be synced at the end.
    end_syncs: Range<u32>,
    last_was_sync: bool,
    issue_gap: IssueGap,
    /// The last long gap in which the driver did not look for completions: from, to.
    reap_gap: (Nanos, Nanos),
    continue_on_read_error: bool,
    continue_on_write_error: bool,
    failed: Option<Errno>,
}

impl Worker {
    /// Creates a worker that has not begun. It allocates nothing after this.
    ///
    /// # Errors
    /// If no request can be drawn, for example because a region is smaller than a block.
    pub fn new(plan: &WorkerPlan) -> Result<Self, PatternError> {
        let regions: Vec<(u64, u64)> = plan
            .files
            .iter()
            .map(|file| (file.region_offset_bytes, file.region_bytes))
            .collect();
        let schedule = |rate: crate::plan::SchedulePlan, direction: u64| {
            // A rate for a direction that is never issued would stay due for ever.
            let issued = plan.pattern.directions()[direction as usize];
            (issued && rate.has_rate())
                .then(|| Schedule::new(rate, plan.poisson, child_seed(plan.seed, direction)))
        };
        let rw = plan.pattern.rw;
        Ok(Self {
            pattern: Pattern::new(&plan.pattern, &regions, plan.seed)?,
            unconstrained: !plan.is_scheduled() && plan.time_based,
            schedules: [
                schedule(plan.schedule.read, 0),
                schedule(plan.schedule.write, 1),
                schedule(plan.schedule.trim, 2),
            ],
            pending: None,
            deferred: None,
            slots: Slots::new(plan.iodepth),
            refill_at: plan
                .iodepth_low
                .min(plan.iodepth.saturating_sub(plan.complete_min.max(1))),
            complete_min: plan.complete_min.max(1),
            blocked: false,
            draining: false,
            start: 0,
            end: Nanos::MAX,
            ramp_end: Nanos::MAX,
            issued: Counted::default(),
            limits: (!plan.time_based).then(|| Limits::new(plan)),
            last_length: plan.pattern.sizes.write.minimum_bytes,
            replay: plan.replay_loops && !plan.time_based && rw.random() && plan.pattern.random_map,
            trims_count: !matches!(rw, Rw::Trimwrite | Rw::Randtrimwrite),
            think: Think::new(plan),
            last_due: 0,
            first_unsynced: Nanos::MAX,
            end_syncs: if plan.pattern.sync_at_end && rw.writes() {
                0..plan.files.len() as u32
            } else {
                0..0
            },
            last_was_sync: false,
            issue_gap: IssueGap::default(),
            reap_gap: (0, 0),
            continue_on_read_error: plan.continue_on_read_error,
            continue_on_write_error: plan.continue_on_write_error,
            failed: None,
        })
    }

    /// Begins at `start`, from which the schedule counts. The runtime follows the `ramp`, in which nothing counts
    /// toward the limits. A `runtime` of 0 is no limit.
    pub fn begin(&mut self, start: Nanos, ramp: Nanos, runtime: Nanos) {
        self.start = start;
        let ramp_end = start.saturating_add(ramp);
        self.ramp_end = if ramp == 0 { Nanos::MAX } else { ramp_end };
        self.end = if runtime == 0 {
            Nanos::MAX
        } else {
            ramp_end.saturating_add(runtime)
        };
        self.slots.begin(start);
        self.think.start(start);
    }

    /// Returns what the worker wants at `now`. `now` never decreases.
    #[inline(always)] // Copying a request that is returned in memory costs more than making it.
    pub fn next(&mut self, now: Nanos) -> Want {
        let want = self.decide(now);
        if !matches!(want, Want::Issue(_)) {
            self.issue_gap.requests = 0;
        }
        want
    }

    #[inline(always)]
    fn decide(&mut self, now: Nanos) -> Want {
        if now >= self.ramp_end {
            self.end_ramp();
        }
        if now >= self.end && !self.draining && !self.catches_up() {
            // A completion may still show that its slot should have been free before the end.
            if self.slots.in_flight() > 0 && self.has_backlog() {
                return Want::Wait {
                    completions: 1,
                    until: None,
                };
            }
            return self.drain(now);
        }
        if self.draining {
            return self.drain(now);
        }
        if self.slots.full() {
            self.blocked = true;
        }
        if self.blocked {
            if self.slots.in_flight() > self.refill_at {
                return Want::Wait {
                    completions: self
                        .complete_min
                        .min(self.slots.in_flight() - self.refill_at),
                    until: self.deadline(now),
                };
            }
            self.blocked = false;
        }
        if self.think.phase != Phase::Issuing
            && let Some(want) = self.before_pause(now)
        {
            return want;
        }
        if let Some((spin_until, until)) = self.think.until.filter(|_| now < self.end) {
            if now < spin_until {
                return Want::Spin {
                    until: spin_until.min(self.end),
                };
            }
            if now < until {
                return self.wait_until(until);
            }
        }
        let Some(io) = self.pending.take().or_else(|| self.draw(now)) else {
            // Everything is issued, so nothing is due any more.
            self.schedules = [None, None, None];
            return self.drain(now);
        };
        self.place(io, now)
    }

    /// Issues `io` if it is due. Otherwise keeps it and waits for its time.
    #[inline(always)]
    fn place(&mut self, io: Io, now: Nanos) -> Want {
        let direction = io.kind.direction() as usize;
        let (intended, due) = if let Some(Some(schedule)) = self.schedules.get_mut(direction) {
            let scheduled = self.start.saturating_add(schedule.peek());
            if scheduled > now || scheduled >= self.end {
                self.pending = Some(io);
                if now >= self.end {
                    return self.drain(now);
                }
                return self.wait_until(scheduled);
            }
            schedule.advance(io.length_bytes);
            self.think.resume(now);
            let intended = scheduled.max(self.think.resumed);
            self.last_due = self.last_due.max(intended);
            (intended, self.last_due)
        } else if let Some(until) = self.think.resume(now) {
            (until, until)
        } else if self.issue_gap.requests > 0 {
            let usable_at = self.slots.usable_at();
            let intended = self.issue_gap.since.max(usable_at).max(self.think.resumed);
            (intended, intended)
        } else {
            (now, now)
        };
        self.issue_gap.requests = self.issue_gap.requests.saturating_sub(1);
        self.count(&io);
        let intended = self.intended_at(io.kind, intended);
        Want::Issue(self.slots.take(&io, intended, due))
    }

    /// Returns when a request that is due at `due` was intended. A sync was intended together with the first write that
    /// it makes durable.
    #[inline]
    fn intended_at(&mut self, kind: Kind, due: Nanos) -> Nanos {
        match kind {
            Kind::Write => self.first_unsynced = self.first_unsynced.min(due),
            Kind::Sync | Kind::DataSync => {
                return std::mem::replace(&mut self.first_unsynced, Nanos::MAX).min(due);
            }
            Kind::Read | Kind::Trim => {}
        }
        due
    }

    /// Counts a request toward the limits and the next pause.
    #[inline]
    fn count(&mut self, io: &Io) {
        self.last_was_sync = matches!(io.kind, Kind::Sync | Kind::DataSync);
        if self.last_was_sync {
            return;
        }
        self.last_length = io.length_bytes;
        if self.think.pause > 0 {
            self.think.issued();
        }
        if self.trims_count || io.kind != Kind::Trim {
            self.issued.ios += 1;
            self.issued.bytes += u64::from(io.length_bytes);
        }
    }

    /// Ends the ramp. Limits count from here on. Requests that were due in the ramp and not issued are dropped:
    /// catching up on them would load the target while it is measured.
    #[cold]
    fn end_ramp(&mut self) {
        let ramp = self.ramp_end - self.start;
        self.ramp_end = Nanos::MAX;
        self.issued = Counted::default();
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.drop_before(ramp);
        }
        // With rates for reads and for writes, the other direction may now be due first and must not wait for this
        // request.
        if self.schedules[0].is_some() && self.schedules[1].is_some() {
            self.deferred = self
                .pending
                .take_if(|io| matches!(io.kind, Kind::Read | Kind::Write));
        }
    }

    fn wait_until(&self, until: Nanos) -> Want {
        Want::Wait {
            completions: self.slots.in_flight().min(1),
            until: Some(until.min(self.end)),
        }
    }

    /// Returns the end of its runtime, if that is still to come.
    fn deadline(&self, now: Nanos) -> Option<Nanos> {
        (now < self.end && self.end != Nanos::MAX).then_some(self.end)
    }

    /// Whether some requests that were due before the end have not been issued.
    #[cold]
    fn has_backlog(&self) -> bool {
        let mut dues = self.schedules.iter().flatten();
        dues.any(|schedule| self.start.saturating_add(schedule.peek()) < self.end)
    }

    /// Whether to issue requests after the end, because a generator that is never late would have issued them before
    /// it. Requests that waited for the target are not issued; they count as overdue.
    #[cold]
    fn catches_up(&self) -> bool {
        // If all slots are taken, only a completion shows whether its slot should have been free before the end.
        let free_at = self.slots.usable_at();
        let resumes = self
            .think
            .until
            .map_or(self.think.resumed, |(_, until)| until);
        self.has_backlog() && free_at.max(resumes) < self.end
    }

    /// Notes that the generator issued nothing from `since` until now, for a reason of its own. An unscheduled request
    /// was due as soon as its slot was free, so this time is its lateness.
    pub fn issuing_resumed(&mut self, since: Nanos) {
        let requests = self.slots.depth() - self.slots.in_flight() as usize;
        self.issue_gap = IssueGap { since, requests };
    }

    /// Whether it will issue no further request, even if all slots are free.
    #[cold]
    pub fn is_over(&mut self, now: Nanos) -> bool {
        if self.draining {
            return true;
        }
        if now >= self.end {
            // A completion may still show that its slot should have been free before the end.
            let may_owe = self.slots.in_flight() > 0 && self.has_backlog();
            return !may_owe && !self.catches_up();
        }
        if now >= self.ramp_end {
            self.end_ramp();
        }
        // Keep the request: `next` issues it.
        if self.limits.is_some() && self.pending.is_none() {
            self.pending = self.draw(now);
            return self.pending.is_none();
        }
        false
    }

    /// Notes that the driver did not look for completions from `from` to `to`. A completion seen at the end of that gap
    /// may have come at any instant in it. The delay of the completion, and of the requests behind it, is charged to
    /// the generator.
    pub fn reaping_resumed(&mut self, from: Nanos, to: Nanos) {
        self.reap_gap = (from, to);
    }

    /// Computes how much earlier a slot would have been free if its request had started on time and its completion had
    /// been seen at once.
    #[inline]
    fn generator_delay(&self, ready: Nanos, completion: &Completion) -> Nanos {
        let lateness = completion.start.saturating_sub(ready);
        let late = if lateness > LATE { lateness } else { 0 };
        let (from, to) = self.reap_gap;
        if completion.start >= to || completion.done.saturating_sub(to) > LATE {
            return late;
        }
        late + completion
            .done
            .min(to)
            .saturating_sub(from.max(completion.start))
    }

    /// Takes the completion of a request in flight.
    #[inline(always)] // Called for every request, from one place.
    pub fn complete(&mut self, completion: &Completion) {
        let ready = self.slots.request(completion.slot).ready;
        let lost = self.generator_delay(ready, completion);
        let free_at = completion.done - lost;
        let kind = self.slots.give(completion.slot, free_at, lost > 0);
        if self.blocked
            && self.slots.in_flight() == self.refill_at
            && self.refill_at as usize + 1 < self.slots.depth()
        {
            self.slots.drained_at = free_at;
        }
        if self.think.pause > 0 {
            let counts = kind.direction() != Direction::Sync && completion.result.is_ok();
            self.think
                .completed(counts, completion.done, self.slots.in_flight());
        }
        if let Err(errno) = completion.result {
            self.fail(kind, errno, completion.done);
        }
    }

    #[cold]
    fn fail(&mut self, kind: Kind, errno: Errno, at: Nanos) {
        let continues = match kind {
            Kind::Read => self.continue_on_read_error,
            _ => self.continue_on_write_error,
        };
        if !(continues && errno.is_medium_error()) {
            self.failed.get_or_insert(errno);
            self.stop(at);
        }
    }

    /// Issues nothing more from `now` on. Requests in flight still return.
    pub fn stop(&mut self, now: Nanos) {
        self.draining = true;
        self.end = self.end.min(now);
    }

    /// Returns the request in a slot: the one in flight, or the last one.
    #[inline]
    pub fn request(&self, slot: u32) -> &Request {
        self.slots.request(slot)
    }

    /// Returns how many requests are in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.slots.in_flight()
    }

    /// Returns the requests that are in flight.
    pub fn requests_in_flight(&self) -> impl Iterator<Item = &Request> {
        self.slots.busy()
    }

    /// Returns the error that ended it, if one did.
    pub fn failed(&self) -> Option<Errno> {
        self.failed
    }

    /// Counts the requests that were due before the end of its runtime and not issued, up to `limit`.
    pub fn overdue(&self, limit: u64) -> u64 {
        let mut count = 0;
        for schedule in self.schedules.iter().flatten() {
            let mut rest = schedule.clone();
            while count < limit
                && self.end != Nanos::MAX
                && self.start.saturating_add(rest.peek()) < self.end
            {
                rest.advance(self.last_length);
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests;
