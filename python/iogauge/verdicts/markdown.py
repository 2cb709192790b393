"""A verdict as Markdown: the sentence, a table of criteria, and what would decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.text import markdown
from iogauge.verdicts import text
from iogauge.verdicts.fitness import Fitness, JudgedCriterion


def as_markdown(verdicts: Sequence[Fitness]) -> str:
    """Return verdicts as one document."""
    return "\n".join(line for fitness in verdicts for line in _lines(fitness))


def _lines(fitness: Fitness) -> Iterator[str]:
    yield f"## {markdown.escaped(f'{fitness.target}, {fitness.profile.title}: {fitness.answer}')}"
    yield ""
    yield f"{markdown.escaped(text.sentence(fitness))}."
    yield ""
    yield from markdown.table(
        ("criterion", "verdict", "measured", "limit", "others", "source of the limit"),
        [_row(judged) for judged in fitness.criteria],
        left=6,
    )
    if remedy := text.remedy(fitness):
        yield f"To decide: {markdown.escaped(remedy)}"
        yield ""
    if fitness.profile.caveat:
        yield f"Note: {markdown.escaped(fitness.profile.caveat)}"
        yield ""


def _row(judged: JudgedCriterion) -> tuple[str, ...]:
    figure = "not measured" if judged.figure is None else text.figure_text(judged.figure)
    reach = text.extent_text(judged)
    return (
        judged.criterion.name,
        judged.outcome.value,
        f"{judged.criterion.quantity} {figure}" + (f"; {reach}" if reach else ""),
        text.limit_text(judged),
        text.references_text(judged) or "-",
        judged.criterion.source,
    )
