"""Where the time of requests goes, by quantile: submission, queue, device and completion, stacked, for one drive.

Every bar is a quantile of lat, and its pieces are shares of it. So parts of the median and of the slowest requests can
be compared, although these differ a hundredfold.

Source: Intel's evaluation guide, the figure of SSD latency and system latency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.specification import Chart, Choice, finished, patch
from iogauge.report.charts.theme import DRIVES, INK, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.report.latency_parts import DIRECTIONS, PartsAt, lat_on, parts_at
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Direction
from iogauge.stats.histogram import Histogram
from iogauge.text import numbers

_BAR = 34
"""The height of a bar with its gap, in pixels."""
_COLOURS = {
    "submission": DRIVES[2],
    "queue": DRIVES[4],
    "device": DRIVES[0],
    "block layer + device": DRIVES[0],
    "completion": DRIVES[1],
    "software": DRIVES[1],
}


def latency_parts_chart(drive: SuiteResult, *, name: str) -> Chart | None:
    """Return the stacked parts of one drive's traced steps, with a choice of steps; ``None`` if none was traced."""
    choices: dict[str, Choice] = {}
    rows: list[Row] = []
    for position in drive.positions:
        for direction, points in _traced(position):
            key = f"parts-{len(choices) + 1}"
            choices[key] = _choice(f"{position.name}, {direction.value}s", points, chosen=len(choices) + 1)
            rows += [{"choice": len(choices), **row} for point in points for row in _rows(point)]
    if not rows:
        return None
    title = f"Where the time goes: {drive.label}"
    return Chart(name, title, Table.of(rows, digits=5), {"log": _spec(rows)}, choices, chosen="Step")


def _traced(position: Position) -> Iterator[tuple[Direction, list[PartsAt]]]:
    """Yield the directions of a position's traced requests, and their parts over all repeats."""
    records = [run.record for run in position.runs if run.traced]
    traces = [trace for record in records for trace in record.latency_traces]
    for direction in DIRECTIONS:
        lats = (
            lat_on(record, trace.device, direction) for record in records for trace in record.latency_traces
        )
        if points := parts_at(traces, direction, Histogram.merge(lats)):
            yield direction, points


def _rows(point: PartsAt) -> Iterator[Row]:
    """Yield a row for each part of a bar. What remains of lat is at least nothing, and the bar ends at 100 %."""
    whole_ns = max(point.lat_ns, sum(max(value, 0.0) for value in point.parts_ns.values()))
    reached = 0.0
    for part, value_ns in point.parts_ns.items():
        share = max(value_ns, 0.0) / whole_ns if whole_ns else 0.0
        yield {
            "at": point.label,
            "bar": f"{point.label}: {numbers.duration(point.lat_ns)}".replace(" us", " µs"),
            "part": part,
            "part_us": us(max(value_ns, 0.0)),
            "lat_us": us(point.lat_ns),
            "from_percent": 100 * reached,
            "to_percent": 100 * (reached + share),
        }
        reached += share


def _choice(label: str, points: list[PartsAt], *, chosen: int) -> Choice:
    mean = points[0]
    last = list(mean.parts_ns)[-1]
    longest = max(mean.parts_ns, key=lambda part: mean.parts_ns[part])
    if mean.exceeds:
        traced_ns = sum(list(mean.parts_ns.values())[:-1])
        answer = (
            f"Traced requests took longer than those of the whole run (mean {numbers.duration(traced_ns)}, lat "
            f"{numbers.duration(mean.lat_ns)}): they do not stand for it. Run longer. "
        )
    else:
        share = numbers.percent(mean.parts_ns[longest] / mean.lat_ns) if mean.lat_ns else "-"
        answer = f"On average {share} of the latency is {longest}. "
    patched = patch(
        title=f"Where the time goes: {label}",
        subtitle=f"{answer}{last.capitalize()} is what remains of lat: a difference of quantiles.",
        description=f"Shares of the parts of latency at its mean and quantiles, {label}.",
        chosen=chosen,
    )
    return Choice(label, "log", {"log": patched})


def _spec(rows: list[Row]) -> Spec:
    parts = [part for part in _COLOURS if any(row["part"] == part for row in rows)]
    base = vega.filtered(vega.unit(), "datum.choice === chosen")
    bars = vega.drawn(
        base,
        vega.mark("bar", height={"band": 0.72}),
        y=vega.name(
            "bar", sort=None, axis={"title": None, "labelColor": INK, "labelLimit": 180, "grid": False}
        ),
        x=vega.number("from_percent", axis={"title": "Share of lat, %"}, scale={"domain": [0, 100]}),
        x2=vega.end("to_percent"),
        color=vega.name(
            "part",
            scale={"domain": parts, "range": [_COLOURS[part] for part in parts]},
            legend={"title": None, "symbolType": "square"},
        ),
        tooltip=[
            vega.name("at", title="at"),
            vega.name("part", title="part"),
            vega.number("part_us", title="time, µs", format=",.4~r"),
            vega.number("lat_us", title="of lat, µs", format=",.4~r"),
        ],
    )
    most = max(Counter(choice for choice, _ in {(row["choice"], row["at"]) for row in rows}).values())
    return finished(vega.layered(bars, width=WIDTH, height=_BAR * most))
