"""Rate and latency along a suite's axis, one above the other: a chart for each series, a line for each drive.

A ring marks the knee of a rate that grows: the least place that has nearly all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from iogauge.report.charts import Chart, Spec, finished
from iogauge.report.charts_data import STATISTICS, Row, Statistic, Table, sweep_table
from iogauge.report.charts_latency import Position, by_drive, fitting, latency_axes, latency_layer, notes
from iogauge.report.charts_theme import DASHES, DRIVES, INK, SHAPES, WIDTH
from iogauge.report.charts_time import side
from iogauge.report.html_reviews import Drive

_RATES, _LATENCIES = 190, 260
"""Heights of the two panels."""
_DOUBLINGS = 8
"""An axis is logarithmic where it spans more than so many times its least place."""


def sweep_charts(drives: Sequence[Drive]) -> tuple[Chart, ...]:
    """Return a chart for each series of the drives' common suite, in the order of its plan."""
    plan = drives[0].plan
    series = dict.fromkeys(step.series for drive in drives for step in drive.plan.steps if step.judged)
    return tuple(
        _chart(drives, each, name=plan.suite if len(series) == 1 else f"{plan.suite}-{place}")
        for place, each in enumerate(series, 1)
    )


def _chart(drives: Sequence[Drive], series: str, *, name: str) -> Chart:
    table = sweep_table(drives, series)
    variants, scales = {}, {}
    for statistic in STATISTICS:
        shown = [row for row in table.records() if row["statistic"] == statistic.key and row["latency_us"]]
        scales[statistic.key] = fitting(shown)
        for scale in ("linear", "log"):
            variants[statistic.key, scale] = _spec(drives, series, statistic, scale, table, shown)
    title = series or f"{drives[0].plan.judged} rate and latency"
    return Chart(
        name, f"{title[0].upper()}{title[1:]} against {drives[0].plan.axis.name}", table, variants, scales
    )


def _spec(
    drives: Sequence[Drive], series: str, statistic: Statistic, scale: str, table: Table, shown: Sequence[Row]
) -> Spec:
    plan, labels = drives[0].plan, [drive.label for drive in drives]
    places = sorted({float(row["asked"] or 0) for row in table.records()})
    what = f"{statistic.label} {plan.judged} latency"
    closed = all(row["high_us"] is not None for row in shown)
    y = latency_axes(shown, scale, axis=side, title=f"{what}, µs", titleColor=INK, grid=True)
    latencies = latency_layer(
        _along(plan.axis.unit, places, _titled(drives)), y, labels, closed=closed, rate="rate_MBps"
    )
    rates = _rates(_along(plan.axis.unit, places, ""), labels)
    said = notes(drives, shown)
    said.append(f"Ring: the least {plan.axis.name} with nearly the highest rate." if _grows(table) else "")
    return finished(
        alt.vconcat(
            rates.properties(width=WIDTH, height=_RATES),
            latencies.properties(width=WIDTH, height=_LATENCIES),
            spacing=10,
        ).transform_filter(f"datum.statistic === '{statistic.key}'"),
        title=f"{series or plan.title}: rate and {what[0].lower() if statistic.q is None else what[0]}{what[1:]}",
        subtitle=" ".join(filter(None, said)),
        description=f"Rate in MB/s and {what} in microseconds at each {plan.axis.name}, {plan.axis.unit}.",
    )


def _titled(drives: Sequence[Drive]) -> str:
    axis = drives[0].plan.axis
    return f"{axis.name[0].upper()}{axis.name[1:]}, {axis.unit}"


def _grows(table: Table) -> bool:
    """Whether a knee lies anywhere but where a drive's axis begins."""
    places = [float(row["asked"] or 0) for row in table.records()]
    return any(
        row["knee"] and place > min(places) for row, place in zip(table.records(), places, strict=True)
    )


def _along(unit: str, places: Sequence[float], title: str) -> Position:
    """Return what puts a column on the suite's axis: a share falls, what spans much grows by doublings."""
    axis = alt.Axis(
        title=title or None,
        labels=bool(title),
        ticks=bool(title),
        values=list(places),
        labelOverlap="greedy",
        format=",~r",
    )
    if unit == "%":
        scale = alt.Scale(domain=[max(places), min(places)], nice=False, padding=12)
    elif min(places) > 0 and max(places) > _DOUBLINGS * min(places):
        scale = alt.Scale(type="log", base=2, domain=[min(places), max(places)], nice=False, padding=12)
    else:
        scale = alt.Scale(zero=False, nice=False, padding=12)
    return lambda column: alt.X(f"{column}:Q", axis=axis, scale=scale)


def _rates(x: Position, labels: Sequence[str]) -> alt.LayerChart:
    """A line of rates for each drive, with a ring at its knee."""
    legend = alt.Legend(title=None, symbolOpacity=1) if len(labels) > 1 else None
    color = alt.Color("drive:N", scale=by_drive(labels, DRIVES), legend=legend)
    base = alt.Chart().encode(
        x=x("asked"),
        y=alt.Y(
            "rate_MBps:Q",
            axis=side("Rate, MB/s", tickCount=4, titleColor=INK, grid=True),
            scale=alt.Scale(zero=True),
        ),
        color=color,
    )
    measured = base.transform_filter("isValid(datum.rate_MBps)")
    dash = alt.StrokeDash("drive:N", scale=by_drive(labels, DASHES), legend=legend)
    shape = alt.Shape("drive:N", scale=by_drive(labels, SHAPES), legend=legend)
    tooltip: list[Any] = [
        alt.Tooltip("drive:N", title="drive"),
        alt.Tooltip("asked:Q", title="at", format=",~r"),
        alt.Tooltip("rate_MBps:Q", title="MB/s", format=",.1f"),
        alt.Tooltip("iops:Q", title="IOPS", format=",.0f"),
    ]
    ring = measured.transform_filter("datum.knee").mark_point(
        size=260, strokeWidth=1.5, fill=None, shape="circle"
    )
    return alt.LayerChart(
        layer=[
            base.mark_line(strokeWidth=2.25).encode(strokeDash=dash, detail="repeat:N"),
            measured.mark_point(size=45, filled=True, opacity=1).encode(shape=shape, tooltip=tooltip),
            ring,
        ]
    )
