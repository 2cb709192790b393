"""SNIA's host idle recovery test: how much faster a drive writes after pauses, and for how long.

Four threads at depth 32 write 4 KiB at random until the rate is steady: a round is a minute that counts and 29 more of
the same load. Then, for pauses of 5, 10, 15, 25 and 50 s: 360 times a pause and 5 s of writes, and then half an hour of
writes without a pause. Flash that collects garbage in pauses is faster after them.

Caveats. ``standard`` has fewer bursts; ``quick`` also has shorter bursts and shorter pauses. Each length of pause is
one run, so a drive model starts each of them in the same state.

Source: SNIA PTS 2.0.2, the host idle recovery test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iogauge.results.conclusions import Conclusions, TextTable
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.suites.snia.common import PERCENTILES, TRACKED, again, cell_figures, joined, mean
from iogauge.suites.snia.writes import WRITES, WriteRounds
from iogauge.suites.suite import Pace, StepTemplate, SuiteRequest, time_text
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

BURST = "burst"


@dataclass(frozen=True)
class Pauses:
    """The pauses and the bursts of writes between them, in nanoseconds."""

    pauses_ns: tuple[int, ...]
    bursts: int
    burst_ns: int
    after_ns: int
    """Length of the writes without a pause, after the bursts."""


_PUBLISHED_NS = tuple(seconds * SECOND for seconds in (5, 10, 15, 25, 50))
PACES: dict[Pace, Pauses] = {
    "quick": Pauses(
        (SECOND // 2, SECOND, 5 * SECOND // 2), bursts=3, burst_ns=SECOND // 2, after_ns=2 * SECOND
    ),
    "standard": Pauses(_PUBLISHED_NS, bursts=6, burst_ns=5 * SECOND, after_ns=60 * SECOND),
    "full": Pauses(_PUBLISHED_NS, bursts=360, burst_ns=5 * SECOND, after_ns=1800 * SECOND),
}


class PtsHostIdleRecovery(WriteRounds):
    """See the module's text."""

    NAME = "pts-host-idle-recovery"
    TITLE = "SNIA PTS: host idle recovery"

    def final_steps(
        self, plan: SuitePlan, _window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """Return a step of bursts for each length of pause."""
        load, pauses = StepTemplate.of(plan), PACES[request.pace]
        return tuple(_step(load, pause_ns, pauses) for pause_ns in pauses.pauses_ns)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Add a table of the rates of the bursts and of the writes after them."""
        conclusions = super().conclude(result)
        rows = []
        for run in sorted(result.runs, key=lambda run: result.plan.steps.index(run.plan)):
            if run.plan.is_round:
                continue
            record = run.record
            bursts = [
                cell_figures(record, job.name).iops for job in record.jobs.jobs if job.name.startswith(BURST)
            ]
            name = joined(run.plan.label, again(run.plan.repeat))
            rates = (bursts[0], mean(bursts), max(bursts), cell_figures(record, TRACKED).iops)
            rows.append((name, *(numbers.figure(rate) for rate in rates)))
        if not rows:
            return conclusions
        head = (
            "4 KiB random writes, IOPS",
            "first burst",
            "mean of bursts",
            "fastest burst",
            "writes after them",
        )
        table = TextTable("After pauses", head, tuple(rows))
        return replace(conclusions, tables=(*conclusions.tables, table))

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the test differs from the specification."""
        yield from super().notes(request)
        if request.pace != "full":
            pauses, published = PACES[request.pace], PACES["full"]
            yield (
                f"Shortened: {pauses.bursts} bursts of {pauses.burst_ns / 1e9:g} s after each pause; "
                f"the specification has {published.bursts} of {published.burst_ns / 1e9:g} s."
            )


def _step(load: StepTemplate, pause_ns: int, pauses: Pauses) -> StepPlan:
    burst = {
        "stonewall": 1,
        "startdelay": time_text(pause_ns),
        "runtime": time_text(pauses.burst_ns),
        **WRITES,
    }
    jobs = {f"{BURST}-{number}": burst for number in range(1, pauses.bursts + 1)}
    behind = {"stonewall": 1, "runtime": time_text(pauses.after_ns), **WRITES}
    return load.step(
        f"pause-{pause_ns // 10**6}ms",
        pause_ns / 1e9,
        {**jobs, TRACKED: behind},
        series="writes without pauses, behind the bursts",
        label=f"pauses of {pause_ns / 1e9:g} s",
        state_group="test",
        percentile_list=PERCENTILES,
        # Every job has its own run time.
        runtime=None,
    )
