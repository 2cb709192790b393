"""The write-pressure chart: read latency against growing write load, a line for each drive.

Source: methods.md WP-3. Differs from it: any of five statistics can be shown, each with its interval, and a point
that its sample cannot support is hollow. The stair is what was written, not what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from iogauge.report.charts import Chart, Spec, finished, log_axis
from iogauge.report.charts_data import STATISTICS, Row, Statistic, Table, pressure_table
from iogauge.report.charts_theme import DASHES, DRIVES, HEIGHT, INK, PAPER, SHAPES, STAIR, STAIR_FILL, WIDTH
from iogauge.report.html_reviews import Drive

LOG_FROM = 20.0
"""A latency axis is logarithmic where its figures span more than this factor; linear ones start at zero."""

_MOST_TICKS = 14

Position = Callable[[str], Any]
"""Puts a column on one of the chart's axes."""


def pressure_chart(drives: Sequence[Drive]) -> Chart:
    """Return the write-pressure chart of one drive or several, in all its variants."""
    table = pressure_table(drives)
    variants, scales = {}, {}
    for statistic in STATISTICS:
        shown = [row for row in table.records() if row["statistic"] == statistic.key and row["latency_us"]]
        scales[statistic.key] = _fitting(shown)
        for scale in ("linear", "log"):
            variants[statistic.key, scale] = _pressure(drives, statistic, scale, table, shown)
    return Chart(drives[0].plan.suite, drives[0].plan.title, table, variants, scales)


def _fitting(rows: Sequence[Row]) -> str:
    values = [float(row["latency_us"] or 0) for row in rows]
    return "log" if values and max(values) > LOG_FROM * min(values) else "linear"


def _pressure(
    drives: Sequence[Drive], statistic: Statistic, scale: str, table: Table, shown: Sequence[Row]
) -> Spec:
    plan = drives[0].plan
    several = len(drives) > 1
    asked_axis, asked_scale = _asked_axis(drives), _asked_scale(table)

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", axis=asked_axis, scale=asked_scale)

    what = f"{statistic.label} read latency"
    ticks: dict[str, Any] = {"tickCount": 6}
    latency_scale = alt.Scale(zero=True, nice=True)
    if scale == "log":
        latency_scale, values = log_axis(
            [row[name] for row in shown for name in ("latency_us", "low_us", "high_us")]
        )
        ticks = {"values": values}
    latency_axis = alt.Axis(title=f"{what}, µs", format=",~f", titleColor=INK, grid=True, **ticks)

    def y(column: str) -> alt.Y:
        return alt.Y(f"{column}:Q", axis=latency_axis, scale=latency_scale)

    closed = all(row["high_us"] is not None for row in shown)
    layers = [_latency(x, y, [drive.label for drive in drives], closed=closed)]
    if plan.pressure:
        layers.insert(0, _stair(x, [drive.label for drive in drives]))
    independent = any(drive.taken_as_independent for drive in drives)
    notes = [f"Whiskers: 95 % interval{', requests taken as independent' if independent else ''}."]
    if any(not row["supported"] for row in shown):
        notes.append("Hollow: too few samples beyond this quantile to support it.")
    if plan.pressure:
        notes.append("Grey: achieved writes, dashed as each drive." if several else "Grey: achieved writes.")
    return finished(
        alt.LayerChart(layer=[*layers], width=WIDTH, height=HEIGHT)
        .resolve_scale(y="independent")
        .transform_filter(f"datum.statistic === '{statistic.key}'"),
        title=f"{what} against {plan.axis.name}" + ("" if several else f": {drives[0].label}"),
        subtitle=" ".join(notes),
        description=f"{what} in microseconds at each step of {plan.axis.name} in {plan.axis.unit}.",
    )


def _asked_axis(drives: Sequence[Drive]) -> alt.Axis:
    """Label the steps by what was asked and, for one drive, by what was achieved beneath it."""
    axis = drives[0].plan.axis
    title = f"Asked {axis.name}, {axis.unit}"
    places = sorted({step.plan.at for drive in drives for step in drive.steps})
    if len(places) > _MOST_TICKS:
        # A stair's first tread begins below what was asked first, where nothing can be asked.
        whole = "datum.value < 0 ? '' : datum.label"
        return alt.Axis(title=title, tickCount=10, tickMinStep=1, labelExpr=whole, labelOverlap="greedy")
    if len(drives) > 1 or not drives[0].plan.pressure:
        return alt.Axis(title=title, values=places, format=",~r", labelOverlap="greedy")
    achieved = {
        _in_javascript(step.plan.at): f"({figures.pressure_Bps / 1e6:,.0f})"
        for step, figures, _ in drives[0].measured()
    }
    # Only numbers reach this expression, never a name from a job file.
    label = f"[format(datum.value, ',~r'), ({json.dumps(achieved)})[toString(datum.value)] || '(missing)']"
    return alt.Axis(
        title=f"{title} (achieved)", values=places, labelExpr=label, labelOverlap="greedy", labelLineHeight=15
    )


def _in_javascript(number: float) -> str:
    """Return the number as JavaScript writes it."""
    return str(int(number)) if number == int(number) else repr(number)


def _asked_scale(table: Table) -> alt.Scale:
    bounds = [float(row[name] or 0) for row in table.records() for name in ("from", "to")]
    return alt.Scale(domain=[min(bounds), max(bounds)], nice=False, zero=False)


def _stair(x: Position, labels: Sequence[str]) -> alt.LayerChart:
    """What was written: filled for one drive, dashed as the drive's line is for several."""
    axis = alt.Axis(
        title="Achieved writes, MB/s",
        orient="right",
        grid=False,
        titleColor=STAIR,
        labelColor=STAIR,
        tickCount=7,
    )
    y = alt.Y("achieved_MBps:Q", axis=axis, scale=alt.Scale(zero=True))
    base = alt.Chart().encode(x=x("from"), x2="to:Q", y=y)
    if len(labels) > 1:
        dash = alt.StrokeDash("drive:N", scale=_drawn(labels, DASHES))
        # Each step gives a point where its tread begins and ends; kept in that order, they make a stair.
        edges = alt.Chart().transform_fold(["from", "to"], as_=["end", "edge"])
        stair = edges.mark_line(color=STAIR, strokeWidth=1.5, order=False)
        return alt.LayerChart(layer=[stair.encode(x=x("edge"), y=y, strokeDash=dash, detail="repeat:N")])
    fill = base.mark_rect(color=STAIR_FILL, opacity=0.5).encode(y2=alt.datum(0))
    return alt.LayerChart(layer=[fill, base.mark_rule(color=STAIR, strokeWidth=1.5)])


def _drawn(labels: Sequence[str], palette: Sequence[Any]) -> alt.Scale:
    """Give each drive its own of ``palette``."""
    return alt.Scale(domain=list(labels), range=[palette[n % len(palette)] for n in range(len(labels))])


def _latency(x: Position, y: Position, labels: Sequence[str], *, closed: bool) -> alt.LayerChart:
    """Lines, whiskers (``closed``: all have an upper end) and points, in each drive's colour, shape and dash."""
    legend = alt.Legend(title=None, symbolOpacity=1) if len(labels) > 1 else None
    color = alt.Color("drive:N", scale=_drawn(labels, DRIVES), legend=legend)
    dash = alt.StrokeDash("drive:N", scale=_drawn(labels, DASHES), legend=legend)
    shape = alt.Shape("drive:N", scale=_drawn(labels, SHAPES), legend=legend)
    tooltip = [
        alt.Tooltip("drive:N", title="drive"),
        alt.Tooltip("asked:Q", title="asked", format=",~r"),
        alt.Tooltip("achieved_MBps:Q", title="achieved, MB/s", format=",.1f"),
        alt.Tooltip("latency_us:Q", title="latency, µs", format=",.5~r"),
        alt.Tooltip("low_us:Q", title="95 % from, µs", format=",.5~r"),
        alt.Tooltip("high_us:Q", title="95 % to, µs", format=",.5~r"),
        alt.Tooltip("samples:Q", title="samples", format=","),
        alt.Tooltip("needed:Q", title="samples needed", format=","),
    ]
    base = alt.Chart().encode(x=x("asked"), y=y("latency_us"), color=color)
    line = base.mark_line(strokeWidth=2.25).encode(strokeDash=dash, detail="repeat:N")
    measured = base.transform_filter("isValid(datum.latency_us)")
    whisker = (
        measured.transform_calculate(
            bottom="isValid(datum.low_us) ? datum.low_us : datum.latency_us",
            top="isValid(datum.high_us) ? datum.high_us : datum.latency_us",
        )
        .mark_errorbar(ticks={"size": 9}, thickness=1.5)
        .encode(y=y("bottom"), y2="top:Q")
    )
    open_above = (
        measured.transform_filter("!isValid(datum.high_us)")
        .mark_text(text="↑", dy=-13, fontSize=14)
        .encode(tooltip=tooltip)
    )
    points = measured.mark_point(size=70, strokeWidth=2, opacity=1).encode(
        shape=shape,
        tooltip=tooltip,
        fill=alt.condition("datum.supported", color, alt.value(PAPER)),
    )
    return alt.LayerChart(layer=[line, whisker, *([] if closed else [open_above]), points])
