"""Batches of a step's intervals: what the judgement of drives is made from.

Seconds that follow each other are alike, so their scatter says little of how a drive would have been at another time.
Ten batches of a step are nearly independent unless the step is short, and ten are enough to show events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from iogauge.schema import Direction, Interval, Kind, RunRecord
from iogauge.stats.histogram import Histogram
from iogauge.stats.moments import moments
from iogauge.stats.selection import Selection

BATCHES = 10
"""Batches of a step, at most."""
TAIL = 0.99
"""The quantile that is judged as a drive's tail."""


@dataclass(frozen=True)
class Batch:
    """The requests of one direction in some intervals that follow each other."""

    number: int
    iops: float
    mean_ns: float
    tail_ns: float = math.nan
    """Its ``TAIL``-quantile; NaN: it has too few requests for one."""


def batches(
    record: RunRecord, intervals: Iterable[Interval], *, job: str, direction: Direction, kind: Kind
) -> list[Batch]:
    """Return the batches of one job's requests, in order. A batch in which nothing completed is left out.

    Raises IogaugeError where the run has no such job, or reports it in one row with others of its direction.
    """
    course, histograms = moments(
        intervals,
        reader=Selection.of(record, job, direction=direction),
        pressure=Selection(),
        kind=kind,
        interval_ns=record.plan.interval_ns,
    )
    number = min(BATCHES, len(course))
    parts = []
    for place in range(number):
        rows = slice(place * len(course) // number, (place + 1) * len(course) // number)
        merged = Histogram.merge(histograms[rows])
        seconds = sum(moment.end_s - moment.start_s for moment in course[rows])
        if merged.count and seconds > 0:
            tail_ns = float(merged.quantile(TAIL)) if merged.supports(TAIL) else math.nan
            parts.append(Batch(place, merged.count / seconds, merged.mean, tail_ns))
    return parts
