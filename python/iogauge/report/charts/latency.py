"""Latencies along a suite's axis, for every chart of steps: a line for each drive, with its intervals.

A point that its sample does not support is hollow. An arrow marks an interval without an upper end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from iogauge.report.charts import vega
from iogauge.report.charts.data import STATISTICS, Row, Statistic, Table
from iogauge.report.charts.specification import LOG_SCALE, Choice, log_ticks, patch
from iogauge.report.charts.theme import DASHES, DRIVES, INK, PAPER, SHAPES
from iogauge.report.charts.vega import Spec
from iogauge.results.suite_result import SuiteResult

LOG_FROM = 20.0
"""A latency axis is logarithmic if its figures span more than this factor. A linear axis starts at zero."""

Position = Callable[[str], Spec]
"""A function that encodes a column on an axis of the chart."""


def fitting(rows: Sequence[Row]) -> str:
    """Return the kind of axis that suits the latencies of ``rows``: ``linear`` or ``log``."""
    values = [float(row["latency_us"] or 0) for row in rows]
    return "log" if values and max(values) > LOG_FROM * min(values) else "linear"


CHOSEN = "datum.statistic === statistic"
"""A filter: the rows of the statistic that the reader chose."""
POOLED = "datum.repeat === null"
"""A filter: the rows of all repeats pooled, or of the only run."""

WHISKER_ENDS: tuple[Spec, ...] = (
    {"calculate": "isValid(datum.low_us) ? datum.low_us : datum.latency_us", "as": "bottom"},
    {"calculate": "isValid(datum.high_us) ? datum.high_us : datum.latency_us", "as": "top"},
)
"""Transforms: the ends of a latency's whisker, from its interval. An open end is the latency itself."""
LATENCY_TOOLTIP: tuple[Spec, ...] = (
    vega.number("latency_us", title="latency, µs", format=",.5~r"),
    vega.number("low_us", title="95 % from, µs", format=",.5~r"),
    vega.number("high_us", title="95 % to, µs", format=",.5~r"),
    vega.number("samples", title="samples", format=","),
    vega.number("needed", title="samples needed", format=","),
)
"""What the pointer shows of a latency."""


def latency_axis(scale: str, **axis: object) -> Position:
    """Return the encoding of latencies on an axis that fits all figures of the choice, intervals included."""
    ticks: Spec = {"tickCount": 6}
    scaled: Spec = {"domain": vega.parameter("domain"), "nice": True}
    if scale == "log":
        ticks = {"values": vega.parameter("ticks")}
        scaled = {**scaled, **LOG_SCALE}
    return lambda column: vega.number(column, axis={**ticks, **axis}, scale=scaled)


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
    sentences = [f"Whiskers: 95 % interval{', requests assumed independent' if independent else ''}."]
    if any(drive.reported for drive in drives):
        sentences.append("Without whiskers: figures that another program reported without samples.")
    if any(row["repeat"] for row in rows):
        sentences = ["Whiskers: 95 % interval of the repeats. Pale: each repeat."]
    if any(not row["supported"] for row in rows):
        sentences.append("Hollow: too few samples beyond this quantile to support it.")
    return sentences


def by_drive(labels: Sequence[str], palette: Sequence[Any], **properties: object) -> Spec:
    """Return an encoding that gives each drive its own entry of ``palette``."""
    entries = [palette[n % len(palette)] for n in range(len(labels))]
    return vega.name("drive", scale={"domain": list(labels), "range": entries}, **properties)


def drive_legend(labels: Sequence[str]) -> Spec | None:
    """Return the legend of the drives' colours; none for a single drive."""
    return {"title": None, "symbolOpacity": 1} if len(labels) > 1 else None


def latency_layer(
    x: Position,
    y: Position,
    labels: Sequence[str],
    *,
    rate: str = "achieved_MBps",
    joined: bool = True,
    **size: int,
) -> Spec:
    """Return lines, whiskers, points, and pale points of single repeats, in each drive's colour, shape and dash.

    Lines join the positions if ``joined``. ``size`` is the width and height of a panel in pixels.
    """
    legend = drive_legend(labels)
    color = by_drive(labels, DRIVES, legend=legend)
    tooltip = [
        vega.name("drive", title="drive"),
        vega.number("position", title="at", format=",~r"),
        vega.number(rate, title="achieved, MB/s", format=",.1f"),
        *LATENCY_TOOLTIP,
    ]
    base = vega.unit(x=x("position"), y=y("latency_us"), color=color)
    runs = vega.filtered(base, f"!({POOLED}) && isValid(datum.latency_us)")
    measured = vega.filtered(base, f"{POOLED} && isValid(datum.latency_us)")
    line = vega.drawn(
        vega.filtered(base, POOLED),
        vega.mark("line", strokeWidth=2.25 if joined else 0),
        strokeDash=by_drive(labels, DASHES, legend=legend),
    )
    whisker = vega.drawn(
        vega.transformed(measured, *WHISKER_ENDS),
        vega.mark("errorbar", ticks={"size": 9}, thickness=1.5),
        y=y("bottom"),
        y2=vega.end("top"),
    )
    open_above = vega.drawn(
        vega.filtered(measured, "!isValid(datum.high_us)"),
        vega.mark("text", text="↑", dy=-13, fontSize=14),
        color={"value": INK},
        tooltip=tooltip,
    )
    points = vega.drawn(
        measured,
        vega.mark("point", size=70, strokeWidth=2, opacity=1),
        shape=by_drive(labels, SHAPES, legend=legend),
        tooltip=tooltip,
        fill=filled_if_supported(color),
    )
    return vega.layered(pale(runs, tooltip), line, whisker, open_above, points, **size)


def filled_if_supported(color: Spec) -> Spec:
    """Return the encoding of a fill that only points have which their sample supports; others are hollow."""
    return {"condition": {"test": "datum.supported", **color}, "value": PAPER}


def pale(runs: Spec, tooltip: list[Spec]) -> Spec:
    """Return points of single repeats, small and pale, to draw behind those of all repeats pooled."""
    return vega.drawn(
        runs, vega.mark("point", size=22, filled=True, opacity=0.4, shape="circle"), tooltip=tooltip
    )
