"""A chart of values over numbers, dates or names, with intervals, as a report's script draws and saves it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import Chart, finished, log_axis, long_axis, patch, single
from iogauge.report.charts.theme import DASHES, DRIVES, INK, SHAPES, WIDTH
from iogauge.report.charts.vega import Spec

Kind = Literal["number", "date", "name"]
"""Names stand one below the other, with their values to the right; numbers and dates go from left to right."""
_HEIGHT = 340
_NAME = 24
"""The height of a name, in pixels."""
_LOG_FROM = 20
"""The values' axis is logarithmic if the largest is this many times the smallest."""
MOST_GROUPS = len(DRIVES)


@dataclass(frozen=True)
class Point:
    """One value with its interval."""

    place: float | str
    """A number, a date in ISO 8601, or a name."""
    value: float
    low: float | None = None
    high: float | None = None
    group: str = ""
    label: str = ""
    supported: bool = True
    """Whether its sample supports it; points that are not are hollow."""
    runs: int = 1


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What a chart shows."""

    name: str
    """Its name as a file."""
    title: str
    subtitle: str
    points: Sequence[Point]
    kind: Kind
    place: str
    """The title of the axis of places. Dates are in UTC."""
    value: str
    """The title of the axis of values."""
    columns: tuple[str, str]
    """The names of place and value in saved data; letters, digits and ``_``."""
    falls: bool = False
    """Whether places go from the highest number to the lowest, as shares do."""

    @property
    def joined(self) -> bool:
        """Whether lines join the points: each group has one at each number."""
        places = [(point.group, point.place) for point in self.points]
        return self.kind == "number" and len(set(places)) == len(places)

    def chart(self) -> Chart:
        """Return the chart."""
        place, value = self.columns
        rows: list[Row] = [
            {
                "group": point.group,
                place: point.place,
                "label": point.label,
                value: point.value,
                f"{value}_low": point.low,
                f"{value}_high": point.high,
                "runs": point.runs,
                "supported": point.supported,
            }
            for point in self.points
        ]
        groups = list(dict.fromkeys(point.group for point in self.points))
        description = f"{self.value} over {self.place or 'names'}: {self.title}."
        texts = patch(title=self.title, subtitle=self.subtitle, description=description)
        return single(self.name, Table.of(rows), _spec(self, groups), texts)


def column_of(text: str) -> str:
    """Return a name of a column that needs no quoting in a specification.

    >>> column_of("p99.9_ns"), column_of("[a]"), column_of("1")
    ('p99_9_ns', '_a_', '_1')
    """
    return re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", text)[:60] or "value"


def _spec(plot: Plot, groups: Sequence[str]) -> Spec:
    value = plot.columns[1]
    upright = plot.kind != "name"
    along, across = ("x", "y") if upright else ("y", "x")
    scale, axis = _values(plot)
    base = vega.unit(**{along: _place(plot), across: vega.number(value, axis=axis, scale=scale)})
    legend = {"title": None, "symbolOpacity": 1} if len(groups) > 1 else None

    def by_group(palette: Sequence[Any]) -> Spec:
        entries = [palette[n % len(palette)] for n in range(len(groups))]
        return vega.name("group", scale={"domain": list(groups), "range": entries}, legend=legend)

    base["encoding"]["color"] = by_group(DRIVES)
    whiskers = vega.drawn(
        vega.filtered(base, f"isValid(datum.{value}_low) && isValid(datum.{value}_high)"),
        vega.mark("rule", strokeWidth=1.5, opacity=0.75),
        **{across: vega.number(f"{value}_low", scale=scale), f"{across}2": vega.end(f"{value}_high")},
    )
    tooltip = [
        *([vega.name("group", title="line")] if groups != [""] else []),
        vega.name("label", title="step") if any(point.label for point in plot.points) else _tip(plot),
        vega.number(value, title=plot.value, format=",.4~r"),
        vega.number(f"{value}_low", title="from", format=",.4~r"),
        vega.number(f"{value}_high", title="to", format=",.4~r"),
        vega.number("runs", title="runs", format=","),
    ]
    # Only layers that have points: an empty one has no extent.
    layers = (
        [vega.drawn(base, vega.mark("line", strokeWidth=2), strokeDash=by_group(DASHES))]
        if plot.joined
        else []
    )
    if any(None not in (point.low, point.high) for point in plot.points):
        layers.append(whiskers)
    for supported in sorted({point.supported for point in plot.points}):
        layers.append(
            vega.drawn(
                vega.filtered(base, "datum.supported" if supported else "!datum.supported"),
                vega.mark("point", size=50, filled=supported, opacity=1),
                shape=by_group(SHAPES),
                tooltip=tooltip,
            )
        )
    height = _HEIGHT if upright else max(_NAME * len({point.place for point in plot.points}), 60)
    return finished(vega.layered(*layers, width=WIDTH, height=height))


def _tip(plot: Plot) -> Spec:
    column = plot.columns[0]
    if plot.kind == "number":
        return vega.number(column, title=plot.place, format=",~r")
    return vega.name(column, title=plot.place)


def _values(plot: Plot) -> tuple[Spec, Spec]:
    """Return the scale and the axis of the values."""
    numbers = [
        number
        for point in plot.points
        for number in (point.value, point.low, point.high)
        if number is not None
    ]
    axis: Spec = {"title": plot.value, "titleColor": INK, "grid": True}
    if numbers and min(numbers) > 0 and max(numbers) > _LOG_FROM * min(numbers):
        scale, ticks = log_axis(numbers)
        return scale, {**axis, "values": ticks, "format": "~s" if max(ticks) >= 1e6 else ",~r"}
    return {"zero": True, "nice": True}, {**axis, **(vega.SHORT if max(numbers, default=0) >= 1e5 else {})}


def _place(plot: Plot) -> Spec:
    """Return the encoding of the places."""
    column = plot.columns[0]
    if plot.kind == "date":
        axis: Spec = {"title": plot.place, "grid": False, "labelOverlap": "greedy"}
        return {"field": column, "type": "temporal", "scale": {"type": "utc"}, "axis": axis}
    if plot.kind == "name":
        axis = {"title": None, "labelColor": INK, "labelLimit": 300, "grid": False}
        return vega.name(column, sort=None, axis=axis)
    places = sorted({float(point.place) for point in plot.points}) or [0.0]
    scale: Spec = {"domain": [places[0], places[-1]], "nice": False, "padding": 12}
    scale |= {"domain": [places[-1], places[0]]} if plot.falls else long_axis(places[0], places[-1])
    axis = {"title": plot.place or None, "values": places, "labelOverlap": "greedy", "format": ",~r"}
    labels = {f"{float(point.place):g}": point.label for point in plot.points if point.label}
    if labels:
        # A label is put into this expression as a JSON string, never as code.
        expression = f"({json.dumps(labels)})[toString(datum.value)] || ''"
        axis |= {"labelExpr": expression, "labelAngle": -25, "labelLimit": 240, "labelOverlap": False}
        scale["padding"] = 40
    return vega.number(column, axis=axis, scale=scale)
