"""Conditions that a review's steps are checked against, such as ``read.p99.9 > 1ms``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.schema import Manifest
from iogauge.store import Review

if TYPE_CHECKING:
    from iogauge.report.run.fail_if import Condition, Violation


def parsed(texts: Sequence[str]) -> list[Condition]:
    """Parse conditions. Raises UsageError for a text that is not a condition."""
    from iogauge.report.run.fail_if import parse

    return [parse(text) for text in texts]


def require(conditions: Sequence[Condition], manifest: Manifest) -> None:
    """Raise IogaugeError for a condition that no planned step can meet."""
    from iogauge import workload

    planned = [*manifest.steps, *(plan.search for plan in manifest.plans if plan.search)]
    files = [workload.jobs_of(step) for step in planned] if conditions else []
    for condition in conditions:
        if not any(map(condition.concerns, files)):
            condition.require(files[-1])


def violations(review: Review, conditions: Sequence[Condition]) -> list[tuple[str, Violation]]:
    """Check every condition on every complete step that it concerns: one on writes concerns no step without writers.

    Returns each violation with the id of its step: the condition holds, or cannot be judged.
    """
    broken = []
    measured = [plan for plan in review.manifest.plans if not plan.prepares]
    for step in [step for plan in measured for step in plan.steps] if conditions else ():
        if not step.judged or not review.has(step.id):
            continue  # it only prepares later steps; or it failed, which is reported separately
        record = review.record(step.id)
        for condition in conditions:
            if condition.concerns(record.jobs):
                broken += [(step.id, violation) for violation in condition.check(record)]
    return broken
