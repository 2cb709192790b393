"""Conditions that a review's steps are checked against, such as ``read.p99.9 > 1ms``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.schema import Manifest
from iogauge.store import Review

if TYPE_CHECKING:
    from iogauge.report.run.fail_if import Condition, Violation


def parsed(texts: Sequence[str]) -> list[Condition]:
    """Return the conditions that ``texts`` state. Raises IogaugeError for one that is none."""
    from iogauge.report.run.fail_if import parse

    return [parse(text) for text in texts]


def require(conditions: Sequence[Condition], manifest: Manifest) -> None:
    """Refuse a condition that no step could ever meet. Raises IogaugeError."""
    from iogauge import workload

    planned = [*manifest.steps, *(plan.search for plan in manifest.plans if plan.search)]
    files = [workload.jobs_of(step) for step in planned] if conditions else []
    for condition in conditions:
        if not any(map(condition.concerns, files)):
            condition.require(files[-1])


def violations(review: Review, conditions: Sequence[Condition]) -> list[tuple[str, Violation]]:
    """Check every condition on every complete step that it can be about: a step without writers has no write.

    Returns the id of each step whose condition holds, or cannot be judged, with what was found.
    """
    broken = []
    measured = [plan for plan in review.manifest.plans if not plan.prepares]
    for step in [step for plan in measured for step in plan.steps] if conditions else ():
        if not step.judged or not review.has(step.id):
            continue  # it is there for what comes after it, or it failed, which is said by itself
        record = review.record(step.id)
        for condition in conditions:
            if condition.concerns(record.jobs):
                broken += [(step.id, violation) for violation in condition.check(record)]
    return broken
