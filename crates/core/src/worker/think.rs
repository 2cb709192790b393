//! Pauses between requests: fio's thinktime.
//!
//! After so many requests, or after so much time, the worker waits for the requests in flight and then issues nothing
//! for a while. As in fio, it looks whether a pause is due after each request that it issued, once its queue has room.
//! Completions that it sees while it waits for a pause count toward the next one.

use super::Worker;
use crate::plan::WorkerPlan;
use crate::request::Want;
use crate::time::Nanos;

/// Where the worker is between two pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No pause is due before the next request.
    Issuing,
    /// A request was issued, so that a pause may be due.
    Issued,
    /// A pause begins once nothing is in flight.
    Draining,
}

/// When to pause, and for how long.
#[derive(Debug)]
pub(super) struct Think {
    pub(super) pause: Nanos,
    spin: Nanos,
    /// Requests from one pause to the next; 0: any number.
    blocks: u64,
    /// Time from the end of a pause to the next; 0: any time.
    io_time: Nanos,
    at_issue: bool,
    pub(super) phase: Phase,
    counted: u64,
    last_done: Nanos,
    /// When requests were issued again after the last pause.
    since: Nanos,
    /// The current pause: when its spinning ends, and when it ends.
    pub(super) until: Option<(Nanos, Nanos)>,
    /// When the last pause ended. No later request is intended before it.
    pub(super) resumed: Nanos,
}

impl Think {
    pub(super) fn new(plan: &WorkerPlan) -> Self {
        Self {
            pause: plan.thinktime_ns,
            spin: plan.thinktime_spin_ns.min(plan.thinktime_ns),
            blocks: plan.thinktime_blocks,
            io_time: plan.thinktime_iotime_ns,
            at_issue: plan.thinktime_at_issue,
            phase: Phase::Issuing,
            counted: 0,
            last_done: 0,
            since: 0,
            until: None,
            resumed: 0,
        }
    }

    pub(super) fn start(&mut self, now: Nanos) {
        self.since = now;
    }

    pub(super) fn issued(&mut self) {
        self.phase = Phase::Issued;
        self.counted += u64::from(self.at_issue);
    }

    /// Notes a completion. `counts` is false for syncs and failures.
    pub(super) fn completed(&mut self, counts: bool, done: Nanos, in_flight: u32) {
        self.counted += u64::from(counts && !self.at_issue);
        self.last_done = done;
        if self.phase == Phase::Draining && in_flight == 0 {
            self.begin();
        }
    }

    fn is_due(&self, now: Nanos) -> bool {
        (self.blocks > 0 && self.counted >= self.blocks)
            || (self.io_time > 0 && now.saturating_sub(self.since) >= self.io_time)
    }

    /// Begins a pause: the requests before it have returned.
    fn begin(&mut self) {
        self.phase = Phase::Issuing;
        self.until = Some((
            self.last_done.saturating_add(self.spin),
            self.last_done.saturating_add(self.pause),
        ));
    }

    /// Ends the pause, if there is one, and returns when it was over.
    #[inline]
    pub(super) fn resume(&mut self, now: Nanos) -> Option<Nanos> {
        let (_, until) = self.until.take()?;
        (self.resumed, self.since) = (until, now);
        Some(until)
    }
}

impl Worker {
    /// Returns what is wanted before a pause can begin; `None` if no pause is due, or if it has begun.
    #[cold]
    pub(super) fn before_pause(&mut self, now: Nanos) -> Option<Want> {
        if self.think.phase == Phase::Issued {
            if !self.think.is_due(now) {
                self.think.phase = Phase::Issuing;
                return None;
            }
            self.think.counted = 0;
            self.think.phase = Phase::Draining;
            if self.slots.in_flight() == 0 {
                self.think.begin();
                // Past the end of its runtime, what follows the pause may no longer be owed.
                let is_over = now >= self.end && !self.catches_up();
                return is_over.then(|| self.drain(now));
            }
        }
        Some(Want::Wait {
            completions: 1,
            until: self.deadline(now),
        })
    }
}
