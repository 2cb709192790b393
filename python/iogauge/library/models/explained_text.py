"""Where the time of modelled requests goes, as text: the answer in a sentence, tables, what a change does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from iogauge.results.explained.wording import COLUMNS, answer, present, table, time
from iogauge.text import numbers
from iogauge.text.grid import WIDTH, aligned, heading, labelled, narrowed

if TYPE_CHECKING:
    from iogauge.library.models.explained import ModelExplanation
    from iogauge.library.models.what_if import FigureDifference, LoadDifferences

_LEFT_OUT = ("p90",)
"""The columns to leave out where a terminal is too narrow."""


def text(explanation: ModelExplanation) -> str:
    """Return the answer and the tables for a terminal of 80 columns."""
    return "".join(f"{line}\n" for line in _text_lines(explanation))


def markdown(explanation: ModelExplanation) -> str:
    """Return the same as Markdown."""
    return "".join(f"{line}\n" for line in _markdown_lines(explanation))


def _text_lines(explanation: ModelExplanation) -> Iterator[str]:
    for load in explanation.loads:
        yield from _wrapped(answer(load) if len(explanation) == 1 else f"{load.name}: {answer(load)}")
    for differences in explanation.differences:
        change = what_changes(explanation, differences)
        yield from _wrapped(change if len(explanation) == 1 else f"{differences.name}: {change}")
    for load in explanation.loads:
        yield ""
        yield from heading(f"{load.name}: {load.count:,} requests, {numbers.rate(load.iops)} IOPS")
        yield from narrowed(table(explanation.meanings, load), _LEFT_OUT, columns=WIDTH, left=1)
    for differences in explanation.differences:
        yield ""
        yield from heading(
            f"{differences.name}: changed, {differences.figures[0].difference.pairs} pairs of runs"
        )
        yield from aligned(difference_table(differences))
    yield ""
    for note in _notes(explanation):
        yield from _wrapped(note)
    yield ""
    parts = present(explanation.meanings, explanation.loads)
    width = max((len(part.name) for part in parts), default=0) + 2
    for part in parts:
        yield from labelled(part.name, part.meaning, indent="", width=width, columns=WIDTH)


def _markdown_lines(explanation: ModelExplanation) -> Iterator[str]:
    for load in explanation.loads:
        yield from (
            f"**{load.name}.** {answer(load)}",
            "",
            *_markdown_table(table(explanation.meanings, load)),
            "",
        )
    for differences in explanation.differences:
        yield from (
            f"**{differences.name}.** {what_changes(explanation, differences)}",
            "",
            *_markdown_table(difference_table(differences)),
            "",
        )
    for note in _notes(explanation):
        yield from (note, "")
    yield from _markdown_table(
        [
            ["part", "meaning"],
            *([part.name, part.meaning] for part in present(explanation.meanings, explanation.loads)),
        ]
    )


def difference_table(differences: LoadDifferences) -> list[list[str]]:
    """Return a row for each figure and for each part whose difference is shown."""
    parts = [part for part in differences.parts if part.difference.shown]
    rows = [_row(figure) for figure in (*differences.figures, *parts)]
    return [["", "model", "changed", "difference", "95 % interval"], *rows]


def _row(figure: FigureDifference) -> list[str]:
    difference = figure.difference

    def shown(value: float) -> str:
        return numbers.rate(value) if figure.figure == "IOPS" else time(value)

    def signed(value: float) -> str:
        return ("-" if value < 0 else "+") + shown(abs(value))

    change = signed(difference.value) if difference.shown else "not shown"
    interval = f"{signed(difference.low)} to {signed(difference.high)}"
    return [figure.figure, shown(figure.before), shown(figure.after), change, interval]


def what_changes(explanation: ModelExplanation, differences: LoadDifferences) -> str:
    """Return what the change does, in a sentence: to the mean, and to the quantile that it changes most."""
    what = ", ".join(f"{place}={value}" for place, value in explanation.changes.items())
    mean, *quantiles, _rate = differences.figures
    shown = [figure for figure in quantiles if figure.difference.shown]
    most = max(shown, key=lambda figure: abs(figure.difference.value) / figure.before, default=None)
    figures = [mean, *([most] if most else quantiles[-1:])]
    if not any(figure.difference.shown for figure in figures):
        changed = " and ".join(map(_named, figures))
        return f"With {what}, {changed} {'change' if len(figures) > 1 else 'changes'} by less than the runs can show."
    return f"With {what}, {' and '.join(map(_moved, figures))}."


def _named(figure: FigureDifference) -> str:
    return "the mean" if figure.figure == "mean" else figure.figure


def _moved(figure: FigureDifference) -> str:
    difference, name = figure.difference, _named(figure)
    if not difference.shown:
        return f"{name} changes by less than the runs can show"
    low, high = sorted((abs(difference.low), abs(difference.high)))
    by = numbers.duration(abs(difference.value), 3)
    between = f"95 %: {numbers.duration(low, 3)} to {numbers.duration(high, 3)}"
    return f"{name} is {by} {'higher' if difference.value > 0 else 'lower'} ({between})"


def _notes(explanation: ModelExplanation) -> Iterator[str]:
    yield COLUMNS
    unsupported = {load.name: load.unsupported for load in explanation.loads if load.unsupported}
    alike = len(unsupported) == len(explanation) and len(set(unsupported.values())) == 1
    for name, quantiles in [*unsupported.items()][: 1 if alike else None]:
        yield f"{'' if alike else f'{name}: '}{numbers.listed(quantiles)} would need more requests."
    if explanation.differences:
        yield (
            "Both models had the same requests and random numbers in each pair of runs. Where the interval of a "
            "difference includes zero, the table says 'not shown'."
        )


def _markdown_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    head, *body = rows
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in body)


def _wrapped(line: str) -> list[str]:
    return labelled("", line, indent="", width=0, columns=WIDTH)
