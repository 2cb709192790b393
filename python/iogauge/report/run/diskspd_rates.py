"""How IOPS varied from interval to interval as DiskSpd's tables have it: by thread and of all, reads and writes apart.

``interval_stats`` has the rows' directions one by one. Here intervals are added up first, over directions and over
rows, and handed to it: parts of one interval add up there, and its memory does not grow with the run.

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
    """Fed with every interval of a run, in the order in which they are handed out; asked once it is over."""

    def __init__(self, *, interval_ns: int) -> None:
        self._apart = {which: IntervalStats(interval_ns=interval_ns) for which in (READS, WRITES, BOTH)}
        self._together = {which: IntervalStats(interval_ns=interval_ns) for which in (READS, WRITES, BOTH)}

    def add(self, interval: Interval) -> None:
        """Take one interval, or one part of one."""
        for which, apart in self._apart.items():
            ios = sum(interval.tallies[each].ios for each in which if each in interval.tallies)
            summed = interval.model_copy(
                update={"tallies": {Direction.READ: Tally(ios=ios)}, "loop_gap": None}
            )
            apart.add(summed)
            self._together[which].add(summed.model_copy(update={"stage": 0, "row": 0}))

    def snapshot(self) -> DiskspdRates:
        """Return the rates of the intervals so far, apart from those to come."""
        copied = copy.copy(self)
        copied._apart = {which: stats.snapshot() for which, stats in self._apart.items()}
        copied._together = {which: stats.snapshot() for which, stats in self._together.items()}
        return copied

    def of_row(self, *, stage: int, row: int, directions: Directions) -> float:
        """Return the standard deviation of a row's IOPS, I/Os a second; 0 where no interval was measured."""
        return _deviation(self._apart[directions].iops(stage=stage, row=row, direction=Direction.READ))

    def of_all(self, directions: Directions) -> float:
        """Return the standard deviation of the IOPS of all rows together, I/Os a second."""
        return _deviation(self._together[directions].iops(stage=0, row=0, direction=Direction.READ))


def _deviation(spread: Spread) -> float:
    """DiskSpd divides by the number of intervals, not by one less."""
    return spread.stddev * math.sqrt((spread.samples - 1) / spread.samples) if spread.samples else 0.0
