"""What is still to be run of a review, and that its bookkeeping is linear in the steps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import pytest

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.ahead import Ahead
from iogauge.reviews.estimate import cost_of
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import run_review
from iogauge.schema import Axis, Manifest, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from tests import builders
from tests.runner_doubles import Watching

STEPS = 1000


class ManySteps(Suite):
    """A suite of many steps with different loads."""

    NAME = "many-steps"
    TITLE = "Many steps"
    SOURCE = "made up"
    AXIS = Axis(name="rate", unit="IOPS")
    MEASURED_JOB = "reader"

    def plan(self, request: SuiteRequest, /) -> SuitePlan:
        """Plan one step for each rate."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        steps = (
            load.step(f"rate-{rate}", rate, {"reader": {"rw": "randread", "rate_iops": rate}})
            for rate in range(1, STEPS + 1)
        )
        return empty.model_copy(update={"steps": tuple(steps)})


def many_steps() -> Manifest:
    """Plan a review of many steps."""
    return new_manifest(
        [ManySteps()], [builders.target()], seed=3, command=(), machine=builders.machine(), ceiling=None
    )


def step(step_id: str, runtime: str) -> StepPlan:
    """Plan a step of a runtime."""
    text = f"[reader]\nrw=randread\ntime_based\nruntime={runtime}\nfilename=t\n"
    return StepPlan(id=step_id, at=1, job_file=text, seed=0, state_group=step_id)


def test_steps_that_begin_leave_nothing_behind() -> None:
    steps = [step(f"s{n}", f"{n}00ms") for n in range(1, 4)]
    ahead = Ahead(steps)
    assert (ahead.count, ahead.seconds) == (3, 0.6)
    ahead.remove(steps[0])
    ahead.remove(steps[0])
    assert (ahead.count, ahead.seconds) == (2, 0.5)
    ahead.add([step("s2", "10")])
    assert (ahead.count, ahead.seconds) == (2, 10.3)
    ahead.remove(steps[1])
    ahead.remove(steps[2])
    assert (ahead.count, ahead.seconds) == (0, 0)


def test_planning_parses_a_step_under_each_of_its_names_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: Counter[str] = Counter()

    class CountingBuilder(workload.Builder):
        def __init__(self, *, source: str, **options: Any) -> None:
            parsed[source.removeprefix("many-steps.")] += 1
            super().__init__(source=source, **options)

    monkeypatch.setattr(workload, "Builder", CountingBuilder)
    workload._planned_jobs.cache_clear()
    cost = cost_of(many_steps(), lambda _: ManySteps())
    assert len(cost.steps) == len(parsed) == STEPS
    assert max(parsed.values()) <= 2


def test_what_a_review_looks_up_grows_with_its_steps_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups: Counter[str] = Counter()
    has = Review.has

    def counting_has(review: Review, step_id: str) -> bool:
        lookups[step_id] += 1
        return has(review, step_id)

    def failing(*_: object, **__: object) -> NoReturn:
        raise IogaugeError("the drive is gone")

    monkeypatch.setattr(Review, "has", counting_has)
    watching = Watching()
    review = Review.create(tmp_path / "review", many_steps())
    failed = run_review(review, lambda _: ManySteps(), execute=failing, watcher=watching)
    assert len(failed) == len(watching.steps) == len(lookups) == STEPS
    assert max(lookups.values()) <= 10
