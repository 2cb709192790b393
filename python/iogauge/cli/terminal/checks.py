"""The options for conditions on what was measured, and their results: messages, files, and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import status, streams
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.report.run.fail_if import Violation
    from iogauge.store.outputs import Claims, Output

FailIf = Annotated[
    list[str] | None,
    typer.Option("--fail-if", metavar="CONDITION", help="Exit with status 3 if this holds; repeatable."),
]
Checks = Annotated[
    list[Path] | None,
    typer.Option("--checks", metavar="FILE", help="A TOML file with conditions; repeatable."),
]
CheckResults = Annotated[
    list[Path] | None,
    typer.Option(
        "--check-results",
        metavar="FILE",
        help="Write the results of the conditions as JUnit's XML, or as Markdown if FILE ends in .md; repeatable.",
    ),
]


def names(fail_if: Sequence[str] | None, files: Sequence[Path] | None) -> dict[str, str]:
    """Return the names of all conditions by their texts. Raises UsageError for a file that has none."""
    from iogauge.library.conditions import named
    from iogauge.report.conditions.checks_file import read_checks

    return named(fail_if or (), [read_checks(file) for file in files or ()])


def outputs(
    files: Sequence[Path] | None,
    conditions: Mapping[str, str],
    claims: Callable[[], Claims],
    *,
    read: Sequence[Path] | None,
) -> list[Output]:
    """Claim the files for results, before anything is measured. Raises UsageError without conditions.

    ``read`` are the files of conditions, which no output may replace.
    """
    from iogauge.store.outputs import Existing

    if not files:
        return []
    if not conditions:
        raise status.UsageError("--check-results: there are no conditions", hint="add --fail-if or --checks")
    claimed = claims()
    for file in read or ():
        claimed.spare(file)
    return [claimed.file(file, existing=Existing.REPLACE) for file in files]


def write(
    files: Sequence[Output],
    conditions: Mapping[str, str],
    violations: Sequence[Violation],
    *,
    suite: str,
    early: str = "",
) -> None:
    """Write the results of the conditions into each file, in the format of its suffix.

    ``early`` says why the measurement ended early; no condition passes then. Empty: it did not.
    """
    if not files:
        return
    from iogauge.report.conditions.results import junit, markdown, results_of

    results = results_of(conditions, violations, early=early)
    for file in files:
        text = markdown(results) if file.path.suffix == ".md" else junit(results, suite=suite)
        file.write(text.encode())


MOST = 10
"""The most figures of which a terminal is told that a condition holds for them, or that it cannot be judged."""


def say(violations: Sequence[tuple[str, Violation]], results: Sequence[Output] = ()) -> None:
    """Say which conditions hold, or cannot be judged: the first ``MOST`` of each, then how many others there are.

    Each violation comes with the place where it is; empty: its text names it. ``results`` are the files that have all.
    """
    by_condition: dict[str, list[tuple[str, Violation]]] = {}
    for where, one in violations:
        by_condition.setdefault(one.condition, []).append((where, one))
    in_turn = [entry for row in zip_longest(*by_condition.values()) for entry in row if entry]
    for unknown, word in ((False, "failed"), (True, "error")):
        alike = [(where, one) for where, one in in_turn if one.unknown is unknown]
        for where, one in alike[:MOST]:
            condition = f" ({one.condition})" if len(by_condition) > 1 else ""
            streams.say(f"{word}: {where}{one.brief + condition if one.brief else one.message}")
        if len(alike) > MOST:
            has = ", ".join(numbers.argument(file.path) for file in results) or "--check-results FILE"
            streams.say(f"... {len(alike) - MOST:,} more: {has}")
        for hint in dict.fromkeys(one.hint for _, one in alike[:MOST] if one.hint):
            streams.say(f"hint: {hint}")


def conclude(violations: Sequence[Violation], *, failed: bool = False) -> None:
    """Raise typer.Exit unless all went well: a condition that holds comes before steps that failed."""
    if any(not violation.unknown for violation in violations):
        raise typer.Exit(status.VIOLATED)
    if violations or failed:
        raise typer.Exit(status.ERROR)
