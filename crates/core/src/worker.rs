//! Decides the next request of one thread and when it is due. It does no I/O and reads no clock.
//!
//! The driver of a worker calls [`Worker::next`] until it wants to wait, submits the requests, and reports every
//! completion to [`Worker::complete`]. The same worker serves real engines and drive models.
//!
//! A scheduled worker that is late catches up as fast as its depth allows, without draining its queue; every request
//! keeps its intended instant. A late start also delays the requests behind it, and that delay is charged to the
//! generator too: a slot counts as free from the instant at which it would have been free if its last request had
//! started on time. Otherwise two seconds lost by the generator would look like two seconds of queueing.

mod beginning;
mod burst;
mod completing;
mod depth_search;
mod draw;
mod ending;
mod flowing;
mod limits;
mod max_latency;
mod slots;
mod source;
mod think;
mod verify;
mod watching;
mod written;

use crate::generate::{Io, Schedule};
use crate::priorities::Priorities;
use crate::request::{Errno, Kind, Request, Want};
use crate::time::Nanos;
use depth_search::DepthSearch;
use ending::ClosingSyncs;
use flowing::Flowing;
use limits::{Counted, Limits};
pub use max_latency::Exceeded;
use max_latency::MaxLatency;
use slots::Slots;
use source::Source;
use think::{Phase, Think};
use verify::Verifying;
use written::Written;

/// The most requests that a dry run draws in one call: fewer than a millisecond's.
const MOST_REHEARSED: u32 = 10_000;

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
    source: Source,
    /// When a pattern's requests are due since the worker's start, by direction: read, write, trim.
    schedules: [Option<Schedule>; 3],
    pending: Option<Io>,
    /// A request drawn during the ramp and not yet due at its end. It is issued when its direction is due again.
    deferred: Option<Io>,
    slots: Slots,
    /// A full queue is refilled once this many or fewer requests are in flight.
    refill_at: u32,
    /// The job's iodepth_low.
    iodepth_low: u32,
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
    /// From when on requests are measured; `Nanos::MAX` while it looks for its depth.
    measured_from: Nanos,
    /// What was issued since the end of the ramp.
    issued: Counted,
    limits: Option<Limits>,
    /// Length of the last request issued, which is assumed for overdue requests too.
    last_length: u32,
    /// Whether a new pass repeats the requests of the first.
    replay: bool,
    /// False in a trimwrite: only its writes count, since a trim precedes each of them.
    trims_count: bool,
    /// Whether every request is due at once, and nothing looks at one before it is issued.
    is_uniform: bool,
    think: Think,
    /// When the last request with a rate was due. The next request is never due before that, even by its own schedule:
    /// a write of a trimwrite waits for the trims of other files.
    last_due: Nanos,
    /// When the first write since the last sync was intended; `Nanos::MAX` if there is none.
    first_unsynced: Nanos,
    /// The syncs of its files after each pass.
    closing: ClosingSyncs,
    last_was_sync: bool,
    issue_gap: IssueGap,
    /// The last long gap in which the driver did not look for completions: from, to.
    reap_gap: (Nanos, Nanos),
    continue_on_read_error: bool,
    continue_on_write_error: bool,
    ignored_read_errors: Vec<i32>,
    ignored_write_errors: Vec<i32>,
    continue_on_mismatch: bool,
    failed: Option<Errno>,
    /// What it must read back; absent in a job that does not write blocks to be verified.
    verifying: Option<Box<Verifying>>,
    /// What it wrote since its last sync; absent in a job that syncs no ranges.
    written: Option<Box<Written>>,
    /// Its part of a flow; absent in a job that has none.
    flowing: Option<Box<Flowing>>,
    /// Its search for its depth; absent in a job that has a fixed one.
    search: Option<Box<DepthSearch>>,
    /// How long its requests may take; absent in a job where that has no limit.
    max_latency: Option<Box<MaxLatency>>,
    /// Which of its requests have an I/O priority of their own; absent in a job where none has.
    priorities: Option<Box<Priorities>>,
    /// Whether one of these six looks at its requests.
    watched: bool,
}

impl Worker {
    /// Returns what the worker wants at `now`. `now` never decreases.
    #[inline(always)]
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
        if self.is_reading()
            && let Some(want) = self.read_back(now)
        {
            return want;
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
        if matches!(self.source, Source::Trace(_)) {
            return self.next_of_trace(now);
        }
        if self.watched
            && let Some(want) = self.before_request(now)
        {
            return want;
        }
        for _ in 0..MOST_REHEARSED {
            let Some(io) = self.pending.take().or_else(|| self.draw(now)) else {
                return self.end_pass(now);
            };
            if self.verifying.is_none() || !self.rehearses(&io) {
                return self.place(io, now);
            }
        }
        // So that a stop or the end of the runtime is seen.
        self.wait_until(now + 1)
    }

    /// Syncs the files if the job asks for that between passes, and reads back what the pass wrote. Then begins the
    /// next pass or ends.
    #[cold]
    fn end_pass(&mut self, now: Nanos) -> Want {
        if self.closing.follows_pass() {
            if let Some(want) = self.sync_after_pass(now) {
                return want;
            }
            if !self.owes_reading() {
                self.begin_pass();
                return self.decide(now);
            }
        }
        if self.begin_reading(now)
            && let Some(want) = self.read_back(now)
        {
            return want;
        }
        // Everything is issued, so nothing is due any more.
        self.schedules = [None, None, None];
        self.drain(now)
    }

    /// Issues `io` if it is due. Otherwise keeps it and waits for its time.
    #[inline(always)]
    fn place(&mut self, io: Io, now: Nanos) -> Want {
        if self
            .verifying
            .as_ref()
            .is_some_and(|verifying| verifying.conflicts(&io))
        {
            self.pending = Some(io);
            return self.wait_for_one(now);
        }
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
        } else {
            let intended = self.unscheduled(now);
            (intended, intended)
        };
        self.issue_gap.requests = self.issue_gap.requests.saturating_sub(1);
        self.count(&io);
        let intended = self.intended_at(io.kind, intended);
        let request = self.slots.take(&io, intended, due);
        if self.watched {
            self.watch(request, &io);
        }
        Want::Issue(request.slot)
    }

    /// Returns when a request without a schedule was due: now, or as soon as it had a slot if the generator is late.
    #[inline(always)]
    fn unscheduled(&self, now: Nanos) -> Nanos {
        if self.issue_gap.requests == 0 {
            return now;
        }
        let usable_at = self.slots.usable_at();
        self.issue_gap.since.max(usable_at).max(self.think.resumed)
    }

    /// Returns when a request that is due at `due` was intended. A sync was intended together with the first write that
    /// it makes durable.
    #[inline]
    fn intended_at(&mut self, kind: Kind, due: Nanos) -> Nanos {
        match kind {
            Kind::Write => self.first_unsynced = self.first_unsynced.min(due),
            Kind::Sync | Kind::DataSync | Kind::RangeSync => {
                return std::mem::replace(&mut self.first_unsynced, Nanos::MAX).min(due);
            }
            Kind::Read | Kind::Trim => {}
        }
        due
    }

    /// Counts a request toward the limits and the next pause.
    #[inline]
    fn count(&mut self, io: &Io) {
        self.last_was_sync = io.kind.is_sync();
        if self.last_was_sync {
            return;
        }
        self.last_length = io.length_bytes;
        if self.think.pause > 0 {
            self.think.issued();
        }
        if self.trims_count || io.kind != Kind::Trim {
            self.issued = self.issued.plus(1, u64::from(io.length_bytes));
        }
    }

    /// Ends the ramp. Limits count from here on. Requests that were due in the ramp and not issued are dropped:
    /// catching up on them would load the target while it is measured.
    #[cold]
    fn end_ramp(&mut self) {
        let ramp = self.ramp_end - self.start;
        self.ramp_end = Nanos::MAX;
        self.issued = Counted::default();
        self.drop_due_before(ramp);
    }

    /// Drops the requests that were due before an instant, counted from the start, and not issued.
    fn drop_due_before(&mut self, instant: Nanos) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.drop_before(instant);
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
        if self.is_between_passes() {
            return false;
        }
        // Keep the request: `next` issues it.
        let draws = matches!(self.source, Source::Pattern(_));
        if draws && self.limits.is_some() && self.pending.is_none() {
            self.pending = self.draw(now);
            return self.pending.is_none() && !self.closing.follows_pass() && !self.owes_reading();
        }
        false
    }

    /// Issues nothing more from `now` on. Requests in flight still return.
    pub fn stop(&mut self, now: Nanos) {
        self.draining = true;
        self.end = self.end.min(now);
    }

    /// Returns from when on requests are measured; `Nanos::MAX` while that is not known.
    #[inline(always)]
    pub fn measured_from(&self) -> Nanos {
        self.measured_from
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
}

#[cfg(test)]
mod tests;
