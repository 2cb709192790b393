"""One complete step of a saved review: its plan, its record, and its figures.

Records and figures are read and computed on first use and then kept: a report needs them many times, and reading and
resampling a step's intervals is nearly all of a report's cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from pydantic import TypeAdapter

from iogauge.machine.warnings import of_step
from iogauge.results.computed import answer, code, figures_of
from iogauge.schema import (
    AuditChange,
    Direction,
    DriveInterrupts,
    Interval,
    Model,
    Notice,
    RunRecord,
    StepPlan,
    SuitePlan,
)
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.steady import left_level
from iogauge.store import Review
from iogauge.store.computed import Answers


class _Facts(Model):
    """Facts of a run beside its figures, cached so that its record need not be read."""

    warnings: tuple[Notice, ...]
    departure: str
    """How its rate left its level, in words; empty: it kept its level."""
    directions: frozenset[Direction]
    requested_Bps: int
    stopped_by: str | None
    traced: bool


class Surroundings(Model):
    """What was around a run, cached so that its record need not be read."""

    started_at: str
    """UTC, ISO 8601."""
    audit_changes: tuple[AuditChange, ...]
    """The settings that changed since the review began."""
    interrupts: tuple[DriveInterrupts, ...]
    cpus: tuple[int, ...]
    """CPUs on which its workers were seen."""


_FACTS = TypeAdapter(_Facts)
_SURROUNDINGS = TypeAdapter(Surroundings)


class Run:
    """One complete step. Reading it raises IogaugeError if one of its files is damaged, as ``Review.record`` does."""

    def __init__(self, review: Review, suite: SuitePlan, plan: StepPlan) -> None:
        self.plan = plan
        self._review = review
        self._suite = suite
        self._kind = plan.kind or suite.kind
        self._figures: dict[Direction | None, StepFigures] = {}

    def __repr__(self) -> str:
        return f"<Run {self.plan.id}>"

    @cached_property
    def record(self) -> RunRecord:
        """The record of the run; ``intervals`` has its course over time."""
        return self._review.record(self.plan.id)

    def intervals(self) -> Iterator[Interval]:
        """Yield its intervals, read from the file at each call."""
        return self._review.intervals(self.plan.id)

    @property
    def measured_stages(self) -> tuple[int, ...]:
        """The stages in which the measured job runs, in order."""
        jobs = self.record.jobs.jobs
        return tuple(
            number
            for number, stage in enumerate(self.record.plan.stages)
            if any(jobs[worker.job].name == self._suite.measured_job for worker in stage.workers)
        )

    @property
    def figures(self) -> StepFigures:
        """The figures of the direction that its plan judges."""
        return self.figures_of(self.plan.direction)

    def figures_of(self, direction: Direction | None) -> StepFigures:
        """Return the figures of the measured job's requests in one direction; None: in all directions.

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
                    kind=self._kind,
                    direction=direction,
                ),
            )
        return self._figures[direction]

    def _answers(self, question: str) -> Answers:
        """Return the run's cached answers for a question about the suite's jobs and kind of latency."""
        suite = self._suite
        return self._review.computed(code()).answers(
            self.plan.id, f"{question}, {suite.measured_job}, {suite.load_jobs}, {self._kind}"
        )

    @cached_property
    def _facts(self) -> _Facts:
        def facts() -> _Facts:
            return _Facts(
                warnings=self.record.warnings,
                departure=str(left_level(self.figures.moments) or ""),
                directions=self._directions(),
                requested_Bps=self._requested_Bps(),
                stopped_by=self.record.result.stopped_by,
                traced=bool(self.record.latency_traces),
            )

        return answer(self._answers(f"facts, {self.plan.direction}"), "facts", _FACTS, facts)

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings about its figures."""
        return of_step(
            self._facts.warnings,
            self.plan,
            overloads=self._suite.overloads,
            left=self._facts.departure or None,
        )

    @cached_property
    def surroundings(self) -> Surroundings:
        """The settings that changed, interrupts, and the workers' CPUs."""

        def surroundings() -> Surroundings:
            record = self.record
            return Surroundings(
                started_at=record.started_at,
                audit_changes=record.audit_changes,
                interrupts=record.interrupts,
                cpus=tuple(sorted({cpu for worker in record.result.workers for cpu in worker.cpus})),
            )

        return answer(self._answers("surroundings"), "surroundings", _SURROUNDINGS, surroundings)

    @property
    def directions(self) -> frozenset[Direction]:
        """The directions of the measured job's requests."""
        return self._facts.directions

    @property
    def requested_Bps(self) -> int:
        """The requested rate of all load jobs and their clones; 0: there are none, or they have no limit."""
        return self._facts.requested_Bps

    @property
    def stopped_by(self) -> str | None:
        """Why the run ended early; None: it did not."""
        return self._facts.stopped_by

    @property
    def traced(self) -> bool:
        """Whether its requests were traced."""
        return self._facts.traced

    def _directions(self) -> frozenset[Direction]:
        jobs = (job for job in self.record.jobs.jobs if job.name == self._suite.measured_job)
        return frozenset(direction for job in jobs for direction in job.directions)

    def _requested_Bps(self) -> int:
        return sum(
            job.numjobs * getattr(job.rate_Bps, direction.value)
            for job in self.record.jobs.jobs
            for direction in job.directions
            if job.name == self._suite.load_jobs
        )
