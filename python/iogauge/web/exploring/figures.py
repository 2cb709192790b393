"""A metric of a load over positions, dates or drives: the answer in a sentence, a chart, and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from iogauge.results.figures import metric_text, unit_of, value_text
from iogauge.results.tables import ALL
from iogauge.text import numbers
from iogauge.web.exploring.plot import Kind, Plot, Point, column_of

if TYPE_CHECKING:
    from iogauge.index.explore import Exploration, ExploredPoint, Load

MOST_SHOWN = 500
"""Rows of the page; the CSV has all."""
OVER = {"position": "position", "date": "date of the review", "drive": "drive"}
GROUPS = {"drive": "drive", "host": "host", "review": "review", "all": "one line for all"}
_KINDS: dict[str, Kind] = {"position": "number", "date": "date", "drive": "name"}
_SCALES = {"ns": (1e3, "us", "µs"), "B/s": (1e6, "MBps", "MB/s"), "IOPS": (1.0, "", "")}
"""By unit: what values are divided by, the end of a column's name, and the unit on an axis."""


@dataclass(frozen=True)
class Figures:
    """What was asked of the index, and its answer."""

    load: Load
    metric: str
    over: str
    at: float
    exploration: Exploration

    @property
    def what(self) -> str:
        """The metric and the load in words."""
        series = f", {self.load.series}" if self.load.series else ""
        place = "" if self.over == "position" else f" at {numbers.placed(self.at, self.load.unit)}"
        requests = "all requests" if self.load.direction == ALL else f"{self.load.direction}s"
        return f"{metric_name(self.metric)} of {requests}{place} ({self.load.suite}{series})"

    @property
    def answer(self) -> str:
        """Where the figure is best and worst, in a sentence."""
        points = self.exploration.points
        if not points:
            return f"No review has a figure for {self.what}."
        if self.over == "position":
            return self._at_last(points)
        ranked = sorted(points, key=lambda point: point.value)
        text = f"The lowest {self.what} is {self._named(ranked[0])}"
        if len(ranked) == 1:
            return f"{text}."
        return f"{text}; the highest is {self._named(ranked[-1])}{_overlap(ranked[0], ranked[-1])}."

    @property
    def plot(self) -> Plot:
        """The chart."""
        divisor, suffix, unit = _SCALES[unit_of(self.metric)]
        points = [
            Point(
                place=_place(point.place),
                value=point.value / divisor,
                low=_scaled(point.low, divisor),
                high=_scaled(point.high, divisor),
                group=point.group if self.over != "drive" else "",
                label=point.label if self.over == "position" else point.review,
                supported=point.supported,
                runs=point.runs,
            )
            for point in self.exploration.points
            if math.isfinite(point.value)
        ]
        axis = f"{numbers.capitalised(self.load.axis)}, {self.load.unit}".rstrip(", ")
        base = column_of(self.metric.rpartition("_")[0] or self.metric)
        return Plot(
            name=f"{column_of(self.metric)}-{self.over}",
            title=f"{numbers.capitalised(self.what)}",
            subtitle=self.meaning,
            points=points,
            kind=_KINDS[self.over],
            place=axis if self.over == "position" else "When the review began, UTC",
            value=f"{numbers.capitalised(metric_name(self.metric))}{', ' if unit else ''}{unit}",
            columns=(self.over, f"{base}_{suffix}" if suffix else base),
            falls=self.load.unit == "%" and self.over == "position",
        )

    @property
    def meaning(self) -> str:
        """What a point and its whisker are."""
        several = any(point.runs > 1 for point in self.exploration.points)
        single = any(point.runs == 1 for point in self.exploration.points)
        texts = [
            "Of several runs: the median, and a whisker from the lowest to the highest." if several else "",
            "Of one run: its 95 % interval." if single else "",
            "Hollow points have too small a sample."
            if not all(point.supported for point in self.exploration.points)
            else "",
        ]
        return " ".join(filter(None, texts))

    @property
    def left_out(self) -> str:
        """What the chart does not show; empty: nothing."""
        explored, shown = self.exploration, len(self.exploration.points)
        groups = len({point.group for point in explored.points})
        texts = []
        if groups < explored.groups:
            texts.append(f"The {groups} with most reviews are shown, of {explored.groups:,}.")
        if shown < explored.in_all:
            which = {"date": "newest ", "position": "first ", "drive": ""}[self.over]
            texts.append(f"Of {explored.in_all:,} points, the {which}{shown:,} are shown and ranked.")
        return " ".join([*texts, "Choose reviews to see others."]) if texts else ""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the page's table."""
        return [
            {
                "group": point.group if self.over != "drive" else "",
                "place": self._placed(point),
                "review": point.review,
                "value": _mark(point) + self._value(point)[0],
                "interval": self._interval(point),
                "runs": f"{point.runs:,}",
            }
            for point in self.exploration.points[:MOST_SHOWN]
        ]

    def _at_last(self, points: Sequence[ExploredPoint]) -> str:
        """Compare the groups at the last position that most of them have."""
        counts: dict[float, int] = {}
        for point in points:
            counts[float(point.place)] = counts.get(float(point.place), 0) + 1  # type: ignore[arg-type]
        last = max(counts, key=lambda place: (counts[place], place))
        there = sorted((point for point in points if point.place == last), key=lambda point: point.value)
        at = f"At {numbers.placed(last, self.load.unit)}"
        if len(there) == 1:
            return f"{at}, {self.what} on {self._named(there[0])}."
        lowest, highest = self._named(there[0]), self._named(there[-1])
        overlap = _overlap(there[0], there[-1])
        return f"{at}, {self.what} is lowest on {lowest} and highest on {highest}{overlap}."

    def _named(self, point: ExploredPoint) -> str:
        name = str(point.place) if self.over == "drive" else point.group
        when = f", {self._placed(point)}" if self.over == "date" else ""
        text, interval = self._value(point)[0], self._interval(point)
        of = f"median of {point.runs:,} runs, {interval}" if point.runs > 1 else interval
        return f"{name}{when}: {_mark(point)}{text}{f' ({of})' if of else ''}"

    def _value(self, point: ExploredPoint) -> tuple[str, str, str]:
        return numbers.in_digits(
            point.value, point.low, point.high, lambda value, digits: value_text(self.metric, value, digits)
        )

    def _interval(self, point: ExploredPoint) -> str:
        _, low, high = self._value(point)
        return f"{low} to {high}" if low and high else ""

    def _placed(self, point: ExploredPoint) -> str:
        match point.place:
            case datetime() as date:
                return date.strftime("%Y-%m-%d %H:%M")
            case float() as at:
                return f"{numbers.position(at)}{f' ({point.label})' if point.label else ''}"
            case text:
                return str(text)


def metric_name(metric: str) -> str:
    """Return what a metric is called in a sentence.

    >>> metric_name("p99.9_ns"), metric_name("iops")
    ('p99.9 latency', 'IOPS')
    """
    return f"{metric_text(metric)} latency" if unit_of(metric) == "ns" else metric_text(metric)


def _overlap(lowest: ExploredPoint, highest: ExploredPoint) -> str:
    """Return a part of a sentence where intervals overlap: then the order of the points says little."""
    if lowest.high is None or highest.low is None or lowest.high < highest.low:
        return ""
    return ", but their ranges overlap"


def _scaled(value: float | None, divisor: float) -> float | None:
    return value / divisor if value is not None and math.isfinite(value) else None


def _mark(point: ExploredPoint) -> str:
    return "" if point.supported else "~"


def _place(place: float | str | datetime) -> float | str:
    return place.replace(tzinfo=UTC).isoformat() if isinstance(place, datetime) else place
