"""Queue depth: how rate and latency grow as one thread keeps more and more requests in flight.

The single-thread sweeps of the reviews of late 2017: one asynchronous thread, 4 KiB at random and 128 KiB in order,
reads and then writes, from depth 1 to 64. A drive of low latency reaches its rate at a depth of a few; flash needs many
times that, and there one thread's CPU may be what ends it: the generator's own ceiling stands beside every result.

Requests go in one by one, as by default, and as fio of that time did: gathered into larger calls, one thread's ceiling
is higher, and the knee another.

Caveats. The reviews do not say which depths they ran, nor for how long: at full pace these are twelve depths of a
minute each. All reads come before all writes, so that what is written does not change what is read; on flash the
writes find the drive as the reads left it, not in steady state.

Source: AnandTech's review of the P4800X 750 GB (November 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats.extremes import SATURATED, saturation, undecided
from iogauge.stats.quantiles import Estimate
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

JOB = "load"
DEPTHS: dict[Pace, tuple[int, ...]] = {
    "quick": (1, 2, 4, 8, 16, 32, 64),
    "standard": (1, 2, 4, 8, 16, 32, 64),
    "full": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
}


@dataclass(frozen=True)
class Sweep:
    """One load of the suite."""

    series: str
    key: str
    rw: str
    bs: str


SWEEPS = (
    Sweep("4 KiB random reads", "randread-4k", "randread", "4k"),
    Sweep("128 KiB sequential reads", "read-128k", "read", "128k"),
    Sweep("4 KiB random writes", "randwrite-4k", "randwrite", "4k"),
    Sweep("128 KiB sequential writes", "write-128k", "write", "128k"),
)


class QueueDepth(Suite):
    """See the module's text."""

    NAME = "queue-depth"
    TITLE = "Queue depth"
    SOURCE = "AnandTech's review of the P4800X 750 GB (November 2017)"
    AXIS = Axis(name="queue depth", unit="in flight")
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    # There are four sweeps: each of their steps is shorter than other suites'.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {"quick": SECOND, "standard": 10 * SECOND, "full": 60 * SECOND}
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 4,
        "standard": SECOND // 2,
        "full": 0,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Rate and latency of one thread against its queue depth, in four loads."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty), DEPTHS[request.pace]))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return where each sweep's rate stops growing."""
        sentences = {
            series: at_most({step.plan.at: step.figures.rate_estimate for step in steps})
            for series, steps in result.by_series().items()
        }
        return tuple(f"{series}: {sentence}" for series, sentence in sentences.items() if sentence)


def at_most(rates: Mapping[float, Estimate]) -> str:
    """Return the most that a sweep reaches, and the least depth that reaches nearly as much; empty for one depth."""
    end = saturation(rates)
    if end is None:
        return f"the most {numbers.CANNOT_BE_TOLD}" if len(rates) > 1 and undecided(rates) else ""
    share = numbers.ranged(end.share.value, end.share.low, end.share.high, numbers.percent)
    return (
        f"{numbers.estimated(end.most, numbers.bandwidth)} at most; depth {end.least_at:g} is the least that reaches "
        f"{100 * SATURATED:g} % of it"
        + (f", {share}" if end.least_at != end.most_at else "")
        + numbers.left_out("the rate at", [f"depth {depth:g}" for depth in undecided(rates)])
    )


def _steps(load: StepTemplate, depths: tuple[int, ...]) -> Iterator[StepPlan]:
    for sweep in SWEEPS:
        for depth in depths:
            jobs = {JOB: {"rw": sweep.rw, "iodepth": depth, "iodepth_batch": 1}}
            yield load.step(f"{sweep.key}-qd{depth}", depth, jobs, series=sweep.series, bs=sweep.bs)
