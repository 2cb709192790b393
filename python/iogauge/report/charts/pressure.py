"""The write-pressure chart: read latency against growing write load, a line for each drive.

Source: Intel's application note on read latency under write pressure (2017). Differs from it: any of five statistics
can be shown, each with its interval, and a point that its sample cannot support is hollow. The stair is what was
written, not what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt

from iogauge.report.charts.data import Row, Statistic, Table, pressure_table
from iogauge.report.charts.latency import (
    CHOSEN,
    TOGETHER,
    Position,
    by_drive,
    latency_axis,
    latency_layer,
    notes,
    statistic_choices,
)
from iogauge.report.charts.specification import Chart, Spec, finished
from iogauge.report.charts.theme import DASHES, HEIGHT, INK, STAIR, STAIR_FILL, WIDTH
from iogauge.results.suite_result import SuiteResult

_MOST_TICKS = 14


def pressure_chart(drives: Sequence[SuiteResult]) -> Chart:
    """Return the write-pressure chart of one drive or several, with a choice of statistics."""
    table = pressure_table(drives)
    plan, several = drives[0].plan, len(drives) > 1

    def words(statistic: Statistic, shown: Sequence[Row]) -> dict[str, str]:
        what = f"{statistic.label} read latency"
        said = [
            *notes(drives, shown),
            "Grey: achieved writes, dashed as each drive." if several else "Grey: achieved writes.",
        ]
        return {
            "title": f"{what} against {plan.axis.name}" + ("" if several else f": {drives[0].label}"),
            "subtitle": " ".join(said),
            "description": f"{what} in microseconds at each step of {plan.axis.name} in {plan.axis.unit}.",
        }

    specs = {scale: _pressure(drives, scale, table) for scale in ("linear", "log")}
    return Chart(plan.suite, plan.title, table, specs, statistic_choices(table, words))


def _pressure(drives: Sequence[SuiteResult], scale: str, table: Table) -> Spec:
    asked_axis, asked_scale = _asked_axis(drives), _asked_scale(table)

    def x(column: str) -> alt.X:
        return alt.X(f"{column}:Q", axis=asked_axis, scale=asked_scale)

    y = latency_axis(scale, title="Read latency, µs", titleColor=INK, grid=True, format=",~f")
    labels = [drive.label for drive in drives]
    return finished(
        alt.LayerChart(
            layer=[_stair(x, labels), latency_layer(x, y, labels)],
            width=WIDTH,
            height=HEIGHT,
            resolve=alt.Resolve(scale=alt.ScaleResolveMap(y="independent")),
            transform=[alt.FilterTransform(filter=CHOSEN)],
        )
    )


def _asked_axis(drives: Sequence[SuiteResult]) -> alt.Axis:
    """Label the steps by what was asked and, for one drive, by what was achieved beneath it."""
    axis = drives[0].plan.axis
    title = f"Asked {axis.name}, {axis.unit}"
    places = sorted({position.at for drive in drives for position in drive.planned})
    if len(places) > _MOST_TICKS:
        # A stair's first tread begins below what was asked first, where nothing can be asked.
        whole = "datum.value < 0 ? '' : datum.label"
        return alt.Axis(title=title, tickCount=10, tickMinStep=1, labelExpr=whole, labelOverlap="greedy")
    if len(drives) > 1:
        return alt.Axis(title=title, values=places, format=",~r", labelOverlap="greedy")
    achieved = {
        _in_javascript(position.at): f"({position.achieved_Bps / 1e6:,.0f})"
        for position in drives[0].positions
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
    base = alt.Chart().transform_filter(TOGETHER).encode(x=x("from"), x2="to:Q", y=y)
    if len(labels) > 1:
        dash = alt.StrokeDash("drive:N", scale=by_drive(labels, DASHES))
        # Each step gives a point where its tread begins and ends; kept in that order, they make a stair.
        edges = alt.Chart().transform_filter(TOGETHER).transform_fold(["from", "to"], as_=["end", "edge"])
        stair = edges.mark_line(color=STAIR, strokeWidth=1.5, order=False)
        return alt.LayerChart(layer=[stair.encode(x=x("edge"), y=y, strokeDash=dash)])
    fill = base.mark_rect(color=STAIR_FILL, opacity=0.5).encode(y2=alt.datum(0))
    return alt.LayerChart(layer=[fill, base.mark_rule(color=STAIR, strokeWidth=1.5)])
