"""How IOPS and bandwidth varied from interval to interval, in memory that does not grow with the run.

fio drops intervals without I/O, and adds up the minima and maxima of a group's jobs whenever they happened. Here an
interval is a sample even when it is empty, and a group's sample is the group's sum over one aligned interval.

The mean is the total over the time. Minimum, maximum, deviation and the number of samples are those of whole
intervals: the slice in which a job ends is too short to stand for a rate, and does so only where no whole one is.

Source: fio 3.33's stat.c, and fio #1145 (intervals without I/O).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from iogauge.report.run.rows import DATA, MIXED, Stream
from iogauge.schema import Direction, Interval

_OPEN = 3
"""How many intervals of a row are kept open for parts that come late: workers of a group end at their own times."""
_WHOLE = 0.5
"""Share of the full length from which a slice counts as a whole interval."""


@dataclass(frozen=True)
class Spread:
    """What a rate did over the intervals, in its own unit: I/Os or bytes a second."""

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
    """One rate of one row: its total, and how it varied over whole slices, and over the others."""

    total: int = 0
    spent_ns: int = 0
    whole: _Running = field(default_factory=_Running)
    parts: _Running = field(default_factory=_Running)

    def add(self, amount: int, *, length_ns: int, whole: bool) -> None:
        self.total += amount
        self.spent_ns += length_ns
        (self.whole if whole else self.parts).add(amount * 1e9 / length_ns)

    def copy(self) -> _Rate:
        return replace(self, whole=replace(self.whole), parts=replace(self.parts))

    def spread(self) -> Spread:
        seen = self.whole if self.whole.samples else self.parts
        if not seen.samples:
            return Spread()
        stddev = math.sqrt(max(seen.squares, 0.0) / max(seen.samples - 1, 1))
        return Spread(seen.minimum, seen.maximum, self.total * 1e9 / self.spent_ns, stddev, seen.samples)


@dataclass
class _Slice:
    """The parts of one interval of one row, so far."""

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
        """Return a copy to be asked: it shares the open slices, which asking closes and does not change."""
        iops, bandwidth = (
            {d: rate.copy() for d, rate in rates.items()} for rates in (self.iops, self.bandwidth)
        )
        return _RowStats(dict(self.open), iops, bandwidth)


class IntervalStats:
    """Fed with every interval of a run, in the order in which they are handed out; asked once it is over.

    Asking closes slices, of which parts may still come while a run lasts: then a ``snapshot`` is asked.

    Memory is bounded: a few open slices and a dozen numbers a row. Slices of the ramp are left out.
    """

    def __init__(self, *, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._rows: dict[tuple[int, int], _RowStats] = {}

    @classmethod
    def over(cls, intervals: Iterable[Interval], *, interval_ns: int) -> IntervalStats:
        """Return the statistics of intervals that are at hand, of a saved step for instance."""
        stats = cls(interval_ns=interval_ns)
        for interval in intervals:
            stats.add(interval)
        return stats

    def add(self, interval: Interval) -> None:
        """Take one interval, or one part of one."""
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
        """Return the statistics of the intervals so far, apart from those to come."""
        copied = IntervalStats(interval_ns=self._interval_ns)
        copied._rows = {place: row.copy() for place, row in self._rows.items()}
        return copied

    def _close(self, row: _RowStats, index: int) -> None:
        part = row.open.pop(index)
        length_ns = part.end_ns - part.start_ns
        if length_ns <= 0:
            return
        whole = length_ns >= _WHOLE * self._interval_ns
        for direction in (*Direction, MIXED):
            members = DATA if direction is MIXED else (direction,)
            ios, moved = (sum(of.get(member, 0) for member in members) for of in (part.ios, part.bytes))
            row.iops[direction].add(ios, length_ns=length_ns, whole=whole)
            row.bandwidth[direction].add(moved, length_ns=length_ns, whole=whole)

    def _settled(self, stage: int, row: int) -> _RowStats:
        stats = self._rows.setdefault((stage, row), _RowStats())
        for index in sorted(stats.open):
            self._close(stats, index)
        return stats

    def iops(self, *, stage: int, row: int, direction: Stream) -> Spread:
        """Return how a row's IOPS varied; all zero where no interval was measured."""
        return self._settled(stage, row).iops[direction].spread()

    def bandwidth_Bps(self, *, stage: int, row: int, direction: Stream) -> Spread:
        """Return how a row's bandwidth varied, in bytes a second; all zero where no interval was measured."""
        return self._settled(stage, row).bandwidth[direction].spread()
