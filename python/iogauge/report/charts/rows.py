"""The rows of a specification as horizontal bars: the highest rate first, small requests apart from large ones.

Rates of small requests are IOPS and those of large ones MB/s, each on an axis of its own from zero. Below them stand
the latencies of the same rows, the lowest first, for the chosen statistic: points, since a bar needs a zero, which a
logarithmic axis lacks.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Statistic, Table, rows_table
from iogauge.report.charts.latency import (
    CHOSEN,
    LATENCY_TOOLTIP,
    POOLED,
    WHISKER_ENDS,
    by_drive,
    drive_legend,
    filled_if_supported,
    latency_axis,
    notes,
    pale,
    statistic_choices,
)
from iogauge.report.charts.specification import Chart, finished
from iogauge.report.charts.theme import DRIVES, INK, SHAPES, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import capitalised

_LINE = 26
"""The most characters on a line of a row's name, so that bars have room on a phone too."""
_LINE_HEIGHT = 13
_SIDE = 160
"""The width of the names in pixels."""
_GAP, _BAR = 8, 17
"""What a row is at least higher than its name, and the height of a bar, in pixels."""
_ROOM = 1.18
"""The axis is this many times as long as the longest bar, since the figure of a bar stands behind it."""


def rows_chart(drives: Sequence[SuiteResult]) -> Chart:
    """Return the rows of the drives' common suite, with a choice of statistics.

    Raises ValueError: a row has no name, under which its bar would stand.
    """
    plan, table = drives[0].plan, rows_table(drives)
    if not all(table.column("label")):
        raise ValueError(f"a row of {plan.suite} has no name")

    def texts(statistic: Statistic, rows: Sequence[Row]) -> dict[str, str]:
        what = f"{statistic.label} {plan.judged} latency"
        return {
            "title": f"{plan.title}: rates, and {what[0].lower() if statistic.q is None else what[0]}{what[1:]}",
            "subtitle": " ".join(notes(drives, rows)),
            "description": f"The rate of each row, and its {what} in microseconds.",
        }

    specs = {scale: _spec(drives, scale, table) for scale in ("linear", "log")}
    return Chart(plan.suite, plan.title, table, specs, statistic_choices(table, texts))


def _spec(drives: Sequence[SuiteResult], scale: str, table: Table) -> Spec:
    labels = [drive.label for drive in drives]
    panels = [
        _rates(labels, [row for row in table.records() if row["unit"] == unit], unit)
        for unit in dict.fromkeys(table.column("unit"))
        if unit
    ]
    latencies = _latencies(labels, scale, table.records(), drives[0].plan.judged)
    return finished({"vconcat": [*panels, latencies], "spacing": 14, "transform": [{"filter": CHOSEN}]})


def _names(rows: Sequence[Row], labels: Sequence[str], *, field: str, order: str) -> tuple[Spec, int]:
    """Return the encoding of the rows' names, sorted by a column, and the height of their panel."""
    names = list(dict.fromkeys(str(row["label"]) for row in rows))
    # A name is put into this expression as a JSON string, never as code.
    lines = f"({json.dumps({name: _lines(name) for name in names})})[datum.%s]"
    # Vega puts the first line of a label on the middle of its row.
    raised = [
        {"test": f"{lines % 'value'}.length === {count}", "value": -_LINE_HEIGHT * (count - 1) / 2}
        for count in (2, 3)
    ]
    axis = {
        "title": None,
        "labelExpr": lines % "label",
        "labelOffset": {"condition": raised, "value": 0},
        "labelLineHeight": _LINE_HEIGHT,
        "labelFontSize": 11,
        "labelColor": INK,
        "labelLimit": _SIDE,
        "minExtent": _SIDE,
        "maxExtent": _SIDE,
        "ticks": False,
        "domain": False,
    }
    sort = {"field": field, "op": "max", "order": order}
    most_lines = max((len(_lines(name)) for name in names), default=1)
    height = len(names) * max(_LINE_HEIGHT * most_lines + _GAP, _BAR * len(labels))
    return vega.name("label", sort=sort, axis=axis), height


def _lines(name: str) -> list[str]:
    """Return a name in lines of about equal length, as few as possible.

    >>> _lines("64 KiB reads as published (random), 8 x 4"), _lines("SEQ1M Q8T1 read")
    (['64 KiB reads as published', '(random), 8\xa0x\xa04'], ['SEQ1M Q8T1 read'])
    >>> _lines("4 KiB random writes, one at a time")
    ['4 KiB random writes,', 'one at a time']
    """
    name = name.replace(" x ", "\xa0x\xa0")
    few = len(textwrap.wrap(name, _LINE))
    return next(
        lines for width in range(1, _LINE + 1) if len(lines := textwrap.wrap(name, width)) <= max(few, 1)
    )


def _rates(labels: Sequence[str], rows: Sequence[Row], unit: object) -> Spec:
    y, height = _names(rows, labels, field="rate", order="descending")
    most = max(float(row[column] or 0) for row in rows for column in ("rate", "rate_high"))
    axis = {
        "title": unit,
        "titleColor": INK,
        "tickCount": 5,
        "grid": True,
        **(vega.SHORT if unit == "IOPS" else {"format": ",~f"}),
    }
    base = vega.filtered(
        vega.unit(
            x=vega.number("rate", axis=axis, scale={"domain": [0, most * _ROOM or 1.0], "nice": False}),
            y=y,
            yOffset=vega.name("drive", scale={"domain": list(labels)}),
        ),
        f"{POOLED} && datum.unit === '{unit}' && isValid(datum.rate)",
    )
    tooltip = [
        vega.name("drive", title="drive"),
        vega.name("label", title="row"),
        vega.number("rate", title=str(unit), format=",.4~r"),
        vega.number("rate_low", title="95 % from", format=",.4~r"),
        vega.number("rate_high", title="95 % to", format=",.4~r"),
    ]
    color = by_drive(labels, DRIVES, legend=drive_legend(labels))
    bounded = vega.filtered(base, "isValid(datum.rate_low) && isValid(datum.rate_high)")
    return vega.layered(
        vega.drawn(base, vega.mark("bar", height={"band": 0.72}), color=color, tooltip=tooltip),
        vega.drawn(
            bounded,
            vega.mark("rule", color=INK, strokeWidth=1.5),
            x=vega.number("rate_low"),
            x2=vega.end("rate_high"),
        ),
        vega.drawn(
            vega.transformed(base, {"calculate": "max(datum.rate, datum.rate_high)", "as": "end"}),
            vega.mark("text", align="left", dx=5, color=INK, fontSize=11),
            x=vega.number("end"),
            text=vega.number("rate", format=".3s" if unit == "IOPS" else ",.3r"),
        ),
        width=WIDTH - _SIDE,
        height=height,
    )


def _latencies(labels: Sequence[str], scale: str, rows: Sequence[Row], judged: str) -> Spec:
    y, height = _names(rows, labels, field="latency_us", order="ascending")
    x = latency_axis(
        scale,
        title=f"{capitalised(judged)} latency, µs",
        titleColor=INK,
        grid=True,
        **vega.IN_US,
        labelOverlap="greedy",
    )
    legend = drive_legend(labels)
    color = by_drive(labels, DRIVES, legend=legend)
    tooltip = [
        vega.name("drive", title="drive"),
        vega.name("label", title="row"),
        *LATENCY_TOOLTIP,
    ]
    base = vega.unit(
        x=x("latency_us"), y=y, color=color, yOffset=vega.name("drive", scale={"domain": list(labels)})
    )
    runs = vega.filtered(base, f"!({POOLED}) && isValid(datum.latency_us)")
    measured = vega.filtered(base, f"{POOLED} && isValid(datum.latency_us)")
    return vega.layered(
        pale(runs, tooltip),
        vega.drawn(
            vega.transformed(measured, *WHISKER_ENDS),
            vega.mark("rule", strokeWidth=1.5),
            x=x("bottom"),
            x2=vega.end("top"),
        ),
        vega.drawn(
            vega.filtered(measured, "!isValid(datum.high_us)"),
            vega.mark("text", text="→", dx=13, fontSize=14),
            color={"value": INK},
            tooltip=tooltip,
        ),
        vega.drawn(
            measured,
            vega.mark("point", size=70, strokeWidth=2, opacity=1),
            shape=by_drive(labels, SHAPES, legend=legend),
            tooltip=tooltip,
            fill=filled_if_supported(color),
        ),
        width=WIDTH - _SIDE,
        height=height,
    )
