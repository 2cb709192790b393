"""The standard deviation of IOPS from interval to interval, as DiskSpd reports it: for each thread and for all threads.

``interval_stats`` keeps each direction of each row apart. ``DiskspdRates`` sums every interval over directions and over
rows first, and hands the sums to ``interval_stats``, whose memory does not grow with the run.

Source: DiskSpd 2.2 (ResultParser.cpp, IoBucketizer.cpp).
"""

from __future__ import annotations

import copy
import math

from iogauge.report.run.interval_stats import IntervalStats, Spread
from iogauge.schema import Direction, Interval, Tally

Directions = tuple[Direction, ...]

READS: Directions = (Direction.READ,)
WRITES: Directions = (Direction.WRITE,)
BOTH: Directions = (Direction.READ, Direction.WRITE)


class DiskspdRates:
    """Accumulates every interval of a run, in the order in which they are handed out. Read it once the run is over."""

    def __init__(self, *, interval_ns: int) -> None:
        self._by_row = {which: IntervalStats(interval_ns=interval_ns) for which in (READS, WRITES, BOTH)}
        self._all_rows = {which: IntervalStats(interval_ns=interval_ns) for which in (READS, WRITES, BOTH)}

    def add(self, interval: Interval) -> None:
        """Add one interval, or one part of one."""
        for directions, by_row in self._by_row.items():
            ios = sum(
                interval.tallies[direction].ios for direction in directions if direction in interval.tallies
            )
            summed = interval.model_copy(
                update={"tallies": {Direction.READ: Tally(ios=ios)}, "loop_gap": None}
            )
            by_row.add(summed)
            self._all_rows[directions].add(summed.model_copy(update={"stage": 0, "row": 0}))

    def snapshot(self) -> DiskspdRates:
        """Return a copy with the intervals so far, which later intervals do not change."""
        copied = copy.copy(self)
        copied._by_row = {which: stats.snapshot() for which, stats in self._by_row.items()}
        copied._all_rows = {which: stats.snapshot() for which, stats in self._all_rows.items()}
        return copied

    def of_row(self, *, stage: int, row: int, directions: Directions) -> float:
        """Return the standard deviation of a row's IOPS, I/Os a second; 0 where no interval was measured."""
        return _deviation(self._by_row[directions].iops(stage=stage, row=row, direction=Direction.READ))

    def of_all(self, directions: Directions) -> float:
        """Return the standard deviation of the IOPS of all rows together, I/Os a second."""
        return _deviation(self._all_rows[directions].iops(stage=0, row=0, direction=Direction.READ))


def _deviation(spread: Spread) -> float:
    """Return the deviation of a population: DiskSpd divides by the number of intervals, not by one less."""
    return spread.stddev * math.sqrt((spread.samples - 1) / spread.samples) if spread.samples else 0.0
