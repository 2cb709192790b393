"""Commit latency: how long a database's log takes to make a write durable.

A log appends 4 KiB and waits until the data would survive a power failure; only then does a transaction commit. One to
sixteen logs do so at once. Each is a thread with its own part of the target. They use the calls that databases use: a
write and then ``fdatasync``, or a write to a file opened with ``O_DSYNC``.

**The suite judges** the whole commit, mean and quantiles. With ``O_DSYNC`` a commit is one request. With ``fdatasync``
it is two requests, measured as one wait: the sync's response counts from the intended start of the write before it. The
sync's lat is the sync's own, as in fio. The findings split the commit's mean into write and sync. ``iops`` in that
series counts syncs, one per commit.

On a drive whose cache is protected against power loss, a sync costs almost nothing; any other drive must write its
cache out. A drive that ignores the sync is as fast as a protected one, and timing cannot tell the two apart.

Caveats. There is no published procedure: we chose sizes, calls and numbers of logs after PostgreSQL, MySQL and SQLite.
Each log appends to new blocks and wraps around in its part, so a file's size does not change, as with recycled logs. A
database that groups several commits into one write waits less for each. On a file, commits include the file system's
journal.

Source: fio's manual (fdatasync, sync); the manual of PostgreSQL on wal_sync_method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Direction, Kind, StepPlan, SuitePlan
from iogauge.stats.extremes import SATURATED, saturation, undecided
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, StepFigures, ratio, step_figures
from iogauge.stats.pooled import pooled
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers, too_short
from iogauge.workload.numbers import SECOND

JOB = "log"
LOGS = (1, 2, 4, 8, 16)
"""Numbers of logs that commit at once."""
BLOCK_BYTES = 4096
SYNCED = "write, then fdatasync"
DURABLE = "write with O_DSYNC"
LITTLE = 1.2
"""A durable write that takes less than this many times as long as a plain one costs almost nothing."""
MEDIAN = 0.5
"""The quantile that compares durable with plain writes: means of two runs also differ by rare stalls."""


class CommitLatency(Suite):
    """See the module's text."""

    NAME = "commit-latency"
    TITLE = "Commit latency"
    SOURCE = "ours, after how databases write their logs (PostgreSQL's manual on wal_sync_method)"
    AXIS = Axis(name="logs that commit at once", unit="logs")
    MEASURED_JOB = JOB
    JUDGED = "commit"
    KIND = Kind.RESPONSE
    # Shorter than other suites' steps, since there are ten.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan appends of 4 KiB by one to sixteen logs at once, made durable in two ways."""
        empty = self.empty(request)
        part = (empty.size_bytes or request.target.size_bytes) // max(LOGS) // BLOCK_BYTES * BLOCK_BYTES
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty), part_bytes=part))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how long one log's commit takes, what durability costs, and the highest rate of commits."""
        by_series = {
            series: [step for step in steps if step.figures.mean is not None]
            for series, steps in result.by_series().items()
        }
        findings: list[str] = []
        synced, durable = (_alone(by_series.get(series, [])) for series in (SYNCED, DURABLE))
        written, sync = (
            synced and _part(synced, direction) for direction in (Direction.WRITE, Direction.SYNC)
        )
        if synced and synced.figures.mean and written and written.mean and sync and sync.mean:
            # Reviews by an older iogauge judge the sync's latency alone.
            judges_commit = result.plan.kind is Kind.RESPONSE
            commit = (
                _time(synced.figures.mean)
                if judges_commit
                else numbers.duration(written.mean.value + sync.mean.value)
            )
            findings.append(
                f"{SYNCED}: one log's commit takes {commit} on average: the write {_time(written.mean)}, the sync "
                f"{_time(sync.mean)}"
            )
        if durable and durable.figures.mean:
            findings.append(f"{DURABLE}: one log's commit takes {_time(durable.figures.mean)} on average")
            plain, lasting = (figures and figures.quantile(MEDIAN) for figures in (written, durable.figures))
            if plain and lasting:
                alone = sync and sync.quantile(MEDIAN)
                if all(median.long_enough for median in (plain, lasting, alone) if median):
                    findings.append(_cost(ratio(lasting, plain), ratio(alone, plain) if alone else None))
                else:
                    findings.append(f"what a durable write costs {too_short.UNDECIDED}")
        for series, steps in by_series.items():
            if len(steps) > 1:
                findings.append(
                    f"{series}: {at_most({step.plan.at: step.figures.iops_figure for step in steps})}"
                )
        return tuple(findings)


def at_most(rates: Mapping[float, Figure]) -> str:
    """Return the highest rate of commits, and the fewest logs that nearly reach it; ``rates`` are by number of logs."""
    end = saturation(rates)
    if end is None:
        return f"the highest rate of commits {too_short.UNDECIDED}"
    share = numbers.ranged(end.share.value, end.share.low, end.share.high, numbers.percent)
    enough = "is enough" if end.least_at == 1 else "are enough"
    fewest = f"; {_logs(end.least_at)} {enough} for {100 * SATURATED:g} % of that: {share}"
    most = numbers.estimated(end.most, lambda value, digits: f"{numbers.rate(value, digits)} commits/s")
    return (
        f"{most} at most, by {_logs(end.most_at)}"
        + (fewest if end.least_at != end.most_at else "")
        + too_short.left_out("the rate of", [_logs(logs) for logs in undecided(rates)])
    )


def _logs(count: float) -> str:
    return numbers.counted(int(count), "log")


def _time(latency: Figure) -> str:
    return numbers.estimated(latency, numbers.duration)


def _alone(steps: Iterable[Position]) -> Position | None:
    """Return the step with one log; None if it was not measured."""
    return next((step for step in steps if step.plan.at == 1), None)


def _part(step: Position, direction: Direction) -> StepFigures:
    """Return the figures of a step's writes alone, or of its syncs alone."""
    return pooled(
        [
            step_figures(run.record, run.intervals(), measured_job=JOB, load_jobs=None, direction=direction)
            for run in step.runs
        ]
    )


def _cost(more: Ratio, sync: Ratio | None) -> str:
    """Return a finding about the cost of durability, by medians.

    ``more`` is a write with O_DSYNC over a plain write, ``sync`` a sync over a plain write. If the O_DSYNC write is
    cheap but the sync takes longer than the write before it, the finding says that the two disagree.
    """
    if more.value < LITTLE:
        if sync is not None and sync.value > 1:
            return (
                f"the two ways disagree about what durability costs (medians): a {DURABLE} takes "
                f"{numbers.times(more.value, more.low, more.high)} as long as a plain one, and a sync "
                f"{numbers.times(sync.value, sync.low, sync.high)} as long as a plain write"
            )
        return (
            "a durable write takes hardly longer than a plain one: the drive has no cache, protects it against power "
            "loss, or ignores the request to sync"
        )
    return (
        f"a durable write takes {numbers.times(more.value, more.low, more.high)} as long as a plain one (medians); "
        "a power failure may lose a plain write"
    )


def _steps(load: StepTemplate, *, part_bytes: int) -> Iterator[StepPlan]:
    ways: tuple[tuple[str, str, dict[str, object], Direction | None], ...] = (
        ("fdatasync", SYNCED, {"fdatasync": 1}, Direction.SYNC),
        ("dsync", DURABLE, {"sync": "dsync"}, None),
    )
    for key, series, options, direction in ways:
        for logs in LOGS:
            yield load.step(
                f"{key}-{logs}",
                logs,
                {JOB: {"rw": "write", "numjobs": logs, **options}},
                series=series,
                direction=direction,
                ioengine="psync",
                bs=BLOCK_BYTES,
                size=part_bytes,
                offset_increment=part_bytes,
            )
