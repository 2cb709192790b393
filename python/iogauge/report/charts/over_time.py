"""One drive's latency and throughput over time, interval by interval, on one clock for all steps.

An interval in which nothing completed is drawn as zero and marked, since a gap in a line is easily missed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import altair as alt

from iogauge.report.charts.data import Table, time_table
from iogauge.report.charts.specification import Chart, Spec, finished, log_axis, patch, single
from iogauge.report.charts.theme import ALARM, DRIVES, GRID, INK, SOFT, STAIR, WIDTH
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SuitePlan
from iogauge.text.numbers import capitalised

LATENCIES = {"p50_us": "median", "p99_us": "p99", "max_us": "maximum"}

_FEW_MOMENTS = 120
"""The most intervals that also have points. The page has no static picture of a chart with more."""

_SIDE = 62
"""The width of the left axis in pixels, equal for all panels, so that they share the clock."""


def time_chart(drive: SuiteResult, *, name: str) -> Chart:
    """Return one drive's latency and throughput over time."""
    table, plan = time_table(drive), drive.plan
    patched = patch(
        title=f"Latency and throughput over time: {drive.label}",
        subtitle=f"One value per interval. Above each step: its {plan.axis.name}, {plan.axis.unit}. "
        "Red: nothing completed.",
        description=f"Median, p99 and maximum {plan.judged} latency and rates of every interval.",
    )
    return single(name, table, _spec(drive, table), patched, dense=len(table.rows) > _FEW_MOMENTS)


def _spec(drive: SuiteResult, table: Table) -> Spec:
    plan = drive.plan
    end_s = max((float(row["end_s"] or 0) for row in table.records()), default=1.0)
    reads = _Panel(end_s, last=not plan.load_jobs)
    panels = [
        _latencies(_Panel(end_s, last=False), table, plan),
        reads.rate("read_iops", f"{capitalised(plan.judged)}s, IOPS", DRIVES[0]),
    ]
    if plan.load_jobs:
        writes = _Panel(end_s, last=True)
        requested = _steps().mark_rule(color=INK, strokeDash=[3, 3])
        panels.append(
            writes.rate(
                "achieved_MBps",
                "Writes, MB/s",
                STAIR,
                requested.encode(x=writes.clock("first_s"), x2="last_s:Q", y="asked:Q"),
            )
        )
    return finished(alt.VConcatChart(vconcat=panels, spacing=8))


@dataclass(frozen=True)
class _Panel:
    """One of the stacked charts; the ``last`` has the labels of the clock."""

    end_s: float
    last: bool

    def clock(self, column: str) -> alt.X:
        axis = alt.Axis(title="Measured time, s", tickCount=8)
        if not self.last:
            axis = alt.Axis(title=None, labels=False, ticks=False)
        return alt.X(f"{column}:Q", axis=axis, scale=alt.Scale(domain=[0, self.end_s], nice=False))

    def boundaries(self) -> alt.Chart:
        """Return the vertical rules between steps."""
        rules: alt.Chart = _steps().mark_rule(color=GRID, strokeWidth=1.5).encode(x=self.clock("first_s"))
        return rules

    def silence(self, column: str) -> alt.Chart:
        """Return marks, of full height, on the intervals in which ``column`` is zero but was not requested to be."""
        missed = f"datum.{column} === 0" + (" && datum.asked > 0" if column == "achieved_MBps" else "")
        silent = alt.Chart().transform_filter(missed).mark_rect(color=ALARM, opacity=0.3)
        marks: alt.Chart = silent.encode(x=self.clock("start_s"), x2="end_s:Q")
        return marks

    def rate(self, column: str, title: str, color: str, *more: alt.Chart) -> alt.LayerChart:
        """Return a rate as a step function above zero, with a point at the start and the end of each interval.

        ``more`` is drawn over it.
        """
        slices = alt.Chart().transform_fold(["start_s", "end_s"], as_=["edge", "time_s"])
        # order=False keeps the order of the data: sorting by time would break the vertical edges.
        line = {"color": color, "strokeWidth": 1.5, "order": False}
        shape = slices.mark_area(color=color, fillOpacity=0.22, line=line, order=False)
        axis = side(title, tickCount=4)
        return alt.LayerChart(
            layer=[
                self.boundaries(),
                shape.encode(
                    x=self.clock("time_s"),
                    y=alt.Y(f"{column}:Q", axis=axis, scale=alt.Scale(zero=True), stack=None),
                    detail="step:N",
                ),
                self.silence(column),
                *more,
            ],
            width=WIDTH,
            height=90,
        )


def side(title: str, **more: Any) -> alt.Axis:
    """Return a left axis of the width that all panels share."""
    return alt.Axis(title=title, minExtent=_SIDE, maxExtent=_SIDE, titleX=-_SIDE + 6, format=",~f", **more)


def _latencies(panel: _Panel, table: Table, plan: SuitePlan) -> alt.LayerChart:
    names = list(LATENCIES.values())
    scale, ticks = log_axis([row[column] for row in table.records() for column in LATENCIES])
    lines = (
        alt.Chart()
        .transform_fold(list(LATENCIES), as_=["column", "latency_us"])
        .transform_calculate(figure=f"({json.dumps(LATENCIES)})[datum.column]")
        .mark_line(strokeWidth=1.6, point={"size": 22} if len(table.rows) <= _FEW_MOMENTS else False)
        .encode(
            x=panel.clock("middle_s"),
            y=alt.Y(
                "latency_us:Q",
                scale=scale,
                axis=side(f"{capitalised(plan.judged)} latency, µs", values=ticks),
            ),
            color=alt.Color(
                "figure:N",
                scale=alt.Scale(domain=names, range=[DRIVES[0], DRIVES[1], SOFT]),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
            strokeDash=alt.StrokeDash(
                "figure:N", scale=alt.Scale(domain=names, range=[[1, 0], [1, 0], [2, 2]])
            ),
            detail="step:N",
        )
    )
    labels = (
        _steps()
        .mark_text(align="left", baseline="bottom", dx=3, dy=-3, fontSize=11, color=SOFT)
        .encode(x=panel.clock("first_s"), y=alt.value(0), text=alt.Text("asked:Q", format=",~r"))
    )
    # An invisible area for the pointer: its tooltip shows all figures of an interval.
    hover = (
        alt.Chart()
        .mark_rect(opacity=0, aria=False)
        .encode(x=panel.clock("start_s"), x2="end_s:Q", tooltip=_figures(plan.axis.unit))
    )
    layers = [panel.boundaries(), panel.silence("reads"), lines, labels, hover]
    return alt.LayerChart(layer=layers, width=WIDTH, height=220)


def _figures(unit: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("start_s:Q", title="from, s", format=".1f"),
        alt.Tooltip("end_s:Q", title="to, s", format=".1f"),
        *(
            alt.Tooltip(f"{column}:Q", title=f"{name}, µs", format=",.4~r")
            for column, name in LATENCIES.items()
        ),
        alt.Tooltip("read_iops:Q", title="reads, IOPS", format=",.0f"),
        alt.Tooltip("achieved_MBps:Q", title="writes, MB/s", format=",.1f"),
        alt.Tooltip("asked:Q", title=f"step, {unit}", format=",~r"),
    ]


def _steps() -> alt.Chart:
    """Return one row for each step: its start and end on the clock."""
    return alt.Chart().transform_aggregate(
        first_s="min(start_s)", last_s="max(end_s)", groupby=["step", "asked"]
    )
