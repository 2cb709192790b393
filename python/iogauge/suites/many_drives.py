"""Many drives: whether several give together what each gives alone, and what that costs the machine.

Drives that share a controller, a switch or a machine's memory and CPUs may not add up. Each target is measured alone,
one after the other, and then all at once, under four loads: 4 KiB random reads at depth 32, 128 KiB sequential reads at
depth 8, and the same as writes. Every drive has one thread of its own, alone and together.

**What is found.** What all give together, as a share of the sum of what each gave alone; the drive that keeps the
smallest share of its own; and the CPU time that a request costs, alone and together, where the machine accounts for it.

Overhead and caveats. Nothing is published of the procedure; the evaluation guide only says that two drives exceed a
million requests a second. With more drives than CPUs the threads share them, and what does not add up may be the
generator: its own ceiling and its warnings stand beside. CPU time is the threads' own, in user and kernel mode;
interrupts that other CPUs serve are not in it. Drive models stand behind one machine model, whose CPUs are as many as
there are threads.

Source: Intel's evaluation guide (two drives, more than a million requests a second); the loads are AnandTech's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from iogauge.schema import Axis, RunRecord, StepPlan, SuitePlan
from iogauge.stats import words
from iogauge.stats.repeats import repeated
from iogauge.stats.selection import Selection
from iogauge.suites.judgement import Judgement, StepJudgement
from iogauge.suites.suite import Asked, Common, Pace, Suite
from iogauge.workload.numbers import SECOND
from iogauge.workload.patterns import file_text

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
    READER = JOB
    JUDGED = "I/O"
    TOGETHER = True
    FEWEST_TARGETS = 2
    # Each load runs once for every drive and once for all.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, asked: Asked) -> SuitePlan:
        """Each drive alone, then all together, under four loads."""
        empty = self.empty(asked)
        paths = [target.path for target in asked.targets]
        return empty.model_copy(update={"steps": tuple(_steps(Common.of(empty), paths))})

    def findings(self, judgement: Judgement, /) -> tuple[str, ...]:
        """Return of each load whether the drives add up, and what a request costs the machine."""
        return tuple(
            said
            for series, steps in judgement.by_series().items()
            for said in _said(series, steps, judgement.plan)
        )


Rates = Mapping[str, float]
"""What each drive gave, by its path, bytes a second."""


def _said(series: str, steps: tuple[StepJudgement, ...], plan: SuitePlan) -> Iterator[str]:
    """Yield how the drives add up under one load; with repeats, by the means over these."""
    alone = [step for step in steps if step.plan.at == 1]
    together = [step for step in steps if step.plan.at > 1]
    before, after = _means(alone), _means(together)
    if set(before) != set(plan.targets) or set(after) != set(plan.targets) or not all(before.values()):
        return
    whole = sum(after.values())
    shares = {path: after[path] / before[path] for path in plan.targets}
    worst = min(shares, key=shares.__getitem__)
    each = [(_rates(alone, repeat), _rates(together, repeat)) for repeat in range(_repeats(steps))]
    kept = _over(each, lambda own, all_: sum(all_.values()) / sum(own.values()))
    least = _over(each, lambda own, all_: all_[worst] / own[worst])
    yield (
        f"{series}: {words.bandwidth(whole)} together, {kept or words.percent(whole / sum(before.values()))} of what "
        f"the drives give alone; {worst} keeps least, {least or words.percent(shares[worst])} of its own"
    )
    costs = [_cpu_ns(step) for step in alone]
    if (cost := fmean(map(_cpu_ns, together))) > 0:
        yield (
            f"{series}: a request costs {words.duration(cost)} of CPU time together, "
            f"{words.duration(min(costs))} to {words.duration(max(costs))} alone"
        )


def _means(steps: list[StepJudgement]) -> dict[str, float]:
    """Return what each drive gave, bytes a second, the mean of all steps in which it took part."""
    found: dict[str, list[float]] = {}
    for step in steps:
        for record in step.records:
            for path, rate_Bps in rates_Bps(record).items():
                found.setdefault(path, []).append(rate_Bps)
    return {path: fmean(rates) for path, rates in found.items()}


def _repeats(steps: Sequence[StepJudgement]) -> int:
    """Return how often all the steps were run; 1 where one lost a repeat, so that they cannot be paired."""
    counts = {len(step.records) for step in steps}
    return counts.pop() if len(counts) == 1 else 1


def _rates(steps: Sequence[StepJudgement], repeat: int) -> Rates:
    """Return what each drive gave in one repeat, bytes a second."""
    return {path: rate for step in steps for path, rate in rates_Bps(step.records[repeat]).items()}


def _over(each: Sequence[tuple[Rates, Rates]], share: Callable[[Rates, Rates], float]) -> str:
    """Return a share over the repeats with its interval, each repeat's drives against themselves.

    Empty for one repeat, and where a drive stood still in one.
    """
    if len(each) < 2 or not all(rate > 0 for sides in each for side in sides for rate in side.values()):
        return ""
    found = repeated([share(own, all_) for own, all_ in each])
    return words.ranged(found.value, found.low, found.high, words.percent)


def rates_Bps(record: RunRecord) -> dict[str, float]:
    """Return what each drive gave in a run, by its path, bytes a second."""
    selected = Selection.of(record, JOB)
    rows = {(row.stage, row.row): row for row in record.result.rows}
    found: dict[str, float] = {}
    for stage, each in enumerate(record.plan.stages):
        for worker in each.workers:
            row = rows[stage, worker.row]
            moved = sum(tally.bytes for tally in selected.tallies([row]))
            found[worker.files[0].path] = moved * 1e9 / max(row.end_ns - row.start_ns, 1)
    return found


def _cpu_ns(step: StepJudgement) -> float:
    """Return the CPU time of all threads for each request; 0 where none was accounted."""
    workers = [worker for record in step.records for worker in record.result.workers]
    return sum(worker.user_ns + worker.system_ns for worker in workers) / max(step.figures.ios, 1)


def _steps(common: Common, paths: list[str]) -> Iterator[StepPlan]:
    for load in LOADS:
        for place, path in enumerate(paths, 1):
            yield _step(common, load, f"{load.key}-drive-{place}", [path], label=f"{path} alone")
        yield _step(common, load, f"{load.key}-together", paths, label=TOGETHER)


def _step(common: Common, load: Load, step_id: str, paths: list[str], *, label: str) -> StepPlan:
    options: dict[str, object] = {"rw": load.rw, "bs": load.bs, "iodepth": load.depth}
    # Sections of one name, each a row of its own: judged together, and told apart by their files.
    jobs = {
        JOB + "_" * place: {"new_group": 1, **options, "filename": file_text(path)}
        for place, path in enumerate(paths)
    }
    # fio adds a section's files to the global ones, instead of replacing them.
    return common.step(step_id, len(paths), jobs, series=load.series, label=label, filename=None)
