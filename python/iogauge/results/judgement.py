"""What a review shows, step by step: figures with their intervals, beside what was asked and what was achieved.

The figures themselves are ``stats.figures``'s, the same that charts are drawn from. What a suite concludes from
several steps together is plain data (``results.conclusions``) that a terminal prints and a report draws. Nothing here
knows a suite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from iogauge.machine.warnings import of_step
from iogauge.results.conclusions import Convergence, Matrix, ShownTable
from iogauge.results.saved import saved_figures
from iogauge.schema import Interval, RunRecord, StepPlan, SuitePlan
from iogauge.schema import Warning as Caution
from iogauge.stats.figures import Ratio, StepFigures, ratio
from iogauge.stats.pooled import together
from iogauge.stats.steady import left_level
from iogauge.store import Review


@dataclass(frozen=True)
class StepJudgement:
    """One place on the axis, complete in one repeat or more, all of them together.

    Rates are in bytes a second; ``asked_Bps`` is 0 where nothing presses or nothing limits it.
    """

    plan: StepPlan
    """The first repeat's."""
    asked_Bps: int
    figures: StepFigures
    warnings: tuple[Caution, ...]
    """What makes its figures mean less than they seem to, in any repeat."""
    records: tuple[RunRecord, ...]
    """All that each repeat measured but its course over time."""
    runs: tuple[StepFigures, ...]
    """Of each repeat."""
    repeats: tuple[int, ...]
    """The number of each repeat, from 0: one that failed leaves a gap."""
    intervals: tuple[Callable[[], Iterable[Interval]], ...]
    """Reads the course of each repeat over time from the review."""

    @property
    def achieved_Bps(self) -> float:
        """What the jobs that press moved."""
        return self.figures.pressure_Bps


@dataclass(frozen=True)
class Judgement:
    """The complete places of one plan in its order; ``missing`` are the ids of the steps that are not."""

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

        None where there are not two steps in which the reader completed something, or more than one series.
        """
        if len(self.by_series()) > 1:
            return None
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
            _place([_step(review, step, plan, quantiles=quantiles) for step in repeats])
            for repeats in places([step for step in plan.steps if step.id in whole and step.judged])
        ),
        missing=tuple(step.id for step in plan.steps if step.id not in whole),
    )


def places(steps: Iterable[StepPlan]) -> tuple[tuple[StepPlan, ...], ...]:
    """Return the steps that are repeats of each other together, in the order of the first of each."""
    found: dict[tuple[str, str, float], list[StepPlan]] = {}
    for step in steps:
        found.setdefault((step.series, step.label, step.at), []).append(step)
    return tuple(tuple(sorted(repeats, key=lambda step: step.repeat)) for repeats in found.values())


def _place(repeats: Sequence[StepJudgement]) -> StepJudgement:
    """Return the repeats of one step as one."""
    runs = tuple(each.figures for each in repeats)
    warnings = dict.fromkeys(warning for each in repeats for warning in each.warnings)
    return replace(
        repeats[0],
        figures=together(runs),
        warnings=tuple(warnings),
        records=tuple(record for each in repeats for record in each.records),
        runs=runs,
        repeats=tuple(number for each in repeats for number in each.repeats),
        intervals=tuple(read for each in repeats for read in each.intervals),
    )


def _step(review: Review, step: StepPlan, plan: SuitePlan, *, quantiles: tuple[float, ...]) -> StepJudgement:
    record = review.record(step.id)
    figures = saved_figures(review, plan, step, record, direction=step.direction, quantiles=quantiles)
    return StepJudgement(
        step,
        asked_Bps=_asked(record, plan.pressure),
        figures=figures,
        warnings=of_step(record.warnings, step, left=left_level(figures.moments)),
        records=(record,),
        runs=(figures,),
        repeats=(step.repeat,),
        intervals=(partial(review.intervals, step.id),),
    )


def _asked(record: RunRecord, pressure: str | None) -> int:
    """Return the rate that the jobs named ``pressure`` were limited to, all their clones together."""
    return sum(
        job.numjobs * getattr(job.rate_Bps, direction.value)
        for job in record.jobs.jobs
        for direction in job.rw.directions
        if job.name == pressure
    )
