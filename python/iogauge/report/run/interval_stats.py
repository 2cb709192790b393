"""The mean, extremes and standard deviation of IOPS and bandwidth over intervals, in memory that does not grow.

fio drops intervals without I/O, and adds up the minima and the maxima of a group's jobs, whenever they happened. Here
an empty interval is a sample too, and a sample of a group is the sum of its jobs over the same interval.

The mean is the total divided by the time. Minimum, maximum, deviation and the number of samples are those of full
intervals. The interval in which a job ends is too short to stand for a rate; it counts only if there is no full one.

Source: fio 3.33's stat.c, and fio #1145 (intervals without I/O).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from iogauge.report.run.rows import DATA, MIXED, Stream
from iogauge.schema import Direction, Interval

_OPEN = 3
"""Intervals of a row that are kept open for late parts, since workers of a group end at different times."""
_FULL = 0.5
"""The least share of its length that makes an interval a full one."""


@dataclass(frozen=True)
class Spread:
    """A rate over the intervals, in I/Os or bytes a second."""

    minimum: float = 0.0
    maximum: float = 0.0
    mean: float = 0.0
    stddev: float = 0.0
    samples: int = 0


@dataclass
class _Running:
    """Mean, deviation, minimum and maximum of a stream (Welford's recurrence)."""

    samples: int = 0
    mean: float = 0.0
    squares: float = 0.0
    minimum: float = math.inf
    maximum: float = -math.inf

    def add(self, value: float) -> None:
        self.samples += 1
        step = value - self.mean
        self.mean += step / self.samples
        self.squares += step * (value - self.mean)
        self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)


@dataclass
class _Rate:
    """One rate of one row: its total, and how it varied over full intervals and over partial ones."""

    total: int = 0
    spent_ns: int = 0
    full: _Running = field(default_factory=_Running)
    partial: _Running = field(default_factory=_Running)

    def add(self, amount: int, *, length_ns: int, full: bool) -> None:
        self.total += amount
        self.spent_ns += length_ns
        (self.full if full else self.partial).add(amount * 1e9 / length_ns)

    def copy(self) -> _Rate:
        return replace(self, full=replace(self.full), partial=replace(self.partial))

    def spread(self) -> Spread:
        running = self.full if self.full.samples else self.partial
        if not running.samples:
            return Spread()
        stddev = math.sqrt(max(running.squares, 0.0) / max(running.samples - 1, 1))
        mean = self.total * 1e9 / self.spent_ns
        return Spread(running.minimum, running.maximum, mean, stddev, running.samples)


@dataclass
class _Slice:
    """The sum of the parts of one interval of one row, so far."""

    start_ns: int
    end_ns: int
    ios: dict[Direction, int] = field(default_factory=dict)
    bytes: dict[Direction, int] = field(default_factory=dict)


@dataclass
class _RowStats:
    open: dict[int, _Slice] = field(default_factory=dict)
    iops: dict[Stream, _Rate] = field(default_factory=lambda: {d: _Rate() for d in (*Direction, MIXED)})
    bandwidth: dict[Stream, _Rate] = field(default_factory=lambda: {d: _Rate() for d in (*Direction, MIXED)})

    def copy(self) -> _RowStats:
        """Return a copy to read. It shares the open slices, which reading closes but does not change."""
        iops, bandwidth = (
            {d: rate.copy() for d, rate in rates.items()} for rates in (self.iops, self.bandwidth)
        )
        return _RowStats(dict(self.open), iops, bandwidth)


class IntervalStats:
    """Accumulates every interval of a run, in the order in which they are handed out. Read it once the run is over.

    Reading closes the open slices. While a run lasts, parts of them may still come: read a ``snapshot`` then.

    Memory is bounded: a few open slices and a dozen numbers a row. Intervals of the ramp are left out.
    """

    def __init__(self, *, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._rows: dict[tuple[int, int], _RowStats] = {}

    @classmethod
    def over(cls, intervals: Iterable[Interval], *, interval_ns: int) -> IntervalStats:
        """Return the statistics of stored intervals, such as those of a saved step."""
        stats = cls(interval_ns=interval_ns)
        for interval in intervals:
            stats.add(interval)
        return stats

    def add(self, interval: Interval) -> None:
        """Add one interval, or one part of one."""
        if interval.ramp:
            return
        row = self._rows.setdefault((interval.stage, interval.row), _RowStats())
        part = row.open.get(interval.index)
        if part is None:
            part = row.open[interval.index] = _Slice(interval.start_ns, interval.end_ns)
        part.start_ns = min(part.start_ns, interval.start_ns)
        part.end_ns = max(part.end_ns, interval.end_ns)
        for direction, tally in interval.tallies.items():
            part.ios[direction] = part.ios.get(direction, 0) + tally.ios
            part.bytes[direction] = part.bytes.get(direction, 0) + tally.bytes
        while len(row.open) > _OPEN:
            self._close(row, min(row.open))

    def snapshot(self) -> IntervalStats:
        """Return a copy with the intervals so far, which later intervals do not change."""
        copied = IntervalStats(interval_ns=self._interval_ns)
        copied._rows = {key: row.copy() for key, row in self._rows.items()}
        return copied

    def _close(self, row: _RowStats, index: int) -> None:
        part = row.open.pop(index)
        length_ns = part.end_ns - part.start_ns
        if length_ns <= 0:
            return
        full = length_ns >= _FULL * self._interval_ns
        for direction in (*Direction, MIXED):
            members = DATA if direction is MIXED else (direction,)
            ios, moved = (sum(of.get(member, 0) for member in members) for of in (part.ios, part.bytes))
            row.iops[direction].add(ios, length_ns=length_ns, full=full)
            row.bandwidth[direction].add(moved, length_ns=length_ns, full=full)

    def _closed(self, stage: int, row: int) -> _RowStats:
        stats = self._rows.setdefault((stage, row), _RowStats())
        for index in sorted(stats.open):
            self._close(stats, index)
        return stats

    def iops(self, *, stage: int, row: int, direction: Stream) -> Spread:
        """Return how a row's IOPS varied; all zero where no interval was measured."""
        return self._closed(stage, row).iops[direction].spread()

    def bandwidth_Bps(self, *, stage: int, row: int, direction: Stream) -> Spread:
        """Return how a row's bandwidth varied, in bytes a second; all zero where no interval was measured."""
        return self._closed(stage, row).bandwidth[direction].spread()
