"""A ladder for people: the answer first, then what each rung changes, beside what was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.results.suite_result import SuiteResult
from iogauge.text import numbers
from iogauge.text.grid import folded, heading, labelled


def ladder_text(result: SuiteResult, warnings: Sequence[str] = ()) -> str:
    """Return a ladder's findings, tables and notes as text of at most 80 columns, ending with a newline.

    ``warnings`` are lines about what changes the answer; they follow it.
    """
    return "".join(f"{line}\n" for line in _lines(result, warnings))


def _lines(result: SuiteResult, warnings: Sequence[str]) -> Iterator[str]:
    plan, conclusions = result.plan, result.conclusions
    blocks = max((len(position.runs) for position in result.positions), default=0)
    for finding in conclusions.findings:
        yield from labelled("-", finding, indent="", width=2)
    yield from warnings
    yield ""
    yield from heading(f"{', '.join(plan.targets)}: {numbers.counted(blocks, 'block')}")
    for table in conclusions.tables:
        yield f"{table.title}:"
        yield from folded([table.head, *table.rows])
        yield ""
    yield from labelled(
        "", "In brackets: 95 % intervals. ~: too few samples for this figure.", indent="", width=0
    )
    for note in plan.notes:
        yield from labelled("-", note, indent="", width=2)
    if result.missing:
        yield from labelled("missing:", ", ".join(step.id for step in result.missing), indent="", width=9)
