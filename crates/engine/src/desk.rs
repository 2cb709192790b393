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
    /// Whether `limit` requests may be issued at `now`: not while the log has no room for what would be in flight. Once it
    /// has, that time is the generator's.
    #[inline]
    pub fn may_issue(&mut self, now: Nanos, limit: usize) -> bool {
        let Some(log) = &mut self.log else {
            return true;
        };
        if !log.has_room(limit + self.worker.in_flight() as usize) {
            log.full(now);
            return false;
        }
        if let Some(since) = log.room_again() {
            self.busy.log_wait += now - since;
            self.worker.held_back(since);
        }
        true
    }

    /// Ends the recording at `now`.
    pub fn close(&mut self, now: Nanos) -> &Slice {
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
