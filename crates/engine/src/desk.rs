//! What a worker's thread works on, and how it can be taken away from a thread that the kernel does not give back.
//!
//! A thread owns its [`Desk`] except while it is inside an engine's call, which may be inside the kernel for ever. For
//! that time it puts the desk down; should the run have to end meanwhile, the desk is taken, with everything recorded
//! so far, and the thread finds it gone when it returns. One compare-and-swap a round of the loop pays for that.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};

use iogauge_core::recorder::{Handover, Recorder, Slice};
use iogauge_core::{Nanos, Worker};

use crate::exchange::{LogQueue, Slices};

/// Counts by powers of two.
#[derive(Clone, Copy, Debug, Default)]
pub struct Powers([u64; 21]);

impl Powers {
    /// Counts a value in entry n where it lies in `[2^n, 2^(n+1))`; zero is not counted.
    #[inline]
    pub fn count_level(&mut self, value: u32) {
        if value > 0 {
            self.0[(31 - value.leading_zeros()).min(20) as usize] += 1;
        }
    }

    /// Counts a value in entry n where it lies in `(2^(n-1), 2^n]`; zero is not counted.
    #[inline]
    pub fn count_batch(&mut self, value: u32) {
        if value > 0 {
            self.0[(32 - (value - 1).leading_zeros()).min(20) as usize] += 1;
        }
    }

    /// The counts up to the last one that is not zero.
    pub fn to_vec(self) -> Vec<u64> {
        let end = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        self.0[..end].to_vec()
    }
}

/// How the loop was kept busy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Busy {
    /// Calls of the engine's `submit`.
    pub submit_calls: u64,
    /// Looks at the completions that found some.
    pub reap_calls: u64,
    /// Requests a submission took.
    pub submit_batch: Powers,
    /// Completions a look found.
    pub reap_batch: Powers,
    /// Requests in flight after a submission.
    pub depth: Powers,
    /// Requests in flight, integrated over time, request-nanoseconds.
    pub depth_area: u128,
    /// What the integral covers.
    pub depth_time: Nanos,
}

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
    pub log: Option<LogQueue>,
}

impl Desk {
    /// Ends the recording at `now`.
    pub fn close(&mut self, now: Nanos) -> &Slice {
        self.recorder.close(now)
    }
}

/// A slice's way out and in; see [`Slices`].
impl Handover for Slices {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        self.exchange(slice)
    }
}

const HELD: u8 = 0;
const PUT_DOWN: u8 = 1;
const TAKEN: u8 = 2;

/// The place of one desk, shared by its thread and whoever may have to take it.
#[derive(Debug)]
pub struct Place {
    state: AtomicU8,
    desk: UnsafeCell<Desk>,
}

// SAFETY: the desk is only reached through `Held` and `Taken`, and `state` lets exactly one of them exist at a time.
unsafe impl Sync for Place {}

impl Place {
    /// A place whose desk nobody holds yet.
    pub fn new(desk: Desk) -> Self {
        Self { state: AtomicU8::new(PUT_DOWN), desk: UnsafeCell::new(desk) }
    }

    /// Picks the desk up, unless it was taken.
    #[inline]
    pub fn pick_up(&self) -> Option<Held<'_>> {
        self.state
            .compare_exchange(PUT_DOWN, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
            .then_some(Held { place: self })
    }

    /// Takes the desk for good, if its thread has put it down.
    #[allow(clippy::mut_from_ref)] // `TAKEN` is never left, so this can succeed only once.
    pub fn take(&self) -> Option<&mut Desk> {
        self.state.compare_exchange(PUT_DOWN, TAKEN, Ordering::Acquire, Ordering::Relaxed).ok()?;
        // SAFETY: the state was PUT_DOWN, so nobody holds the desk, and it is TAKEN now, so nobody ever will.
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
        self.place.state.store(PUT_DOWN, Ordering::Release);
    }
}

impl std::ops::Deref for Held<'_> {
    type Target = Desk;
    #[inline]
    fn deref(&self) -> &Desk {
        // SAFETY: while a `Held` lives the state is HELD, so no other reference to the desk exists.
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
