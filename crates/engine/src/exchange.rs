//! What passes between a worker's thread and the one that collects: slices, requests for the log, signals.
//!
//! Every queue is bounded and made before the run; a thread on the I/O path never waits for the other side.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use iogauge_core::log_record::{LogRecord, Logged};
use iogauge_core::recorder::Slice;
use iogauge_core::{Completion, Nanos, Request};

/// Empty slices at hand beyond the one in use: how many intervals the collector may be behind.
const SPARES: usize = 4;

/// Full slices one way, empty ones back.
#[derive(Clone, Debug)]
pub struct Slices {
    full: Arc<ArrayQueue<Box<Slice>>>,
    empty: Arc<ArrayQueue<Box<Slice>>>,
}

impl Slices {
    /// Queues with spare copies of `slice`.
    pub fn new(slice: &Slice) -> Self {
        let empty = ArrayQueue::new(SPARES);
        for _ in 0..SPARES {
            let _ = empty.push(Box::new(slice.touched()));
        }
        Self {
            full: Arc::new(ArrayQueue::new(SPARES + 1)),
            empty: Arc::new(empty),
        }
    }

    /// The worker's side: gives a full slice for an empty one, if there is one.
    pub(crate) fn exchange(&self, slice: &mut Box<Slice>) -> bool {
        let Some(empty) = self.empty.pop() else {
            return false;
        };
        let full = std::mem::replace(slice, empty);
        // `full` has room for every slice there is.
        self.full.push(full).is_ok()
    }

    /// The collector's side: the next full slice.
    pub fn pop(&self) -> Option<Box<Slice>> {
        self.full.pop()
    }

    /// The collector's side: gives a slice back, emptied.
    pub fn give_back(&self, mut slice: Box<Slice>) {
        slice.clear();
        let _ = self.empty.push(slice);
    }
}

/// A worker's way to the log: drops and counts what does not fit.
#[derive(Clone, Debug)]
pub struct LogQueue {
    queue: Arc<ArrayQueue<LogRecord>>,
    dropped: u64,
    logged: Logged,
}

impl LogQueue {
    /// A worker's end of `queue`.
    pub fn new(queue: Arc<ArrayQueue<LogRecord>>, logged: Logged) -> Self {
        Self {
            queue,
            dropped: 0,
            logged,
        }
    }

    /// Instants are logged since `stage_start`.
    pub fn begin(&mut self, stage_start: Nanos, ramp_end: Nanos) {
        (self.logged.stage_start, self.logged.ramp_end) = (stage_start, ramp_end);
    }

    /// Keeps one request, if there is room.
    #[inline]
    pub fn push(&mut self, request: &Request, completion: &Completion) {
        let record = LogRecord::new(&self.logged, request, completion);
        if self.queue.push(record).is_err() {
            self.dropped += 1;
        }
    }

    /// How many did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// What a worker's thread is told, and what it tells of itself while it runs.
#[derive(Debug, Default)]
pub struct Signals {
    /// Issue nothing more.
    pub stop: AtomicBool,
    /// Leave requests in flight behind.
    pub give_up: AtomicBool,
    /// Completions seen so far.
    pub completions: AtomicU64,
    /// Requests in flight.
    pub in_flight: AtomicU32,
    /// Bytes completed by direction: read, write, trim.
    pub bytes: [AtomicU64; 3],
}

impl Signals {
    /// Adds to a counter that only its own thread changes.
    #[inline]
    pub fn add(counter: &AtomicU64, value: u64) {
        counter.store(counter.load(Ordering::Relaxed) + value, Ordering::Relaxed);
    }
}
