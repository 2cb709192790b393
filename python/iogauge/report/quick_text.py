"""The minute of ``iogauge quick`` as one table to copy: the answer first, the rows, then what limits them.

A row in order has its MB/s, a row at random its requests a second and their latency: what each is read for. Everything
that makes a figure mean less stands below the table in a line of its own; nothing is left to another command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from iogauge.report.review_text import spread
from iogauge.report.run.surroundings import state_text
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Notice
from iogauge.stats.figure import Figure
from iogauge.suites.quick import row_of
from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled

HEAD = ["", "MB/s", "IOPS", "mean", "p99"]


def quick_text(result: SuiteResult, warnings: tuple[Notice, ...]) -> str:
    """Return the table, its answer and its marks as text of at most 80 columns, ending with a newline."""
    return "".join(f"{line}\n" for line in _lines(result, warnings))


def _lines(result: SuiteResult, warnings: tuple[Notice, ...]) -> Iterator[str]:
    target, plan = result.target, result.plan
    yield from result.conclusions.findings
    yield ""
    yield from labelled("", _title(result), indent="", width=0)
    yield from aligned([HEAD, *map(_cells, result.positions)])
    yield ""
    for mark in _marks(result, warnings):
        yield from labelled("!", mark, indent="", width=2)
    for note in plan.notes:
        yield from labelled("-", note, indent="", width=2)
    if not target.modelled:
        state = state_text(result.manifest.state_before.get(target.path), target)
        yield from labelled("-", f"Before it: {state}.", indent="", width=2)
    if result.missing:
        yield from labelled("missing:", ", ".join(step.id for step in result.missing), indent="", width=9)


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
        rate = figures.rate_figure
        return [row.label, _rate(rate, numbers.megabytes), "", "", ""]
    iops = figures.iops_figure
    return [
        row.label,
        "",
        _rate(iops, numbers.rate),
        numbers.marked(figures.mean),
        numbers.marked(figures.quantile(0.99)),
    ]


def _rate(rate: Figure, shown: Callable[[float], str]) -> str:
    return numbers.mark(rate) + spread(rate.value, rate.low, rate.high, shown)


def _marks(result: SuiteResult, warnings: tuple[Notice, ...]) -> Iterator[str]:
    """Yield what limits the meaning of the figures, a sentence each."""
    random = [position for position in result.positions if row_of(position).random]
    tails = [tail for position in random if (tail := position.figures.quantile(0.99))]
    rates = [position.figures.iops_figure for position in result.positions]
    if any(not tail.supported for tail in tails):
        yield "~ has fewer than ten samples beyond it: run longer"
    if any(not figure.long_enough for figure in (*tails, *rates)):
        yield numbers.TOO_SHORT
    yield from (f"{notice.message} ({notice.hint})" for notice in warnings)
    if result.target.write_cache == "write back" and any(row_of(position).writes for position in result):
        yield "writes end in the drive's volatile cache (write back); no row flushes it"
