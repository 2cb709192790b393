//! Records completions in fixed slices of full histograms.
//!
//! A worker's recorder counts into one [`Slice`] that it owns, and swaps it for an empty one when the slice's time is
//! over. It never allocates, locks or waits: if no empty slice is available, it continues in the full one and counts a
//! late handover. It does not hand over slices without completions: the collector computes with [`Cutter`] which slices
//! are missing between two others, and keeps them as zeros.

mod encoding;
pub mod histogram;
mod slice;
mod sums;

pub use encoding::{Decoder, Unreadable};
pub use histogram::{Exact, Histogram, Merged};
pub use slice::{Counts, KeptLatencies, MergedSide, MergedSlice, PrioritySide, Side, Slice, Span};
pub use sums::{Batch, Sums};

use crate::plan::{LatencyTargetPlan, WorkerPlan};
pub use crate::request::Latency;
use crate::request::{Completion, Direction, Errno, Kind, Request};
use crate::time::{MILLISECOND, Nanos};

/// A scheduled request that starts this much after it was ready counts as late.
pub const LATE: Nanos = MILLISECOND;

/// A loop gap longer than this flags the requests in flight across it.
pub const LONG_GAP: Nanos = MILLISECOND;

/// Computes the boundaries between slices: pure arithmetic, the same for every worker with the same ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutter {
    /// Length of a slice, positive.
    pub interval: Nanos,
    /// End of the ramp, since the stage's start; `Nanos::MAX` while the worker searches for its depth.
    pub ramp_end: Nanos,
}

impl Cutter {
    /// Creates the cutter of the slices of a worker that begins `begins` after the stage.
    pub fn of(plan: &WorkerPlan, begins: Nanos, interval: Nanos) -> Self {
        let searches = |target: LatencyTargetPlan| !target.keeps_adjusting;
        let ramp_end = if plan.latency_target.is_some_and(searches) {
            Nanos::MAX
        } else if plan.ramp_ns > 0 {
            begins + plan.ramp_ns
        } else {
            0
        };
        Self { interval, ramp_end }
    }

    /// Returns the slice that holds the instant `at` (since the stage's start), with its start and end.
    pub fn slice_at(&self, at: Nanos) -> (Span, Nanos, Nanos) {
        let index = at / self.interval;
        let (mut start, mut end) = (index * self.interval, (index + 1) * self.interval);
        let ramp = at < self.ramp_end;
        if ramp {
            end = end.min(self.ramp_end);
        } else {
            start = start.max(self.ramp_end);
        }
        (Span { index, ramp }, start, end)
    }

    /// Returns the slices that lie entirely in `[from, to)`, both boundaries of slices or of the worker's life.
    pub fn between(self, from: Nanos, to: Nanos) -> impl Iterator<Item = (Span, Nanos, Nanos)> {
        let mut at = from;
        std::iter::from_fn(move || {
            (at < to).then(|| {
                let (span, _, end) = self.slice_at(at);
                let start = std::mem::replace(&mut at, end);
                (span, start, end.min(to))
            })
        })
    }
}

/// The worker's end of the exchange that takes its slices to the collector.
pub trait Handover {
    /// Swaps a full slice for an empty one. If there is none, leaves the slice and returns `false`.
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool;
}

/// The collector's end of the same exchange.
pub trait SliceSource {
    /// Returns the next full slice.
    fn next_full(&self) -> Option<Box<Slice>>;
    /// Gives an empty slice back to the worker.
    fn give_back(&self, slice: Box<Slice>);
}

/// Returns an empty slice for a worker's requests.
pub fn slice_of(plan: &WorkerPlan, stamps_issue: bool) -> Slice {
    Slice::with_priorities(kept_latencies(plan, stamps_issue), plan)
}

/// Returns which latencies to record for a worker's requests. A latency that always equals another is left out.
pub fn kept_latencies(plan: &WorkerPlan, stamps_issue: bool) -> KeptLatencies {
    let scheduled = plan.is_scheduled();
    let issued = plan.directions();
    Direction::ALL.map(|direction| {
        // A sync was intended together with the first write that it makes durable.
        let responds = scheduled || direction == Direction::Sync;
        issued[direction as usize].then_some([
            true,
            stamps_issue,
            stamps_issue,
            responds,
            scheduled,
            scheduled,
        ])
    })
}

/// The instants that decide all latencies of a completion. Completions of one batch share them and are counted
/// together.
#[derive(Clone, Copy, Debug)]
struct Instants {
    kind: Kind,
    priority: u16,
    /// Intended, ready, start, issued (start if it is not stamped), done.
    instants: [Nanos; 5],
}

impl Instants {
    const NONE: Self = Self {
        kind: Kind::Read,
        priority: 0,
        instants: [0; 5],
    };

    #[inline(always)]
    fn of(request: &Request, completion: &Completion) -> Self {
        Self {
            kind: request.kind,
            priority: request.priority,
            instants: [
                request.intended,
                request.ready,
                completion.start,
                completion.issued.unwrap_or(completion.start),
                completion.done,
            ],
        }
    }

    /// Compares without the `memcmp` call of a derived equality, because this runs for every completion. Completions of
    /// different batches mostly differ in when they are done.
    #[inline(always)]
    fn same(&self, other: &Self) -> bool {
        if self.instants[4] != other.instants[4] {
            return false;
        }
        let differing = self.instants.iter().zip(&other.instants).fold(
            u64::from(self.priority ^ other.priority),
            |bits, (one, two)| bits | (one ^ two),
        );
        self.kind == other.kind && differing == 0
    }

    /// By [`Latency`].
    #[inline]
    fn latencies(&self) -> [Nanos; Latency::COUNT] {
        let [intended, ready, start, issued, done] = self.instants;
        let ready = ready.min(start);
        let intended = intended.min(ready);
        [
            done - start,
            done - issued,
            issued - start,
            done - intended,
            ready - intended,
            start - ready,
        ]
    }
}

/// Counts one worker's completions.
#[derive(Debug)]
pub struct Recorder<H: Handover> {
    handover: H,
    slice: Box<Slice>,
    cutter: Cutter,
    stage_start: Nanos,
    /// Absolute end of the current slice.
    until: Nanos,
    /// The instants of the last completion. Completions in a row that share them are counted together later.
    batch: Instants,
    times: u32,
    bytes: u64,
    short: u32,
    /// The longest gap that requests in flight may still have spanned, and the last gap: from, to.
    gaps: [(Nanos, Nanos); 2],
    /// Whether requests have an intended time of their own and can therefore be late.
    scheduled: bool,
    late_handovers: u64,
}

impl<H: Handover> Recorder<H> {
    /// Creates a recorder that counts into `slice` first.
    pub fn new(slice: Box<Slice>, handover: H) -> Self {
        let lateness = |side: &Side| side.histograms[Latency::Lateness as usize].is_some();
        let scheduled = slice.sides.iter().flatten().any(lateness);
        Self {
            handover,
            scheduled,
            slice,
            cutter: Cutter {
                interval: 1,
                ramp_end: 0,
            },
            stage_start: 0,
            until: 0,
            batch: Instants::NONE,
            times: 0,
            bytes: 0,
            short: 0,
            gaps: [(0, 0); 2],
            late_handovers: 0,
        }
    }

    /// Starts at `now`, before the first request.
    pub fn begin(&mut self, cutter: Cutter, stage_start: Nanos, now: Nanos) {
        (self.cutter, self.stage_start) = (cutter, stage_start);
        self.open(now);
    }

    /// Sets the current slice to the one that holds `now`.
    fn open(&mut self, now: Nanos) {
        let at = now - self.stage_start;
        let (span, start, end) = self.cutter.slice_at(at);
        // The first slice of a worker that began late starts with the worker.
        let start = if self.until == 0 { at } else { start };
        (self.slice.span, self.slice.start, self.slice.end) = (span, start, end);
        self.until = self.stage_start + end;
    }

    /// Hands over slices whose time is over. Call it now and then while nothing completes.
    #[inline]
    pub fn advance(&mut self, now: Nanos) {
        if now >= self.until {
            self.rotate(now);
        }
    }

    #[cold]
    fn rotate(&mut self, now: Nanos) {
        self.flush();
        if self.handover.swap(&mut self.slice) {
            self.open(now);
        } else {
            self.late_handovers += 1;
            let (span, start, end) = self.cutter.slice_at(now - self.stage_start);
            if self.slice.span.ramp && !span.ramp {
                // A slice of the ramp is not counted, so no measurement may stay in it.
                self.slice.clear();
                (self.slice.span, self.slice.start) = (span, start);
            }
            self.slice.end = end;
            self.until = self.stage_start + end;
        }
    }

    /// Ends at `now` a ramp whose end was unknown. No request is submitted.
    pub fn end_ramp(&mut self, now: Nanos) {
        if self.cutter.ramp_end != Nanos::MAX {
            return;
        }
        self.advance(now);
        self.cutter.ramp_end = now - self.stage_start;
        self.slice.end = self.cutter.ramp_end;
        self.rotate(now);
    }

    /// Records a gap between two looks at the completions that was not spent waiting. It ends at `now`.
    #[inline]
    pub fn gap(&mut self, length: Nanos, now: Nanos) {
        self.slice.loop_gap.record(length, 1);
        if length > LONG_GAP {
            // Earlier completions did not span the gap.
            self.flush();
            let (from, to) = self.gaps[0];
            let kept = to - from;
            // A gap is too old to flag a request once ten times its length has passed since its end.
            let replaced = length >= kept || now.saturating_sub(to) >= kept.saturating_mul(10);
            self.gaps[usize::from(!replaced)] = (now - length, now);
        }
    }

    /// Whether a request spanned a gap that may be more than a tenth of its latency.
    #[inline]
    fn flagged(&self, start: Nanos, lat: Nanos) -> bool {
        self.gaps
            .iter()
            .any(|&(from, to)| to > start && (to - from).saturating_mul(10) > lat)
    }

    /// Records a completion at its `done`.
    #[inline(always)]
    pub fn record(&mut self, request: &Request, completion: &Completion) {
        let instants = Instants::of(request, completion);
        if !instants.same(&self.batch) {
            self.begin_batch(instants, completion.done);
        }
        match completion.result {
            Ok(bytes) => {
                self.times += 1;
                self.bytes += u64::from(bytes);
                self.short += u32::from(bytes < request.length_bytes);
            }
            Err(errno) => self.error(request.kind, errno),
        }
    }

    /// Starts a new batch: completions from here on have other instants.
    fn begin_batch(&mut self, instants: Instants, done: Nanos) {
        self.count_batch();
        self.advance(done);
        self.batch = instants;
    }

    /// Counts a request whose data is not what was written, beside its completion.
    pub fn mismatch(&mut self, request: &Request) {
        self.error(request.kind, Errno::MISMATCH);
    }

    #[cold]
    fn error(&mut self, kind: Kind, errno: Errno) {
        if let Some(side) = &mut self.slice.sides[kind.direction() as usize] {
            side.counts.error(errno, 1);
        }
    }

    /// Counts the completions of the batch before something else happens to the slice.
    #[inline(never)]
    fn flush(&mut self) {
        self.count_batch();
    }

    /// Counts the completions of the batch.
    #[inline(always)] // Where completions come one by one, a call would take a tenth of this.
    fn count_batch(&mut self) {
        let times = u64::from(self.times);
        if times == 0 {
            return;
        }
        let values = self.batch.latencies();
        let [_, _, start, _, done] = self.batch.instants;
        let flagged = self.flagged(start, done - start);
        let direction = self.batch.kind.direction();
        if !self.slice.priorities.is_empty() {
            self.slice
                .record_priority(direction, self.batch.priority, &values, self.times);
        }
        if let Some(side) = &mut self.slice.sides[direction as usize] {
            for (histogram, &value) in side.histograms.iter_mut().zip(&values) {
                if let Some(histogram) = histogram {
                    histogram.record(value, self.times);
                }
            }
            let late = self.scheduled && values[Latency::Lateness as usize] > LATE;
            let counts = &mut side.counts;
            counts.ios += times;
            counts.bytes += self.bytes;
            counts.short += u64::from(self.short);
            counts.flagged += u64::from(flagged) * times;
            counts.late += u64::from(late) * times;
        }
        (self.times, self.bytes, self.short) = (0, 0, 0);
    }

    /// Ends at `now` and returns the last slice, which ends there too.
    pub fn close(&mut self, now: Nanos) -> &Slice {
        self.advance(now);
        self.flush();
        self.slice.end = now.saturating_sub(self.stage_start).max(self.slice.start);
        &self.slice
    }

    /// Returns the exchange that takes its slices.
    pub fn handover(&self) -> &H {
        &self.handover
    }

    /// Returns how many slices continued into the next because no empty one was available.
    pub fn late_handovers(&self) -> u64 {
        self.late_handovers
    }
}

#[cfg(test)]
mod tests;
