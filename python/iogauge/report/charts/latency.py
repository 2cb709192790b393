"""Latencies along a suite's axis, for every chart of steps: a line for each drive, with its intervals.

A point that its sample does not support is hollow. An arrow marks an interval without an upper end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from iogauge.report.charts.data import STATISTICS, Row, Statistic, Table
from iogauge.report.charts.specification import Choice, Spec, log_ticks, patch
from iogauge.report.charts.theme import DASHES, DRIVES, PAPER, SHAPES
from iogauge.results.suite_result import SuiteResult

LOG_FROM = 20.0
"""A latency axis is logarithmic if its figures span more than this factor. A linear axis starts at zero."""

Position = Callable[[str], Any]
"""A function that encodes a column on an axis of the chart."""


def fitting(rows: Sequence[Row]) -> str:
    """Return the kind of axis that suits the latencies of ``rows``: ``linear`` or ``log``."""
    values = [float(row["latency_us"] or 0) for row in rows]
    return "log" if values and max(values) > LOG_FROM * min(values) else "linear"


CHOSEN = "datum.statistic === statistic"
"""A filter: the rows of the statistic that the reader chose."""
POOLED = "datum.repeat === null"
"""A filter: the rows of all repeats pooled, or of the only run."""


def latency_axis(scale: str, *, axis: Callable[..., alt.Axis] = alt.Axis, **more: Any) -> Position:
    """Return the encoding of latencies on an axis that fits all figures of the choice, intervals included.

    ``axis`` makes the axis, from ``more`` and from the ticks of the kind of scale.
    """
    ticks: dict[str, Any] = {"tickCount": 6}
    latency_scale = alt.Scale(domain=alt.ExprRef("domain"), nice=True)
    if scale == "log":
        latency_scale = alt.Scale(type="log", domain=alt.ExprRef("domain"), nice=False)
        ticks = {"values": alt.ExprRef("ticks")}
    made = axis(**ticks, **more)
    return lambda column: alt.Y(f"{column}:Q", axis=made, scale=latency_scale)


def statistic_choices(
    table: Table, texts: Callable[[Statistic, Sequence[Row]], dict[str, str]]
) -> dict[str, Choice]:
    """Return a choice for each statistic. ``texts`` makes the texts of ``patch`` from a statistic and its rows."""
    return {statistic.key: _choice(statistic, table, texts) for statistic in STATISTICS}


def _choice(
    statistic: Statistic, table: Table, texts: Callable[[Statistic, Sequence[Row]], dict[str, str]]
) -> Choice:
    rows = [row for row in table.records() if row["statistic"] == statistic.key and row["latency_us"]]
    latencies = [float(row[name] or 0) for row in rows for name in ("latency_us", "low_us", "high_us")]
    domain, ticks = log_ticks(latencies)
    own = texts(statistic, rows)
    patches: dict[str, Spec] = {
        "linear": patch(**own, statistic=statistic.key, domain=[0, max(latencies, default=1.0)]),
        "log": patch(**own, statistic=statistic.key, domain=domain, ticks=ticks),
    }
    return Choice(statistic.label, fitting(rows), patches)


def notes(drives: Sequence[SuiteResult], rows: Sequence[Row]) -> list[str]:
    """Return the sentences that explain whiskers and marks."""
    independent = any(drive.taken_as_independent for drive in drives)
    sentences = [f"Whiskers: 95 % interval{', requests taken as independent' if independent else ''}."]
    if any(drive.reported for drive in drives):
        sentences.append("Without whiskers: figures that another program reported without samples.")
    if any(row["repeat"] for row in rows):
        sentences = ["Whiskers: 95 % interval of the repeats. Pale: each repeat."]
    if any(not row["supported"] for row in rows):
        sentences.append("Hollow: too few samples beyond this quantile to support it.")
    return sentences


def by_drive(labels: Sequence[str], palette: Sequence[Any]) -> alt.Scale:
    """Return a scale that gives each drive its own entry of ``palette``."""
    return alt.Scale(domain=list(labels), range=[palette[n % len(palette)] for n in range(len(labels))])


def latency_layer(
    x: Position,
    y: Position,
    labels: Sequence[str],
    *,
    rate: str = "achieved_MBps",
    joined: bool = True,
    **size: Any,
) -> alt.LayerChart:
    """Return lines, whiskers, points, and pale points of single repeats, in each drive's colour, shape and dash.

    Lines join the positions if ``joined``. ``size`` is the width and height of a panel in pixels.
    """
    legend = alt.Legend(title=None, symbolOpacity=1) if len(labels) > 1 else None
    color = alt.Color("drive:N", scale=by_drive(labels, DRIVES), legend=legend)
    dash = alt.StrokeDash("drive:N", scale=by_drive(labels, DASHES), legend=legend)
    shape = alt.Shape("drive:N", scale=by_drive(labels, SHAPES), legend=legend)
    tooltip = [
        alt.Tooltip("drive:N", title="drive"),
        alt.Tooltip("asked:Q", title="at", format=",~r"),
        alt.Tooltip(f"{rate}:Q", title="achieved, MB/s", format=",.1f"),
        alt.Tooltip("latency_us:Q", title="latency, µs", format=",.5~r"),
        alt.Tooltip("low_us:Q", title="95 % from, µs", format=",.5~r"),
        alt.Tooltip("high_us:Q", title="95 % to, µs", format=",.5~r"),
        alt.Tooltip("samples:Q", title="samples", format=","),
        alt.Tooltip("needed:Q", title="samples needed", format=","),
    ]
    base = alt.Chart().encode(x=x("asked"), y=y("latency_us"), color=color)
    line = base.transform_filter(POOLED).mark_line(strokeWidth=2.25 if joined else 0).encode(strokeDash=dash)
    runs = base.transform_filter(f"!({POOLED}) && isValid(datum.latency_us)")
    measured = base.transform_filter(f"{POOLED} && isValid(datum.latency_us)")
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
    return alt.LayerChart(layer=[pale(runs, tooltip), line, whisker, open_above, points], **size)


def pale(runs: alt.Chart, tooltip: Sequence[alt.Tooltip]) -> alt.Chart:
    """Return points of single repeats, small and pale, to draw behind those of all repeats pooled."""
    marks: alt.Chart = runs.mark_point(size=22, filled=True, opacity=0.4, shape="circle").encode(
        tooltip=list(tooltip)
    )
    return marks
