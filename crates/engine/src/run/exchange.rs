//! Passes slices, pieces of the request log and signals between a worker's thread and the threads that collect them.
//!
//! Every queue is bounded and created before the run, so a worker's thread never blocks on one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use iogauge_core::recorder::{Handover, Slice, SliceSource};

/// Empty slices beyond the one in use: how many intervals the collector may lag.
pub(crate) const SPARES: usize = 4;

/// Full parts go one way, empty ones come back.
#[derive(Debug)]
pub struct Exchange<T> {
    full: Arc<ArrayQueue<T>>,
    empty: Arc<ArrayQueue<T>>,
}

impl<T> Clone for Exchange<T> {
    fn clone(&self) -> Self {
        Self {
            full: self.full.clone(),
            empty: self.empty.clone(),
        }
    }
}

impl<T> Exchange<T> {
    /// Creates queues with these empty parts. The worker has one more part in use.
    pub fn new(parts: impl ExactSizeIterator<Item = T>) -> Self {
        let count = parts.len();
        let empty = ArrayQueue::new(count.max(1));
        for part in parts {
            let _ = empty.push(part);
        }
        Self {
            full: Arc::new(ArrayQueue::new(count + 1)),
            empty: Arc::new(empty),
        }
    }

    /// The worker's side: exchanges a full part for an empty one. Returns false if there is no empty one.
    pub(crate) fn exchange(&self, part: &mut T) -> bool {
        let Some(empty) = self.empty.pop() else {
            return false;
        };
        self.hand_over(std::mem::replace(part, empty));
        true
    }

    /// The worker's side: hands a part over without exchange.
    pub(crate) fn hand_over(&self, part: T) {
        // `full` has room for every part there is.
        let _ = self.full.push(part);
    }

    /// The worker's side: whether the next exchange will find an empty part.
    pub(crate) fn has_empty(&self) -> bool {
        !self.empty.is_empty()
    }

    /// Returns an empty part, for whoever fills parts without having one.
    pub(crate) fn take_empty(&self) -> Option<T> {
        self.empty.pop()
    }

    /// The collector's side: returns the next full part.
    pub fn pop(&self) -> Option<T> {
        self.full.pop()
    }

    /// The collector's side: gives an emptied part back.
    pub fn give_back(&self, part: T) {
        let _ = self.empty.push(part);
    }
}

/// Full slices go one way, empty ones come back.
pub type Slices = Exchange<Box<Slice>>;

/// Creates queues with spare copies of `slice`.
pub fn slices_like(slice: &Slice) -> Slices {
    Slices::new((0..SPARES).map(|_| Box::new(slice.touched())))
}

impl Handover for Slices {
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool {
        self.exchange(slice)
    }
}

impl SliceSource for Slices {
    fn next_full(&self) -> Option<Box<Slice>> {
        self.pop()
    }

    fn give_back(&self, slice: Box<Slice>) {
        Exchange::give_back(self, slice);
    }
}

/// Orders to a worker's thread, and its progress while it runs.
#[derive(Debug, Default)]
pub struct Signals {
    /// Issue no further request.
    pub stop: AtomicBool,
    /// The same order, for all workers of the run. A worker reads it itself, because thousands of busy threads can
    /// starve the collecting thread, which would set `stop`, for minutes.
    pub stop_run: Arc<AtomicBool>,
    /// Do not wait for requests in flight.
    pub give_up: AtomicBool,
    /// When its first request was issued; 0: none was.
    pub first_issued_ns: AtomicU64,
    /// Completions seen so far.
    pub completions: AtomicU64,
    /// Requests in flight.
    pub in_flight: AtomicU32,
    /// Bytes completed by direction: read, write, trim.
    pub bytes: [AtomicU64; 3],
    /// How long the worker has done nothing but read back, or [`READING`] while it does so.
    pub reading_ns: AtomicU64,
}

/// The worker does nothing but read back.
pub const READING: u64 = u64::MAX;

impl Signals {
    /// Whether the worker was ordered to stop.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.stop_run.load(Ordering::Relaxed)
    }

    /// Adds to a counter that only its own thread changes.
    #[inline]
    pub fn add(counter: &AtomicU64, value: u64) {
        counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
    }
}
