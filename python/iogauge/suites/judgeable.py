"""Refuses planned steps that could not be judged, before any of them is run.

What is judged is a job of a step, by the row in which a run reports it. A row of several jobs (``group_reporting``) can
be told apart by their directions alone: see ``stats.selection``, which reads a run by the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Job, StepPlan, SuitePlan


def check_judgeable(plan: SuitePlan, steps: Iterable[StepPlan]) -> None:
    """Raise IogaugeError where a step has no job that is judged, or reports it in one row with another's requests."""
    for step in steps:
        if not step.judged:
            continue
        jobs = workload.parse(step.job_file, source=step.id).jobs
        if plan.reader not in {job.name for job in jobs}:
            raise IogaugeError(
                f"step {step.id} has no job {plan.reader!r}, whose latency is to be judged",
                hint="give one of its jobs that name, or let the suite judge another",
            )
        for name in filter(None, (plan.reader, plan.pressure)):
            if other := _merged_with(name, jobs):
                raise IogaugeError(
                    f"step {step.id}: job {name!r} would be reported in one row with {other!r}, and both issue the "
                    "same direction",
                    hint="give them groups of their own: new_group, or no group_reporting",
                )


def _merged_with(name: str, jobs: Iterable[Job]) -> str | None:
    """Return another job that is reported in a row with the jobs of this name, and issues a direction of theirs."""
    rows: dict[object, list[Job]] = {}
    group = 0
    for place, job in enumerate(jobs):
        group += bool(place) and (job.stonewall or job.new_group)
        rows.setdefault(("group", group) if job.group_reporting else place, []).append(job)
    for row in rows.values():
        directions = {way for job in row if job.name == name for way in job.rw.directions}
        others = [job.name for job in row if job.name != name and job.rw.directions & directions]
        if others:
            return others[0]
    return None
