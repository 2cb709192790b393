"""Burst credit: whether a drive still gives after minutes what it gave at first.

Disks of clouds lend: they go faster than what was bought until a credit is used up, and then fall to it and stay. A
test of seconds never sees that. Here one load runs for long and nothing changes but time; the rate of every second is
kept, and where it changed for good is looked for.

Two loads, since providers count requests and bytes apart: 4 KiB random reads at depth 32, and 1 MiB sequential reads at
depth 8. They read, so that no write cache of the drive's own is taken for a credit, and so that what is measured does
not depend on what the drive held.

Overhead and caveats. Quick runs a minute a load, standard ten minutes, full an hour: credits of large disks last
longer, and what is not used up is not seen. Heat throttles a drive after minutes too: what falls may be either, and the
machine's own warnings and the drive's temperature tell. The second load begins with what credit the first one left. A
drive model has no credit, and is read for seconds only.

Source: what providers document of their disks' burst performance; change points by PELT (Killick, Fearnhead and Eckley,
2012).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import ClassVar

from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats import words
from iogauge.suites.judgement import Judgement, StepJudgement
from iogauge.suites.suite import SECOND, Asked, Common, Pace, Suite

JOB = "load"
LOADS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("randread-4k", "4 KiB random reads, depth 32", {"rw": "randread", "bs": "4k", "iodepth": 32}),
    ("read-1m", "1 MiB sequential reads, depth 8", {"rw": "read", "bs": "1m", "iodepth": 8}),
)
SLICES = 60
"""Intervals of a load at least: those of a shorter one are shorter than a second."""
FEWEST = 20
"""Intervals below which nothing is concluded."""
SHORTEST = 5
"""Intervals that a level lasts at least."""
CHANGED = 0.1
"""A level is another one where it differs by this share."""


@dataclass(frozen=True)
class Level:
    """A stretch of time with one rate."""

    start_s: float
    end_s: float
    iops: float


class BurstCredit(Suite):
    """See the module's text."""

    NAME = "burst-credit"
    TITLE = "Burst credit"
    SOURCE = "ours, after what cloud providers document of their disks' burst performance"
    AXIS = Axis(name="length of the load", unit="s")
    READER = JOB
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 60 * SECOND,
        "standard": 600 * SECOND,
        "full": 3600 * SECOND,
    }

    def plan(self, asked: Asked) -> SuitePlan:
        """Two loads that do not change, for as long as a credit may last."""
        empty = self.empty(asked)
        return empty.model_copy(update={"steps": tuple(_steps(Common.of(empty)))})

    def findings(self, judgement: Judgement, /) -> tuple[str, ...]:
        """Return when each load's rate changed for good, or that it did not."""
        return tuple(f"{step.plan.series}: {_said(step)}" for step in judgement.steps)


def _said(step: StepJudgement) -> str:
    moments = step.figures.moments
    if len(moments) < FEWEST:
        return f"{len(moments)} intervals are too few to see a change"
    found = levels(
        [moment.iops for moment in moments], [moment.start_s for moment in moments], end_s=moments[-1].end_s
    )
    start_s = found[0].start_s
    first, *others = found
    if not others:
        lasted = f"{first.end_s - start_s:.3g} s"
        return f"no change in {lasted}: {first.iops:,.0f} IOPS"
    last = others[-1]
    way = "falls" if others[0].iops < first.iops else "rises"
    then = (
        f"after {others[0].start_s - start_s:.3g} s the rate {way} "
        f"from {first.iops:,.0f} to {others[0].iops:,.0f} IOPS"
    )
    if len(others) == 1:
        return f"{then}, and stays there for the remaining {last.end_s - last.start_s:.3g} s"
    changes = words.counted(len(others) - 1, "more change")
    return f"{then}; {changes} follow, and it ends at {last.iops:,.0f} IOPS, from {last.start_s - start_s:.3g} s on"


def levels(rates: Sequence[float], starts_s: Sequence[float], *, end_s: float) -> tuple[Level, ...]:
    """Return the levels that a rate kept, at least ``SHORTEST`` intervals each, in order.

    Changes of the logarithm of the rate by PELT, with a penalty in units of its noise from one interval to the next;
    levels that differ by less than ``CHANGED`` are one.

    >>> rates = [3000.0] * 30 + [100.0] * 30
    >>> [(level.start_s, level.iops) for level in levels(rates, range(60), end_s=60)]
    [(0, 3000.0), (30, 100.0)]
    """
    # Slow to load, and only this suite's verdict needs it.
    import numpy
    import ruptures  # type: ignore[import-untyped]

    logs = numpy.log(numpy.maximum(rates, 1.0))
    steps = numpy.abs(numpy.diff(logs))
    noise = max(float(median(steps)) / 0.6745 / math.sqrt(2), 0.005)
    penalty = 3 * noise**2 * math.log(len(rates))
    ends = ruptures.Pelt(model="l2", min_size=SHORTEST, jump=1).fit(logs).predict(pen=penalty)
    found: list[tuple[int, int]] = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        if found and abs(fmean(rates[start:end]) / fmean(rates[slice(*found[-1])]) - 1) < CHANGED:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(
        Level(starts_s[start], starts_s[end] if end < len(rates) else end_s, fmean(rates[start:end]))
        for start, end in found
    )


def _steps(load: Common) -> Iterator[StepPlan]:
    at_s = load.runtime_ns / SECOND
    interval_ms = max(min(1000, load.runtime_ns // SLICES // 10**6), 10)
    for key, series, options in LOADS:
        yield load.step(key, at_s, {JOB: options}, series=series, log_avg_msec=interval_ms)
