"""The steps of a review that are still to be run: how many, and how long they take.

A progress display shows both before every step. They are kept up to date as steps begin, fail and are added, so that
the bookkeeping of one step does not depend on how many others there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iogauge import workload
from iogauge.schema import StepPlan
from iogauge.store import Review


class Ahead:
    """Counts the steps that are still to be run, and adds up their times."""

    def __init__(self, steps: Iterable[StepPlan], *, searches: Iterable[StepPlan] = ()) -> None:
        self._times_ns: dict[str, int] = {}
        self._searches = {step.id for step in searches}
        self._total_ns = 0  # an integer, so that it is 0 again after the last step
        self.add(steps)

    @property
    def count(self) -> int:
        """How many steps are still to be run, without searches: these are no steps of a result."""
        return len(self._times_ns.keys() - self._searches)

    @property
    def seconds(self) -> float:
        """How long they take, as far as their jobs say."""
        return self._total_ns / 1e9

    def add(self, steps: Iterable[StepPlan]) -> None:
        """Add steps. A step that is already there is replaced by one with the same id."""
        for step in steps:
            self.remove(step)
            self._times_ns[step.id] = round(expected_s(step) * 1e9)
            self._total_ns += self._times_ns[step.id]

    def remove(self, step: StepPlan) -> None:
        """Remove a step that begins, or that is complete."""
        self._total_ns -= self._times_ns.pop(step.id, 0)


def expected_s(step: StepPlan) -> float:
    """Return how long a step takes, as far as its jobs say; on a drive model, in virtual time."""
    stages: list[float] = [0.0]
    for job in workload.jobs_of(step).jobs:
        if job.stonewall:
            stages.append(0.0)
        takes_ns = job.startdelay_ns[1] + job.runtime_ns + job.ramp_time_ns
        stages[-1] = max(stages[-1], takes_ns / 1e9)
    return sum(stages)


def searches(review: Review) -> Iterator[StepPlan]:
    """Yield the searches whose plans have no steps yet."""
    for plan in review.manifest.plans:
        if plan.search is not None and not plan.steps:
            yield plan.search


def missing(review: Review) -> Iterator[StepPlan]:
    """Yield the steps that are still to be run, with the searches whose plans have no steps yet."""
    yield from searches(review)
    yield from (step for step in review.manifest.steps if not review.has(step.id))
