"""Reads the results of fio or DiskSpd for a step that iogauge planned, as the step's record and intervals.

The jobs are the plan's. A result with other jobs is refused: it is of another step, or of an older plan. fio writes one
file a step, and its rows are the plan's. DiskSpd writes one file a process, and a row of the plan sums up the processes
that its jobs became: their counts add up, and percentiles are kept only if one process alone has them.

Source: fio 3.33 (its JSON), DiskSpd 2.2 (its XML).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from iogauge.errors import IogaugeError
from iogauge.reviews.imported_run import jobs_of_rows, planned_record
from iogauge.schema import Direction, Interval, Job, JobFile, RunRecord, Tally
from iogauge.store.imported import ImportedFigures, ImportedRow, ImportedStep, read_foreign
from iogauge.workload.diskspd import jobs as diskspd_jobs
from iogauge.workload.diskspd import powershell
from iogauge.workload.diskspd.commands import NOT_NEEDED, Process
from iogauge.workload.options.table import OPTIONS

Program = Literal["fio", "diskspd"]

_MAY_DIFFER = NOT_NEEDED | {"filename", "directory"}
"""Options that may differ from the plan: those that only concern reports, and the target, whose name depends on the
machine."""
_UNREPORTED = frozenset({
    "refill_buffers", "zero_buffers", "scramble_buffers", "randrepeat", "randseed", "cpus_allowed",
    "cpus_allowed_policy", "ioengine",
})  # fmt: skip
"""Options that DiskSpd's XML lacks or changes, and the engine, which follows from other options."""
_PASS = frozenset({"offset", "size"})
"""Options that differ between the passes of a job that covers its whole target."""


@dataclass(frozen=True, kw_only=True)
class OfflineRun:
    """The run of a step by another program."""

    record: RunRecord
    intervals: tuple[Interval, ...]
    version: str
    """Of the program."""
    warnings: tuple[str, ...]
    """The limits of its figures, a sentence each."""
    started_at: str | None
    """UTC, ISO 8601; None if its files do not report it."""


def result_paths(directory: Path, step_id: str, jobs: JobFile, program: Program) -> tuple[Path, ...]:
    """Return the files of a step's result. Raises IogaugeError if the program cannot run the step."""
    if program == "fio":
        return (directory / f"{step_id}.json",)
    return tuple(directory / name for stage in powershell.results(step_id, jobs) for name, _ in stage)


def read_offline_run(paths: Sequence[Path], jobs: JobFile, program: Program, *, seed: int) -> OfflineRun:
    """Read the run of a step from its files.

    Raises IogaugeError, which names the file, if one is missing, damaged, or of another step.
    """
    if program == "fio":
        step = _one(paths[0], program)
        rows, intervals = step.rows, step.intervals
        steps: tuple[ImportedStep, ...] = (step,)
        warnings: list[str] = []
        for row, (first, *_) in zip(step.rows, jobs_of_rows(jobs), strict=False):
            if step.jobs:
                actual = step.jobs.jobs[row.section]
                _require_same(paths[0], jobs.jobs[first], actual, besides=_MAY_DIFFER)
                warnings += _other_target(jobs.jobs[first], actual)
    else:
        steps = tuple(_one(path, program) for path in paths)
        processes = [process for stage in powershell.results("step", jobs) for _, process in stage]
        warnings = [f"DiskSpd {note}" for process in processes for note in process.notes]
        for path, process, step in zip(paths, processes, steps, strict=True):
            if step.jobs:
                expected = diskspd_jobs.job_file(process.command, source=str(path)).jobs[0]
                besides = _MAY_DIFFER | _UNREPORTED | (_PASS if process.loops else frozenset())
                _require_same(path, expected, step.jobs.jobs[0], besides=besides)
                warnings += _other_target(expected, step.jobs.jobs[0])
        rows, intervals = _summed(jobs, processes, steps)
    started_at = min((step.started_at for step in steps if step.started_at), default=None)
    record, placed = planned_record(
        jobs,
        rows,
        intervals,
        seed=seed,
        source=str(paths[0]),
        version=steps[0].version,
        started_at=started_at,
    )
    return OfflineRun(
        record=record,
        intervals=placed,
        version=steps[0].version,
        warnings=tuple(dict.fromkeys([*(text for step in steps for text in step.warnings), *warnings])),
        started_at=started_at,
    )


def _one(path: Path, program: Program) -> ImportedStep:
    if not path.is_file():
        raise IogaugeError(
            f"{path}: does not exist", hint="run the script again: it runs the steps without a result"
        )
    runs = read_foreign(path)
    if len(runs) != 1 or runs[0].tool != program:
        raise IogaugeError(
            f"{path}: is not the result of one {program} run", hint="remove it, and run the script again"
        )
    return runs[0]


def _require_same(path: Path, planned: Job, actual: Job, *, besides: frozenset[str]) -> None:
    """Refuse a result whose options differ from the plan, apart from those in ``besides``."""
    for option in OPTIONS:
        if option.name not in besides and option.text(planned) != option.text(actual):
            raise IogaugeError(
                f"{path}: is not a result of the step [{planned.name}]: it ran with another {option.name}",
                hint="remove it, and run the script again",
            )


def _other_target(planned: Job, actual: Job) -> Iterator[str]:
    """Yield a warning if the target had another name than planned."""
    ours, theirs = (", ".join(job.filenames) for job in (planned, actual))
    if ours and theirs and ours != theirs:
        yield f"it ran on {theirs} instead of {ours}"


def _summed(
    jobs: JobFile, processes: Sequence[Process], steps: Sequence[ImportedStep]
) -> tuple[tuple[ImportedRow, ...], tuple[Interval, ...]]:
    """Return the rows of the plan with their intervals, summed over the processes that issued their jobs."""
    rows: list[ImportedRow] = []
    intervals: list[Interval] = []
    taken: set[int] = set()
    for row, places in enumerate(jobs_of_rows(jobs)):
        # Clones with rows of their own are one process: its figures are in the row of the first clone.
        mine = [index for index, process in enumerate(processes) if set(process.jobs) <= set(places) - taken]
        taken |= set(places)
        rows.append(_row(jobs.jobs[places[0]].name, [steps[index].rows[0] for index in mine]))
        intervals += _added([steps[index].intervals for index in mine], row)
    return tuple(rows), tuple(intervals)


def _row(name: str, parts: Sequence[ImportedRow]) -> ImportedRow:
    if len(parts) == 1:
        (part,) = parts
        return ImportedRow(
            name=name, duration_s=part.duration_s, figures=part.figures, together=part.together
        )
    figures = {}
    for way in Direction:
        same_way = [part.figures[way] for part in parts if way in part.figures]
        if same_way:
            figures[way] = ImportedFigures(
                ios=sum(one.ios for one in same_way),
                bytes=sum(one.bytes for one in same_way),
                iops=sum(one.iops for one in same_way),
                rate_Bps=sum(one.rate_Bps for one in same_way),
                # Percentiles of two processes cannot be merged.
                latencies=same_way[0].latencies if len(same_way) == 1 else {},
            )
    return ImportedRow(
        name=name, duration_s=max((part.duration_s for part in parts), default=0.0), figures=figures
    )


def _added(courses: Iterable[Sequence[Interval]], row: int) -> Iterator[Interval]:
    """Yield the intervals of several processes as those of one row: counts of the same interval add up."""
    by_index: dict[int, list[Interval]] = {}
    for course in courses:
        for interval in course:
            by_index.setdefault(interval.index, []).append(interval)
    for _, parts in sorted(by_index.items()):
        ways = dict.fromkeys(way for part in parts for way in part.tallies)
        tallies = {
            way: Tally(
                ios=sum(part.tallies[way].ios for part in parts if way in part.tallies),
                bytes=sum(part.tallies[way].bytes for part in parts if way in part.tallies),
            )
            for way in ways
        }
        yield parts[0].model_copy(update={"row": row, "tallies": tallies})
