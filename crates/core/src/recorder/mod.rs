//! Completions in, fixed slices of full histograms out.
//!
//! A worker's recorder counts into one [`Slice`] that it owns, and swaps it for an empty one when the slice's time
//! is over. It never allocates, locks or waits: where no empty slice is at hand it goes on in the full one and counts
//! that. Slices without completions are not handed over at all: whoever collects knows from [`Cutter`] which ones lie
//! between two that were, and keeps them as zeros.

pub mod histogram;
mod slice;

pub use histogram::{Exact, Histogram, Merged};
pub use slice::{Counts, Kept, Latency, MergedSide, MergedSlice, Side, Slice, Span};

use crate::plan::WorkerPlan;
use crate::request::{Completion, Direction, Errno, Kind, Request};
use crate::time::{MILLISECOND, Nanos};

/// A scheduled request that starts this much after it was ready is counted as late.
pub const LATE: Nanos = MILLISECOND;

/// A loop gap longer than this flags the requests in flight across it.
pub const LONG_GAP: Nanos = MILLISECOND;

/// Where the boundaries between slices lie: pure arithmetic, the same for every worker with the same ramp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutter {
    /// Length of a slice, positive.
    pub interval: Nanos,
    /// End of the ramp, since the stage's start.
    pub ramp_end: Nanos,
}

impl Cutter {
    /// Where the slices of a worker are cut.
    pub fn of(plan: &WorkerPlan, interval: Nanos) -> Self {
        let ramp_end = if plan.ramp_ns > 0 {
            plan.start_delay_ns + plan.ramp_ns
        } else {
            0
        };
        Self { interval, ramp_end }
    }

    /// The slice that holds the instant `at` (since the stage's start), with its own start and end.
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

    /// The slices that lie wholly in `[from, to)`, both boundaries of slices or of the worker's life.
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

/// The worker's end of the way that slices take to whoever collects them.
pub trait Handover {
    /// Swaps a full slice for an empty one; where there is none, leaves it and says `false`.
    fn swap(&mut self, slice: &mut Box<Slice>) -> bool;
}

/// The collector's end of the same way.
pub trait SliceSource {
    /// The next full slice.
    fn next_full(&self) -> Option<Box<Slice>>;
    /// Gives an empty slice back to the worker.
    fn give_back(&self, slice: Box<Slice>);
}

/// Which latencies a worker keeps of what it issues: only those that can differ from one another.
pub fn kept(plan: &WorkerPlan, stamps_issue: bool) -> Kept {
    let scheduled = plan.is_scheduled();
    let issued = plan.pattern.directions();
    Direction::ALL.map(|direction| {
        // A sync was wanted when the writes were that it makes last.
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

/// What decides all latencies of a completion. Completions of one batch share it, and are counted together.
#[derive(Clone, Copy, Debug)]
struct Instants {
    kind: Kind,
    /// Intended, ready, start, issued (start, where it is not stamped), done.
    of_request: [Nanos; 5],
}

impl Instants {
    const NONE: Self = Self {
        kind: Kind::Read,
        of_request: [0; 5],
    };

    #[inline(always)]
    fn of(request: &Request, completion: &Completion) -> Self {
        Self {
            kind: request.kind,
            of_request: [
                request.intended,
                request.ready,
                completion.start,
                completion.issued.unwrap_or(completion.start),
                completion.done,
            ],
        }
    }

    /// Equality without the call of `memcmp` that a derived one makes: it runs for every completion.
    #[inline(always)]
    fn same(&self, other: &Self) -> bool {
        let differing = self
            .of_request
            .iter()
            .zip(&other.of_request)
            .fold(0, |bits, (one, two)| bits | (one ^ two));
        self.kind == other.kind && differing == 0
    }

    /// By [`Latency`].
    #[inline]
    fn latencies(&self) -> [Nanos; Latency::COUNT] {
        let [intended, ready, start, issued, done] = self.of_request;
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
    /// Those of the last completion, and what completed in a row with them and is still to be counted.
    alike: Instants,
    times: u32,
    bytes: u64,
    short: u32,
    /// The longest gap that requests may still have been in flight across, and the last one.
    gaps: [(Nanos, Nanos); 2],
    /// Requests have an intended time of their own, so that they can be late.
    scheduled: bool,
    late_handovers: u64,
}

impl<H: Handover> Recorder<H> {
    /// A recorder that counts into `slice` first.
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
            alike: Instants::NONE,
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

    /// Hands over slices whose time is over. Call it now and then where nothing completes.
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
                // What is measured must not be lost in the ramp, which nobody counts.
                self.slice.clear();
                (self.slice.span, self.slice.start) = (span, start);
            }
            self.slice.end = end;
            self.until = self.stage_start + end;
        }
    }

    /// Records the time between two looks at the completions, ending at `now`, that was not spent waiting.
    #[inline]
    pub fn gap(&mut self, length: Nanos, now: Nanos) {
        self.slice.loop_gap.record(length, 1);
        if length > LONG_GAP {
            // What completed before was not in flight across it.
            self.flush();
            let (from, to) = self.gaps[0];
            let kept = to - from;
            // A gap is a matter of the past where even a request begun right before its end has taken ten times as long.
            let replaced = length >= kept || now.saturating_sub(to) >= kept.saturating_mul(10);
            self.gaps[usize::from(!replaced)] = (now - length, now);
        }
    }

    /// Whether a request was in flight across a gap that may make up more than a tenth of its latency.
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
        if !instants.same(&self.alike) {
            self.begin_anew(instants, completion.done);
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

    /// What completes from here on is unlike what did before.
    fn begin_anew(&mut self, instants: Instants, done: Nanos) {
        self.flush();
        self.advance(done);
        self.alike = instants;
    }

    #[cold]
    fn error(&mut self, kind: Kind, errno: Errno) {
        if let Some(side) = &mut self.slice.sides[kind.direction() as usize] {
            side.counts.error(errno, 1);
        }
    }

    /// Counts the completions that were held back because they were alike.
    #[inline]
    fn flush(&mut self) {
        let times = u64::from(self.times);
        if times == 0 {
            return;
        }
        let values = self.alike.latencies();
        let [_, _, start, _, done] = self.alike.of_request;
        let flagged = self.flagged(start, done - start);
        if let Some(side) = &mut self.slice.sides[self.alike.kind.direction() as usize] {
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

    /// Ends at `now`: the last slice, cut there.
    pub fn close(&mut self, now: Nanos) -> &Slice {
        self.advance(now);
        self.flush();
        self.slice.end = now.saturating_sub(self.stage_start).max(self.slice.start);
        &self.slice
    }

    /// The way that its slices take.
    pub fn handover(&self) -> &H {
        &self.handover
    }

    /// How many slices went on into the next because no empty one was at hand.
    pub fn late_handovers(&self) -> u64 {
        self.late_handovers
    }
}

#[cfg(test)]
mod tests;
