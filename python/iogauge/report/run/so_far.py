"""A record of a run that has not ended, made from its intervals so far.

Counts and latencies are as in the record of a complete run. What is known only at the end of a run is zero or empty:
CPU time, context switches, faults, queue depths, batches, the device's counters, requests in flight and warnings.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

from iogauge.report.run.rows import histogram_of
from iogauge.schema import (
    Ceiling,
    ClockFacts,
    Direction,
    Interval,
    JobFile,
    Kind,
    RowResult,
    RunPlan,
    RunRecord,
    RunResult,
    Tally,
    TargetFacts,
    WorkerResult,
)
from iogauge.stats.histogram import Histogram
from iogauge.workload.clones import Clone, clones

_COUNTS = ("ios", "bytes", "short", "flagged", "late")


@dataclass
class _Sum:
    """The sum of one direction of one row."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    latencies: dict[Kind, Histogram] = field(default_factory=dict)

    def add(self, tally: Tally) -> None:
        self.counts.update({name: getattr(tally, name) for name in _COUNTS})
        self.errors.update(tally.errors)
        for kind in tally.histograms:
            parts = (self.latencies.get(kind), histogram_of(tally, kind))
            self.latencies[kind] = Histogram.merge(part for part in parts if part is not None)

    def tally(self) -> Tally:
        return Tally(
            **self.counts,
            errors=dict(self.errors),
            histograms={kind: latency.encoded() for kind, latency in self.latencies.items()},
            exact={kind: latency.exact for kind, latency in self.latencies.items() if latency.exact},
        )


@dataclass
class _Row:
    start_ns: int
    end_ns: int = 0
    sums: dict[Direction, _Sum] = field(default_factory=dict)
    loop_gap: Histogram = field(default_factory=Histogram.empty)


class SoFar:
    """Adds up the intervals of a run, without ramps. ``record`` may be called at any time."""

    def __init__(
        self,
        jobs: JobFile,
        plan: RunPlan,
        targets: tuple[TargetFacts, ...],
        *,
        clock: ClockFacts,
        ceiling: Ceiling | None,
    ) -> None:
        self._jobs, self._plan, self._targets = jobs, plan, targets
        self._clock, self._ceiling = clock, ceiling
        self._started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._rows: dict[tuple[int, int], _Row] = {}

    def add(self, interval: Interval) -> None:
        """Add one interval of one row."""
        if interval.ramp:
            return
        row = self._rows.setdefault((interval.stage, interval.row), _Row(interval.start_ns))
        row.end_ns = max(row.end_ns, interval.end_ns)
        for direction, tally in interval.tallies.items():
            row.sums.setdefault(direction, _Sum()).add(tally)
        if interval.loop_gap:
            row.loop_gap = Histogram.merge([row.loop_gap, Histogram.decode(interval.loop_gap)])

    def record(self) -> RunRecord:
        """Return the record of the run so far; a row that has not begun has zeros."""
        workers = list(clones(self._jobs))
        ends_ns = Counter[int]()
        for (stage, _), row in self._rows.items():
            ends_ns[stage] = max(ends_ns[stage], row.end_ns)
        return RunRecord(
            jobs=self._jobs,
            plan=self._plan,
            result=RunResult(
                rows=tuple(self._row(worker) for worker in workers if worker.first),
                workers=tuple(map(self._worker, workers)),
                in_flight=(),
                clock=self._clock,
                elapsed_ns=ends_ns.total(),
            ),
            targets=self._targets,
            device_stats=(),
            ceiling=self._ceiling,
            warnings=(),
            started_at=self._started_at,
        )

    def _row(self, worker: Clone) -> RowResult:
        row = self._rows.get((worker.stage, worker.row)) or _Row(0)
        return RowResult(
            stage=worker.stage,
            row=worker.row,
            name=self._jobs.jobs[worker.job].name,
            start_ns=row.start_ns,
            end_ns=row.end_ns,
            tallies={direction: parts.tally() for direction, parts in row.sums.items()},
            loop_gap=row.loop_gap.encoded() if row.loop_gap.count else b"",
        )

    def _worker(self, worker: Clone) -> WorkerResult:
        row = self._rows.get((worker.stage, worker.row)) or _Row(0)
        return WorkerResult.unmeasured(
            name=self._jobs.jobs[worker.job].name,
            row=worker.row,
            stage=worker.stage,
            start_ns=row.start_ns,
            end_ns=row.end_ns,
        )
