"""Divides the jobs of a file into stages: jobs that start together, after all earlier ones have ended.

stonewall begins a stage. So does wait_for, where that means the same as in fio: the job waits for all jobs of the stage
before it, and every job after it waits, too. Where other jobs would run meanwhile, wait_for is refused.

Source: fio 3.33's backend.c (run_threads, waitee_running), init.c (wait_for_ok).
"""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.errors import IogaugeError
from iogauge.schema import Job


def stages(jobs: Sequence[Job], *, source: str = "job file") -> list[int]:
    """Return the stage of each job, from 0. Raises IogaugeError for a wait_for that stages cannot express.

    >>> stages([Job(name="a"), Job(name="b", wait_for="a"), Job(name="c", stonewall=True)])
    [0, 1, 2]
    """
    numbers: list[int] = []
    stage, first = 0, 0
    waits = False
    for index, job in enumerate(jobs):
        if index and job.stonewall:
            stage, first, waits = stage + 1, index, False
        if job.wait_for:
            awaited = _awaited(jobs, index, source)
            if awaited >= first:
                others = [other.name for other in jobs[first:index] if other.name != job.wait_for]
                if others:
                    raise _refused(job, f"'{others[0]}' may still run then", source)
                stage, first, waits = stage + 1, index, True
        elif waits:
            raise _refused(job, f"it would start before '{jobs[first].name}', which waits", source)
        numbers.append(stage)
    return numbers


def held(jobs: Sequence[Job]) -> list[bool]:
    """Return for each stage whether commands of jobs come before it. Those of the first stage precede the run.

    >>> held([Job(name="a", exec_postrun="sync"), Job(name="b", stonewall=True), Job(name="c", stonewall=True)])
    [False, True, False]
    """
    of_jobs = list(zip(jobs, stages(jobs), strict=True))
    before = {stage for job, stage in of_jobs if job.exec_prerun}
    after = {stage + 1 for job, stage in of_jobs if job.exec_postrun}
    return [stage in (before | after) - {0} for stage in dict.fromkeys(stage for _, stage in of_jobs)]


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


def _refused(job: Job, reason: str, source: str) -> IogaugeError:
    return IogaugeError(
        f"{source}: [{job.name}] wait_for is supported only between jobs that run one after the other: {reason}",
        hint="use stonewall, or order the jobs so that each waits for the ones before it",
    )
