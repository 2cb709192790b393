"""Rate above latency along a suite's axis: a chart for each series, a line for each drive.

A ring marks the knee of a rate that grows: the first position that reaches nearly the highest rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Statistic, Table, sweep_table
from iogauge.report.charts.latency import (
    CHOSEN,
    POOLED,
    Position,
    by_drive,
    drive_legend,
    latency_axis,
    latency_layer,
    notes,
    pale,
    statistic_choices,
)
from iogauge.report.charts.over_time.lines import side
from iogauge.report.charts.specification import Chart, finished, long_axis
from iogauge.report.charts.theme import DASHES, DRIVES, INK, SHAPES, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.position import counts_requests
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import capitalised

_RATES, _LATENCIES = 190, 260
"""The heights of the two panels in pixels."""


def sweep_charts(drives: Sequence[SuiteResult]) -> tuple[Chart, ...]:
    """Return a chart for each series of the drives' common suite, in the order of its plan."""
    plan = drives[0].plan
    series = dict.fromkeys(step.series for drive in drives for step in drive.plan.steps if step.judged)
    return tuple(
        _chart(drives, name, name=plan.suite if len(series) == 1 else f"{plan.suite}-{number}")
        for number, name in enumerate(series, 1)
    )


def _chart(drives: Sequence[SuiteResult], series: str, *, name: str) -> Chart:
    table = sweep_table(drives, series)
    plan = drives[0].plan
    ring = f"Ring: the lowest {plan.axis.name} with nearly the highest rate." if _grows(table) else ""

    def texts(statistic: Statistic, rows: Sequence[Row]) -> dict[str, str]:
        what = f"{statistic.label} {plan.judged} latency"
        inside = what[0].lower() if statistic.q is None else what[0]
        return {
            "title": f"{series or plan.title}: rate and {inside}{what[1:]}",
            "subtitle": " ".join(filter(None, [*notes(drives, rows), ring])),
            "description": f"Rate and {what} in microseconds at each {plan.axis.name}, {plan.axis.unit}.",
        }

    specs = {scale: _spec(drives, series, scale, table) for scale in ("linear", "log")}
    title = series or f"{plan.judged} rate and latency"
    return Chart(
        name,
        f"{capitalised(title)} against {plan.axis.name}",
        table,
        specs,
        statistic_choices(table, texts),
        series=series,
    )


def _spec(drives: Sequence[SuiteResult], series: str, scale: str, table: Table) -> Spec:
    plan, labels = drives[0].plan, [drive.label for drive in drives]
    positions = sorted(set(table.numbers("position")))
    labelled = zip(table.numbers("position"), table.column("label"), strict=True)
    # A name that only repeats the place, such as "round 3", needs no axis of names.
    named = {
        position: str(label)
        for position, label in labelled
        if label and label != f"{plan.axis.name} {position:g}"
    }
    y = latency_axis(
        scale, **side(f"{capitalised(plan.judged)} latency, µs", titleColor=INK, grid=True, **vega.IN_US)
    )
    latencies = latency_layer(
        _along(plan.axis.unit, positions, _titled(drives), named),
        y,
        labels,
        rate="rate_MBps",
        joined=not named,
        width=WIDTH,
        height=_LATENCIES,
    )
    rate = "iops" if _in_requests(drives, series) else "rate_MBps"
    rates = _rates(
        _along(plan.axis.unit, positions, "", named),
        labels,
        rate=rate,
        most=max(table.numbers(rate), default=0) or 1.0,
        joined=not named,
    )
    return finished({"vconcat": [rates, latencies], "spacing": 10, "transform": [{"filter": CHOSEN}]})


def _in_requests(drives: Sequence[SuiteResult], series: str) -> bool:
    """Return whether the rates of a series are IOPS, as of small requests, or MB/s."""
    return counts_requests(
        position.figures for drive in drives for position in drive.by_series().get(series, ())
    )


def _titled(drives: Sequence[SuiteResult]) -> str:
    axis = drives[0].plan.axis
    return f"{capitalised(axis.name)}, {axis.unit}"


def _grows(table: Table) -> bool:
    """Return whether any knee lies beyond the start of the axis."""
    positions = table.numbers("position")
    knees = zip(table.column("knee"), positions, strict=True)
    return any(knee and position > min(positions) for knee, position in knees)


def _along(unit: str, positions: Sequence[float], title: str, named: Mapping[float, str]) -> Position:
    """Return the encoding of a column on the suite's axis: shares fall, a long axis is logarithmic to base 2.

    Positions with names (``named``) stand side by side in the order of their numbers. Without a title, the axis has no
    labels.
    """
    axis: Spec = {
        "title": title or None,
        "labels": bool(title),
        "ticks": bool(title),
        "values": list(positions),
    }
    first, last = min(positions), max(positions)
    scale: Spec = {"domain": [first, last], "nice": False, "padding": 12}
    if named:
        # A name is put into this expression as a JSON string, never as code.
        names = json.dumps({f"{position:g}": name for position, name in named.items()})
        label = f"({names})[toString(datum.value)] || ''"
        angled = {"labelExpr": label, "labelAngle": -25, "labelLimit": 240, "labelOverlap": False}
        axis, scale = {**axis, "title": None, **angled}, {**scale, "padding": 40}
    else:
        axis = {**axis, "labelOverlap": "greedy", "format": ",~r"}
        scale = {**scale, **({"domain": [last, first]} if unit == "%" else long_axis(first, last))}
    return lambda column: vega.number(column, axis=axis, scale=scale)


def _rates(x: Position, labels: Sequence[str], *, rate: str, most: float, joined: bool) -> Spec:
    """Return a line of the column ``rate`` for each drive, with a ring at its knee; only points unless ``joined``."""
    legend = drive_legend(labels)
    base = vega.unit(
        x=x("position"),
        y=vega.number(
            rate,
            axis=side(
                "IOPS" if rate == "iops" else "Rate, MB/s",
                tickCount=4,
                titleColor=INK,
                grid=True,
                **(vega.SHORT if rate == "iops" else {"format": ",~f"}),
            ),
            scale={"domain": [0, most], "nice": True},
        ),
        color=by_drive(labels, DRIVES, legend=legend),
    )
    measured = vega.filtered(base, f"{POOLED} && isValid(datum.{rate})")
    runs = vega.filtered(base, f"!({POOLED}) && isValid(datum.{rate})")
    tooltip = [
        vega.name("drive", title="drive"),
        vega.number("position", title="at", format=",~r"),
        vega.number("rate_MBps", title="MB/s", format=",.1f"),
        vega.number("iops", title="IOPS", format=",.0f"),
    ]
    line = vega.drawn(
        vega.filtered(base, POOLED),
        vega.mark("line", strokeWidth=2.25 if joined else 0),
        strokeDash=by_drive(labels, DASHES, legend=legend),
    )
    points = vega.drawn(
        measured,
        vega.mark("point", size=45, filled=True, opacity=1),
        shape=by_drive(labels, SHAPES, legend=legend),
        tooltip=tooltip,
    )
    ring = vega.mark("point", size=260, strokeWidth=1.5, fill=None, shape="circle")
    rings = vega.drawn(vega.filtered(measured, "datum.knee"), ring)
    return vega.layered(pale(runs, tooltip), line, points, rings, width=WIDTH, height=_RATES)
