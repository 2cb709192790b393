"""A step over time: one moment for each interval, zeros included.

The slice in which a job ends, and the one that a ramp cuts, can be far shorter than the others; a rate over a
millisecond says nothing. A slice of less than half the usual length is joined to its neighbour: every request keeps
its place in some moment, and none stands for a blink.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from iogauge.schema import Interval, Kind
from iogauge.stats.histogram import Histogram
from iogauge.stats.selection import Selection, latencies

SHORT = 0.5
"""Share of the interval's length below which a slice is joined to the one before it, or else after it."""

LEVELS = 20
"""Into how many levels, of equal width on a logarithmic axis, a decade of latencies is divided."""


@dataclass(frozen=True)
class Moment:
    """One interval of a step. Latencies are in nanoseconds, ``None`` where the reader completed nothing."""

    start_s: float
    end_s: float
    ios: int
    p50_ns: float | None
    p99_ns: float | None
    max_ns: float | None
    pressure_bytes: int
    flagged: int
    levels: tuple[tuple[int, int], ...] = ()
    """How its latencies are spread: (level, how many), ascending; level n begins at 10 ** (n / LEVELS) ns."""

    @property
    def iops(self) -> float:
        """The reader's completions per second."""
        return self.ios / (self.end_s - self.start_s)

    @property
    def pressure_Bps(self) -> float:
        """Bytes per second of the jobs that press."""
        return self.pressure_bytes / (self.end_s - self.start_s)


def moments(
    intervals: Iterable[Interval], *, reader: Selection, pressure: Selection, kind: Kind, interval_ns: int
) -> tuple[tuple[Moment, ...], list[Histogram]]:
    """Return the moments in order, and the reader's latencies in each. The ramp is left out.

    Parts of one interval, of several rows or cut by the end of a ramp, are one moment.
    """
    course, histograms = [], []
    for parts in _slices(intervals, reader, pressure, interval_ns):
        mine, others = reader.tallies(parts), pressure.tallies(parts)
        taken = latencies(mine, kind)
        start_ns, end_ns = _span(parts)
        histograms.append(taken)
        course.append(
            Moment(
                start_s=start_ns / 1e9,
                end_s=end_ns / 1e9,
                ios=sum(tally.ios for tally in mine),
                p50_ns=taken.quantile(0.5) if taken.count else None,
                p99_ns=taken.quantile(0.99) if taken.count else None,
                max_ns=taken.max if taken.count else None,
                pressure_bytes=sum(tally.bytes for tally in others),
                flagged=sum(tally.flagged for tally in mine),
                levels=_levels(taken),
            )
        )
    return tuple(course), histograms


def _levels(taken: Histogram) -> tuple[tuple[int, int], ...]:
    """Count latencies by level: far fewer than the buckets of a histogram, so that a whole run can be drawn."""
    level = np.floor(LEVELS * np.log10(np.maximum(taken.midpoints, 1))).astype(np.int64)
    levels, place = np.unique(level, return_inverse=True)
    counts = np.zeros(len(levels), dtype=np.int64)
    np.add.at(counts, place, taken.counts)
    return tuple(zip(levels.tolist(), counts.tolist(), strict=True))


def _slices(
    intervals: Iterable[Interval], reader: Selection, pressure: Selection, interval_ns: int
) -> list[list[Interval]]:
    """Put together what belongs to one moment of the reader's stages."""
    stages = {stage for stage, _ in reader.rows}
    rows = reader.rows | pressure.rows
    parts: dict[tuple[int, int], list[Interval]] = defaultdict(list)
    for interval in intervals:
        if not interval.ramp and interval.stage in stages and (interval.stage, interval.row) in rows:
            parts[interval.stage, interval.index].append(interval)
    slices: list[list[Interval]] = []
    for _, piece in sorted(parts.items()):
        neighbours = slices and slices[-1][0].stage == piece[0].stage
        if neighbours and min(_length_ns(piece), _length_ns(slices[-1])) < SHORT * interval_ns:
            slices[-1] += piece
        else:
            slices.append(piece)
    return [piece for piece in slices if _length_ns(piece) > 0]


def _span(parts: Iterable[Interval]) -> tuple[int, int]:
    parts = list(parts)
    return min(part.start_ns for part in parts), max(part.end_ns for part in parts)


def _length_ns(parts: Iterable[Interval]) -> int:
    start_ns, end_ns = _span(parts)
    return end_ns - start_ns
