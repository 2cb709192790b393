"""Queue depth: how rate and latency grow with the number of requests that one thread keeps in flight.

The single-thread sweeps of the reviews of late 2017: one asynchronous thread, 4 KiB random and 128 KiB sequential
requests, reads and then writes, at depth 1 to 64. A low-latency drive reaches its highest rate at a small depth. Flash
needs many times that depth, and one thread's CPU may set the limit first: every result shows the generator's ceiling.

Requests are submitted one by one, which is the default and what fio did in 2017. Submitting several in one call would
raise the thread's ceiling and move the knee.

Caveats. The reviews state neither their depths nor their run times: at full pace these are twelve depths of a minute
each. All reads come before all writes, so writes do not change what is read. On flash, the writes start from the state
that the reads left, not from steady state.

Source: AnandTech's review of the P4800X 750 GB (November 2017).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats.extremes import SATURATED, saturation, undecided
from iogauge.stats.figure import Figure
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers, too_short
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
    # Shorter than other suites' steps, since there are four sweeps.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {"quick": SECOND, "standard": 10 * SECOND, "full": 60 * SECOND}
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 4,
        "standard": SECOND // 2,
        "full": 0,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan a sweep over queue depths for each of four loads."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty), DEPTHS[request.pace]))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the highest rate of each sweep, and the smallest depth that nearly reaches it."""
        sentences = {
            series: at_most({step.plan.at: step.figures.rate_figure for step in steps})
            for series, steps in result.by_series().items()
        }
        return tuple(f"{series}: {sentence}" for series, sentence in sentences.items() if sentence)


def at_most(rates: Mapping[float, Figure]) -> str:
    """Return a sweep's highest rate, and the smallest depth that nearly reaches it; empty for a single depth."""
    end = saturation(rates)
    if end is None:
        return f"the highest rate {too_short.UNDECIDED}" if len(rates) > 1 and undecided(rates) else ""
    share = numbers.ranged(end.share.value, end.share.low, end.share.high, numbers.percent)
    return (
        f"{numbers.estimated(end.most, numbers.bandwidth)} at most; depth {end.least_at:g} is the smallest that "
        f"reaches {100 * SATURATED:g} % of that"
        + (f": {share}" if end.least_at != end.most_at else "")
        + too_short.left_out("the rate at", [f"depth {depth:g}" for depth in undecided(rates)])
    )


def _steps(load: StepTemplate, depths: tuple[int, ...]) -> Iterator[StepPlan]:
    for sweep in SWEEPS:
        for depth in depths:
            jobs = {JOB: {"rw": sweep.rw, "iodepth": depth, "iodepth_batch": 1}}
            yield load.step(f"{sweep.key}-qd{depth}", depth, jobs, series=sweep.series, bs=sweep.bs)
