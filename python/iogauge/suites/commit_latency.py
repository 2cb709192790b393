"""Commit latency: how long a database's log waits until what it wrote would outlast a power failure.

A log appends 4 KiB and waits until that is durable, and nothing commits before. One to sixteen logs do so at once, each
a thread in a part of its own, by the calls that databases make: a write and ``fdatasync``, or a write that is opened
``O_DSYNC`` and comes back durable.

**What is judged** is the whole commit, mean and quantiles. With ``O_DSYNC`` it is one request. With ``fdatasync`` it is
two, and measured as one wait: a sync's response counts from when the write was intended that it makes last. As fio has
it, its lat is the sync's own; the findings say beside the commit how much of its mean is the write's and how much the
sync's. ``iops`` in that series counts syncs, which is commits.

A drive whose cache is protected against power loss makes a sync cost nearly nothing; one without must write its cache
out. A drive that ignores the request is as fast as the first, and no timing tells them apart.

Overhead and caveats. There is no published procedure: the sizes, the calls and the numbers of logs are ours, after how
PostgreSQL, MySQL and SQLite write theirs. Every append goes on into new blocks, round and round in the log's part: a
file's size does not change, as with logs that are used again. Databases that gather several commits into one write wait
less for each. On a file, the file system's journal is part of it.

Source: fio's manual (fdatasync, sync); the manual of PostgreSQL on wal_sync_method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Direction, Kind, StepPlan, SuitePlan
from iogauge.stats.extremes import SATURATED, saturation, undecided
from iogauge.stats.figures import Ratio, StepFigures, ratio, step_figures
from iogauge.stats.pooled import pooled
from iogauge.stats.quantiles import Estimate
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

JOB = "log"
LOGS = (1, 2, 4, 8, 16)
"""How many commit at once."""
BLOCK_BYTES = 4096
SYNCED = "write, then fdatasync"
DURABLE = "write with O_DSYNC"
LITTLE = 1.2
"""A durable write that takes less than so many times a plain one costs nearly nothing."""
MEDIAN = 0.5
"""What durable and plain writes are compared by: means of two runs differ by what else happened in them."""


class CommitLatency(Suite):
    """See the module's text."""

    NAME = "commit-latency"
    TITLE = "Commit latency"
    SOURCE = "ours, after how databases write their logs (PostgreSQL's manual on wal_sync_method)"
    AXIS = Axis(name="logs that commit at once", unit="logs")
    MEASURED_JOB = JOB
    JUDGED = "commit"
    KIND = Kind.RESPONSE
    # Ten steps: shorter ones than other suites have.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Append 4 KiB and make it durable, one to sixteen logs at once, in two ways."""
        empty = self.empty(request)
        part = (empty.size_bytes or request.target.size_bytes) // max(LOGS) // BLOCK_BYTES * BLOCK_BYTES
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty), part_bytes=part))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return what a commit of one log takes and is made of, what durability costs, and what many at once get."""
        by_series = {
            series: [step for step in steps if step.figures.mean is not None]
            for series, steps in result.by_series().items()
        }
        said: list[str] = []
        synced, durable = (_alone(by_series.get(series, [])) for series in (SYNCED, DURABLE))
        written, sync = (
            synced and _part(synced, direction) for direction in (Direction.WRITE, Direction.SYNC)
        )
        if synced and synced.figures.mean and written and written.mean and sync and sync.mean:
            # Where an older iogauge measured, what was judged is the sync alone.
            judged_whole = result.plan.kind is Kind.RESPONSE
            commit = (
                _time(synced.figures.mean)
                if judged_whole
                else numbers.duration(written.mean.value + sync.mean.value)
            )
            said.append(
                f"{SYNCED}: one log's commit takes {commit} on average, the write {_time(written.mean)} and the sync "
                f"{_time(sync.mean)}"
            )
        if durable and durable.figures.mean:
            said.append(f"{DURABLE}: one log's commit takes {_time(durable.figures.mean)} on average")
            plain, lasting = (figures and figures.quantile(MEDIAN) for figures in (written, durable.figures))
            if plain and lasting:
                alone = sync and sync.quantile(MEDIAN)
                if all(median.long_enough for median in (plain, lasting, alone) if median):
                    said.append(_cost(ratio(lasting, plain), ratio(alone, plain) if alone else None))
                else:
                    said.append(f"what a durable write costs {numbers.CANNOT_BE_TOLD}")
        for series, steps in by_series.items():
            if len(steps) > 1:
                said.append(
                    f"{series}: {at_most({step.plan.at: step.figures.iops_estimate for step in steps})}"
                )
        return tuple(said)


def at_most(rates: Mapping[float, Estimate]) -> str:
    """Return the most commits a second, and the fewest logs that reach nearly as many; ``rates`` are by logs."""
    end = saturation(rates)
    if end is None:
        return f"the most commits a second {numbers.CANNOT_BE_TOLD}"
    share = numbers.ranged(end.share.value, end.share.low, end.share.high, numbers.percent)
    fewest = f"; the fewest that reach {100 * SATURATED:g} % of that: {_logs(end.least_at)}, {share}"
    return (
        f"{numbers.estimated(end.most, lambda value: f'{value:,.0f} commits/s')} at most, by {_logs(end.most_at)}"
        + (fewest if end.least_at != end.most_at else "")
        + numbers.left_out("the rate of", [_logs(logs) for logs in undecided(rates)])
    )


def _logs(count: float) -> str:
    return numbers.counted(int(count), "log")


def _time(latency: Estimate) -> str:
    return numbers.estimated(latency, numbers.duration)


def _alone(steps: Iterable[Position]) -> Position | None:
    """Return the step in which one log commits."""
    return next((step for step in steps if step.plan.at == 1), None)


def _part(step: Position, direction: Direction) -> StepFigures:
    """Return the figures of a step's writes, or of its syncs, by themselves."""
    return pooled(
        [
            step_figures(run.record, run.intervals(), measured_job=JOB, load_jobs=None, direction=direction)
            for run in step.runs
        ]
    )


def _cost(more: Ratio, sync: Ratio | None) -> str:
    """Return what durability costs, by medians, in words: of a write with O_DSYNC, and of a sync, over a plain write.

    A sync that takes longer than the write before it is no cheap one, whatever O_DSYNC says.
    """
    if more.value < LITTLE:
        if sync is not None and sync.value > 1:
            return (
                f"the two ways disagree about what durability costs (medians): a {DURABLE} takes "
                f"{numbers.times(more.value, more.low, more.high)} as long as a plain one, and a sync "
                f"{numbers.times(sync.value, sync.low, sync.high)} as long as a plain write"
            )
        return (
            "a durable write takes hardly longer than a plain one: the drive protects its cache against power loss, "
            "has none, or ignores the request"
        )
    return (
        f"a durable write takes {numbers.times(more.value, more.low, more.high)} as long as a plain one (medians); "
        "a power failure may lose the plain one"
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
