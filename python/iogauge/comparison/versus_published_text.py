"""A comparison with published figures as lines of text, as Markdown, and as data for programs.

``versus_published`` computes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from iogauge.comparison.versus_published import PublishedMatch, VersusPublished, nearest
from iogauge.results.figures import metric_text, value_text
from iogauge.results.published import source_text
from iogauge.text import numbers
from iogauge.text.grid import aligned, heading, labelled
from iogauge.text.markdown import escaped, table

HEAD = ("published drive", "figure", "published", "measured", "measured is ... times it", "95 %")
NEAREST = 3
"""How many published figures of each metric a table shows unless all are requested."""
NOTE = (
    "published values have no intervals: an interval covers the measured value alone; the machines differ too"
)


def lines(drive: VersusPublished, *, every: bool) -> Iterator[str]:
    """Yield the nearest drive, then a table for each load; ``every``: with all figures, not the nearest alone."""
    yield from heading(f"{drive.name} compared with published figures")
    for sentence in nearest(drive):
        yield from labelled("", sentence, indent="- ", width=0)
    for load, matches in drive.by_load().items():
        shown = shown_matches(matches, every=every)
        yield ""
        yield f"{load} ({matches[0].where}):"
        yield from aligned([HEAD, *map(cells, shown)], left=2)
        if len(shown) < len(matches):
            yield f"{_folded(len(matches) - len(shown))} (--all shows them)"
    yield from labelled("note: ", NOTE, indent="", width=6)


def markdown(drive: VersusPublished, *, every: bool) -> Iterator[str]:
    """Yield the same as lines of Markdown."""
    yield from (f"## {escaped(drive.name)} compared with published figures", "")
    yield from (f"- {escaped(sentence)}." for sentence in nearest(drive))
    yield ""
    for load, matches in drive.by_load().items():
        shown = shown_matches(matches, every=every)
        yield from (f"**{escaped(load)}** ({escaped(matches[0].where)})", "")
        yield from table(HEAD, [*map(cells, shown)], left=2)
        if len(shown) < len(matches):
            yield from (f"- {_folded(len(matches) - len(shown))}.", "")
    yield from (f"- Note: {NOTE}.", "")


def _folded(number: int) -> str:
    return f"{numbers.counted(number, 'other figure')}, farther away"


def shown_matches(matches: Sequence[PublishedMatch], *, every: bool) -> list[PublishedMatch]:
    """Return the matches of a load that its table shows."""
    return [match for match in matches if every or _rank(match, matches) < NEAREST]


def _rank(match: PublishedMatch, matches: Sequence[PublishedMatch]) -> int:
    """Return how many matches of the same metric are nearer."""
    return sum(other.metric == match.metric and other.distance < match.distance for other in matches)


def cells(match: PublishedMatch) -> list[str]:
    """Return the row of a match, in the order of ``HEAD``."""
    low, high = match.ratio.low, match.ratio.high
    return [
        match.published.drive,
        metric_text(match.metric),
        value_text(match.metric, match.published.value),
        ("" if match.supported else "~") + value_text(match.metric, match.measured),
        numbers.figure(match.ratio.value),
        "-" if low is None or high is None else f"{numbers.figure(low)} to {numbers.figure(high)}",
    ]


def as_json(drive: VersusPublished) -> dict[str, Any]:
    """Return a comparison in JSON's types, each value in the unit that ends its metric's name."""
    return {
        "a": {"name": drive.name, "review": drive.review},
        "b": {"name": "published", "review": "published"},
        "findings": list(nearest(drive)),
        "figures": [
            {
                "load": match.load,
                "where": match.where,
                "metric": match.metric,
                "drive": match.published.drive,
                "source": source_text(match.published.source),
                "published": match.published.value,
                "measured": match.measured,
                "supported": match.supported,
                "ratio": {
                    "value": match.ratio.value,
                    "low": match.ratio.low,
                    "high": match.ratio.high,
                },
            }
            for match in drive.matches
        ],
    }
