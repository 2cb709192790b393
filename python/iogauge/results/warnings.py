"""The warnings of reviews and their steps, grouped by remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Code, Notice, StepPlan
from iogauge.text import numbers

FEW = 4
"""Up to this many steps are named; more are counted."""


@dataclass(frozen=True)
class WarningGroup:
    """One remedy, and its messages, each with the names of its steps; empty: the whole review."""

    remedy: str
    messages: tuple[tuple[str, str], ...]


def warnings(drives: Sequence[SuiteResult]) -> tuple[WarningGroup, ...]:
    """Return the warnings of results' reviews and steps, grouped by remedy; the reviews' come first."""
    entries: list[tuple[Notice, SuiteResult, StepPlan | None]] = [
        (warning, drive, None) for drive in drives for warning in drive.manifest.warnings
    ]
    entries += [
        (warning, drive, run.plan)
        for drive in drives
        for run in drive.runs
        for warning in run.warnings
        if warning not in drive.manifest.warnings
    ]
    groups: dict[tuple[Code, str], dict[str, dict[str, list[str]]]] = {}
    for warning, drive, step in entries:
        suites = groups.setdefault((warning.code, warning.hint), {}).setdefault(warning.message, {})
        if step:
            suites.setdefault(drive.plan.title, []).append(drive.name_of(step))
    return tuple(
        WarningGroup(hint, tuple((message, _steps(suites)) for message, suites in messages.items()))
        for (_, hint), messages in groups.items()
    )


def _steps(suites: dict[str, list[str]]) -> str:
    """Return a text of each suite's steps: names if they are few, else a count."""
    lines = []
    for title, steps in suites.items():
        names = list(dict.fromkeys(steps))
        few = ", ".join(names) if len(names) <= FEW else numbers.counted(len(steps), "step")
        lines.append(f"{title}: {few}")
    return "; ".join(lines)
