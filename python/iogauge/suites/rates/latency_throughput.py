"""Latency against throughput: how responses grow from a tenth of what a drive serves to all of it.

A search keeps 256 requests in flight and sees the most that the drive serves. Then requests come at random (a Poisson
process) at 10 % to 100 % of that, and do not wait for the drive, as those of many independent clients do. The response
counts from the intended start. Near its most a drive's queue grows without end, and so do responses: the curve has the
shape of a hockey stick. The knee is where a drive is best used: more load costs much latency for little rate.

Caveats. At 100 % any queue grows for as long as one measures, so that step shows its length more than the drive. The
search and the steps are minutes apart: a drive that slows down meanwhile has its knee below the shares that are shown.
Only reads are measured; ``iogauge find`` takes any load.

Source: the open loops of Schroeder, Wierman and Harchol-Balter (NSDI 2006), with the axes of queueing theory.
"""

from __future__ import annotations

from typing import ClassVar

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import ratio
from iogauge.suites.rates.load import DEPTH, JOB, JOBS, Load, grain, most_served, paced, search_step
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers

SHARES: dict[Pace, tuple[int, ...]] = {
    "quick": (10, 30, 50, 60, 70, 80, 90, 95, 100),
    "standard": (10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100),
    "full": (10, 20, 30, 40, 50, 60, 65, 70, 75, 80, 85, 90, 92, 94, 96, 98, 100),
}
"""Percent of the most that the drive serves."""
LOAD: Load = {"rw": "randread", "bs": "4k", "numjobs": JOBS, "iodepth": DEPTH}
KNEE = 2.0
"""The knee is the highest share at which p99 surely is less than this many times that at the lowest share."""
TAIL = 0.99


class LatencyThroughput(Suite):
    """See the module's text."""

    NAME = "latency-throughput"
    TITLE = "Latency against throughput"
    SOURCE = "open loops as in Schroeder, Wierman and Harchol-Balter (NSDI 2006)"
    AXIS = Axis(name="share of the most", unit="%")
    MEASURED_JOB = JOB
    KIND = Kind.RESPONSE
    QUANTILES: ClassVar[tuple[float, ...]] = (0.5, 0.99, 0.999, 0.9999)

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the search; ``refine`` plans the steps."""
        empty = self.empty(request).model_copy(update={"one_load": True})
        return empty.model_copy(update={"search": search_step(StepTemplate.of(empty), LOAD)})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with a step for each share. Raises IogaugeError: nothing completed during the search."""
        most = most_served(search)
        note = (
            f"With {JOBS * DEPTH} requests in flight the target served {numbers.rate(most)} IOPS: this is 100 %. "
            "At each share of it requests come at random."
        )
        return plan.model_copy(update={"steps": _steps(plan, request, most), "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Estimate the steps from a rate that is assumed, since the search has not measured one yet."""
        steps = _steps(plan, request, 1e6)
        # The assumed rate may overload a drive, a share of its own rate never does: likely steps have the least rate.
        return Ahead(steps, steps, _steps(plan, request, 1))

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the knee, and what the last share before the end costs."""
        steps = [step for step in result.positions if step.figures.quantile(TAIL) is not None]
        return (knee(steps),) if len(steps) > 1 else ()


def _steps(plan: SuitePlan, request: SuiteRequest, most: float) -> tuple[StepPlan, ...]:
    load, step = StepTemplate.of(plan), grain(LOAD)
    return tuple(
        load.step(f"share-{share}", share, {JOB: paced(LOAD, max(share / 100 * most // step, 1) * step)})
        for share in SHARES[request.pace]
    )


def knee(steps: list[Position]) -> str:
    """Say up to which share p99 stays within ``KNEE`` times that of the least share; the least share comes first."""
    first, *others = steps
    base = first.figures.quantile(TAIL)
    assert base is not None
    kept = first
    for step in others:
        tail = step.figures.quantile(TAIL)
        assert tail is not None
        growth = ratio(tail, base)
        if growth.high is None or growth.high >= KNEE:
            beyond = numbers.times(growth.value, growth.low, growth.high)
            return (
                f"p99 stays below {KNEE:g}x that at {first.at:g} % up to {kept.at:g} % of the most, "
                f"{_iops(kept)} with p99 {_tail(kept)}; at {step.at:g} % it is {beyond}, {_tail(step)}"
            )
        kept = step
    return (
        f"p99 stays below {KNEE:g}x that at {first.at:g} % up to {kept.at:g} % of the most: "
        f"{_iops(kept)} with p99 {_tail(kept)}"
    )


def _iops(step: Position) -> str:
    return f"{numbers.rate(step.figures.iops)} IOPS"


def _tail(step: Position) -> str:
    tail = step.figures.quantile(TAIL)
    assert tail is not None
    return numbers.estimated(tail, numbers.duration)
