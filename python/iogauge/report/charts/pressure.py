"""The write-pressure chart: read latency against growing write load, a line for each drive.

``pressure_chart`` has the achieved write rate on its axis, so that drives that reach different rates compare. The
staircase (``staircase_chart``) is the published drawing: steps by their requested rates, the achieved ones as a grey
stair.

Source: Intel's application note on read latency under write pressure (2017). Differences from it: the reader chooses
among five statistics; points have intervals, and are hollow if the sample does not support them; the grey stair is the
achieved write rate, not the requested one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Statistic, Table, pressure_table
from iogauge.report.charts.latency import (
    CHOSEN,
    POOLED,
    Position,
    by_drive,
    latency_axis,
    latency_layer,
    notes,
    statistic_choices,
)
from iogauge.report.charts.specification import Chart, finished
from iogauge.report.charts.theme import DASHES, HEIGHT, INK, STAIR, STAIR_FILL, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.suite_result import SuiteResult

_MOST_TICKS = 14


def pressure_chart(drives: Sequence[SuiteResult]) -> Chart:
    """Return the latency of one drive or several against achieved writes, with a choice of statistics."""
    table = pressure_table(drives)
    specs = {scale: _achieved(drives, scale, table) for scale in ("linear", "log")}
    plan = drives[0].plan
    return Chart(plan.suite, plan.title, table, specs, statistic_choices(table, _texts(drives)))


def staircase_chart(drives: Sequence[SuiteResult]) -> Chart:
    """Return the published drawing: latency by requested writes, above a stair of the achieved ones."""
    table = pressure_table(drives)
    specs = {scale: _requested(drives, scale, table) for scale in ("linear", "log")}
    plan = drives[0].plan
    stair = (
        "Grey: achieved writes, dashed as each drive's line." if len(drives) > 1 else "Grey: achieved writes."
    )
    choices = statistic_choices(table, _texts(drives, stair))
    return Chart(f"{plan.suite}-requested", f"{plan.title}, by requested rate", table, specs, choices)


def _texts(
    drives: Sequence[SuiteResult], *sentences: str
) -> Callable[[Statistic, Sequence[Row]], dict[str, str]]:
    """Return the function that makes the texts of a choice; ``sentences`` end its subtitle."""
    plan = drives[0].plan

    def texts(statistic: Statistic, rows: Sequence[Row]) -> dict[str, str]:
        what = f"{statistic.label} {plan.judged} latency"
        return {
            "title": f"{what} against {plan.axis.name}" + ("" if len(drives) > 1 else f": {drives[0].label}"),
            "subtitle": " ".join([*notes(drives, rows), *sentences]),
            "description": f"{what} in microseconds at each step of {plan.axis.name} in {plan.axis.unit}.",
        }

    return texts


def _achieved(drives: Sequence[SuiteResult], scale: str, table: Table) -> Spec:
    axis = {"title": "Achieved writes, MB/s", "format": ",~r", "tickMinStep": 1, "tickCount": 10}

    domain = {
        "domain": [0, max(table.numbers("achieved_MBps"), default=0) or 1.0],
        "nice": False,
        "padding": 12,
    }

    def x(_: str) -> Spec:
        return vega.number("achieved_MBps", axis=axis, scale=domain)

    y = latency_axis(scale, title="Read latency, µs", titleColor=INK, grid=True, **vega.IN_US)
    layer = latency_layer(x, y, [drive.label for drive in drives])
    return finished({**layer, "width": WIDTH, "height": HEIGHT, "transform": [{"filter": CHOSEN}]})


def _requested(drives: Sequence[SuiteResult], scale: str, table: Table) -> Spec:
    axis, x_scale = _requested_axis(drives), _requested_scale(table)

    def x(column: str) -> Spec:
        return vega.number(column, axis=axis, scale=x_scale)

    y = latency_axis(scale, title="Read latency, µs", titleColor=INK, grid=True, **vega.IN_US)
    labels = [drive.label for drive in drives]
    return finished(
        vega.layered(
            _stair(x, labels),
            latency_layer(x, y, labels),
            width=WIDTH,
            height=HEIGHT,
            resolve={"scale": {"y": "independent"}},
            transform=[{"filter": CHOSEN}],
        )
    )


def _requested_axis(drives: Sequence[SuiteResult]) -> Spec:
    """Return the axis of steps: labelled with the requested rate and, for one drive, the achieved rate beneath."""
    axis = drives[0].plan.axis
    title = f"Requested {axis.name}, {axis.unit}"
    positions = sorted({position.at for drive in drives for position in drive.planned})
    if len(positions) > _MOST_TICKS:
        # The first tread of the stair begins below the first step, maybe below zero, where no label makes sense.
        label = "datum.value < 0 ? '' : datum.label"
        ticks = {"tickCount": 10, "tickMinStep": 1}
        return {"title": title, **ticks, "labelExpr": label, "labelOverlap": "greedy"}
    if len(drives) > 1:
        return {"title": title, "values": positions, "format": ",~r", "labelOverlap": "greedy"}
    achieved = {
        _in_javascript(position.at): f"({position.achieved_Bps / 1e6:,.0f})"
        for position in drives[0].positions
    }
    # Only numbers are put into this expression, never a name from a job file.
    label = f"[format(datum.value, ',~r'), ({json.dumps(achieved)})[toString(datum.value)] || '(missing)']"
    return {
        "title": f"{title} (achieved)",
        "values": positions,
        "labelExpr": label,
        "labelOverlap": "greedy",
        "labelLineHeight": 15,
    }


def _in_javascript(number: float) -> str:
    """Return a number as JavaScript writes it."""
    return str(int(number)) if number == int(number) else repr(number)


def _requested_scale(table: Table) -> Spec:
    bounds = [*table.numbers("from"), *table.numbers("to")]
    return {"domain": [min(bounds), max(bounds)], "nice": False, "zero": False}


def _stair(x: Position, labels: Sequence[str]) -> Spec:
    """Return the achieved writes: filled for one drive, or dashed as each drive's line for several."""
    axis = {
        "title": "Achieved writes, MB/s",
        "orient": "right",
        "grid": False,
        "titleColor": STAIR,
        "labelColor": STAIR,
        "tickCount": 7,
    }
    y = vega.number("achieved_MBps", axis=axis, scale={"zero": True})
    pooled = vega.filtered(vega.unit(), POOLED)
    if len(labels) > 1:
        # Each step gives a point at both ends of its tread; in the order of the data they make a stair.
        edges = vega.transformed(pooled, {"fold": ["from", "to"], "as": ["end", "edge"]})
        line = vega.mark("line", color=STAIR, strokeWidth=1.5, order=False)
        return vega.layered(vega.drawn(edges, line, x=x("edge"), y=y, strokeDash=by_drive(labels, DASHES)))
    tread = {"x": x("from"), "x2": vega.end("to"), "y": y}
    fill = vega.drawn(pooled, vega.mark("rect", color=STAIR_FILL, opacity=0.5), **tread, y2={"datum": 0})
    return vega.layered(fill, vega.drawn(pooled, vega.mark("rule", color=STAIR, strokeWidth=1.5), **tread))
