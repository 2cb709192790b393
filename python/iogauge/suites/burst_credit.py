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

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats.moments import Moment
from iogauge.stats.steady import Steadiness, drift_span, steadiness
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

JOB = "load"
LOADS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("randread-4k", "4 KiB random reads, depth 32", {"rw": "randread", "bs": "4k", "iodepth": 32}),
    ("read-1m", "1 MiB sequential reads, depth 8", {"rw": "read", "bs": "1m", "iodepth": 8}),
)
SLICES = 60
"""Intervals of a load at least: those of a shorter one are shorter than a second."""


class BurstCredit(Suite):
    """See the module's text."""

    NAME = "burst-credit"
    TITLE = "Burst credit"
    SOURCE = "ours, after what cloud providers document of their disks' burst performance"
    AXIS = Axis(name="length of the load", unit="s")
    MEASURED_JOB = JOB
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 60 * SECOND,
        "standard": 600 * SECOND,
        "full": 3600 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Two loads that do not change, for as long as a credit may last."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty)))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return when each load's rate changed for good, or that it did not."""
        courses = [
            (run.plan.repeat, f"{run.plan.series}{_again(run.plan.repeat)}: {_course(run.figures.moments)}")
            for run in result.runs
        ]
        return tuple(sentence for _, sentence in sorted(courses, key=lambda course: course[0]))


def _again(repeat: int) -> str:
    return f" (repeat {repeat + 1})" if repeat else ""


def _course(moments: Sequence[Moment]) -> str:
    """Return how a load's rate went in one run, in words."""
    held = steadiness([moment.iops for moment in moments])
    if held is None:
        return f"{numbers.counted(len(moments), 'interval')} are too few to see a change in"
    length_s = moments[-1].end_s - moments[0].start_s
    first, *others = held.stretches
    drift = _drift(held, moments)
    if not others:
        drifts = f", and it {drift}" if drift else ""
        return f"no change of level in {length_s:.3g} s: {first.rate_iops:,.0f} IOPS{drifts}"
    after, last = others[0], others[-1]
    changed_s, ended_s = (_since_start_s(moments, stretch.start_s) for stretch in (after, last))
    then = (
        f"after {changed_s:.3g} s the rate {'falls' if after.rate_iops < first.rate_iops else 'rises'} "
        f"from {first.rate_iops:,.0f} to {after.rate_iops:,.0f} IOPS"
    )
    if after is last:
        return f"{then}, and {drift or f'stays there for the remaining {length_s - changed_s:.3g} s'}"
    return (
        f"{then}; after {numbers.counted(len(others), 'change')} in all it ends at {last.rate_iops:,.0f} IOPS, "
        + (f"and {drift}" if drift else f"from {ended_s:.3g} s on")
    )


def _drift(held: Steadiness, moments: Sequence[Moment]) -> str:
    """Return by how much the last level drifts, and from when to when; empty where it does not."""
    if held.drift is None or not held.drifts:
        return ""
    start_s, end_s, length_s = (
        round(_since_start_s(moments, place), 3)
        for place in (held.drift.start_s, held.drift.end_s, len(moments))
    )
    way = "falls" if held.drift.change < 0 else "rises"
    share = numbers.percent(abs(held.drift.change))
    return f"{way} gradually by {share}{drift_span(start_s, end_s, length_s)}"


def _since_start_s(moments: Sequence[Moment], place: int) -> float:
    """Return when a moment begins, or the last one ends, in seconds since the load began."""
    at_s = moments[place].start_s if place < len(moments) else moments[-1].end_s
    return at_s - moments[0].start_s


def _steps(load: StepTemplate) -> Iterator[StepPlan]:
    at_s = load.runtime_ns / SECOND
    interval_ms = max(min(1000, load.runtime_ns // SLICES // 10**6), 10)
    for key, series, options in LOADS:
        yield load.step(key, at_s, {JOB: options}, series=series, log_avg_msec=interval_ms)
