"""Doubles for a review's runner: a progress display, runs without I/O, and a suite whose steps follow from steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from iogauge.reviews.manifest import new_manifest
from iogauge.schema import (
    Axis,
    Interval,
    JobFile,
    Manifest,
    RunPlan,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from tests import builders


class Watching:
    """Records the calls of a progress display."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.ahead: list[int] = []
        self.searches: list[bool] = []
        self.more: list[bool] = []
        self.messages: list[str] = []
        self.intervals = 0
        self.starts = 0
        self.ends = 0

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int,
        ahead_s: float,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """A step begins."""
        assert expected_s is not None
        assert expected_s > 0
        assert ahead_s > 0 or not ahead
        assert more or not search, "steps follow from a search"
        self.steps.append(label)
        self.ahead.append(ahead)
        self.searches.append(search)
        self.more.append(more)

    def started(self, plan: RunPlan) -> None:
        """Workers begin."""
        assert plan.seed
        self.starts += 1

    def interval(self, interval: Interval) -> None:
        """An interval arrives."""
        assert interval.tallies
        self.intervals += 1

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """A step is saved."""
        assert record.result.stopped_by is None
        assert plan.title
        self.ends += 1

    def message(self, text: str) -> None:
        """A line arrives."""
        self.messages.append(text)


class Runs:
    """A double for ``execution.execute``: records each call; ``ends`` replaces the record of call ``bad``, from 0."""

    def __init__(self, *, bad: int = -1, ends: Callable[[RunRecord], RunRecord] | None = None) -> None:
        self.seeds: list[int] = []
        self.jobs: list[JobFile] = []
        self.interval_ns: set[int] = set()
        self._bad = bad
        self._ends = ends

    def __call__(
        self,
        job_file: JobFile,
        *,
        seed: int,
        interval_ns: int,
        on_interval: Callable[[Interval], None],
        on_start: Callable[..., None],
        **_: Any,
    ) -> RunRecord:
        """Return the record of a run that presses the reader."""
        self.seeds.append(seed)
        self.jobs.append(job_file)
        self.interval_ns.add(interval_ns)
        record, intervals = builders.pressed_run(job_file, seed=seed)
        on_start(record.plan, record.targets)
        for interval in intervals:
            on_interval(interval)
        if len(self.seeds) - 1 == self._bad and self._ends is not None:
            return self._ends(record)
        return record


def stopped(by: str, error: str | None = None) -> Callable[[RunRecord], RunRecord]:
    """Return a function that ends a run early."""

    def end(record: RunRecord) -> RunRecord:
        result = record.result.model_copy(update={"stopped_by": by, "error": error})
        return record.model_copy(update={"result": result})

    return end


def worker_failed(record: RunRecord) -> RunRecord:
    """Let one worker fail, without an error of the run itself."""
    first, *others = record.result.workers
    failed = first.model_copy(update={"error": "EIO"})
    result = record.result.model_copy(update={"workers": (failed, *others)})
    return record.model_copy(update={"result": result})


def raising(error: BaseException) -> Callable[[RunRecord], RunRecord]:
    """Return a function that raises an error in place of a record."""

    def end(_: RunRecord) -> RunRecord:
        raise error

    return end


class Rounds(Suite):
    """A suite of three rounds of two steps; each round follows from the one before."""

    NAME = "rounds"
    TITLE = "Rounds"
    SOURCE = "made up"
    AXIS = Axis(name="round", unit="round")
    MEASURED_JOB = "reader"

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the first round."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": self._round(empty, 1)})

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Plan the next round."""
        done = max(step.at for step in plan.steps if step.repeat == repeat and review.has(step.id))
        return self._round(plan, int(done) + 1) if done < 3 else ()

    @staticmethod
    def _round(plan: SuitePlan, at: int) -> tuple[StepPlan, ...]:
        load = StepTemplate.of(plan)
        return tuple(
            load.step(f"{at}-{n}", at, {"reader": {"rw": "randread"}}, label=f"part {n}", state_group="all")
            for n in range(2)
        )


def contents(review: Review) -> dict[str, tuple[RunRecord, list[Interval]]]:
    """Return the records and intervals of a review's complete steps."""
    return {step: (review.record(step), list(review.intervals(step))) for step in review.completed()}


def planned(*suites: Suite, targets: Sequence[TargetFacts] = (), **options: Any) -> Manifest:
    """Plan a review, by default of one file."""
    return new_manifest(
        suites,
        targets or [builders.target()],
        **{"seed": 3, "command": (), "machine": builders.machine(), "ceiling": None, **options},
    )
