"""A step over time: one moment for each interval, zeros included, and the interval of a rate that follows from them.

The slice in which a job ends, and the slice that a ramp cuts, can be far shorter than the others, and a rate over a
millisecond means little. So a slice of less than half the usual length is joined to its neighbour. Every request stays
in some moment.

A count over a known time has no sampling error. The uncertain part is how the drive would have done at another time,
and the differences between intervals show that. Intervals are not independent either, so the standard error is that of
the long-run variance, and the interval is made on a logarithmic scale, as that of a mean latency is.

Source: of the interval, as in ``dependence.py``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.schema import Interval, Kind
from iogauge.stats import special
from iogauge.stats.dependence import long_run
from iogauge.stats.figure import Figure, Unit, open_figure
from iogauge.stats.histogram import Histogram
from iogauge.stats.quantiles import FEWEST_BLOCKS, TAIL
from iogauge.stats.selection import Selection, latencies

SHORT = 0.5
"""A slice below this share of the interval's length is joined to the one before it, or to the one after it."""

LEVELS = 20
"""Latency levels per decade, of equal width on a logarithmic axis."""


@dataclass(frozen=True)
class Moment:
    """One interval of a step. Latencies are in nanoseconds, ``None`` where the measured job completed nothing."""

    start_s: float
    end_s: float
    ios: int
    p50_ns: float | None
    p99_ns: float | None
    max_ns: float | None
    pressure_bytes: int
    flagged: int
    levels: tuple[tuple[int, int], ...] = ()
    """Latencies as (level, count), ascending; level n begins at 10 ** (n / LEVELS) ns."""

    @property
    def iops(self) -> float:
        """Completions of the measured job per second."""
        return self.ios / (self.end_s - self.start_s)

    @property
    def pressure_Bps(self) -> float:
        """Bytes per second of the load jobs."""
        return self.pressure_bytes / (self.end_s - self.start_s)


def moments(
    intervals: Iterable[Interval], *, reader: Selection, pressure: Selection, kind: Kind, interval_ns: int
) -> tuple[tuple[Moment, ...], list[Histogram]]:
    """Return the moments in order, and the latencies of the measured job in each. The ramp is left out.

    One moment holds all parts of an interval: those of several rows, and those that the end of a ramp cuts.
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


def rate_with_interval(value: float, per_interval: Sequence[float], *, count: int, unit: Unit) -> Figure:
    """Return a run's rate with its interval, in ``unit``.

    ``per_interval`` is the same rate in each of the run's intervals, of equal length and in order. With fewer than
    ``FEWEST_BLOCKS`` of them there are no bounds. ``count`` is the number of I/Os.

    >>> steady = rate_with_interval(100.0, [99.0, 101.0] * 10, count=2000, unit="IOPS")
    >>> round(steady.low, 1), round(steady.high, 1)
    (99.8, 100.2)
    >>> rate_with_interval(100.0, [99.0, 101.0], count=200, unit="IOPS").low is None
    True
    """
    series = np.asarray(per_interval, dtype=np.float64)
    if len(series) < FEWEST_BLOCKS or value <= 0:
        return Figure(value, count=count, unit=unit)
    long = long_run(series, level=value)
    if not long.long_enough:
        return open_figure(value, count=count, unit=unit)
    error = long.error / len(series) / value
    reach = math.exp(-float(special.stdtrit(long.degrees, TAIL)) * error)
    return Figure(
        value,
        value / reach,
        value * reach,
        count=count,
        dependence=True,
        log_error=error,
        unit=unit,
    )


def _levels(taken: Histogram) -> tuple[tuple[int, int], ...]:
    """Count latencies by level. Levels are far fewer than buckets, so that a chart can show the whole run."""
    level = np.floor(LEVELS * np.log10(np.maximum(taken.midpoints, 1))).astype(np.int64)
    levels, place = np.unique(level, return_inverse=True)
    counts = np.zeros(len(levels), dtype=np.int64)
    np.add.at(counts, place, taken.counts)
    return tuple(zip(levels.tolist(), counts.tolist(), strict=True))


def _slices(
    intervals: Iterable[Interval], reader: Selection, pressure: Selection, interval_ns: int
) -> list[list[Interval]]:
    """Group the intervals of the measured job's stages by moment."""
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
