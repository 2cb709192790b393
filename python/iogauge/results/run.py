"""One complete step of a saved review: what was planned, what was measured, and its figures, made when asked for.

Records and figures are kept once they were made, since a report asks for them many times: reading a step's intervals
and resampling them is nearly all that costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from iogauge.machine.warnings import of_step
from iogauge.schema import Direction, Interval, RunRecord, StepPlan, SuitePlan
from iogauge.schema import Warning as Caution
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.steady import left_level
from iogauge.store import Review


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
            self._figures[direction] = step_figures(
                self.record,
                self.intervals(),
                reader=self._suite.reader,
                pressure=self._suite.pressure,
                kind=self._suite.kind,
                direction=direction,
            )
        return self._figures[direction]

    @cached_property
    def warnings(self) -> tuple[Caution, ...]:
        """What makes its figures mean less than they seem to."""
        return of_step(self.record.warnings, self.plan, left=left_level(self.figures.moments))

    @property
    def directions(self) -> frozenset[Direction]:
        """Which directions the judged job issues."""
        jobs = (job for job in self.record.jobs.jobs if job.name == self._suite.reader)
        return frozenset(direction for job in jobs for direction in job.rw.directions)

    @property
    def requested_Bps(self) -> int:
        """The rate that the jobs which press were limited to, all their clones together; 0: none, or no limit."""
        return sum(
            job.numjobs * getattr(job.rate_Bps, direction.value)
            for job in self.record.jobs.jobs
            for direction in job.rw.directions
            if job.name == self._suite.pressure
        )
