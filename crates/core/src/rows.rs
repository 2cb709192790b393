//! Merges slices of many workers into intervals of rows, and totals at the end. It has no thread and no clock.

use std::collections::BTreeMap;

use crate::plan::SteadyPlan;
use crate::recorder::{Cutter, MergedSlice, Slice, Span};
use crate::results::{Interval, RowResult, encoded, priority_tallies, tallies};
use crate::steady::Steady;
use crate::time::{Nanos, SECOND};

/// How far one worker's slices reach, since the stage's start.
#[derive(Debug)]
struct Source {
    cutter: Cutter,
    begins: Nanos,
    reached: Nanos,
    ended: Option<Nanos>,
}

/// An interval of a row that some of its workers have not finished.
#[derive(Debug, Default)]
struct Pending {
    bounds: Option<(Nanos, Nanos)>,
    merged: MergedSlice,
}

/// One reported row while its stage runs.
#[derive(Debug)]
pub struct Row {
    stage: u32,
    row: u32,
    name: String,
    interval: Nanos,
    sources: BTreeMap<usize, Source>,
    pending: BTreeMap<Span, Pending>,
    totals: MergedSlice,
    /// Its criterion of a steady state, and whether it has just been met.
    steady: Option<Steady>,
    settled: bool,
}

impl Row {
    /// Creates a row without workers.
    pub fn new(stage: u32, row: u32, name: String, interval: Nanos) -> Self {
        Self {
            stage,
            row,
            name,
            interval,
            sources: BTreeMap::new(),
            pending: BTreeMap::new(),
            totals: MergedSlice::default(),
            steady: None,
            settled: false,
        }
    }

    /// Adds a worker that starts `begins` after the stage and is measured from `cutter.ramp_end` on.
    pub fn join(&mut self, worker: usize, cutter: Cutter, begins: Nanos) {
        self.sources.insert(
            worker,
            Source {
                cutter,
                begins,
                reached: begins,
                ended: None,
            },
        );
    }

    /// Watches for a steady state.
    pub fn watch(&mut self, steady: SteadyPlan) {
        self.steady.get_or_insert_with(|| Steady::new(steady));
    }

    /// Returns whether the row has just become steady, once.
    pub fn settled(&mut self) -> bool {
        std::mem::take(&mut self.settled)
    }

    /// Adds a worker's slice, and zeros for the time between its last slice and this one.
    pub fn add(&mut self, worker: usize, slice: &Slice) {
        self.fill_zeros(worker, slice.start);
        if let Some(source) = self.sources.get_mut(&worker)
            && !slice.span.ramp
        {
            // The first slice that counts tells where a ramp of unknown length ended.
            source.cutter.ramp_end = source.cutter.ramp_end.min(slice.start);
        }
        self.pending_at(slice.span, slice.start, slice.end)
            .add(slice);
        if let Some(source) = self.sources.get_mut(&worker) {
            source.reached = source.reached.max(slice.end);
        }
    }

    /// Ends a worker; nothing more comes from it.
    pub fn end(&mut self, worker: usize, at: Nanos) {
        if let Some(source) = self.sources.get_mut(&worker) {
            source.ended = Some(at);
        }
    }

    /// Adds zeros for a worker up to `to`.
    fn fill_zeros(&mut self, worker: usize, to: Nanos) {
        let Some(source) = self.sources.get_mut(&worker) else {
            return;
        };
        let from = source.reached;
        source.reached = from.max(to);
        for (span, start, end) in source.cutter.between(from, to) {
            self.pending_at(span, start, end);
        }
    }

    fn pending_at(&mut self, span: Span, start: Nanos, end: Nanos) -> &mut MergedSlice {
        let pending = self.pending.entry(span).or_default();
        let bounds = pending.bounds.get_or_insert((start, end));
        *bounds = (bounds.0.min(start), bounds.1.max(end));
        &mut pending.merged
    }

    /// Returns the intervals that are complete at `now`, in order. It does not wait for a worker that has been silent
    /// for long. What that worker hands over later is returned as another part of its interval.
    pub fn ready(&mut self, now: Nanos) -> Vec<Interval> {
        let patience = 2 * self.interval + SECOND;
        let silent: Vec<(usize, Nanos)> = self
            .sources
            .iter()
            .filter(|(_, source)| source.ended.is_none() && source.reached + patience < now)
            .map(|(&worker, source)| (worker, source.cutter.slice_at(now - patience).1))
            .collect();
        for (worker, to) in silent {
            self.fill_zeros(worker, to);
        }
        let live = self
            .sources
            .values()
            .filter(|source| source.ended.is_none());
        let until = live
            .map(|source| source.reached)
            .min()
            .unwrap_or(Nanos::MAX);
        let mut out = Vec::new();
        while let Some(first) = self.pending.first_entry() {
            if first.get().bounds.is_some_and(|(_, end)| end > until) {
                break;
            }
            let (span, pending) = first.remove_entry();
            out.push(self.emit(span, &pending));
        }
        out
    }

    fn emit(&mut self, span: Span, pending: &Pending) -> Interval {
        if !span.ramp {
            self.totals.merge(&pending.merged);
        }
        let bounds = pending.bounds.unwrap_or_default();
        let interval = Interval::new(self.stage, self.row, span, bounds, &pending.merged);
        if let Some(steady) = &mut self.steady {
            self.settled |= steady.add(&interval);
        }
        interval
    }

    /// Returns the row's totals, once all of its workers have ended and [`Row::ready`] has returned all of its
    /// intervals.
    pub fn result(&self) -> RowResult {
        let start_ns = self
            .sources
            .values()
            .map(|s| s.begins.max(s.cutter.ramp_end))
            .min()
            .unwrap_or(0);
        let end_ns = self
            .sources
            .values()
            .filter_map(|s| s.ended)
            .max()
            .unwrap_or(start_ns);
        RowResult {
            row: self.row,
            stage: self.stage,
            name: self.name.clone(),
            start_ns: start_ns.min(end_ns),
            end_ns,
            tallies: tallies(&self.totals),
            loop_gap: encoded(&self.totals.loop_gap),
            steady: self.steady.as_ref().map(Steady::result),
            priorities: priority_tallies(&self.totals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Latency, Side};

    fn slice(span: Span, start: Nanos, end: Nanos, ios: u64) -> Slice {
        let reads = [true, false, false, false, false, false];
        let mut slice = Slice::new([Some(reads), None, None, None]);
        (slice.span, slice.start, slice.end) = (span, start, end);
        let side: &mut Side = slice.sides[0].as_mut().unwrap();
        side.counts.ios = ios;
        if ios > 0 {
            side.histograms[Latency::Lat as usize]
                .as_mut()
                .unwrap()
                .record(1_000, ios as u32);
        }
        slice
    }

    fn at(index: u64) -> Span {
        Span { index, ramp: false }
    }

    fn ios(interval: &Interval) -> u64 {
        interval.tallies.get("read").map_or(0, |tally| tally.ios)
    }

    #[test]
    fn a_silent_worker_leaves_zeros_and_its_late_part_still_counts() {
        let cutter = Cutter {
            interval: SECOND,
            ramp_end: 0,
        };
        let mut row = Row::new(0, 0, "reader".into(), SECOND);
        row.join(0, cutter, 0);
        row.join(1, cutter, 0);
        for index in 0..6 {
            row.add(
                0,
                &slice(at(index), index * SECOND, (index + 1) * SECOND, 10),
            );
        }
        row.add(1, &slice(at(0), 0, SECOND, 1));
        let first = row.ready(2 * SECOND);
        assert_eq!(first.iter().map(ios).collect::<Vec<_>>(), [11]);
        // Worker 1 is silent for so long that its row continues without it.
        let second = row.ready(7 * SECOND);
        assert_eq!(
            second.iter().map(|i| (i.index, ios(i))).collect::<Vec<_>>(),
            [(1, 10), (2, 10), (3, 10)]
        );
        // It returns with a slice that spans intervals already returned.
        row.add(1, &slice(at(1), SECOND, 6 * SECOND, 7));
        row.end(0, 6 * SECOND);
        row.end(1, 6 * SECOND);
        let rest = row.ready(8 * SECOND);
        assert_eq!(
            rest.iter().map(|i| (i.index, ios(i))).collect::<Vec<_>>(),
            [(1, 7), (4, 10), (5, 10)]
        );
        let result = row.result();
        assert_eq!(result.tallies["read"].ios, 68);
        assert_eq!((result.start_ns, result.end_ns), (0, 6 * SECOND));
    }

    #[test]
    fn time_between_two_slices_is_kept_as_zeros() {
        let cutter = Cutter {
            interval: SECOND,
            ramp_end: SECOND / 2,
        };
        let mut row = Row::new(0, 0, "reader".into(), SECOND);
        row.join(0, cutter, 0);
        row.add(
            0,
            &slice(
                Span {
                    index: 0,
                    ramp: true,
                },
                0,
                SECOND / 2,
                3,
            ),
        );
        row.add(0, &slice(at(3), 3 * SECOND, 4 * SECOND, 5));
        row.end(0, 4 * SECOND);
        let all = row.ready(4 * SECOND);
        let seen: Vec<_> = all
            .iter()
            .map(|i| (i.index, i.ramp, i.start_ns, i.end_ns, ios(i)))
            .collect();
        assert_eq!(
            seen,
            [
                (0, false, SECOND / 2, SECOND, 0),
                (0, true, 0, SECOND / 2, 3),
                (1, false, SECOND, 2 * SECOND, 0),
                (2, false, 2 * SECOND, 3 * SECOND, 0),
                (3, false, 3 * SECOND, 4 * SECOND, 5),
            ]
        );
        assert_eq!(row.result().tallies["read"].ios, 5);
        assert_eq!(row.result().start_ns, SECOND / 2);
    }
}
