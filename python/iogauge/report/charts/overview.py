"""The overview of a review: a small chart for each suite, with the one figure that the suite is about.

Under write pressure that figure is the mean latency; elsewhere it is the rate of the suite's first series. Rows of a
table stand as bars, the longest first. Every suite has its own axes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.latency import by_drive, drive_legend
from iogauge.report.charts.specification import ONLY, Chart, Choice, finished, long_axis, patch
from iogauge.report.charts.theme import DASHES, DRIVES, INK, SHAPES
from iogauge.report.charts.vega import Spec
from iogauge.results.position import Position, counts_requests
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import capitalised

NAME = "overview"

_COLUMNS = 3
_WIDTH, _HEIGHT = 190, 124
"""A panel's size in pixels; the page's script gives it another width."""
_SIDE = 40
"""The width of the axis left of a panel."""
_TICKS = 4
"""About how many ticks an axis of figures has; it ends at a tick."""


def overview_chart(suites: Sequence[Sequence[SuiteResult]]) -> Chart | None:
    """Return the overview of several suites, each with the drives that it tested; None if fewer than two have figures.

    Its table has a row for each suite, drive and position, with the 95 % interval of the figure.
    """
    panels = [(drives, rows) for drives in suites if (rows := _rows(drives))]
    if len(panels) < 2:
        return None
    labels = list(dict.fromkeys(drive.label for drives, _ in panels for drive in drives))
    title = "One figure a suite"
    texts = patch(
        title=title,
        subtitle="Lines and whiskers: 95 % intervals.",
        description="A small chart for each suite: "
        + "; ".join(f"{rows[0]['suite']}, {rows[0]['figure']}" for _, rows in panels),
    )
    spec = finished(
        {
            "concat": [_panel(drives[0], rows, labels) for drives, rows in panels],
            "columns": _COLUMNS,
            "spacing": 10,
            "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), "shared")},
        }
    )
    table = Table.of([row for _, rows in panels for row in rows])
    return Chart(NAME, title, table, {"linear": spec}, {ONLY: Choice(title, "linear", {"linear": texts})})


def _rows(drives: Sequence[SuiteResult]) -> list[Row]:
    """Return the rows of one suite: the figures of its first series, in one unit."""
    plan = drives[0].plan
    measured = [(drive, position) for drive in drives for position in drive.positions if position.figures.ios]
    series = next((position.series for _, position in measured), "")
    chosen = [(drive, position) for drive, position in measured if position.series == series]
    pressed = drives[0].along_pressure
    # A table mixes small requests and large ones: bars compare those of the first row's unit.
    in_requests = counts_requests(
        [position.figures for _, position in (chosen[:1] if _named(chosen) else chosen)]
    )
    if _named(chosen):
        chosen = [pair for pair in chosen if counts_requests([pair[1].figures]) == in_requests]
    unit = "IOPS" if in_requests else "MB/s"
    figure = f"mean {plan.judged} latency, µs" if pressed else ", ".join(filter(None, [series, unit]))
    return [
        {
            "suite": plan.title,
            "figure": figure,
            "drive": drive.label,
            "label": position.plan.label,
            "position": position.achieved_Bps / 1e6 if pressed else position.at,
            **_estimate(position, pressed=pressed, in_requests=in_requests),
        }
        for drive, position in chosen
    ]


def _estimate(position: Position, *, pressed: bool, in_requests: bool) -> Row:
    figures = position.figures
    if pressed:
        mean = figures.mean
        bounds = (mean.value, mean.low, mean.high) if mean else (None, None, None)
        return dict(zip(("value", "low", "high"), map(us, bounds), strict=True))
    rate = figures.iops_figure if in_requests else figures.rate_figure
    unit = 1.0 if in_requests else 1e6
    low, high = (None if bound is None else bound / unit for bound in (rate.low, rate.high))
    return {"value": rate.value / unit, "low": low, "high": high}


def _named(chosen: Sequence[tuple[SuiteResult, Position]]) -> bool:
    return bool(chosen) and all(position.plan.label for _, position in chosen)


def _is_table(rows: Sequence[Row]) -> bool:
    return all(row["label"] for row in rows)


def _panel(drive: SuiteResult, rows: Sequence[Row], labels: Sequence[str]) -> Spec:
    bars = _is_table(rows)
    common = _common_words([str(row["label"]) for row in rows]) if bars else ""
    title = {
        "text": drive.plan.title,
        "subtitle": capitalised(f"{common}…: {rows[0]['figure']}" if common else str(rows[0]["figure"])),
        "fontSize": 12,
        "subtitleFontSize": 11,
        # Lines need more room for their title: half of the uppermost label of their axis is above them.
        "offset": 12 if bars else 6,
        "subtitlePadding": 2,
        "limit": _WIDTH + _SIDE,
        "frame": "group",
        "dx": -_SIDE,
    }
    layers = _bars(labels, len(common)) if bars else _lines(drive, rows, labels)
    # A title is put into this expression as a JSON string, never as code.
    own = {"filter": f"datum.suite === {json.dumps(drive.plan.title)}"}
    return vega.layered(*layers, title=title, width=_WIDTH, height=_HEIGHT, transform=[own])


def _lines(drive: SuiteResult, rows: Sequence[Row], labels: Sequence[str]) -> list[Spec]:
    axis, legend = drive.plan.axis, drive_legend(labels)
    places = [float(row["position"] or 0) for row in rows]
    first, last = min(places), max(places)
    scale: Spec = {"domain": [first, last], "nice": False, "padding": 8}
    if drive.along_pressure:
        title, scale = "Achieved writes, MB/s", {"nice": False, "padding": 8}
    else:
        title = capitalised(f"{axis.name}, {axis.unit}".rstrip(", "))
        scale = {**scale, **({"domain": [last, first]} if axis.unit == "%" else long_axis(first, last))}
    bottom = {
        "title": title,
        "tickCount": 4,
        "labelOverlap": "greedy",
        "format": ",~r",
        "titlePadding": 3,
        "titleFontSize": 11,
    }
    side = {
        "title": None,
        **vega.SHORT,
        "tickCount": _TICKS,
        "grid": True,
        "minExtent": _SIDE,
        "maxExtent": _SIDE,
    }
    base = vega.unit(
        x=vega.number("position", axis=bottom, scale=scale),
        y=vega.number("value", axis=side, scale={"zero": True, "nice": _TICKS}),
        color=by_drive(labels, DRIVES, legend=legend),
    )
    line = vega.drawn(
        base, vega.mark("line", strokeWidth=2), strokeDash=by_drive(labels, DASHES, legend=legend)
    )
    whisker = vega.drawn(
        vega.filtered(base, "isValid(datum.low) && isValid(datum.high)"),
        vega.mark("rule", strokeWidth=1.5),
        y=vega.number("low"),
        y2=vega.end("high"),
    )
    points = vega.drawn(
        base,
        vega.mark("point", size=28, filled=True, opacity=1),
        shape=by_drive(labels, SHAPES, legend=legend),
        tooltip=_tooltip(),
    )
    return [line, whisker, points]


def _bars(labels: Sequence[str], common: int) -> list[Spec]:
    """Return bars, each with its name above it; beside the bars, the names would leave them no width."""
    legend = drive_legend(labels)
    none = {"title": None, "labels": False, "ticks": False, "domain": False}
    side = {**none, "minExtent": _SIDE, "maxExtent": _SIDE}
    bottom = {
        "title": None,
        **vega.SHORT,
        "tickCount": 3,
        "labelFontSize": 11,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
    }
    order = {"field": "value", "op": "max", "order": "descending"}
    # The upper half of a row holds its name.
    above = [" " * number for number in range(1, len(labels) + 1)]
    slots = {"domain": [*above, *labels]}
    base = vega.unit(
        x=vega.number("value", axis=bottom, scale={"zero": True}),
        y=vega.name("label", sort=order, axis=side, scale={"padding": 0.06}),
        yOffset=vega.name("drive", scale=slots),
    )
    bar = vega.drawn(
        base, vega.mark("bar"), color=by_drive(labels, DRIVES, legend=legend), tooltip=_tooltip()
    )
    whisker = vega.drawn(
        vega.filtered(base, "isValid(datum.low) && isValid(datum.high)"),
        vega.mark("rule", strokeWidth=1.5, color=INK),
        x=vega.number("low"),
        x2=vega.end("high"),
    )
    one_a_row = vega.transformed(
        base,
        {"window": [{"op": "row_number", "as": "place"}], "groupby": ["label"]},
        {"filter": "datum.place === 1"},
        {"calculate": f"slice(datum.label, {common})", "as": "name"},
    )
    name = vega.drawn(
        one_a_row,
        vega.mark("text", align="left", baseline="alphabetic", dy=3 / len(labels), fontSize=10, color=INK),
        x={"value": 0},
        yOffset={"datum": above[-1], "scale": slots},
        text=vega.name("name"),
    )
    return [bar, whisker, name]


def _common_words(labels: Sequence[str]) -> str:
    """Return the words that all labels begin with, up to a space; empty for a single label.

    >>> _common_words(["4 KiB random reads", "4 KiB random writes"]), _common_words(["a"])
    ('4 KiB random ', '')
    """
    first, *others = dict.fromkeys(labels)
    # The last word of each tells it from the others.
    words = [label.split(" ")[:-1] for label in others]
    common = itertools.takewhile(
        lambda pair: all(pair[1] in own[pair[0] : pair[0] + 1] for own in words),
        enumerate(first.split(" ")[:-1] if others else ()),
    )
    return "".join(f"{word} " for _, word in common)


def _tooltip() -> list[Spec]:
    return [
        vega.name("drive", title="drive"),
        vega.name("label", title="row"),
        vega.number("position", title="at", format=",~r"),
        vega.number("value", title="figure", format=",.5~r"),
        vega.number("low", title="95 % from", format=",.5~r"),
        vega.number("high", title="95 % to", format=",.5~r"),
    ]
