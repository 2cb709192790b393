"""The comparison of models with published figures as text, for a terminal or a document."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.calibrate.verdict import Verdict


def _cells(verdict: Verdict) -> list[str]:
    point = verdict.point
    published = f"{point.relation or ''} {point.value:.4g}".strip()
    if point.span:
        published = f"{point.span[0]:.4g} to {point.span[1]:.4g}"
    error = f"{100 * verdict.error:+.1f} %"
    if point.use == "bound":
        error = "holds" if verdict.holds else "does not hold"
    mark = "" if verdict.holds else " *"
    host = point.host or "not said"
    if verdict.machine != point.host:
        host += f" ({verdict.machine})"
    return [
        host,
        point.label,
        f"{published} {point.unit}",
        f"{verdict.modelled:.4g}",
        error + mark,
        verdict.part,
    ]


_HEAD = ["host", "figure", "published", "modelled", "error", ""]


def _by_drive(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(verdict.point.drive, []).append(verdict)
    return groups


def _begun(state: str) -> str:
    """Return what flash starts in, where neither its file nor a row says so."""
    return "" if state == "as-is" else f" All modelled flash starts {state}."


LEFT_OUT_FIRST = ("host", "", "modelled")
"""The columns to leave out on a narrow terminal, in this order."""


def text(verdicts: Sequence[Verdict], *, state: str, columns: int | None = None) -> str:
    """Return a table for each drive, the summary, and why figures miss their limits, in at most ``columns``."""
    from iogauge.text.grid import heading, labelled, narrowed

    parts = []
    most = columns or sys.maxsize
    for drive, group in _by_drive(verdicts).items():
        table = [_HEAD, *map(_cells, group)]
        parts += [*heading(drive), *narrowed(table, LEFT_OUT_FIRST, columns=most, left=2), ""]
    below = [summary(verdicts) + _begun(state), *_reasons(verdicts)]
    wrapped = (line for text in below for line in labelled("", text, indent="", width=0, columns=most))
    return "\n".join([*parts, *wrapped, ""])


def markdown(verdicts: Sequence[Verdict], *, state: str) -> str:
    """Return the same as Markdown."""
    lines = []
    for drive, group in _by_drive(verdicts).items():
        lines += [f"**{drive}**", "", f"| {' | '.join(_HEAD)} |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {' | '.join(cell.replace('|', '/') for cell in _cells(verdict))} |" for verdict in group
        ]
        lines.append("")
    return "\n".join([*lines, summary(verdicts) + _begun(state), "", *_reasons(verdicts), ""])


def _reasons(verdicts: Sequence[Verdict]) -> list[str]:
    """Return why rows miss their limits, where that is known."""
    from iogauge.calibrate.misses import REASONS

    by_reason: dict[str, list[str]] = {}
    for verdict in verdicts:
        if not verdict.holds and verdict.point.row in REASONS:
            name = f"{verdict.point.drive} {verdict.point.host or 'specified'}, {verdict.point.label}"
            by_reason.setdefault(REASONS[verdict.point.row], []).append(name)
    return [f"- {'; '.join(rows)}: {reason}" for reason, rows in by_reason.items()]


def summary(verdicts: Sequence[Verdict]) -> str:
    """Return how many figures are within their limits, by how they were used."""
    from iogauge.calibrate.verdict import Part

    counts = []
    for part in Part:
        held = [verdict.holds for verdict in verdicts if verdict.part == part]
        if held:
            counts.append(f"{sum(held)} of {len(held)} {part}")
    return f"Within their limits: {', '.join(counts)}."
