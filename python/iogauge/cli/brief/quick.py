"""The minute of ``iogauge quick`` as one table to copy: the answer first, the rows, then what limits them.

A row in order has its MB/s, a row at random its requests a second and their latency: what each is read for. What makes
a figure mean less stands below the table, in a line each.
"""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.cli.brief.cells import interval_cell, latency_cells, rate_cell
from iogauge.cli.brief.screen import bullets, in_a_line, wrapped
from iogauge.cli.brief.warnings import Command, warning_lines
from iogauge.report.run.surroundings import state_text
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Notice
from iogauge.suites.quick import row_of
from iogauge.text import numbers
from iogauge.text.grid import narrowed

HEAD = ["", "MB/s", "IOPS", "95 %", "mean", "p99"]
LEFT_OUT_FIRST = ("95 %", "mean")
"""The columns that a narrow terminal lacks, the first to go first. ``95 %`` is the interval of the rate."""


def quick_lines(
    result: SuiteResult, warnings: tuple[Notice, ...], *, command: Command, columns: int, most: int
) -> list[str]:
    """Return the answer, the table and what limits them as at most ``most`` lines, each at most ``columns`` wide."""
    table = narrowed([HEAD, *map(_cells, result.positions)], LEFT_OUT_FIRST, columns=columns)
    marks = numbers.meanings(table)
    before = [
        line for finding in result.conclusions.findings for line in wrapped(finding, columns=columns, most=2)
    ]
    before += ["", *wrapped(_title(result), columns=columns, most=2), *table, "", *marks]
    # The meaning of ~ is among the marks.
    before += warning_lines(
        warnings, command="show" if command == "show" else "quick", columns=columns, marked=False
    )
    if missing := [step.id for step in result.missing]:
        before.append(in_a_line("missing:", missing, columns=columns))
    return [*before, *bullets(_notes(result), columns=columns, most=most - len(before), noun="note")]


def _title(result: SuiteResult) -> str:
    """Return what was measured: the drive, how much of it, and for how long."""
    target, plan, manifest = result.target, result.plan, result.manifest
    drive = target.modelled.drive if target.modelled else target.model
    used = min(plan.size_bytes or target.size_bytes, target.size_bytes)
    parts = (
        f"{target.path}: {drive}" if drive and drive not in target.path else target.path,
        f"{numbers.size(used)}, {numbers.span(plan.runtime_ns)} a row",
        f"iogauge {manifest.versions.get('iogauge', '')}, {manifest.created_at[:10]}",
    )
    return ", ".join(parts)


def _cells(position: Position) -> list[str]:
    """Return the row of a position, in the order of ``HEAD``."""
    figures, row = position.figures, row_of(position)
    if not row.random:
        return [row.label, rate_cell(figures.rate_figure), "", interval_cell(figures.rate_figure), "", ""]
    rate, tails = figures.iops_figure, latency_cells([figures.mean, figures.quantile(0.99)])
    return [row.label, "", rate_cell(rate), interval_cell(rate), *tails]


def _notes(result: SuiteResult) -> Iterator[str]:
    """Yield what limits the meaning of all figures, a sentence each."""
    target = result.target
    if target.write_cache == "write back" and any(row_of(position).writes for position in result):
        yield "Writes end in the drive's volatile cache (write back); no row flushes it."
    yield from result.plan.notes
    if not target.modelled:
        yield f"Before it: {state_text(result.manifest.state_before.get(target.path), target)}."
