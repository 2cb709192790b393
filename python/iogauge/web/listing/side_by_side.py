"""Tables of many reviews: a row for each, a column for each step, from the quick comparison of the index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iogauge.results.figures import MEAN, metric_text, value_text
from iogauge.text import numbers
from iogauge.text.cells import interval_text
from iogauge.text.numbers import capitalised

if TYPE_CHECKING:
    from iogauge.index import ReviewRow

Compared = Sequence[Mapping[str, Any]]
"""The rows of ``Index.compare``."""
NOTE = (
    "Beneath each figure are its 95 % interval and its ratio to the baseline’s. Figures in bold have an interval that "
    "does not overlap the baseline’s. These intervals come from single runs, and no test was made."
)
"""What the tables rest on."""


@dataclass(frozen=True)
class Cell:
    """A figure of one review at one step."""

    text: str = "–"
    under: tuple[str, ...] = ()
    """Its interval, and its ratio to the baseline's."""
    apart: bool = False
    """Whether its interval does not overlap the baseline's."""


@dataclass(frozen=True)
class Row:
    """One target of one review."""

    id: str
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Figures:
    """One metric of one series of a suite."""

    title: str
    head: tuple[str, ...]
    """The steps."""
    rows: tuple[Row, ...]


def tables(compared: Compared, names: Mapping[str, str]) -> tuple[Figures, ...]:
    """Return the tables of a quick comparison; ``names`` has the drives of reviews by their ids."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for figure in compared:
        key = tuple(figure[name] or "" for name in ("suite", "series", "direction", "metric"))
        groups.setdefault(key, []).append(figure)
    return tuple(_figures(key, figures, names) for key, figures in groups.items())


def answer(compared: Compared, names: Mapping[str, str], baseline: str) -> str:
    """Return in a sentence how far the reviews are from the baseline, in the metric in which most of them differ."""
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for figure in compared:
        if figure["ratio"] and figure["review"] != baseline:
            by_metric.setdefault(figure["metric"], []).append(figure)
    if not by_metric:
        return f"No other review has a complete step in common with {names[baseline]}."
    metric, figures = max(by_metric.items(), key=lambda item: len(_apart(item[1])))
    first, last = (
        f"{_ratio(figure)} ({names[figure['review']]}, at {_step(figure)})"
        for figure in (choose(figures, key=lambda figure: figure["ratio"]) for choose in (min, max))
    )
    text = capitalised(metric_text(metric)) if metric == MEAN else metric_text(metric)
    return (
        f"{text} is {first} to {last} that of the baseline, {names[baseline]}. "
        f"{_differing(len(_apart(figures)), len(names) - 1)}"
    )


def _differing(apart: int, reviews: int) -> str:
    """Return in a sentence how many reviews differ from the baseline.

    >>> _differing(3, 9)
    '3 of 9 reviews differ from it: at one step or more, their intervals do not overlap.'
    """
    if not apart:
        return "No review differs from it: at every step, the intervals overlap."
    verb = "differs" if apart == 1 else "differ"
    return (
        f"{apart} of {numbers.counted(reviews, 'review')} {verb} from it: at one step or more, "
        "their intervals do not overlap."
    )


def around(rows: Sequence[ReviewRow]) -> str:
    """Return in a sentence the differences in setup, which may explain differences in the figures."""
    facts = {
        "host": {row.host for row in rows},
        "processor": {row.cpu for row in rows},
        "pace": {row.pace for row in rows},
        "state of the drive": {row.state for row in rows},
    }
    differing = [f"{term} ({len(values)} different)" for term, values in facts.items() if len(values) > 1]
    if not differing:
        return "No difference in host, processor, pace or state of the drive is recorded."
    return f"They differ in {numbers.listed(differing)}, which may explain differences in the figures."


def _apart(figures: Compared) -> set[str]:
    """Return the reviews with an interval that does not overlap the baseline's."""
    return {figure["review"] for figure in figures if figure["overlaps"] is False}


def _ratio(figure: Mapping[str, Any]) -> str:
    return f"{numbers.with_digits(figure['ratio'], 3)}x"


def _figures(key: tuple[str, ...], figures: Compared, names: Mapping[str, str]) -> Figures:
    suite, series, direction, metric = key
    steps = tuple(dict.fromkeys(map(_step, figures)))
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for figure in figures:
        cells.setdefault((figure["review"], figure["target"] or ""), {})[_step(figure)] = _cell(
            metric, figure
        )
    targets = Counter(review for review, _ in cells)
    order = list(names)
    rows = tuple(
        Row(
            review,
            f"{names[review]}, {target}" if targets[review] > 1 else names[review],
            tuple(own.get(step, Cell()) for step in steps),
        )
        for (review, target), own in sorted(cells.items(), key=lambda side: order.index(side[0][0]))
    )
    title = ", ".join(filter(None, [suite, series, direction, metric_text(metric)]))
    return Figures(title, steps, rows)


def _step(figure: Mapping[str, Any]) -> str:
    return figure["label"] or numbers.placed(figure["position"], figure["unit"] or "")


def _cell(metric: str, figure: Mapping[str, Any]) -> Cell:
    value, low, high = numbers.in_digits(
        figure["value"],
        figure["low"],
        figure["high"],
        lambda number, digits: value_text(metric, number, digits),
    )
    ratio = "" if figure["ratio"] is None else _ratio(figure)
    return Cell(value, tuple(filter(None, [interval_text(low, high), ratio])), figure["overlaps"] is False)
