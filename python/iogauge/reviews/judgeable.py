"""Refuses planned steps that could not be judged, before any of them runs.

A suite judges one job of a step by the row that reports it. Jobs that share a row (``group_reporting``)
differ only by their directions: ``stats.selection`` reads a run by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Direction, JobFile, StepPlan
from iogauge.stats.selection import directions_issued, mixed_with
from iogauge.workload.clones import clones


def check_judgeable(steps: Iterable[StepPlan], *, measured_job: str, load_jobs: str | None) -> None:
    """Raise IogaugeError for a step without the measured job, or whose rows would mix its figures with another job's.

    ``measured_job`` names the measured job, ``load_jobs`` the jobs that load the drive meanwhile.
    """
    for step in steps:
        if not step.judged:
            continue
        job_file = workload.jobs_of(step)
        if measured_job not in {job.name for job in job_file.jobs}:
            raise IogaugeError(
                f"step {step.id} has no job {measured_job!r}, whose latency is to be judged",
                hint="give one of its jobs that name, or let the suite judge another",
            )
        for name, direction in ((measured_job, step.direction), (load_jobs, None)):
            if name and (other := _mixed_with(name, job_file, direction)):
                raise IogaugeError(
                    f"step {step.id}: job {name!r} would be reported in one row with {other!r}, and both issue the "
                    "same direction",
                    hint="give each its own group: new_group, or no group_reporting",
                )


def _mixed_with(name: str, job_file: JobFile, direction: Direction | None) -> str | None:
    """Return a job whose figures would be mixed with those of job ``name``; None if there is none."""
    rows: dict[int, dict[str, None]] = {}
    for clone in clones(job_file):
        rows.setdefault(clone.row, {})[job_file.jobs[clone.job].name] = None
    in_rows = (other for row in rows.values() if name in row for other in row)
    return mixed_with(directions_issued(job_file.jobs), name, in_rows, direction=direction)
