"""One drive's latency and throughput over time, interval by interval, on one clock for all steps.

An interval in which nothing completed is drawn as zero and marked, since a gap in a line is easily missed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from iogauge.report.charts import vega
from iogauge.report.charts.data import Table, Value, time_table
from iogauge.report.charts.over_time.warmth import limit_C
from iogauge.report.charts.specification import Chart, finished, log_axis, patch, single
from iogauge.report.charts.theme import ALARM, DRIVES, GRID, HEAT, INK, SOFT, STAIR, WIDTH
from iogauge.report.charts.vega import Spec
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
        f"Red: nothing completed.{_heat_said(table)}",
        description=f"Median, p99 and maximum {plan.judged} latency and rates of every interval.",
    )
    return single(name, table, _spec(drive, table), patched, dense=len(table.rows) > _FEW_MOMENTS)


def _spec(drive: SuiteResult, table: Table) -> Spec:
    plan = drive.plan
    end_s = max(table.numbers("end_s"), default=1.0)
    warm = any(value is not None for value in table.column("temperature_C"))
    heat = any(table.column("heat"))
    reads = _Panel(end_s, last=not plan.load_jobs and not warm, heat=heat)
    panels = [
        _latencies(_Panel(end_s, last=False, heat=heat), table, plan),
        reads.rate("read_iops", f"{capitalised(plan.judged)}s, IOPS", DRIVES[0]),
    ]
    if plan.load_jobs:
        writes = _Panel(end_s, last=not warm, heat=heat)
        requested = vega.drawn(
            _steps(),
            vega.mark("rule", color=INK, strokeDash=[3, 3]),
            x=writes.clock("first_s"),
            x2=vega.end("last_s"),
            y=vega.number("position"),
        )
        panels.append(writes.rate("achieved_MBps", "Writes, MB/s", STAIR, requested))
    if warm:
        panel = _Panel(end_s, last=True, heat=heat)
        panels.append(panel.temperature(table.column("temperature_C"), limit_C(drive.runs)))
    return finished({"vconcat": panels, "spacing": 8})


def _heat_said(table: Table) -> str:
    """Return what the subtitle says of the amber spells."""
    kinds = set(table.column("heat"))
    said = {"throttled": "throttled", "hot": "was hot"}
    parts = [text for heat, text in said.items() if heat in kinds]
    return f" Amber: the drive {' or '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class _Panel:
    """One of the stacked charts; the ``last`` has the labels of the clock."""

    end_s: float
    last: bool
    heat: bool = False
    """Whether the drive throttled or was hot."""

    def clock(self, column: str) -> Spec:
        axis: Spec = {"title": "Measured time, s", "tickCount": 8}
        if not self.last:
            axis = {"title": None, "labels": False, "ticks": False}
        return vega.number(column, axis=axis, scale={"domain": [0, self.end_s], "nice": False})

    def boundaries(self) -> Spec:
        """Return the vertical rules between steps."""
        return vega.drawn(_steps(), vega.mark("rule", color=GRID, strokeWidth=1.5), x=self.clock("first_s"))

    def silence(self, column: str) -> Spec:
        """Return marks, of full height, on the intervals in which ``column`` is zero but was not requested to be."""
        missed = f"datum.{column} === 0" + (" && datum.position > 0" if column == "achieved_MBps" else "")
        silent = vega.filtered(vega.unit(), missed)
        return vega.drawn(
            silent, vega.mark("rect", color=ALARM, opacity=0.3), x=self.clock("start_s"), x2=vega.end("end_s")
        )

    def heated(self, *, labels: bool = False) -> list[Spec]:
        """Return the spells in which the drive throttled or was hot, of full height, with ``labels`` named."""
        if not self.heat:
            return []
        bounds = [
            {"op": "min", "field": "start_s", "as": "first_s"},
            {"op": "max", "field": "end_s", "as": "last_s"},
        ]
        some = vega.filtered(vega.unit(), "datum.heat !== null")
        spells = vega.transformed(some, {"aggregate": bounds, "groupby": ["spell", "heat", "step"]})
        shade = vega.drawn(
            spells,
            vega.mark("rect", color=HEAT),
            x=self.clock("first_s"),
            x2=vega.end("last_s"),
            opacity=vega.name(
                "heat", scale={"domain": ["throttled", "hot"], "range": [0.4, 0.18]}, legend=None
            ),
        )
        # On two lines: a spell may be narrower than its name.
        names = [
            vega.drawn(
                vega.filtered(spells, f"datum.heat === '{heat}'"),
                vega.mark("text", align="left", baseline="top", dx=3, fontSize=11, color=INK),
                x=self.clock("first_s"),
                y={"value": top},
                text=vega.name("heat"),
            )
            for heat, top in (("throttled", 3), ("hot", 17))
        ]
        return [shade, *names] if labels else [shade]

    def temperature(self, temperatures: Sequence[Value], limit: float | None) -> Spec:
        """Return the temperature of the drive, with the one from which it warns."""
        known = [*(float(value) for value in temperatures if value is not None), *([limit] if limit else [])]
        domain = [10 * math.floor(min(known) / 10), 10 * math.ceil((max(known) + 1) / 10)]
        line = vega.drawn(
            _edges(),
            vega.mark("line", color=INK, strokeWidth=1.5, order=False),
            x=self.clock("time_s"),
            y=vega.number("temperature_C", axis=side("Drive, °C", tickCount=4), scale={"domain": domain}),
            detail=vega.name("step"),
        )
        rule = vega.drawn(
            _steps(),
            vega.mark("rule", color=ALARM, strokeDash=[3, 3]),
            x=self.clock("first_s"),
            x2=vega.end("last_s"),
            y={"datum": limit, "type": "quantitative"},
        )
        layers = [*self.heated(), self.boundaries(), line, *([] if limit is None else [rule])]
        return vega.layered(*layers, width=WIDTH, height=90)

    def rate(self, column: str, title: str, color: str, *more: Spec) -> Spec:
        """Return a rate as a step function above zero, with a point at the start and the end of each interval.

        ``more`` is drawn over it.
        """
        slices = _edges()
        # order=False keeps the order of the data: sorting by time would break the vertical edges.
        line = {"color": color, "strokeWidth": 1.5, "order": False}
        shape = vega.drawn(
            slices,
            vega.mark("area", color=color, fillOpacity=0.22, line=line, order=False),
            x=self.clock("time_s"),
            y=vega.number(column, axis=side(title, tickCount=4), scale={"zero": True}, stack=None),
            detail=vega.name("step"),
        )
        layers = [*self.heated(), self.boundaries(), shape, self.silence(column), *more]
        return vega.layered(*layers, width=WIDTH, height=90)


def side(title: str, **more: object) -> Spec:
    """Return a left axis of the width that all panels share."""
    width = {"minExtent": _SIDE, "maxExtent": _SIDE, "titleX": -_SIDE + 6}
    return {"title": title, **width, "format": ",~f", **more}


def _latencies(panel: _Panel, table: Table, plan: SuitePlan) -> Spec:
    names = list(LATENCIES.values())
    scale, ticks = log_axis([value for column in LATENCIES for value in table.column(column)])
    folded = vega.transformed(
        vega.unit(),
        {"fold": list(LATENCIES), "as": ["column", "latency_us"]},
        {"calculate": f"({json.dumps(LATENCIES)})[datum.column]", "as": "figure"},
    )
    lines = vega.drawn(
        folded,
        vega.mark("line", strokeWidth=1.6, point={"size": 22} if len(table.rows) <= _FEW_MOMENTS else False),
        x=panel.clock("middle_s"),
        y=vega.number(
            "latency_us",
            scale=scale,
            axis=side(f"{capitalised(plan.judged)} latency, µs", values=ticks, **vega.IN_US),
        ),
        color=vega.name(
            "figure",
            scale={"domain": names, "range": [DRIVES[0], DRIVES[1], SOFT]},
            legend={"title": None, "symbolType": "stroke"},
        ),
        strokeDash=vega.name("figure", scale={"domain": names, "range": [[1, 0], [1, 0], [2, 2]]}),
        detail=vega.name("step"),
    )
    labels = vega.drawn(
        _steps(),
        vega.mark("text", align="left", baseline="bottom", dx=3, dy=-3, fontSize=11, color=SOFT),
        x=panel.clock("first_s"),
        y={"value": 0},
        text=vega.number("position", format=",~r"),
    )
    # An invisible area for the pointer: its tooltip shows all figures of an interval.
    hover = vega.drawn(
        vega.unit(),
        vega.mark("rect", opacity=0, aria=False),
        x=panel.clock("start_s"),
        x2=vega.end("end_s"),
        tooltip=_figures(plan.axis.unit, warm="temperature_C" in table.columns),
    )
    layers = [*panel.heated(labels=True), panel.boundaries(), panel.silence("reads"), lines, labels, hover]
    return vega.layered(*layers, width=WIDTH, height=220)


def _figures(unit: str, *, warm: bool) -> list[Spec]:
    return [
        vega.number("start_s", title="from, s", format=".1f"),
        vega.number("end_s", title="to, s", format=".1f"),
        *(vega.number(column, title=f"{label}, µs", format=",.4~r") for column, label in LATENCIES.items()),
        vega.number("read_iops", title="reads, IOPS", format=",.0f"),
        vega.number("achieved_MBps", title="writes, MB/s", format=",.1f"),
        *([vega.number("temperature_C", title="drive, °C", format=".0f")] if warm else []),
        vega.number("position", title=f"step, {unit}", format=",~r"),
    ]


def _edges() -> Spec:
    """Return two rows for each interval, at its start and at its end."""
    return vega.transformed(vega.unit(), {"fold": ["start_s", "end_s"], "as": ["edge", "time_s"]})


def _steps() -> Spec:
    """Return one row for each step: its start and end on the clock."""
    bounds = [
        {"op": "min", "field": "start_s", "as": "first_s"},
        {"op": "max", "field": "end_s", "as": "last_s"},
    ]
    return vega.transformed(vega.unit(), {"aggregate": bounds, "groupby": ["step", "position"]})
