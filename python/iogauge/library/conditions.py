"""Conditions that reviews and comparisons are checked against, of all three kinds, and where each kind applies.

A review's steps have those on rows (``read.p99.9 > 1ms``), its tables those on figures (``mixed[70 %].p99 > 1ms``),
and a comparison those on differences (``worse by > 5%``). docs/conditions.md has the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from iogauge.errors import UsageError
from iogauge.schema import Manifest
from iogauge.text.option import call, option

if TYPE_CHECKING:
    from iogauge.comparison.sides import Differences
    from iogauge.report.conditions.compared import ComparedCondition
    from iogauge.report.conditions.table import TableCondition
    from iogauge.report.run.fail_if import Condition, Violation
    from iogauge.store import Review
    from iogauge.suites import Suite

    ReviewCondition: TypeAlias = Condition | TableCondition

_COMPARED = re.compile(r"\b(worse|better)\s+by\b", re.IGNORECASE)


def parsed(texts: Sequence[str]) -> list[ReviewCondition]:
    """Parse conditions on a review. Raises UsageError for a text that is not a condition on one."""
    from iogauge.report.conditions import table
    from iogauge.report.run import fail_if

    for text in texts:
        if _COMPARED.search(text):
            raise UsageError(
                f"{option('fail_if')} '{text}': one review has nothing to compare with",
                hint=f"compare it with another: {call('compare', 'BEFORE', 'AFTER', fail_if=text)}",
            )
    return [table.parse(text) if table.is_on_table(text) else fail_if.parse(text) for text in texts]


def parsed_of_comparison(texts: Sequence[str]) -> list[ComparedCondition]:
    """Parse conditions on a comparison. Raises UsageError for a text that is not a condition on one."""
    from iogauge.report.conditions.compared import parse

    return [parse(text) for text in texts]


def require_suites(conditions: Sequence[ReviewCondition], suites: Sequence[Suite]) -> None:
    """Raise UsageError for a condition on a suite that a new review does not run, before its targets are opened."""
    from iogauge.report.conditions.names import same, unknown
    from iogauge.report.conditions.table import TableCondition

    names = [name for suite in suites for name in (suite.NAME, suite.origin) if name]
    for condition in conditions:
        if isinstance(condition, TableCondition) and same(condition.suite) not in map(same, names):
            raise unknown(condition.text, "suite", condition.suite, names)


def require(conditions: Sequence[ReviewCondition], manifest: Manifest, *, saved: bool = False) -> None:
    """Raise IogaugeError for a condition that no planned step can meet; ``saved``: the steps are those of a review."""
    from iogauge import workload
    from iogauge.report.conditions.table import TableCondition

    planned = [*manifest.steps, *(plan.search for plan in manifest.plans if plan.search)]
    of_rows = [condition for condition in conditions if not isinstance(condition, TableCondition)]
    files = [workload.jobs_of(step) for step in planned] if of_rows else []
    for condition in of_rows:
        if files and not any(map(condition.concerns, files)):
            condition.require(files[-1])
    for on_table in conditions:
        if isinstance(on_table, TableCondition):
            on_table.require(manifest, saved=saved)


def violations(review: Review, conditions: Sequence[ReviewCondition]) -> list[tuple[str, Violation]]:
    """Check every condition on all that is complete: one on writes concerns no step without writers.

    Returns each violation with the id of its step: the condition holds, or cannot be judged.
    """
    from iogauge.report.conditions.table import TableCondition

    broken = []
    of_rows = [condition for condition in conditions if not isinstance(condition, TableCondition)]
    measured = [plan for plan in review.manifest.plans if not plan.prepares]
    for step in [step for plan in measured for step in plan.steps] if of_rows else ():
        if not step.judged or not review.has(step.id):
            continue  # it only prepares later steps; or it failed, which is reported separately
        record = review.record(step.id)
        for condition in of_rows:
            if condition.concerns(record.jobs):
                broken += [(step.id, violation) for violation in condition.check(record)]
    for on_table in conditions:
        if isinstance(on_table, TableCondition):
            broken += on_table.check(review)
    return broken


def violations_of_comparison(
    differences: Differences, conditions: Sequence[ComparedCondition]
) -> list[Violation]:
    """Check every condition on a comparison. Raises UsageError for a name that the comparison does not have."""
    if conditions and not any(suite.figures for suite in differences.suites):
        raise UsageError(
            f"{option('fail_if')} '{conditions[0].text}': published figures are not repeated, so nothing is tested",
            hint="compare two saved reviews",
        )
    for condition in conditions:
        condition.require(differences.suites)
    return [violation for condition in conditions for violation in condition.check(differences.suites)]


def named(texts: Sequence[str], files: Sequence[Mapping[str, str]] = ()) -> dict[str, str]:
    """Return the names of conditions by their texts; those that are in no file name themselves."""
    names = {text.strip(): text.strip() for text in texts}
    for checks in files:
        names |= checks
    return names
