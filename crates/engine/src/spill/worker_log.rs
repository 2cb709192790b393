//! A worker's end of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iogauge_core::log_record::{LogRecord, Logged};
use iogauge_core::plan::{LogOverflow, RunPlan};
use iogauge_core::{Completion, Nanos, Request};

use super::{Lane, Pieces, Shared, Spill};

/// Records in a piece: what is encoded together.
const PIECE: usize = 4096;

/// See the module's text.
#[derive(Debug)]
pub struct WorkerLog {
    logged: Logged,
    pieces: Pieces,
    /// The one in use: never longer than `length`.
    piece: Vec<LogRecord>,
    length: usize,
    waits: bool,
    dropped: u64,
    /// Since when there has been no room.
    full_since: Option<Nanos>,
    ended: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl WorkerLog {
    /// The log of a worker with `iodepth` requests in flight at most. Allocates and touches all that it will ever need.
    pub fn new(spill: &Spill, plan: &RunPlan, iodepth: u32, logged: Logged) -> Self {
        // What is in flight and what is to be submitted fits into one.
        let length = PIECE.max(2 * iodepth as usize);
        let spares = (plan.request_log_capacity as usize / length).max(1);
        let piece = || {
            let mut piece = vec![LogRecord::default(); length];
            // Zeros that were never written may be no memory yet.
            piece.fill(LogRecord {
                stage: 1,
                ..LogRecord::default()
            });
            std::hint::black_box(&mut piece).clear();
            piece
        };
        let pieces = Pieces::new((0..spares).map(|_| piece()));
        let ended = Arc::new(AtomicBool::new(false));
        spill.shared.lanes().push(Lane {
            pieces: pieces.clone(),
            ended: ended.clone(),
        });
        Self {
            logged,
            pieces,
            piece: piece(),
            length,
            waits: plan.log_overflow == LogOverflow::Wait,
            dropped: 0,
            full_since: None,
            ended,
            shared: spill.shared.clone(),
        }
    }

    /// Instants are logged since `stage_start`.
    pub fn begin(&mut self, stage_start: Nanos, ramp_end: Nanos) {
        (self.logged.stage_start, self.logged.ramp_end) = (stage_start, ramp_end);
    }

    /// Whether `requests` more can be kept, or need not be.
    #[inline]
    pub fn has_room(&self, requests: usize) -> bool {
        self.length - self.piece.len() >= requests || self.has_more_room()
    }

    #[cold]
    fn has_more_room(&self) -> bool {
        !self.waits || self.pieces.has_empty() || self.shared.broken.load(Ordering::Relaxed)
    }

    /// There is no room at `now`.
    pub fn full(&mut self, now: Nanos) {
        self.full_since.get_or_insert(now);
    }

    /// There is room: since when there was none, if there was none.
    #[inline]
    pub fn room_again(&mut self) -> Option<Nanos> {
        self.full_since.take()
    }

    /// Keeps one request, if there is room.
    #[inline]
    pub fn push(&mut self, request: &Request, completion: &Completion) {
        if self.piece.len() == self.length && !self.pieces.exchange(&mut self.piece) {
            self.dropped += 1;
            return;
        }
        self.piece
            .push(LogRecord::new(&self.logged, request, completion));
    }

    /// Hands over what is left: nothing follows.
    pub fn end(&mut self) {
        self.pieces.hand_over(std::mem::take(&mut self.piece));
        self.length = 0;
        self.ended.store(true, Ordering::Release);
    }

    /// How many were not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
