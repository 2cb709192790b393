"""Many drives: whether several drives together reach the sum of their single rates, and how much CPU time that takes.

Drives may slow each other down if they share a controller, a switch, or the machine's memory and CPUs. The suite
measures each target alone, one after the other, and then all at once, under four loads: 4 KiB random reads at depth 32,
128 KiB sequential reads at depth 8, and the same as writes. Each drive always has its own thread.

**The suite judges**

- the rate of all drives together, as a share of the sum of their single rates;
- the drive that keeps the smallest share of its single rate, if its interval lies below the next drive's;
- the CPU time of a request together, as a multiple of what the same requests take alone, if the machine accounts CPU
  time.

Each repeat compares its own runs. The interval is that of the repeats; with a single repeat, that of its rates over
time.

Caveats. The procedure is ours: the evaluation guide says only that two drives exceed a million requests a second. With
more drives than CPUs, threads share CPUs, and the generator may be the limit: its ceiling and its warnings show that.
CPU time is that of the threads, in user and kernel mode, without interrupts that other CPUs serve. Drive models share
one machine model, which has one CPU for each thread.

Source: Intel's evaluation guide (two drives, more than a million requests a second); the loads are AnandTech's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Interval, Kind, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, ratio, total
from iogauge.stats.moments import moments, rate_with_interval
from iogauge.stats.repeats import repeated
from iogauge.stats.selection import Selection
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND
from iogauge.workload.options.patterns import file_text

JOB = "load"
TOGETHER = "all together"


@dataclass(frozen=True)
class Load:
    """One load of the suite."""

    series: str
    key: str
    rw: str
    bs: str
    depth: int


LOADS = (
    Load("4 KiB random reads, depth 32", "randread-4k", "randread", "4k", 32),
    Load("128 KiB sequential reads, depth 8", "read-128k", "read", "128k", 8),
    Load("4 KiB random writes, depth 32", "randwrite-4k", "randwrite", "4k", 32),
    Load("128 KiB sequential writes, depth 8", "write-128k", "write", "128k", 8),
)


class ManyDrives(Suite):
    """See the module's text."""

    NAME = "many-drives"
    TITLE = "Many drives"
    SOURCE = "ours, after what Intel's evaluation guide says of two drives"
    AXIS = Axis(name="drives at once", unit="drives")
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    TOGETHER = True
    FEWEST_TARGETS = 2
    # Shorter than other suites' steps: each load runs once for every drive and once for all together.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan four loads, each on every drive alone and then on all together."""
        empty = self.empty(request)
        paths = [target.path for target in request.targets]
        return empty.model_copy(update={"steps": tuple(_steps(StepTemplate.of(empty), paths))})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return for each load whether the drives' rates add up, and the CPU time of a request."""
        return tuple(
            sentence
            for series, steps in result.by_series().items()
            for sentence in _sentences(series, blocks_of(steps, result.plan.targets))
        )


@dataclass(frozen=True)
class DriveRun:
    """The rate of one drive in one run, and the CPU time that its thread took."""

    rate_Bps: Figure
    ios: int
    cpu_ns: int


@dataclass(frozen=True)
class Block:
    """One repeat of one load: each drive's run alone, and its part of the run of all together, by path."""

    alone: Mapping[str, DriveRun]
    together: Mapping[str, DriveRun]
    together_Bps: Figure
    """The rate of all drives together."""

    @property
    def share(self) -> Ratio:
        """The rate of all drives together, as a share of the sum of their single rates."""
        return ratio(self.together_Bps, total([run.rate_Bps for run in self.alone.values()]))

    def share_of(self, path: str) -> Ratio:
        """Return the rate of a drive beside the others, as a share of its rate alone."""
        return ratio(self.together[path].rate_Bps, self.alone[path].rate_Bps)

    @property
    def cpu_ns(self) -> float:
        """The CPU time of a request in the run of all drives; 0 if the machine does not account it."""
        return sum(run.cpu_ns for run in self.together.values()) / self._ios

    @property
    def cpu_alone_ns(self) -> float:
        """The CPU time of a request if every drive served its share of the requests alone."""
        alone_ns = (
            run.ios * self.alone[path].cpu_ns / self.alone[path].ios for path, run in self.together.items()
        )
        return sum(alone_ns) / self._ios

    @property
    def _ios(self) -> int:
        return max(sum(run.ios for run in self.together.values()), 1)


def blocks_of(steps: Sequence[Position], targets: Sequence[str]) -> list[Block]:
    """Return the repeats of a load in which every drive has both runs and completed requests alone."""
    alone: dict[int, dict[str, DriveRun]] = defaultdict(dict)
    together: dict[int, tuple[dict[str, DriveRun], Figure]] = {}
    for step in steps:
        for run in step.runs:
            drives = drive_runs(run.record, list(run.intervals()))
            if step.at == 1:
                alone[run.plan.repeat] |= drives
            else:
                together[run.plan.repeat] = drives, run.figures.rate_figure
    return [
        Block(alone[repeat], drives, rate_Bps)
        for repeat, (drives, rate_Bps) in sorted(together.items())
        if set(drives) == set(alone[repeat]) == set(targets)
        and all(run.rate_Bps.value > 0 for run in alone[repeat].values())
    ]


def drive_runs(record: RunRecord, intervals: Sequence[Interval]) -> dict[str, DriveRun]:
    """Return the rate and the CPU time of each drive of a run, by path."""
    selected = Selection.of(record, JOB)
    rows = {(row.stage, row.row): row for row in record.result.rows}
    cpu_ns: dict[tuple[int, int], int] = defaultdict(int)
    for measured in record.result.workers:
        cpu_ns[measured.stage, measured.row] += measured.user_ns + measured.system_ns
    drives: dict[str, DriveRun] = {}
    for stage, planned in enumerate(record.plan.stages):
        for worker in planned.workers:
            key = (stage, worker.row)
            row, selection = rows[key], replace(selected, rows=frozenset({key}))
            tallies = selection.tallies([row])
            ios, moved = sum(tally.ios for tally in tallies), sum(tally.bytes for tally in tallies)
            over_time, _ = moments(
                intervals,
                reader=selection,
                pressure=Selection(),
                kind=Kind.LAT,
                interval_ns=record.plan.interval_ns,
            )
            rate = rate_with_interval(
                moved * 1e9 / max(row.end_ns - row.start_ns, 1),
                [moment.iops * moved / max(ios, 1) for moment in over_time],
                count=ios,
                unit="B/s",
            )
            drives[worker.files[0].path] = DriveRun(rate, ios, cpu_ns[key])
    return drives


def _sentences(series: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield whether the drives' rates add up under one load, and the CPU time of a request."""
    if not blocks:
        return
    rate = numbers.bandwidth(fmean(block.together_Bps.value for block in blocks))
    share = _over_repeats([block.share for block in blocks])
    shares = {path: _over_repeats([block.share_of(path) for block in blocks]) for path in blocks[0].alone}
    yield (
        f"{series}: together the drives reach {rate}, {_percent(share)} of the sum of their single rates; "
        f"{least_kept(shares)}"
    )
    if all(block.cpu_ns > 0 and block.cpu_alone_ns > 0 for block in blocks):
        cost = numbers.duration(fmean(block.cpu_ns for block in blocks))
        more = _over_repeats([Ratio(block.cpu_ns / block.cpu_alone_ns, None, None) for block in blocks])
        yield (
            f"{series}: together a request takes {cost} of CPU time, {numbers.times(more.value, more.low, more.high)} "
            "as much as alone"
        )


def least_kept(shares: Mapping[str, Ratio]) -> str:
    """Return which drive keeps the smallest share of its rate, if the intervals show it; ``shares``: two or more."""
    ascending = sorted(shares, key=lambda path: shares[path].value)
    worst, second, best = ascending[0], ascending[1], ascending[-1]
    high, low = shares[worst].high, shares[second].low
    if high is not None and low is not None and high < low:
        return f"{worst} keeps the smallest share of its own rate: {_percent(shares[worst])}"
    spread = f"{_percent(shares[worst])} to {_percent(shares[best])}"
    return f"the drives keep {spread} of their own rates; these runs cannot tell which keeps least"


def _over_repeats(ratios: Sequence[Ratio]) -> Ratio:
    """Return the ratio over repeats with the interval of the repeats; for a single repeat, that repeat's ratio.

    If a ratio is 0, because a drive completed nothing, there is no interval.
    """
    if len(ratios) == 1:
        return ratios[0]
    values = [share.value for share in ratios]
    if not all(value > 0 for value in values):
        return Ratio(fmean(values), None, None)
    over = repeated(values)
    return Ratio(over.value, over.low, over.high)


def _percent(share: Ratio) -> str:
    return numbers.ranged(share.value, share.low, share.high, numbers.percent)


def _steps(common: StepTemplate, paths: list[str]) -> Iterator[StepPlan]:
    for load in LOADS:
        for number, path in enumerate(paths, 1):
            yield _step(common, load, f"{load.key}-drive-{number}", [path], label=f"{path} alone")
        yield _step(common, load, f"{load.key}-together", paths, label=TOGETHER)


def _step(common: StepTemplate, load: Load, step_id: str, paths: list[str], *, label: str) -> StepPlan:
    options: dict[str, object] = {"rw": load.rw, "bs": load.bs, "iodepth": load.depth}
    # One section for each drive, all with one name: they are judged together, and their files tell them apart.
    jobs = {
        JOB + "_" * number: {"new_group": 1, **options, "filename": file_text(path)}
        for number, path in enumerate(paths)
    }
    # fio would add a section's files to global ones instead of replacing them.
    return common.step(step_id, len(paths), jobs, series=load.series, label=label, filename=None)
