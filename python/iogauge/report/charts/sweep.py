"""Rate above latency along a suite's axis: a chart for each series, a line for each drive.

A ring marks the knee of a rate that grows: the first position that reaches nearly the highest rate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from iogauge.report.charts.data import Row, Statistic, Table, sweep_table
from iogauge.report.charts.latency import (
    CHOSEN,
    POOLED,
    Position,
    by_drive,
    latency_axis,
    latency_layer,
    notes,
    pale,
    statistic_choices,
)
from iogauge.report.charts.over_time import side
from iogauge.report.charts.specification import Chart, Spec, finished
from iogauge.report.charts.theme import DASHES, DRIVES, INK, SHAPES, WIDTH
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import capitalised

_RATES, _LATENCIES = 190, 260
"""The heights of the two panels in pixels."""
_DOUBLINGS = 8
"""An axis is logarithmic if its end is more than this many times its start."""


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
            "description": f"Rate in MB/s and {what} in microseconds at each {plan.axis.name}, {plan.axis.unit}.",
        }

    specs = {scale: _spec(drives, scale, table) for scale in ("linear", "log")}
    title = series or f"{plan.judged} rate and latency"
    return Chart(
        name,
        f"{capitalised(title)} against {plan.axis.name}",
        table,
        specs,
        statistic_choices(table, texts),
    )


def _spec(drives: Sequence[SuiteResult], scale: str, table: Table) -> Spec:
    plan, labels = drives[0].plan, [drive.label for drive in drives]
    positions = sorted({float(row["asked"] or 0) for row in table.records()})
    y = latency_axis(
        scale,
        axis=side,
        title=f"{capitalised(plan.judged)} latency, µs",
        titleColor=INK,
        grid=True,
    )
    named = {float(row["asked"] or 0): str(row["label"]) for row in table.records() if row["label"]}
    latencies = latency_layer(
        _along(plan.axis.unit, positions, _titled(drives), named),
        y,
        labels,
        rate="rate_MBps",
        joined=not named,
        width=WIDTH,
        height=_LATENCIES,
    )
    most = max((float(row["rate_MBps"] or 0) for row in table.records()), default=0) or 1.0
    rates = _rates(_along(plan.axis.unit, positions, "", named), labels, most=most, joined=not named)
    return finished(
        alt.VConcatChart(
            vconcat=[rates, latencies], spacing=10, transform=[alt.FilterTransform(filter=CHOSEN)]
        )
    )


def _titled(drives: Sequence[SuiteResult]) -> str:
    axis = drives[0].plan.axis
    return f"{capitalised(axis.name)}, {axis.unit}"


def _grows(table: Table) -> bool:
    """Return whether any knee lies beyond the start of the axis."""
    positions = [float(row["asked"] or 0) for row in table.records()]
    return any(
        row["knee"] and position > min(positions)
        for row, position in zip(table.records(), positions, strict=True)
    )


def _along(unit: str, positions: Sequence[float], title: str, named: Mapping[float, str]) -> Position:
    """Return the encoding of a column on the suite's axis: shares fall, a long axis is logarithmic to base 2.

    Positions with names (``named``) stand side by side in the order of their numbers.
    """
    if named:
        # A name is put into this expression as a JSON string, never as code.
        names = json.dumps({f"{position:g}": name for position, name in named.items()})
        label = f"({names})[toString(datum.value)] || ''"
        axis = alt.Axis(
            title=None, labels=bool(title), ticks=bool(title), values=list(positions), labelExpr=label,
            labelAngle=-25, labelLimit=240, labelOverlap=False,
        )  # fmt: skip
        return lambda column: alt.X(
            f"{column}:Q",
            axis=axis,
            scale=alt.Scale(domain=[min(positions), max(positions)], nice=False, padding=40),
        )
    axis = alt.Axis(
        title=title or None,
        labels=bool(title),
        ticks=bool(title),
        values=list(positions),
        labelOverlap="greedy",
        format=",~r",
    )
    if unit == "%":
        scale = alt.Scale(domain=[max(positions), min(positions)], nice=False, padding=12)
    elif min(positions) > 0 and max(positions) > _DOUBLINGS * min(positions):
        scale = alt.Scale(type="log", base=2, domain=[min(positions), max(positions)], nice=False, padding=12)
    else:
        scale = alt.Scale(domain=[min(positions), max(positions)], nice=False, padding=12)
    return lambda column: alt.X(f"{column}:Q", axis=axis, scale=scale)


def _rates(x: Position, labels: Sequence[str], *, most: float, joined: bool) -> alt.LayerChart:
    """Return a line of rates for each drive, with a ring at its knee; only points unless ``joined``."""
    legend = alt.Legend(title=None, symbolOpacity=1) if len(labels) > 1 else None
    color = alt.Color("drive:N", scale=by_drive(labels, DRIVES), legend=legend)
    base = alt.Chart().encode(
        x=x("asked"),
        y=alt.Y(
            "rate_MBps:Q",
            axis=side("Rate, MB/s", tickCount=4, titleColor=INK, grid=True),
            scale=alt.Scale(domain=[0, most], nice=True),
        ),
        color=color,
    )
    measured = base.transform_filter(f"{POOLED} && isValid(datum.rate_MBps)")
    runs = base.transform_filter(f"!({POOLED}) && isValid(datum.rate_MBps)")
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
            pale(runs, tooltip),
            base.transform_filter(POOLED)
            .mark_line(strokeWidth=2.25 if joined else 0)
            .encode(strokeDash=dash),
            measured.mark_point(size=45, filled=True, opacity=1).encode(shape=shape, tooltip=tooltip),
            ring,
        ],
        width=WIDTH,
        height=_RATES,
    )
