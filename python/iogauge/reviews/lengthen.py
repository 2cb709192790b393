"""Longer steps, where a quantile that was asked for takes more requests than the step completed.

A step's first run tells how fast it goes; from that follows how long it has to be. It is run again, at most ``CAP``
times as long as it was planned, so that a slow drive and a far quantile end in a mark and not in a lost night.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from iogauge import workload
from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import step_figures
from iogauge.stats.histogram import needed

CAP = 20
"""A step becomes at most so many times as long."""
SPARE = 1.1
"""How much longer than needed, since rates differ from run to run."""


def longer(plan: SuitePlan, step: StepPlan, record: RunRecord, *, q: float) -> StepPlan | None:
    """Return a step that supports the ``q``-quantile, or comes as near as ``CAP`` lets it.

    None: it stays as it is: it supports that, nothing completed, it was made longer before, or ``kept`` says why.
    """
    count = _count(plan, step, record)
    if step.longer > 1 or kept(step, plan.steps) or not 0 < count < needed(q):
        return None
    return stretched(step, min(math.ceil(SPARE * needed(q) / count), CAP))


def stretched(step: StepPlan, times: int) -> StepPlan:
    """Return a step whose jobs are measured so many times as long; one that nothing keeps as it is."""
    jobs = workload.jobs_of(step)
    longer_jobs = tuple(job.model_copy(update={"runtime_ns": job.runtime_ns * times}) for job in jobs.jobs)
    text = workload.to_fio(jobs.model_copy(update={"jobs": longer_jobs}))
    return step.model_copy(update={"job_file": text, "longer": times})


def kept(step: StepPlan, steps: Iterable[StepPlan]) -> str | None:
    """Return why a step keeps its length whatever its sample, in words; None: it can be made longer.

    ``steps`` are all of its plan.
    """
    if not step.judged:
        return "it only brings the drive into a state"
    if step.purge:
        return "it begins with a purge"
    if sum(each.state_group == step.state_group for each in steps) > 1:
        return "the drive's state depends on the steps before it"
    if not all(job.runtime_ns for job in workload.jobs_of(step).jobs):
        return "a job of it ends with what it moves"
    return None


def shortfall(plan: SuitePlan, step: StepPlan, record: RunRecord, *, q: float) -> str | None:
    """Return that a complete step does not support the ``q``-quantile, and why it was left so; None: it does.

    Of a step that brings a drive into a state nothing is asked.
    """
    if plan.prepares or not step.judged:
        return None
    count = _count(plan, step, record)
    if count >= needed(q):
        return None
    if step.longer > 1:
        why = f"it was run {step.longer} times as long, " + (
            "and no step becomes longer" if step.longer == CAP else "and its rate fell"
        )
    else:
        why = f"it was not run longer: {kept(step, plan.steps) or 'nothing completed'}"
    return f"p{q * 100:.12g} takes {needed(q):,} requests, and it completed {count:,}; {why}"


def _count(plan: SuitePlan, step: StepPlan, record: RunRecord) -> int:
    """Return how many of a step's requests are judged."""
    return step_figures(
        record,
        (),
        reader=plan.reader,
        pressure=plan.pressure,
        kind=plan.kind,
        direction=step.direction,
    ).ios
