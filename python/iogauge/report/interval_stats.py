"""How IOPS and bandwidth varied from interval to interval, in memory that does not grow with the run.

fio drops intervals without I/O, and adds up the minima and maxima of a group's jobs whenever they happened. Here an
interval is a sample even when it is empty, and a group's sample is the group's sum over one aligned interval.

Mean and deviation are weighted by the intervals' lengths (Welford's recurrence, in West's weighted form), so that
the mean is the total over the time. Minimum and maximum are those of whole intervals: the slice in which a job
ends is too short to stand for a rate, and counts only where there is no whole one.

Source: peers.md sections 0 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from iogauge.schema import Direction, Interval

_OPEN = 3
"""How many intervals of a row are kept open for parts that come late: workers of a group end at their own times."""
_WHOLE = 0.9
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
    """Weighted mean and deviation, minimum and maximum of a stream."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    samples: int = 0
    whole: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf

    def add(self, value: float, *, weight: float, whole: bool) -> None:
        self.samples += 1
        self.weight += weight
        step = value - self.mean
        self.mean += step * weight / self.weight
        self.squares += weight * step * (value - self.mean)
        if whole and not self.whole:
            self.minimum, self.maximum = math.inf, -math.inf
        if whole or not self.whole:
            self.minimum, self.maximum = min(self.minimum, value), max(self.maximum, value)
        self.whole += whole

    def spread(self) -> Spread:
        if not self.samples:
            return Spread()
        # Unbiased for equal weights, as whole intervals have: n / (n - 1) of the weighted variance.
        variance = self.squares / self.weight * self.samples / max(self.samples - 1, 1)
        return Spread(self.minimum, self.maximum, self.mean, math.sqrt(max(variance, 0.0)), self.samples)


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
    iops: dict[Direction, _Running] = field(default_factory=lambda: {d: _Running() for d in Direction})
    bandwidth: dict[Direction, _Running] = field(default_factory=lambda: {d: _Running() for d in Direction})


class IntervalStats:
    """Fed with every interval of a run, in the order in which they are handed out; asked once it is over.

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

    def _close(self, row: _RowStats, index: int) -> None:
        part = row.open.pop(index)
        length_ns = part.end_ns - part.start_ns
        if length_ns <= 0:
            return
        whole = length_ns >= _WHOLE * self._interval_ns
        for direction in Direction:
            iops = part.ios.get(direction, 0) * 1e9 / length_ns
            rate_Bps = part.bytes.get(direction, 0) * 1e9 / length_ns
            row.iops[direction].add(iops, weight=length_ns, whole=whole)
            row.bandwidth[direction].add(rate_Bps, weight=length_ns, whole=whole)

    def _settled(self, stage: int, row: int) -> _RowStats:
        stats = self._rows.setdefault((stage, row), _RowStats())
        for index in sorted(stats.open):
            self._close(stats, index)
        return stats

    def iops(self, *, stage: int, row: int, direction: Direction) -> Spread:
        """Return how a row's IOPS varied; all zero where no interval was measured."""
        return self._settled(stage, row).iops[direction].spread()

    def bandwidth_Bps(self, *, stage: int, row: int, direction: Direction) -> Spread:
        """Return how a row's bandwidth varied, in bytes a second; all zero where no interval was measured."""
        return self._settled(stage, row).bandwidth[direction].spread()
