"""Where the time of a run's requests went: means by the device's counters and, if traced, quantiles of the parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iogauge.machine.trace.windows import EVENT_NS
from iogauge.report.latency_parts import DIRECTIONS, PartsAt, lat_on, parts_at, quantiles
from iogauge.schema import Direction, LatencySplit, LatencyTrace, Part, RunRecord
from iogauge.stats.histogram import Histogram
from iogauge.stats.traced import histogram_of
from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled


def split_text(split: LatencySplit) -> str:
    """Return where a mean lat went, as the end of a sentence.

    >>> split = LatencySplit(device="vda", direction="read", ios=9, lat_ns=45_000, block_ns=38_250)
    >>> split_text(split)
    'mean lat 45.00 us = 38.25 us in block layer and device + 6.750 us in software around them (15.0 %)'
    >>> split_text(LatencySplit(device="vda", direction="read", ios=9, lat_ns=45_000, unknown="requests were split"))
    'where the mean lat 45.00 us went is unknown: requests were split'
    """
    ramp = " (ramp included)" if split.ramp else ""
    lat = f"mean lat {numbers.duration(split.lat_ns)}"
    if split.block_ns is None or split.outside_ns is None:
        return f"where the {lat} went{ramp} is unknown: {split.unknown}"
    share = numbers.percent(split.outside_ns / split.lat_ns) if split.lat_ns else "-"
    error = f" (+-{numbers.duration(split.error_ns)})" if split.error_ns else ""
    return (
        f"{lat}{ramp} = {numbers.duration(split.block_ns)}{error} in block layer and device + "
        f"{numbers.duration(split.outside_ns)} in software around them ({share})"
    )


def lines(record: RunRecord) -> list[str]:
    """Return the lines about the traces of a run."""
    shown: list[str] = []
    for trace in record.latency_traces:
        shown += ["", *labelled("traced", f"{trace.device}: {_account(trace)}", indent="", width=11)]
        for direction in DIRECTIONS:
            lat = lat_on(record, trace.device, direction)
            if table := _table(trace, direction, lat):
                shown += [f"  {direction.value}", *aligned(table, indent=" " * 4, gap=4)]
        if trace.latencies:
            note = (
                "the last part is lat less the others: at a quantile, a difference of quantiles, not the quantile "
                f"of a difference. Tracing makes each part longer by about {numbers.duration(EVENT_NS)}, and the last "
                "one shorter"
            )
            if any(point.exceeds for point in _points(trace, record)):
                note += (
                    ". Where that is a dash, traced requests took longer than those of the whole run, and do not stand "
                    "for it: run longer"
                )
            shown += labelled("", note, indent=" " * 4, width=0)
    return [*shown, ""] if shown else []


def as_json(record: RunRecord) -> dict[str, Any]:
    """Return the splits and traces for json+, quantiles in place of histograms."""
    return {
        "latency_splits": [split.model_dump(mode="json") for split in record.latency_splits],
        "latency_traces": [
            {
                **trace.model_dump(mode="json", exclude={"latencies"}),
                "cost": trace.cost and dict(zip(("value", "low", "high"), trace.cost, strict=True)),
                "latencies": [
                    _part_json(trace, direction, part)
                    for direction in DIRECTIONS
                    for part in Part
                    if trace.latency(direction, part)
                ],
            }
            for trace in record.latency_traces
        ],
    }


def _account(trace: LatencyTrace) -> str:
    parts = [
        f"{trace.matched:,} requests in {numbers.counted(trace.windows, 'window')}, "
        f"{numbers.percent(trace.share)} of the time"
    ]
    parts.append(_cost(trace))
    for count, text in (
        (trace.lost_events, "events lost"),
        (trace.cut, "requests cut off by the end of a window"),
        (trace.unmatched, "requests left out: split, merged, or at one place at once"),
        (trace.foreign, "requests of other programs left out"),
    ):
        if count:
            parts.append(f"{count:,} {text}")
    if trace.stopped:
        parts.append(f"tracing ended early: {trace.stopped}")
    return "; ".join(parts)


def _cost(trace: LatencyTrace) -> str:
    if trace.cost is None:
        return "what it cost is unknown: too few windows"
    cost, low, high = trace.cost
    if low <= 0:
        return f"it cost at most {numbers.percent(max(high, 0.0))} of the run's rate"
    return f"it cost {numbers.percent(cost)} of the run's rate ({numbers.percent(low)} to {numbers.percent(high)})"


def _points(trace: LatencyTrace, record: RunRecord) -> Iterator[PartsAt]:
    for direction in DIRECTIONS:
        yield from parts_at([trace], direction, lat_on(record, trace.device, direction))


def _table(trace: LatencyTrace, direction: Direction, lat: Histogram) -> list[list[str]]:
    points = parts_at([trace], direction, lat)
    if not points:
        return []
    rows = [[point.label, *map(_cell, [*point.parts_ns.values(), point.lat_ns])] for point in points]
    return [["", *points[0].parts_ns, "lat"], *rows]


def _part_json(trace: LatencyTrace, direction: Direction, part: Part) -> dict[str, Any]:
    histogram = histogram_of(trace, direction, part)
    assert histogram is not None
    return {
        "direction": direction.value,
        "part": part.value,
        "N": histogram.count,
        "mean_ns": histogram.mean,
        "min_ns": histogram.min,
        "max_ns": histogram.max,
        "percentile_ns": {f"{p:f}": value for p, value in quantiles(trace, histogram)},
    }


def _cell(value_ns: float) -> str:
    """Return a time whose unit is two characters wide, so that the numbers of a column line up; a dash below zero."""
    if value_ns < 0:
        return "-"
    number, _, unit = numbers.duration(value_ns).partition(" ")
    return f"{number} {unit:>2}" if unit else number
