"""SNIA's host idle recovery test: what a drive gains from pauses, and how long that lasts.

4 KiB are written at random, four threads at depth 32, until the rate is steady: a round is a minute that counts and 29
more of the same load. Then for pauses of 5, 10, 15, 25 and 50 s: 360 times a pause and 5 s of writes, and half an hour
of writes without a pause. Flash that collects in its pauses is faster after them.

Caveats. ``standard`` and ``quick`` have fewer bursts and, ``quick``, shorter ones after shorter pauses. Each pause is a
run of its own, so a drive model begins each of them in the same state.

Source: SNIA PTS 2.0.2, the host idle recovery test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iogauge.results.conclusions import Conclusions, TextTable
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.suites.snia.common import PERCENTILES, TRACKED, Jobs, Procedure, again, cell, joined, mean
from iogauge.suites.snia.writes import WRITES, writing_cells
from iogauge.suites.suite import Pace, StepTemplate, SuiteRequest, time_text
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

BURST = "burst"


@dataclass(frozen=True)
class Pauses:
    """How often and how long the drive is left alone, in nanoseconds."""

    pauses_ns: tuple[int, ...]
    bursts: int
    burst_ns: int
    after_ns: int
    """Of writes without a pause, behind the bursts."""


_PUBLISHED_NS = tuple(seconds * SECOND for seconds in (5, 10, 15, 25, 50))
PACES: dict[Pace, Pauses] = {
    "quick": Pauses(
        (SECOND // 2, SECOND, 5 * SECOND // 2), bursts=3, burst_ns=SECOND // 2, after_ns=2 * SECOND
    ),
    "standard": Pauses(_PUBLISHED_NS, bursts=6, burst_ns=5 * SECOND, after_ns=60 * SECOND),
    "full": Pauses(_PUBLISHED_NS, bursts=360, burst_ns=5 * SECOND, after_ns=1800 * SECOND),
}


class PtsHostIdleRecovery(Procedure):
    """See the module's text."""

    NAME = "pts-host-idle-recovery"
    TITLE = "SNIA PTS: host idle recovery"
    FOLLOWED = "4 KiB random writes"
    JUDGED = "write"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """What counts, and as much of the same as keeps rounds apart."""
        return writing_cells(request.pace, self.runtime_ns(request))

    def shown(self, _rounds: Sequence[RunRecord], _series: str, _title: str) -> tuple[()]:
        """Nothing beside the tracked rate."""
        return ()

    def after(
        self, plan: SuitePlan, _window: Sequence[RunRecord], request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """Bursts behind each of the pauses."""
        load, pauses = StepTemplate.of(plan), PACES[request.pace]
        return tuple(_step(load, pause_ns, pauses) for pause_ns in pauses.pauses_ns)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the rounds, and beside them what the bursts and the writes behind them reach."""
        conclusions = super().conclude(result)
        rows = []
        for run in sorted(result.runs, key=lambda run: result.plan.steps.index(run.plan)):
            if run.plan.is_round:
                continue
            record = run.record
            bursts = [cell(record, job.name).iops for job in record.jobs.jobs if job.name.startswith(BURST)]
            name = joined(run.plan.label, again(run.plan.repeat))
            rates = (bursts[0], mean(bursts), max(bursts), cell(record, TRACKED).iops)
            rows.append((name, *(numbers.figure(rate) for rate in rates)))
        if not rows:
            return conclusions
        head = (
            "4 KiB random writes, IOPS",
            "first burst",
            "mean of bursts",
            "fastest",
            "without pauses behind",
        )
        table = TextTable("After pauses", head, tuple(rows))
        return replace(conclusions, tables=(*conclusions.tables, table))

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield what is not as the specification has it."""
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
        # Every job says how long it takes.
        runtime=None,
    )
