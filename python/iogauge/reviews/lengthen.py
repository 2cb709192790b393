"""Lengthens steps that completed too few requests for the requested quantile.

The rate of a step's first run shows how long the step must run. The step runs again, at most ``CAP`` times as long as
planned, so that a far quantile on a slow drive does not take all night. A step that is still too short is marked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from iogauge import workload
from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import step_figures
from iogauge.stats.histogram import needed

CAP = 20
"""The most by which a step is lengthened."""
SPARE = 1.1
"""The margin over the length needed, since rates differ from run to run."""


def longer(plan: SuitePlan, step: StepPlan, record: RunRecord, *, q: float) -> StepPlan | None:
    """Return a longer step that supports the ``q``-quantile, or comes as near to it as ``CAP`` allows.

    None if the step keeps its length: it supports the quantile, completed nothing, was lengthened before, or
    ``why_not_lengthened`` gives a reason.
    """
    count = _count(plan, step, record)
    if step.longer > 1 or why_not_lengthened(step, plan.steps) or not 0 < count < needed(q):
        return None
    return stretched(step, min(math.ceil(SPARE * needed(q) / count), CAP))


def stretched(step: StepPlan, times: int) -> StepPlan:
    """Return the step with its runtime multiplied. ``why_not_lengthened`` must be None for it."""
    jobs = workload.jobs_of(step)
    longer_jobs = tuple(job.model_copy(update={"runtime_ns": job.runtime_ns * times}) for job in jobs.jobs)
    text = workload.to_fio(jobs.model_copy(update={"jobs": longer_jobs}))
    return step.model_copy(update={"job_file": text, "longer": times})


def why_not_lengthened(step: StepPlan, steps: Iterable[StepPlan]) -> str | None:
    """Return why a step cannot be lengthened; None if it can. ``steps`` are all steps of its plan."""
    if not step.judged:
        return "it only preconditions the drive"
    if step.purge:
        return "it begins with a purge"
    if sum(other.state_group == step.state_group for other in steps) > 1:
        return "the drive's state depends on the steps before it"
    if not all(job.runtime_ns for job in workload.jobs_of(step).jobs):
        return "one of its jobs ends after an amount, not after a time"
    return None


def shortfall(plan: SuitePlan, step: StepPlan, record: RunRecord, *, q: float) -> str | None:
    """Return why a complete step does not support the ``q``-quantile; None if it does, or is not judged."""
    if plan.prepares or not step.judged:
        return None
    count = _count(plan, step, record)
    if count >= needed(q):
        return None
    if step.longer > 1:
        why = f"it ran {step.longer} times as long, " + (
            "which is the limit" if step.longer == CAP else "but its rate fell"
        )
    else:
        why = f"it was not lengthened: {why_not_lengthened(step, plan.steps) or 'nothing completed'}"
    return f"p{q * 100:.12g} needs {needed(q):,} requests, and the step completed {count:,}; {why}"


def _count(plan: SuitePlan, step: StepPlan, record: RunRecord) -> int:
    """Return the number of a step's judged requests."""
    return step_figures(
        record,
        (),
        measured_job=plan.measured_job,
        load_jobs=plan.load_jobs,
        kind=step.kind or plan.kind,
        direction=step.direction,
    ).ios
