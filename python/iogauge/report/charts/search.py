"""The path of a search: every load that was tried, its limited latency with its interval, and the limit as a line.

Each limit has a panel. The shape of a point says what the search took from the load: kept, missed or not shown. A load
that the drive did not serve has no latency of its own, since its queue grows for as long as one measures: it stands at
the upper edge. A run that was repeated for longer is pale. Grey is the interval of the answer, from the highest load
that keeps the limits to the lowest that misses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.latency import (
    WHISKER_ENDS,
    Position,
    by_drive,
    drive_legend,
    filled_if_supported,
    fitting,
)
from iogauge.report.charts.over_time.lines import side
from iogauge.report.charts.specification import Chart, finished, log_axis, long_axis, patch, single
from iogauge.report.charts.theme import ALARM, DASHES, DRIVES, HEIGHT, INK, SOFT, STAIR_FILL, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import LatencyLimit
from iogauge.text import numbers

_NOT_SERVED = "not served"
_SHAPES = {"kept": "circle", "missed": "cross", "not shown": "diamond", _NOT_SERVED: "triangle-up"}
"""The shape of a point, by what the search took from its load."""
_COLOURS = {"kept": DRIVES[0], "missed": ALARM, "not shown": SOFT, _NOT_SERVED: ALARM}
PALE = 0.4
"""Opacity of runs that another run of the same load replaces."""
_ROOM = 1.08
"""The axis of latencies is this many times as long as its greatest, since the limit's name stands above it."""
_STANDS = "datum.decides && isValid(datum.latency_us)"
"""A filter: the longest run of each load that completed anything."""


def search_chart(drives: Sequence[SuiteResult]) -> Chart:
    """Return the path of the drives' searches."""
    plan, limits, table = drives[0].plan, _limits(drives), search_table(drives)
    title = f"Loads that were tried for {' and '.join(limit.text for limit in limits)}"
    texts = patch(
        title=title,
        subtitle=" ".join(_notes(table)),
        description=f"The limited latency in microseconds at each {plan.axis.name}, {plan.axis.unit}.",
    )
    panels = [
        _panel(drives, limit, table, height=HEIGHT / len(limits), last=limit is limits[-1])
        for limit in limits
    ]
    spec = panels[0] if len(panels) == 1 else {"vconcat": panels, "spacing": 10}
    return single(plan.suite, table, finished(spec), texts)


def search_table(drives: Sequence[SuiteResult]) -> Table:
    """Return one row for each drive, load and limit. Latencies are in microseconds, or unknown.

    ``decides`` marks the longest run of each load; ``kept_to`` and ``missed_from`` are the ends of the drive's answer.
    """
    rows: list[Row] = []
    for drive in drives:
        goal, search = drive.plan.goal, drive.conclusions.search
        assert goal is not None
        assert search is not None
        unit, scale = ("IOPS", 1.0) if goal.quantity == "iops" else ("MB/s", 1e6)
        deciding = search.deciding
        for load in search.loads:
            for limit, latency in zip(goal.limits, load.latencies, strict=True):
                rows.append(
                    {
                        "drive": drive.label,
                        "position": load.at,
                        "outcome": load.verdict if load.served else _NOT_SERVED,
                        "decides": load in deciding,
                        "rate": load.rate.value / scale,
                        "unit": unit,
                        "limit": limit.text,
                        "limit_us": us(limit.at_most_ns),
                        "latency_us": us(latency.value if latency else None),
                        "low_us": us(latency.low if latency else None),
                        "high_us": us(latency.high if latency else None),
                        "needed": latency.needed if latency else None,
                        "supported": bool(latency and latency.supported),
                        "long_enough": bool(latency and latency.long_enough),
                        "kept_to": search.holds,
                        "missed_from": search.breaks,
                    }
                )
    return Table.of(rows)


def _limits(drives: Sequence[SuiteResult]) -> list[LatencyLimit]:
    """Return the limits of all searches, in their order."""
    goals = [drive.plan.goal for drive in drives if drive.plan.goal]
    return list({limit.text: limit for goal in goals for limit in goal.limits}.values())


def _notes(table: Table) -> list[str]:
    """Return the sentences that explain the marks."""
    rows = table.records()
    sentences = ["Dashed: the limit. Whiskers: 95 % intervals."]
    if len({row["limit"] for row in rows}) > 1:
        sentences.append("A load is kept if it keeps every limit.")
    if any(row["kept_to"] and row["missed_from"] for row in rows):
        sentences.append("Grey: from the highest load kept to the lowest missed.")
    if any(row["outcome"] == _NOT_SERVED for row in rows):
        sentences.append("At the upper edge: the drive served less than requested.")
    if not all(row["decides"] for row in rows):
        sentences.append("Pale: run again for longer.")
    if not all(row["supported"] for row in rows):
        sentences.append("Hollow: too few samples.")
    return sentences


def _panel(
    drives: Sequence[SuiteResult], limit: LatencyLimit, table: Table, *, height: float, last: bool
) -> Spec:
    plan, labels = drives[0].plan, [drive.label for drive in drives]
    rows = [row for row in table.records() if row["limit"] == limit.text]
    y, top = _latency(limit, rows)
    places = table.numbers("position")
    along = {"domain": [min(places), max(places)], "nice": False, "padding": 14}
    base = vega.transformed(
        vega.unit(
            x=vega.number(
                "position",
                axis={
                    "title": numbers.capitalised(f"{plan.axis.name}, {plan.axis.unit}") if last else None,
                    **vega.SHORT,
                    "tickCount": 8,
                    "tickMinStep": 1,
                    "labelOverlap": "greedy",
                },
                scale={**along, **(long_axis(min(places), max(places)) or {"zero": False})},
            ),
            y=y("height"),
        ),
        {"calculate": f"datum.outcome === '{_NOT_SERVED}' ? {top} : datum.latency_us", "as": "height"},
    )
    outcomes = [outcome for outcome in _SHAPES if outcome in table.column("outcome")]
    color = _color(labels, outcomes)
    dash = {"strokeDash": by_drive(labels, DASHES, legend=drive_legend(labels))} if len(labels) > 1 else {}
    tooltip = [
        vega.name("drive", title="drive"),
        vega.number("position", title=plan.axis.name, format=",~r"),
        vega.name("outcome", title="the limit"),
        vega.number("latency_us", title="latency, µs", format=",.5~r"),
        vega.number("low_us", title="95 % from, µs", format=",.5~r"),
        vega.number("high_us", title="95 % to, µs", format=",.5~r"),
    ]
    at_limit = {**y("limit_us"), "aggregate": "max"}
    deciding = vega.filtered(base, _STANDS)
    served = vega.filtered(deciding, f"datum.outcome !== '{_NOT_SERVED}'")
    return vega.layered(
        vega.drawn(
            vega.transformed(
                base,
                {"aggregate": [], "groupby": ["drive", "kept_to", "missed_from"]},
                {"filter": "isValid(datum.kept_to) && isValid(datum.missed_from)"},
            ),
            vega.mark("rect", color=STAIR_FILL, opacity=0.5),
            x=vega.number("kept_to"),
            x2=vega.end("missed_from"),
            y={"value": 0},
            y2={"value": "height"},
        ),
        vega.drawn(
            vega.unit(),
            vega.mark("rule", color=INK, strokeWidth=1.5, strokeDash=[6, 4]),
            y=at_limit,
        ),
        vega.drawn(
            vega.unit(),
            vega.mark("text", text=limit.text, align="left", dx=4, dy=-8, color=INK, fontSize=12),
            x={"value": 0},
            y=at_limit,
        ),
        vega.drawn(
            deciding,
            vega.mark("line", strokeWidth=1.25, opacity=0.6, color=SOFT),
            **({"color": by_drive(labels, DRIVES, legend=drive_legend(labels))} if dash else {}),
            **dash,
        ),
        vega.drawn(
            vega.filtered(base, "!datum.decides && isValid(datum.latency_us)"),
            vega.mark("point", size=30, filled=True, opacity=PALE, shape="circle"),
            color=color,
            tooltip=tooltip,
        ),
        vega.drawn(
            vega.transformed(served, *WHISKER_ENDS),
            vega.mark("errorbar", ticks={"size": 9}, thickness=1.5),
            color=color,
            y=y("bottom"),
            y2=vega.end("top"),
        ),
        vega.drawn(
            vega.filtered(served, "!isValid(datum.high_us)"),
            vega.mark("text", text="↑", dy=-13, fontSize=14, color=INK),
            tooltip=tooltip,
        ),
        vega.drawn(
            deciding,
            vega.mark("point", size=80, strokeWidth=2, opacity=1),
            color=color,
            shape=_by_outcome(_SHAPES, outcomes),
            fill=filled_if_supported(color),
            tooltip=tooltip,
        ),
        width=WIDTH,
        height=height,
        transform=[{"filter": {"field": "limit", "equal": limit.text}}],
    )


def _latency(limit: LatencyLimit, rows: Sequence[Row]) -> tuple[Position, float]:
    """Return the encoding of latencies on an axis that fits the loads that were served, and the end of that axis."""
    shown = [row for row in rows if row["latency_us"] and row["outcome"] != _NOT_SERVED]
    names = ("limit_us", "latency_us", "low_us", "high_us")
    values = [float(row[name] or 0) for row in shown or rows for name in names]
    values.append(_ROOM * max(values))
    titled = side(f"{limit.figure}, µs", titleColor=INK, grid=True, **vega.IN_US)
    if fitting(shown) == "log":
        scale, ticks = log_axis(values)
        axis: Spec = {**titled, "values": ticks}
    else:
        scale, axis = {"domain": [0, max(values)], "nice": False}, {**titled, "tickCount": 6}
    return lambda column: vega.number(column, axis=axis, scale=scale), scale["domain"][1]


def _color(labels: Sequence[str], outcomes: Sequence[str]) -> Spec:
    """Return the colours of outcomes or, of several drives, those of the drives."""
    if len(labels) > 1:
        return by_drive(labels, DRIVES, legend=drive_legend(labels))
    return _by_outcome(_COLOURS, outcomes)


def _by_outcome(palette: Mapping[str, str], outcomes: Sequence[str]) -> Spec:
    return vega.name(
        "outcome",
        scale={"domain": list(outcomes), "range": [palette[outcome] for outcome in outcomes]},
        legend={"title": None, "symbolOpacity": 1, "columns": len(_SHAPES)},
    )
