//! A worker's end of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iogauge_core::log_record::{LogOrigin, LogRecord};
use iogauge_core::plan::{LogOverflow, RunPlan};
use iogauge_core::{Completion, Nanos, Request};

use super::{Lane, Pieces, Shared, Spill};

/// Most and fewest records in a piece, which are encoded together. Longer pieces need no fewer bytes.
const PIECE: usize = 4096;
const SHORT_PIECE: usize = 64;

/// How many pieces a worker has, and how many records each of them holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    pieces: usize,
    records: usize,
}

impl Sizes {
    /// Returns the sizes for a worker with at most `iodepth` requests in flight. One piece holds all requests in flight
    /// and those of a submission. While one piece is filled, another is written and a third waits.
    fn of(plan: &RunPlan, iodepth: u32) -> Self {
        let capacity = plan.request_log_capacity as usize;
        let records = (capacity / 3)
            .clamp(SHORT_PIECE, PIECE)
            .max(2 * iodepth as usize);
        Self {
            pieces: (capacity / records).max(2),
            records,
        }
    }
}

/// A worker's end of the log.
#[derive(Debug)]
pub struct WorkerLog {
    log_origin: LogOrigin,
    pieces: Pieces,
    /// The piece in use: never longer than `piece_records`.
    piece: Vec<LogRecord>,
    piece_records: usize,
    waits: bool,
    dropped: u64,
    /// When the worker began to wait for an empty piece.
    waits_since: Option<Nanos>,
    ended: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl WorkerLog {
    /// Creates the log of a worker with at most `iodepth` requests in flight. Allocates and touches all of its memory.
    pub fn new(spill: &Spill, plan: &RunPlan, iodepth: u32, log_origin: LogOrigin) -> Self {
        let sizes = Sizes::of(plan, iodepth);
        let piece = || {
            let mut piece = vec![LogRecord::default(); sizes.records];
            // Write other values first: zeros that were never written may have no page yet.
            piece.fill(LogRecord {
                stage: 1,
                ..LogRecord::default()
            });
            std::hint::black_box(&mut piece).clear();
            piece
        };
        let pieces = Pieces::new((1..sizes.pieces).map(|_| piece()));
        let ended = Arc::new(AtomicBool::new(false));
        spill.shared.lanes().push(Lane {
            pieces: pieces.clone(),
            ended: ended.clone(),
        });
        Self {
            log_origin,
            pieces,
            piece: piece(),
            piece_records: sizes.records,
            waits: plan.log_overflow == LogOverflow::Wait,
            dropped: 0,
            waits_since: None,
            ended,
            shared: spill.shared.clone(),
        }
    }

    /// Returns the bytes that [`Self::new`] takes.
    pub(crate) fn bytes(plan: &RunPlan, iodepth: u32) -> usize {
        let sizes = Sizes::of(plan, iodepth);
        sizes.pieces * sizes.records * size_of::<LogRecord>()
    }

    /// Sets the instant from which log times count, and the end of the ramp.
    pub fn begin(&mut self, stage_start: Nanos, ramp_end: Nanos) {
        (self.log_origin.stage_start, self.log_origin.ramp_end) = (stage_start, ramp_end);
    }

    /// Ends at `now` a ramp whose end was unknown.
    pub fn end_ramp(&mut self, now: Nanos) {
        self.log_origin.ramp_end = self.log_origin.ramp_end.min(now);
    }

    /// Returns when the worker's ramp ends.
    pub fn ramp_end(&self) -> Nanos {
        self.log_origin.ramp_end
    }

    /// Whether `requests` more may be logged: there is room for them, or the log drops them.
    #[inline]
    pub fn fits(&self, requests: usize) -> bool {
        self.piece_records - self.piece.len() >= requests || self.can_exchange()
    }

    #[cold]
    fn can_exchange(&self) -> bool {
        !self.waits || self.pieces.has_empty() || self.shared.is_broken()
    }

    /// Notes that the worker waits for an empty piece at `now`.
    pub fn wait_began(&mut self, now: Nanos) {
        self.waits_since.get_or_insert(now);
    }

    /// Ends the wait. Returns when it began, if there was one.
    #[inline]
    pub fn wait_ended(&mut self) -> Option<Nanos> {
        self.waits_since.take()
    }

    /// Logs one request, if there is room and the log has not ended. Otherwise counts it as dropped.
    #[inline]
    pub fn push(&mut self, request: &Request, completion: &Completion) {
        let full = self.piece.len() == self.piece_records;
        if self.shared.is_broken() || full && !self.pieces.exchange(&mut self.piece) {
            self.dropped += 1;
            return;
        }
        self.piece
            .push(LogRecord::new(&self.log_origin, request, completion));
    }

    /// Hands over the last piece. Nothing follows.
    pub fn end(&mut self) {
        self.pieces.hand_over(std::mem::take(&mut self.piece));
        self.piece_records = 0;
        self.ended.store(true, Ordering::Release);
    }

    /// Returns how many requests were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(request_log_capacity: u32) -> RunPlan {
        RunPlan {
            request_log_capacity,
            ..iogauge_core::testing::run_plan(Vec::new())
        }
    }

    #[test]
    fn a_log_takes_the_memory_that_it_says() {
        for (capacity, iodepth) in [(1, 1), (1000, 8), (1 << 18, 1), (1 << 18, 32_768)] {
            let plan = plan(capacity);
            let log = WorkerLog::new(
                &Spill::without_thread(),
                &plan,
                iodepth,
                LogOrigin::default(),
            );
            let mut records = log.piece.capacity();
            let mut spare = Vec::new();
            while log.pieces.exchange(&mut spare) {
                records += spare.capacity();
            }
            assert_eq!(WorkerLog::bytes(&plan, iodepth), records * 72);
            // No more than the plan's capacity, unless two pieces of the least size need more.
            assert!(records <= (capacity as usize).max(2 * 64.max(2 * iodepth as usize)));
        }
    }
}
