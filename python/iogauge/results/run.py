"""One complete step of a saved review: what was planned, what was measured, and its figures, made when asked for.

Records and figures are kept once they were made, since a report asks for them many times: reading a step's intervals
and resampling them is nearly all that costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from pydantic import TypeAdapter

from iogauge.machine.warnings import of_step
from iogauge.results.computed import answer, code, figures_of
from iogauge.schema import Direction, Interval, Model, Notice, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.steady import left_level
from iogauge.store import Review
from iogauge.store.computed import Answers


class _Facts(Model):
    """What a run's record says, and whoever shows its figures needs."""

    warnings: tuple[Notice, ...]
    left: str
    """How its rate left its level, in words; empty: it did not."""
    directions: frozenset[Direction]
    requested_Bps: int
    stopped_by: str | None


_FACTS = TypeAdapter(_Facts)


class Run:
    """One complete step. Reading it raises IogaugeError where a file of it is damaged, as ``Review.record`` does."""

    def __init__(self, review: Review, suite: SuitePlan, plan: StepPlan) -> None:
        self.plan = plan
        self._review = review
        self._suite = suite
        self._figures: dict[Direction | None, StepFigures] = {}

    @cached_property
    def record(self) -> RunRecord:
        """All that was measured but its course over time."""
        return self._review.record(self.plan.id)

    def intervals(self) -> Iterator[Interval]:
        """Yield its course over time, read anew."""
        return self._review.intervals(self.plan.id)

    @property
    def figures(self) -> StepFigures:
        """Its figures, of the direction that its plan judges."""
        return self.figures_of(self.plan.direction)

    def figures_of(self, direction: Direction | None) -> StepFigures:
        """Return the figures of the judged job's requests of one direction; None: of all.

        Raises IogaugeError as ``step_figures`` does.
        """
        if direction not in self._figures:
            self._figures[direction] = figures_of(
                self._answers(f"figures of {direction or 'all'}"),
                lambda: step_figures(
                    self.record,
                    self.intervals(),
                    measured_job=self._suite.measured_job,
                    load_jobs=self._suite.load_jobs,
                    kind=self._suite.kind,
                    direction=direction,
                ),
            )
        return self._figures[direction]

    def _answers(self, question: str) -> Answers:
        """Return what is known of the run; the jobs and the latency that its suite judges are part of the question."""
        suite = self._suite
        return self._review.computed(code()).answers(
            self.plan.id, f"{question}, {suite.measured_job}, {suite.load_jobs}, {suite.kind}"
        )

    @cached_property
    def _facts(self) -> _Facts:
        def facts() -> _Facts:
            return _Facts(
                warnings=self.record.warnings,
                left=str(left_level(self.figures.moments) or ""),
                directions=self._directions(),
                requested_Bps=self._requested_Bps(),
                stopped_by=self.record.result.stopped_by,
            )

        return answer(self._answers(f"facts, {self.plan.direction}"), "facts", _FACTS, facts)

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """What makes its figures mean less than they seem to."""
        return of_step(self._facts.warnings, self.plan, left=self._facts.left or None)

    @property
    def directions(self) -> frozenset[Direction]:
        """Which directions the judged job issues."""
        return self._facts.directions

    @property
    def requested_Bps(self) -> int:
        """The rate that the jobs which press were limited to, all their clones together; 0: none, or no limit."""
        return self._facts.requested_Bps

    @property
    def stopped_by(self) -> str | None:
        """What ended it before its time; None: nothing did."""
        return self._facts.stopped_by

    def _directions(self) -> frozenset[Direction]:
        jobs = (job for job in self.record.jobs.jobs if job.name == self._suite.measured_job)
        return frozenset(direction for job in jobs for direction in job.rw.directions)

    def _requested_Bps(self) -> int:
        return sum(
            job.numjobs * getattr(job.rate_Bps, direction.value)
            for job in self.record.jobs.jobs
            for direction in job.rw.directions
            if job.name == self._suite.load_jobs
        )
