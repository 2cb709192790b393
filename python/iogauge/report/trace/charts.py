"""Charts of a trace: rates, mix and footprint over its time; sizes, gaps between arrivals, hits of a cache."""

from __future__ import annotations

from collections.abc import Callable

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import Chart, finished, log_axis, patch, single
from iogauge.report.charts.theme import DRIVES, HEIGHT, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.schema import Direction
from iogauge.text import numbers
from iogauge.traces.summary import Course, Summary

_COLOURS = dict(zip(Direction, DRIVES, strict=False))
_MOST_BARS = 24
"""With more sizes, bars stand for doublings."""
_POINTS = 200
"""About how many points a distribution has."""
_PANEL = 170


def trace_charts(summary: Summary, name: str) -> list[Chart]:
    """Return the charts of a trace; those that its data cannot fill are left out."""
    charts = [_rates(summary, name), _mix(summary, name), _sizes(summary, name)]
    if summary.gaps.count and summary.gaps.max > 0:
        charts.append(_gaps(summary, name))
    if summary.uses:
        charts.append(_footprint(summary, name))
    if summary.hits:
        charts.append(_reuse(summary, name))
    return charts


def _over_time(summary: Summary, values: Callable[[Course, Direction], Row]) -> Table:
    return Table.of(
        [
            {
                "start_s": slot.start_s,
                "end_s": slot.end_s,
                "direction": direction.value,
                **values(slot, direction),
            }
            for slot in summary.course
            for direction in summary.directions
        ]
    )


def _clock(summary: Summary, column: str = "start_s") -> Spec:
    axis = {"title": "Time of the trace, s", "tickCount": 8}
    domain = [0, summary.course[-1].end_s]
    return vega.number(column, axis=axis, scale={"domain": domain, "nice": False})


def _by_direction(summary: Summary) -> Spec:
    present = list(summary.directions)
    scale = {
        "domain": [direction.value for direction in present],
        "range": [_COLOURS[one] for one in present],
    }
    return vega.name("direction", scale=scale, legend={"title": None} if len(present) > 1 else None)


def _rates(summary: Summary, name: str) -> Chart:
    def values(slot: Course, direction: Direction) -> Row:
        lasted_s = slot.end_s - slot.start_s
        return {
            "iops": slot.requests[direction] / lasted_s,
            "rate_MBps": slot.bytes[direction] / lasted_s / 1e6,
        }

    panels = [
        {
            **vega.drawn(
                vega.unit(x=_clock(summary), color=_by_direction(summary)),
                vega.mark("line", interpolate="step-after", strokeWidth=1.5),
                y=vega.number(column, title=title, axis={**vega.SHORT, "tickCount": 5}),
            ),
            "width": WIDTH - 80,
            "height": _PANEL,
        }
        for column, title in (("iops", "Requests a second"), ("rate_MBps", "MB/s"))
    ]
    slot = numbers.span(round((summary.course[0].end_s - summary.course[0].start_s) * 1e9))
    texts = patch(
        title=f"Rates: {name}",
        subtitle=f"One value for each {slot}, of the requests that arrive in it.",
        description="Requests and bytes a second over the time of the trace, by direction.",
    )
    spec = finished({"vconcat": panels, "spacing": 12})
    return single("rates", _over_time(summary, values), spec, texts, dense=len(summary.course) > 120)


def _mix(summary: Summary, name: str) -> Chart:
    def values(slot: Course, direction: Direction) -> Row:
        requests = sum(slot.requests.values())
        return {"percent": 100 * slot.requests[direction] / requests if requests else 0.0}

    area = vega.drawn(
        vega.unit(x=_clock(summary), color=_by_direction(summary)),
        vega.mark("area", interpolate="step-after"),
        y=vega.number(
            "percent", stack=True, axis={"title": "Of the requests, %"}, scale={"domain": [0, 100]}
        ),
    )
    texts = patch(
        title=f"Mix of directions: {name}",
        subtitle="Empty where nothing arrives.",
        description="The share of each direction among the requests, over the time of the trace.",
    )
    spec = finished({**area, "width": WIDTH - 80, "height": HEIGHT - 120})
    return single("mix", _over_time(summary, values), spec, texts, dense=len(summary.course) > 120)


def _sizes(summary: Summary, name: str) -> Chart:
    sizes = {size for part in summary.directions.values() for size in part.sizes}
    doublings = len(sizes) > _MOST_BARS
    rows: list[Row] = []
    for direction, part in summary.directions.items():
        counts: dict[int, int] = {}
        for size, count in part.sizes.items():
            bar = 1 << max(size - 1, 0).bit_length() if doublings and size else size
            counts[bar] = counts.get(bar, 0) + count
        rows += [
            {
                "size_bytes": size,
                "size": f"{'to ' if doublings and size else ''}{numbers.block(size)}",
                "direction": direction.value,
                "requests": count,
                "percent": 100 * count / summary.requests,
            }
            for size, count in sorted(counts.items())
        ]
    order = [row["size"] for row in sorted(rows, key=lambda row: float(row["size_bytes"] or 0))]
    bars = vega.drawn(
        vega.unit(
            x=vega.name(
                "size",
                sort=list(dict.fromkeys(order)),
                axis={"title": "Size of the request", "labelAngle": 0},
            ),
            color=_by_direction(summary),
        ),
        vega.mark("bar"),
        y=vega.number("percent", axis={"title": "Of all requests, %"}),
    )
    bars["encoding"]["x"]["axis"]["labelAngle"] = -45 if len(set(order)) > 10 else 0
    texts = patch(
        title=f"Sizes: {name}",
        subtitle="Each bar is for sizes above the one to its left." if doublings else "",
        description="How many requests there are of each size, by direction.",
    )
    spec = finished({**bars, "width": WIDTH - 80, "height": HEIGHT - 120})
    return single("sizes", Table.of(rows), spec, texts)


def _gaps(summary: Summary, name: str) -> Chart:
    gaps = summary.gaps
    step = max(len(gaps.values) // _POINTS, 1)
    places = sorted({*range(0, len(gaps.values), step), len(gaps.values) - 1})
    least_us = summary.facts.resolution_ns / 1000
    rows: list[Row] = [
        {
            "gap_us": max(float(gaps.values[place]) / 1000, least_us),
            "percent": 100 * float(gaps.cumulative[place]) / gaps.count,
        }
        for place in places
    ]
    table = Table.of(rows)
    scale, ticks = log_axis(table.column("gap_us"))
    axis = {"title": "Time since the arrival before, µs", "values": ticks, **vega.IN_US}
    line = vega.drawn(
        vega.unit(x=vega.number("gap_us", scale=scale, axis=axis)),
        vega.mark("line", interpolate="step-after", strokeWidth=2, color=DRIVES[0]),
        y=vega.number("percent", axis={"title": "Of the arrivals, %"}, scale={"domain": [0, 100]}),
    )
    texts = patch(
        title=f"Time between arrivals: {name}",
        subtitle="The share of arrivals that follow within a time. The clock's step is "
        f"{numbers.span(summary.facts.resolution_ns)}.",
        description="The distribution of the times between arrivals.",
    )
    return single("arrivals", table, finished({**line, "width": WIDTH - 80, "height": HEIGHT - 120}), texts)


def _footprint(summary: Summary, name: str) -> Chart:
    rows: list[Row] = [
        {"start_s": slot.start_s, "end_s": slot.end_s, "footprint_GB": slot.footprint_bytes / 1e9}
        for slot in summary.course
    ]
    line = vega.drawn(
        vega.unit(x=_clock(summary, "end_s")),
        vega.mark("line", strokeWidth=2, color=DRIVES[0]),
        y=vega.number("footprint_GB", axis={"title": "Touched so far, GB"}),
    )
    texts = patch(
        title=f"Footprint: {name}",
        subtitle=f"Blocks of 4 KiB that were read or written so far.{_sampled(summary)}",
        description="How much was touched up to each time of the trace.",
    )
    return single(
        "footprint", Table.of(rows), finished({**line, "width": WIDTH - 80, "height": HEIGHT - 120}), texts
    )


def _reuse(summary: Summary, name: str) -> Chart:
    rows: list[Row] = [{"cache_MB": size / 1e6, "percent": 100 * share} for size, share in summary.hits]
    table = Table.of(rows)
    scale, ticks = log_axis(table.column("cache_MB"))
    axis = {"title": "Size of the cache, MB", "values": ticks, "format": ",~r"}
    line = vega.drawn(
        vega.unit(x=vega.number("cache_MB", scale=scale, axis=axis)),
        vega.mark("line", interpolate="step-after", strokeWidth=2, color=DRIVES[0]),
        y=vega.number("percent", axis={"title": "Of the uses of blocks, %"}, scale={"domain": [0, 100]}),
    )
    texts = patch(
        title=f"Reuse: {name}",
        subtitle=f"What a cache that evicts the least recently used block (LRU) serves.{_sampled(summary)}",
        description="The share of uses of blocks that a cache serves, by its size.",
    )
    return single("reuse", table, finished({**line, "width": WIDTH - 80, "height": HEIGHT - 120}), texts)


def _sampled(summary: Summary) -> str:
    return "" if summary.exact else " Estimated by a sample of the blocks."
