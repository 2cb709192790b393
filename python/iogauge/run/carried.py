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
from iogauge.run.imported import jobs_of_rows, planned_record
from iogauge.schema import Direction, Interval, Job, JobFile, RunRecord, Tally
from iogauge.store.imported import ImportedFigures, ImportedRow, ImportedStep, read_foreign
from iogauge.workload import diskspd_jobs, powershell
from iogauge.workload.diskspd_commands import Process

Program = Literal["fio", "diskspd"]

_COMPARED = (
    ("rw", "rw"), ("bs", "bs"), ("iodepth", "iodepth"), ("numjobs", "numjobs"), ("runtime_ns", "runtime"),
    ("rate_Bps", "rate"), ("rate_iops", "rate_iops"), ("rwmix_read_percent", "rwmixread"),
)  # fmt: skip
"""Fields of a job that say which load it is, and the options that a user knows them by. Where it ran may be another
name on another machine."""


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A step that another program ran."""

    record: RunRecord
    intervals: tuple[Interval, ...]
    version: str
    """The program's."""
    said: tuple[str, ...]
    """What makes its figures mean less than they seem to, a sentence each."""


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
        for row, (first, *_) in zip(step.rows, jobs_of_rows(jobs), strict=False):
            _same(paths[0], jobs.jobs[first], step.jobs.jobs[row.section] if step.jobs else None)
        steps: tuple[ImportedStep, ...] = (step,)
        otherwise: tuple[str, ...] = ()
    else:
        steps = tuple(_one(path, program) for path in paths)
        processes = [each for stage in powershell.results("step", jobs) for _, each in stage]
        for path, process, step in zip(paths, processes, steps, strict=True):
            expected = diskspd_jobs.jobs_of(process.command)[0]
            _same(path, expected, step.jobs.jobs[0] if step.jobs else None)
        rows, intervals = _together(jobs, processes, steps)
        otherwise = tuple(f"DiskSpd {note}" for process in processes for note in process.notes)
    record, placed = planned_record(
        jobs,
        rows,
        intervals,
        seed=seed,
        source=str(paths[0]),
        version=steps[0].version,
        started_at=min((step.started_at for step in steps if step.started_at), default=None),
    )
    return Carried(
        record=record,
        intervals=placed,
        version=steps[0].version,
        said=tuple(dict.fromkeys([*(said for step in steps for said in step.warnings), *otherwise])),
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


def _same(path: Path, planned: Job, told: Job | None) -> None:
    """Refuse a result that tells of another load; one that does not tell is taken for what its name says."""
    for field, option in _COMPARED if told else ():
        ours, theirs = getattr(planned, field), getattr(told, field)
        if ours != theirs:
            raise IogaugeError(
                f"{path}: is of another run than the step [{planned.name}]: it ran with another {option}",
                hint="remove it, and run the script again",
            )


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
