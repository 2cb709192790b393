"""What a review shows, step by step: figures with their intervals, beside what was asked and what was achieved.

The figures themselves are ``stats.figures``'s, the same that charts are drawn from. What a suite concludes from several
steps together is plain data (``stats.shown``) that a terminal prints and a report draws. Nothing here knows a suite.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.schema import RunRecord, StepPlan, SuitePlan
from iogauge.schema import Warning as Caution
from iogauge.stats.figures import Ratio, StepFigures, ratio, step_figures
from iogauge.stats.shown import Convergence, Matrix, ShownTable
from iogauge.store import Review


@dataclass(frozen=True)
class StepJudgement:
    """One complete step. Rates are in bytes a second; ``asked_Bps`` is 0 where nothing presses or nothing limits it."""

    plan: StepPlan
    asked_Bps: int
    figures: StepFigures
    warnings: tuple[Caution, ...]

    @property
    def achieved_Bps(self) -> float:
        """What the jobs that press moved."""
        return self.figures.pressure_Bps


@dataclass(frozen=True)
class Judgement:
    """The complete steps of one plan in its order; ``missing`` are the ids of the others."""

    plan: SuitePlan
    steps: tuple[StepJudgement, ...]
    missing: tuple[str, ...]
    tables: tuple[ShownTable, ...] = ()
    """What the suite concludes from several steps together, in the order in which it is read."""
    matrices: tuple[Matrix, ...] = ()
    convergences: tuple[Convergence, ...] = ()

    def by_series(self) -> dict[str, tuple[StepJudgement, ...]]:
        """Return the complete steps of each series, in the order of the plan."""
        found: dict[str, tuple[StepJudgement, ...]] = {}
        for step in self.steps:
            found[step.plan.series] = (*found.get(step.plan.series, ()), step)
        return found

    @property
    def growth(self) -> Ratio | None:
        """How many times the reader's mean latency grew from the least pressed step to the most pressed one.

        None where there are not two steps in which the reader completed something.
        """
        measured = [step for step in self.steps if step.figures.mean is not None]
        if len(measured) < 2:
            return None
        least = min(measured, key=lambda step: step.achieved_Bps)
        most = max(measured, key=lambda step: step.achieved_Bps)
        assert least.figures.mean is not None
        assert most.figures.mean is not None
        return ratio(most.figures.mean, least.figures.mean)


def judge_steps(review: Review, plan: SuitePlan, *, quantiles: tuple[float, ...]) -> Judgement:
    """Return the figures of every complete step of one of a review's plans that is there to be judged."""
    whole = review.completed()
    return Judgement(
        plan=plan,
        steps=tuple(
            _step(review, step, plan, quantiles=quantiles)
            for step in plan.steps
            if step.id in whole and step.judged
        ),
        missing=tuple(step.id for step in plan.steps if step.id not in whole),
    )


def _step(review: Review, step: StepPlan, plan: SuitePlan, *, quantiles: tuple[float, ...]) -> StepJudgement:
    record = review.record(step.id)
    figures = step_figures(
        record,
        review.intervals(step.id),
        reader=plan.reader,
        pressure=plan.pressure,
        quantiles=quantiles,
    )
    return StepJudgement(
        step, asked_Bps=_asked(record, plan.pressure), figures=figures, warnings=record.warnings
    )


def _asked(record: RunRecord, pressure: str | None) -> int:
    """Return the rate that the jobs named ``pressure`` were limited to, all their clones together."""
    return sum(
        job.numjobs * getattr(job.rate_Bps, direction.value)
        for job in record.jobs.jobs
        for direction in job.rw.directions
        if job.name == pressure
    )
