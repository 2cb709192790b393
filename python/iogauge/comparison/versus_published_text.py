"""A drive over what was published as lines of text, as cells of a table, and as data for programs.

Shapes only: what is laid beside what is ``versus_published.py``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from iogauge.comparison.versus_published import Laid, LaidDrive, nearest
from iogauge.results.figure import metric_text, value_text
from iogauge.results.published import source_text
from iogauge.text import numbers
from iogauge.text.grid import WIDTH, aligned
from iogauge.text.markdown import escaped, table

HEAD = ("published drive", "figure", "published", "measured", "measured is ... times it", "95 %")
NEAREST = 3
"""So many of each figure are shown, where not all are asked for."""
NOTE = "published values have no intervals: those given are the measured ones' alone, and machines differ"


def lines(laid: LaidDrive, *, every: bool) -> Iterator[str]:
    """Yield what was found, then a table of each load; ``every``: of all published drives, not the nearest alone."""
    title = f"{laid.name} over what was published"
    yield title
    yield "-" * min(len(title), WIDTH)
    yield from (f"- {sentence}" for sentence in nearest(laid))
    for load, figures in laid.by_load().items():
        shown = shown_figures(figures, every=every)
        yield ""
        yield f"{load} ({figures[0].where}):"
        yield from aligned([HEAD, *map(cells, shown)], left=2)
        if len(shown) < len(figures):
            yield f"{numbers.counted(len(figures) - len(shown), 'figure')} farther off: --all shows them"
    yield f"note: {NOTE}"


def markdown(laid: LaidDrive, *, every: bool) -> Iterator[str]:
    """Yield the same as lines of Markdown."""
    yield from (f"## {escaped(laid.name)} over what was published", "")
    yield from (f"- {escaped(sentence)}." for sentence in nearest(laid))
    yield ""
    for load, figures in laid.by_load().items():
        shown = shown_figures(figures, every=every)
        yield from (f"**{escaped(load)}** ({escaped(figures[0].where)})", "")
        yield from table(HEAD, [cells(each) for each in shown], left=2)
        if len(shown) < len(figures):
            yield from (f"- {numbers.counted(len(figures) - len(shown), 'figure')} farther off.", "")
    yield from (f"- Note: {NOTE}.", "")


def shown_figures(figures: Sequence[Laid], *, every: bool) -> list[Laid]:
    """Return the figures of a load that its table has."""
    return [each for each in figures if every or _rank(each, figures) < NEAREST]


def cells(each: Laid) -> list[str]:
    """Return one figure's row, in the order of ``HEAD``."""
    low, high = each.ratio.low, each.ratio.high
    return [
        each.published.drive,
        metric_text(each.metric),
        value_text(each.metric, each.published.value),
        ("" if each.supported else "~ ") + value_text(each.metric, each.measured),
        numbers.figure(each.ratio.value),
        "-" if low is None or high is None else f"{numbers.figure(low)} to {numbers.figure(high)}",
    ]


def as_json(laid: LaidDrive) -> dict[str, Any]:
    """Return the same in JSON's types: latencies in nanoseconds, rates as their metric's name says."""
    return {
        "a": {"name": laid.name, "review": laid.review},
        "b": {"name": "published", "review": "published"},
        "findings": list(nearest(laid)),
        "figures": [
            {
                "load": each.load,
                "where": each.where,
                "metric": each.metric,
                "drive": each.published.drive,
                "source": source_text(each.published.source),
                "published": each.published.value,
                "measured": each.measured,
                "supported": each.supported,
                "ratio": {"value": each.ratio.value, "low": each.ratio.low, "high": each.ratio.high},
            }
            for each in laid.figures
        ],
    }


def _rank(each: Laid, figures: Sequence[Laid]) -> int:
    """Return how many figures of the same metric are nearer."""
    return sum(other.metric == each.metric and other.distance < each.distance for other in figures)
