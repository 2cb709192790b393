"""A verdict as a table of its criteria, and as Markdown: the sentence, the table, and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.results.conclusions import TextTable
from iogauge.text import markdown
from iogauge.verdicts import text
from iogauge.verdicts.fitness import Fitness, JudgedCriterion


def as_markdown(verdicts: Sequence[Fitness]) -> str:
    """Return verdicts as one document."""
    return "\n".join(line for fitness in verdicts for line in _lines(fitness))


def criteria_table(fitness: Fitness) -> TextTable:
    """Return the criteria with what was measured, their limits, and other drives for scale."""
    return TextTable(
        f"{fitness.target}: {fitness.answer}",
        ("criterion", "verdict", "measured", "limit", "other drives", "source of the limit"),
        tuple(map(_row, fitness.criteria)),
    )


def details(fitness: Fitness) -> Iterator[str]:
    """Yield the lines below the sentence: the table, what would decide an open verdict, and the caveat."""
    table = criteria_table(fitness)
    yield from markdown.table(table.head, table.rows, left=len(table.head))
    if remedy := text.remedy(fitness):
        yield f"To decide: {markdown.escaped(remedy)}"
        yield ""
    if fitness.profile.caveat:
        yield f"Note: {markdown.escaped(fitness.profile.caveat)}"
        yield ""


def _lines(fitness: Fitness) -> Iterator[str]:
    yield f"## {markdown.escaped(f'{fitness.target}, {fitness.profile.title}: {fitness.answer}')}"
    yield ""
    yield f"{markdown.escaped(text.sentence(fitness))}."
    yield ""
    yield from details(fitness)


def _row(judged: JudgedCriterion) -> tuple[str, ...]:
    figure = "not measured" if judged.figure is None else text.figure_text(judged.figure)
    reach = text.extent_text(judged)
    return (
        judged.criterion.name,
        judged.outcome.value,
        f"{judged.criterion.quantity} {figure}" + (f"; {reach}" if reach else ""),
        text.limit_text(judged),
        text.all_references(judged) or "-",
        judged.criterion.source,
    )
