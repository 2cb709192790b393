"""A verdict as a table of its criteria, and as Markdown: the sentence, the table, and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.results.conclusions import TextTable
from iogauge.text import markdown
from iogauge.verdicts import text
from iogauge.verdicts.fitness import Fitness, JudgedCriterion
from iogauge.verdicts.warnings import warning_texts


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
    """Yield the lines below the sentence: the warnings, the table, what would decide it, and the caveat."""
    for warning in warning_texts(fitness):
        yield f"Warning: {markdown.escaped(warning)}"
        yield ""
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
    figure = text.figure_text(judged.figure)
    shown = "; ".join(filter(None, (text.of_quantity(judged, figure), text.extent_text(judged))))
    return (
        judged.criterion.name,
        judged.outcome.value,
        shown if figure else "-",
        text.limit_text(judged),
        text.all_references(judged) or "-",
        judged.criterion.source,
    )
