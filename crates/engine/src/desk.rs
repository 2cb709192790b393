//! What a worker's thread works on, and how it can be taken away from a thread that the kernel does not give back.
//!
//! A thread owns its [`Desk`] except while it is inside an engine's call, which may be inside the kernel for ever. For
//! that time it puts the desk down; should the run have to end meanwhile, the desk is taken, with everything recorded
//! so far, and the thread finds it gone when it returns. Two plain stores a round of the loop pay for that.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use iogauge_core::busy::Busy;
use iogauge_core::recorder::{Handover, Recorder, Slice};
use iogauge_core::{Nanos, Worker};

use crate::barrier::Light;
use crate::exchange::Slices;
use crate::spill::WorkerLog;

/// Everything that one worker's thread changes.
#[derive(Debug)]
pub struct Desk {
    /// Decides.
    pub worker: Worker,
    /// Counts.
    pub recorder: Recorder<Slices>,
    /// How the loop was kept busy.
    pub busy: Busy,
    /// Where every request goes, if anywhere.
    pub log: Option<WorkerLog>,
}

impl Desk {
    /// Whether `limit` requests may be issued at `now`: only while the log has room for all that would be in flight. The
    /// time without room is the generator's.
    #[inline]
    pub fn may_issue(&mut self, now: Nanos, limit: usize) -> bool {
        let Some(log) = &mut self.log else {
            return true;
        };
        if !log.fits(limit + self.worker.in_flight() as usize) {
            log.wait_began(now);
            return false;
        }
        if let Some(since) = self.log_wait_ended(now) {
            self.worker.issuing_resumed(since);
        }
        true
    }

    /// Counts a wait for the log that ends at `now`, as far as it came after the ramp: returns since when it was.
    #[inline]
    fn log_wait_ended(&mut self, now: Nanos) -> Option<Nanos> {
        let log = self.log.as_mut()?;
        let since = log.wait_ended()?;
        self.busy.log_wait += now.saturating_sub(since.max(log.ramp_end()));
        Some(since)
    }

    /// Ends the recording at `now`.
    pub fn close(&mut self, now: Nanos) -> &Slice {
        self.log_wait_ended(now);
        if let Some(log) = &mut self.log {
            log.end();
        }
        self.recorder.close(now)
    }
}

/// A slice's way out and in; see [`Slices`].
impl Handover for Slices {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        self.exchange(slice)
    }
}

/// The place of one desk, shared by its thread and whoever may have to take it.
#[derive(Debug)]
pub struct Place {
    /// Its thread has the desk, or is about to see that it was taken.
    held: AtomicBool,
    taken: AtomicBool,
    barrier: Light,
    desk: UnsafeCell<Desk>,
}

// SAFETY: the desk is only reached through `Held` and by `take`. Each writes its own flag, passes the barrier, and goes
// on only where the other's flag is not set: at least one of the two sees the other.
unsafe impl Sync for Place {}

impl Place {
    /// A place whose desk nobody holds yet.
    pub fn new(desk: Desk) -> Self {
        Self {
            held: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            barrier: Light::get(),
            desk: UnsafeCell::new(desk),
        }
    }

    /// Picks the desk up, unless it was taken. For the desk's own thread, which must have put it down before.
    #[inline]
    pub fn pick_up(&self) -> Option<Held<'_>> {
        self.held.store(true, Ordering::Relaxed);
        self.barrier.pass();
        if self.taken.load(Ordering::Relaxed) {
            self.held.store(false, Ordering::Release);
            return None;
        }
        Some(Held { place: self })
    }

    /// Takes the desk for good, if its thread has put it down; may be tried again where it has not.
    #[allow(clippy::mut_from_ref)] // `taken` is never left once this has succeeded, so it can succeed only once.
    pub fn take(&self) -> Option<&mut Desk> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return None;
        }
        self.barrier.heavy();
        if self.held.load(Ordering::Acquire) {
            self.taken.store(false, Ordering::Release);
            return None;
        }
        // SAFETY: the thread does not hold the desk, and sees `taken` before it picks it up again.
        Some(unsafe { &mut *self.desk.get() })
    }
}

/// A desk in the hands of its thread. Dropping it puts the desk down.
#[derive(Debug)]
pub struct Held<'a> {
    place: &'a Place,
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.place.held.store(false, Ordering::Release);
    }
}

impl std::ops::Deref for Held<'_> {
    type Target = Desk;
    #[inline]
    fn deref(&self) -> &Desk {
        // SAFETY: while a `Held` lives nobody can take the desk, so no other reference to it exists.
        unsafe { &*self.place.desk.get() }
    }
}

impl std::ops::DerefMut for Held<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Desk {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { &mut *self.place.desk.get() }
    }
}

#[cfg(test)]
mod tests {
    use iogauge_core::log_record::Logged;
    use iogauge_core::plan::{RunPlan, Rw};
    use iogauge_core::recorder::{self, Cutter};
    use iogauge_core::request::{Completion, Want};
    use iogauge_core::testing::{plan, run_plan};

    use super::*;
    use crate::exchange::slices_like;
    use crate::spill::Spill;

    /// A desk whose log is full, at depth one.
    fn full(ramp_end: Nanos) -> Desk {
        let mut plan = plan(Rw::Randread);
        (plan.iodepth, plan.iodepth_low) = (1, 1);
        let run = RunPlan {
            request_log_capacity: 1,
            ..run_plan(Vec::new())
        };
        let mut log = WorkerLog::new(&Spill::without_thread(), &run, 1, Logged::default());
        log.begin(0, ramp_end);
        let first = Slice::new(recorder::kept(&plan, true));
        let slices = slices_like(&first);
        let mut recorder = Recorder::new(Box::new(first), slices);
        recorder.begin(Cutter::of(&plan, 1_000), 0, 0);
        let mut worker = Worker::new(&plan).unwrap();
        worker.begin(0, 0, 0);
        let Want::Issue(request) = worker.next(0) else {
            panic!("nothing is due");
        };
        let completion = Completion {
            slot: request.slot,
            start: 0,
            issued: None,
            done: 1,
            result: Ok(4096),
        };
        worker.complete(&completion);
        while log.fits(1) {
            log.push(&request, &completion);
        }
        Desk {
            worker,
            recorder,
            busy: Busy::default(),
            log: Some(log),
        }
    }

    #[test]
    fn a_wait_that_the_end_cuts_short_is_counted_as_far_as_it_came_after_the_ramp() {
        for (ramp_end, waited) in [(0, 900), (400, 600), (2_000, 0)] {
            let mut desk = full(ramp_end);
            assert!(!desk.may_issue(100, 1));
            assert!(!desk.may_issue(500, 1));
            desk.close(1_000);
            assert_eq!(desk.busy.log_wait, waited);
        }
    }
}
