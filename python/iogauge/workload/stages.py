"""Divides the jobs of a file into stages. A stage begins after all earlier jobs have ended.

stonewall begins a stage. So does wait_for, where that means the same as in fio: the job waits for all jobs of the stage
before it, and every job after it waits, too. Elsewhere the job stays in its stage, and begins when the awaited job ends
(``waits``). If the awaited job is in an earlier stage, it begins with its own stage.

Source: fio 3.33's backend.c (run_threads, waitee_running), init.c (wait_for_ok).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.errors import IogaugeError
from iogauge.schema import Job


def stages(jobs: Sequence[Job], *, source: str = "job file") -> list[int]:
    """Return the stage of each job, from 0. Raises IogaugeError if a job waits for one that is not before it.

    >>> stages([Job(name="a"), Job(name="b", wait_for="a"), Job(name="c", stonewall=True)])
    [0, 1, 2]
    >>> stages([Job(name="a"), Job(name="b"), Job(name="c", wait_for="a")])
    [0, 0, 0]
    """
    numbers: list[int] = []
    for wall in _walls(jobs):
        parts = _parts(jobs, wall, source)
        if parts is None:
            _refuse_flows(jobs, wall, source)
        first = numbers[-1] + 1 if numbers else 0
        numbers += [first + part for part in parts or [0] * len(wall)]
    return numbers


def waits(jobs: Sequence[Job]) -> list[frozenset[int]]:
    """Return for each job the jobs of its stage that end before it begins, by their indices.

    >>> waits([Job(name="a"), Job(name="b"), Job(name="c", wait_for="a")])
    [frozenset(), frozenset(), frozenset({0})]
    >>> waits([Job(name="a"), Job(name="b", wait_for="a")])
    [frozenset(), frozenset()]
    """
    of_jobs = stages(jobs)
    ended: list[frozenset[int]] = []
    for index, job in enumerate(jobs):
        other = _awaited(jobs, index, "job file") if job.wait_for else None
        inside = other is not None and of_jobs[other] == of_jobs[index]
        ended.append(ended[other] | {other} if other is not None and inside else frozenset())
    return ended


def held(jobs: Sequence[Job]) -> list[bool]:
    """Return for each stage whether commands of jobs come before it. Those of the first stage precede the run.

    >>> held([Job(name="a", exec_postrun="sync"), Job(name="b", stonewall=True), Job(name="c", stonewall=True)])
    [False, True, False]
    """
    of_jobs = list(zip(jobs, stages(jobs), strict=True))
    before = {stage for job, stage in of_jobs if job.exec_prerun}
    after = {stage + 1 for job, stage in of_jobs if job.exec_postrun}
    return [stage in (before | after) - {0} for stage in dict.fromkeys(stage for _, stage in of_jobs)]


def _walls(jobs: Sequence[Job]) -> Iterator[range]:
    """Yield the indices of the jobs from one stonewall to the next."""
    starts = [index for index, job in enumerate(jobs) if job.stonewall or not index]
    for start, end in zip(starts, [*starts[1:], len(jobs)], strict=True):
        yield range(start, end)


def _parts(jobs: Sequence[Job], wall: range, source: str) -> list[int] | None:
    """Return the stages of jobs without a stonewall between them, from 0; None: some begin in the middle of one."""
    numbers: list[int] = []
    first, stands_apart = wall.start, True
    for index in wall:
        job = jobs[index]
        awaited = _awaited(jobs, index, source) if job.wait_for else None
        if awaited is not None and awaited >= first:
            stands_apart &= all(other.name == job.wait_for for other in jobs[first:index])
            first = index
            numbers.append(numbers[-1] + 1)
        else:
            stands_apart &= awaited is not None or first == wall.start
            numbers.append(numbers[-1] if numbers else 0)
    return numbers if stands_apart else None


def _refuse_flows(jobs: Sequence[Job], wall: range, source: str) -> None:
    """Raise IogaugeError for a job of a flow that begins after others of its stage: they would wait for it."""
    for index in wall:
        job = jobs[index]
        if job.flow and job.wait_for and _awaited(jobs, index, source) >= wall.start:
            raise IogaugeError(
                f"{source}: [{job.name}] flow is not supported for a job that begins in the middle of others",
                hint="use stonewall, so that all jobs of the flow begin together",
            )


def _awaited(jobs: Sequence[Job], index: int, source: str) -> int:
    """Return the index of the job that job number ``index`` waits for."""
    job = jobs[index]
    named = [number for number, other in enumerate(jobs[:index]) if other.name == job.wait_for]
    if len(named) == 1:
        return named[0]
    reason = "names several jobs" if named else "names no earlier job"
    raise IogaugeError(
        f"{source}: [{job.name}] wait_for={job.wait_for}: {reason}", hint="name one job that comes before"
    )
