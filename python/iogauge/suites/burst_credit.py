"""Burst credit: whether a drive keeps its rate for minutes.

A cloud disk runs faster than its paid rate until a credit is used up; then it falls to that rate and stays there. A
test of seconds misses this. The suite runs a constant load for a long time and looks for the second at which the rate
changed for good.

It runs two loads, since providers count requests and bytes separately: 4 KiB random reads at depth 32, and 1 MiB
sequential reads at depth 8. It only reads: a drive's write cache would look like a credit, and writes would make the
result depend on the drive's contents.

Caveats. Quick runs a minute per load, standard ten minutes, full an hour. Credits of large disks last longer, and the
suite cannot see an unused remainder. Heat also throttles a drive after minutes: the machine's warnings and the drive's
temperature tell the two apart. The second load starts with the credit that the first one left. A drive model has no
credit, and runs for seconds only.

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
"""Fewest intervals of a load; a load of less than so many seconds has shorter intervals."""


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
        """Plan two constant loads that run for as long as a credit may last."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty)))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return for each load when its rate changed for good, or that it kept its level."""
        courses = [
            (run.plan.repeat, f"{run.plan.series}{_again(run.plan.repeat)}: {_course(run.figures.moments)}")
            for run in result.runs
        ]
        return tuple(sentence for _, sentence in sorted(courses, key=lambda course: course[0]))


def _again(repeat: int) -> str:
    return f" (repeat {repeat + 1})" if repeat else ""


def _course(moments: Sequence[Moment]) -> str:
    """Describe how a load's rate went in one run."""
    held = steadiness([moment.iops for moment in moments])
    if held is None:
        return f"{numbers.counted(len(moments), 'interval')} are too few to show a change"
    length_s = moments[-1].end_s - moments[0].start_s
    first, *others = held.stretches
    drift = _drift(held, moments)
    if not others:
        if drift:
            return f"no sudden change in {length_s:.3g} s: {numbers.rate(first.rate_iops)} IOPS, but the rate {drift}"
        return f"the rate keeps its level for {length_s:.3g} s: {numbers.rate(first.rate_iops)} IOPS"
    after, last = others[0], others[-1]
    changed_s, ended_s = (_since_start_s(moments, stretch.start_s) for stretch in (after, last))
    then = (
        f"after {changed_s:.3g} s the rate {'falls' if after.rate_iops < first.rate_iops else 'rises'} "
        f"from {numbers.rate(first.rate_iops)} to {numbers.rate(after.rate_iops)} IOPS"
    )
    if after is last:
        return f"{then}, and {drift or f'stays there for the remaining {length_s - changed_s:.3g} s'}"
    return (
        f"{then}; after {numbers.counted(len(others), 'change')} in all it ends at "
        f"{numbers.rate(last.rate_iops)} IOPS, " + (f"and {drift}" if drift else f"from {ended_s:.3g} s on")
    )


def _drift(held: Steadiness, moments: Sequence[Moment]) -> str:
    """Return by how much the last level drifts, and from when to when; empty if it does not drift."""
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
    """Return the start of a moment in seconds since the load began; for the place behind the last one, its end."""
    at_s = moments[place].start_s if place < len(moments) else moments[-1].end_s
    return at_s - moments[0].start_s


def _steps(load: StepTemplate) -> Iterator[StepPlan]:
    at_s = load.runtime_ns / SECOND
    interval_ns = max(min(1000, load.runtime_ns // SLICES // 10**6), 10) * 10**6
    for key, series, options in LOADS:
        step = load.step(key, at_s, {JOB: options}, series=series)
        yield step.model_copy(update={"interval_ns": interval_ns})
