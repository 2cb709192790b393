"""A review in a list: its cells as text, and the picture of its main figure along its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from iogauge.results.figures import metric_text, value_text
from iogauge.results.names import short_name
from iogauge.text.cells import interval_text, micro
from iogauge.text.numbers import counted, in_digits

if TYPE_CHECKING:
    from iogauge.index import ReviewRow

_WIDTH, _HEIGHT = 100.0, 24.0
_MARGIN = 2.0
_LONGEST_NOTES = 200
"""Characters of notes that a row shows."""


@dataclass(frozen=True)
class ListedReview:
    """What a row of the list shows. All texts are plain."""

    id: str
    name: str
    """Its drives, or its id."""
    targets: str
    host: str
    suites: str
    created: str
    begun: str
    steps: str
    incomplete: bool
    running: bool
    pid: int | None
    """The process that runs it, which can be watched."""
    figure: str
    """What the main figure is."""
    value: str
    interval: str
    sentence: str
    """The figure and its load in words."""
    spark: Markup
    tags: tuple[str, ...]
    notes: str
    problem: str
    hint: str


def listed(row: ReviewRow, pids: Mapping[str, int]) -> ListedReview:
    """Return the cells of a review; ``pids`` has the processes of running ones, by their ids."""
    headline, value, interval = row.headline, "", ""
    if headline:
        value, low, high = in_digits(
            headline.value,
            headline.low,
            headline.high,
            lambda number, digits: value_text(headline.metric, number, digits),
        )
        interval = interval_text(low, high)
    return ListedReview(
        id=row.id,
        name=name_of(row),
        targets=", ".join(row.targets),
        host=row.host,
        suites=", ".join(row.suites),
        created=row.created.isoformat() if row.created else "",
        begun=f"{row.created:%Y-%m-%d %H:%M}" if row.created else "",
        steps=f"{row.complete:,} of {row.planned:,}",
        incomplete=row.complete < row.planned,
        running=row.running,
        pid=pids.get(row.id),
        figure=metric_text(headline.metric) if headline else "",
        value=value,
        interval=interval,
        sentence=headline.sentence if headline else "",
        spark=sparkline(headline.spark, headline.metric) if headline else Markup(),
        tags=row.tags,
        notes=row.notes[:_LONGEST_NOTES],
        problem=row.problem,
        hint=row.hint,
    )


def name_of(row: ReviewRow) -> str:
    """Return what a review is called: its drives, or its id if it has none."""
    return ", ".join(map(short_name, row.drives)) or row.id


def sparkline(values: Sequence[float], metric: str) -> Markup:
    """Return a metric's values along the steps as a small line, with the same in words.

    >>> print(sparkline([1e3, 3e3, 2e3], "p99_ns"))  # doctest: +ELLIPSIS
    <svg ...points="2.0,22.0 50.0,2.0 98.0,12.0"...
    >>> sparkline([1e3], "p99_ns")
    Markup('')
    """
    values = [value for value in values if math.isfinite(value)]
    if len(values) < 2:
        return Markup()
    least, most = min(values), max(values)
    across, up = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
    spread = most - least or 1.0
    places = [
        (_MARGIN + across * number / (len(values) - 1), _HEIGHT - _MARGIN - up * (value - least) / spread)
        for number, value in enumerate(values)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    first, last, low, high = (
        micro(value_text(metric, value, 3)) for value in (values[0], values[-1], least, most)
    )
    steps = counted(len(values), "step")
    words = f"{metric_text(metric)} along {steps}: from {first} to {last}, lowest {low}, highest {high}"
    end_x, end_y = places[-1]
    return Markup(
        '<svg viewBox="0 0 {:.0f} {:.0f}" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<polyline points="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="2"/></svg>'
    ).format(_WIDTH, _HEIGHT, words, points, end_x, end_y)
