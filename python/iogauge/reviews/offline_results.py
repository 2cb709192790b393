"""What fio or DiskSpd left of a step that was planned here: their files as the record and the intervals of that step.

The jobs are the plan's, and a result that tells of others is refused: it is of another step, or of an older plan. fio
leaves one file a step, whose rows are the plan's. DiskSpd leaves one for each process, and a row of the plan is all
processes that its jobs are: counts add up, and percentiles are kept where one process alone has them.

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
from iogauge.workload.diskspd.commands import UNSAID, Process
from iogauge.workload.options.table import OPTIONS

Program = Literal["fio", "diskspd"]

_ELSEWHERE = UNSAID | {"filename", "directory"}
"""Options that need not be the planned ones: what only concerns the reporting, and a target's name, which another
machine may have another for."""
_UNTOLD = frozenset({
    "refill_buffers", "zero_buffers", "scramble_buffers", "randrepeat", "randseed", "cpus_allowed",
    "cpus_allowed_policy", "ioengine",
})  # fmt: skip
"""Options that DiskSpd's XML does not tell, or not as they were given, and the engine, which follows from others."""
_PASS = frozenset({"offset", "size"})
"""Options that differ from pass to pass of what goes through all of a target."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A step that another program ran."""

    record: RunRecord
    intervals: tuple[Interval, ...]
    version: str
    """The program's."""
    said: tuple[str, ...]
    """What makes its figures mean less than they seem to, a sentence each."""
    started_at: str | None
    """UTC, ISO 8601; None: its files do not tell."""


def result_paths(directory: Path, step_id: str, jobs: JobFile, program: Program) -> tuple[Path, ...]:
    """Return the files that hold a step's result. Raises IogaugeError where the program cannot run the step."""
    if program == "fio":
        return (directory / f"{step_id}.json",)
    return tuple(directory / name for stage in powershell.results(step_id, jobs) for name, _ in stage)


def read_carried(paths: Sequence[Path], jobs: JobFile, program: Program, *, seed: int) -> Carried:
    """Return the step whose files these are.

    Raises IogaugeError, which names the file, where one is missing, damaged, or of another step.
    """
    if program == "fio":
        step = _one(paths[0], program)
        rows, intervals = step.rows, step.intervals
        steps: tuple[ImportedStep, ...] = (step,)
        otherwise: list[str] = []
        for row, (first, *_) in zip(step.rows, jobs_of_rows(jobs), strict=False):
            if step.jobs:
                told = step.jobs.jobs[row.section]
                _same(paths[0], jobs.jobs[first], told, besides=_ELSEWHERE)
                otherwise += _elsewhere(jobs.jobs[first], told)
    else:
        steps = tuple(_one(path, program) for path in paths)
        processes = [each for stage in powershell.results("step", jobs) for _, each in stage]
        otherwise = [f"DiskSpd {note}" for process in processes for note in process.notes]
        for path, process, step in zip(paths, processes, steps, strict=True):
            if step.jobs:
                expected = diskspd_jobs.job_file(process.command, source=str(path)).jobs[0]
                besides = _ELSEWHERE | _UNTOLD | (_PASS if process.loops else frozenset())
                _same(path, expected, step.jobs.jobs[0], besides=besides)
                otherwise += _elsewhere(expected, step.jobs.jobs[0])
        rows, intervals = _together(jobs, processes, steps)
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
    return Carried(
        record=record,
        intervals=placed,
        version=steps[0].version,
        said=tuple(dict.fromkeys([*(said for step in steps for said in step.warnings), *otherwise])),
        started_at=started_at,
    )


def _one(path: Path, program: Program) -> ImportedStep:
    if not path.is_file():
        raise IogaugeError(f"{path}: is not there", hint="run the script again: it runs what has no result")
    found = read_foreign(path)
    if len(found) != 1 or found[0].tool != program:
        raise IogaugeError(
            f"{path}: is not one run of {program}'s", hint="remove it, and run the script again"
        )
    return found[0]


def _same(path: Path, planned: Job, told: Job, *, besides: frozenset[str]) -> None:
    """Refuse a result that tells of another load, by any option but those ``besides``."""
    for option in OPTIONS:
        if option.name not in besides and option.text(planned) != option.text(told):
            raise IogaugeError(
                f"{path}: is of another run than the step [{planned.name}]: it ran with another {option.name}",
                hint="remove it, and run the script again",
            )


def _elsewhere(planned: Job, told: Job) -> Iterator[str]:
    """Yield that a target had another name."""
    ours, theirs = (", ".join(job.filenames) for job in (planned, told))
    if ours and theirs and ours != theirs:
        yield f"it ran on {theirs}, where {ours} was planned"


def _together(
    jobs: JobFile, processes: Sequence[Process], steps: Sequence[ImportedStep]
) -> tuple[tuple[ImportedRow, ...], tuple[Interval, ...]]:
    """Return the plan's rows, each of all processes that issued its jobs."""
    rows: list[ImportedRow] = []
    intervals: list[Interval] = []
    taken: set[int] = set()
    for row, places in enumerate(jobs_of_rows(jobs)):
        # Clones that are reported one by one are one process: what they did is in the first's row.
        mine = [index for index, each in enumerate(processes) if set(each.jobs) <= set(places) - taken]
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
        each = [part.figures[way] for part in parts if way in part.figures]
        if each:
            figures[way] = ImportedFigures(
                ios=sum(one.ios for one in each),
                bytes=sum(one.bytes for one in each),
                iops=sum(one.iops for one in each),
                rate_Bps=sum(one.rate_Bps for one in each),
                # Percentiles of two processes do not make those of both.
                latencies=each[0].latencies if len(each) == 1 else {},
            )
    return ImportedRow(
        name=name, duration_s=max((part.duration_s for part in parts), default=0.0), figures=figures
    )


def _added(courses: Iterable[Sequence[Interval]], row: int) -> Iterator[Interval]:
    """Yield the intervals of several processes as those of one row: what each did in the same one adds up."""
    found: dict[int, list[Interval]] = {}
    for course in courses:
        for interval in course:
            found.setdefault(interval.index, []).append(interval)
    for _, parts in sorted(found.items()):
        ways = dict.fromkeys(way for part in parts for way in part.tallies)
        tallies = {
            way: Tally(
                ios=sum(part.tallies[way].ios for part in parts if way in part.tallies),
                bytes=sum(part.tallies[way].bytes for part in parts if way in part.tallies),
            )
            for way in ways
        }
        yield parts[0].model_copy(update={"row": row, "tallies": tallies})
