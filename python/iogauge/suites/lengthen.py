"""Longer steps, where a quantile that was asked for takes more requests than the step completed.

A step's first run tells how fast it goes; from that follows how long it has to be. It is run again, at most ``CAP``
times as long as it was planned, so that a slow drive and a far quantile end in a mark and not in a lost night.
"""

from __future__ import annotations

import math

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

    None: it stays as it is, because its sample is large enough, or nothing completed, or it was made longer before,
    or because it is one of several whose drive state depends on the one before, or begins with a purge.
    """
    count = step_figures(record, (), reader=plan.reader, pressure=plan.pressure).ios
    alone = sum(each.state_group == step.state_group for each in plan.steps) == 1
    if not step.judged or step.purge or not alone or step.longer > 1 or not 0 < count < needed(q):
        return None
    times = min(math.ceil(SPARE * needed(q) / count), CAP)
    jobs = workload.parse(step.job_file, source=step.id)
    stretched = tuple(
        job.model_copy(update={"runtime_ns": job.runtime_ns * times}) for job in jobs.jobs if job.runtime_ns
    )
    if len(stretched) < len(jobs.jobs):
        return None  # a job that ends by its work has no time to be given
    text = workload.to_fio(jobs.model_copy(update={"jobs": stretched}))
    return step.model_copy(update={"job_file": text, "longer": times})
