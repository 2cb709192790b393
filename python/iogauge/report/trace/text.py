"""A trace on one screen: what it is in a sentence, a table of its directions, a line for each of its properties."""

from __future__ import annotations

from iogauge.schema import Direction
from iogauge.stats.histogram import Histogram
from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled
from iogauge.traces.summary import PerDirection, Summary

_RANDOM, _SEQUENTIAL = 0.2, 0.8
"""Below the first share of sequential requests a trace is called random, above the second sequential."""
_STEADY, _BURSTY = 0.9, 1.5
"""Variations of the gaps between arrivals: below the first they are called even, above the second bursts."""
_SIZES = 4
"""How many sizes are named."""
_CACHES = tuple(1 << power for power in (24, 27, 30, 33, 36, 39, 42))
"""Sizes of the cache whose hits are named, as far as they are below what all uses need."""
_MOST_FILES = 3


def screen(summary: Summary, name: str) -> list[str]:
    """Return the lines about a trace, at most 30 of 80 columns."""
    lines = labelled("", _answer(summary, name), indent="", width=0)
    lines += ["", *aligned(_table(summary)), ""]
    for label, text in (
        ("rate", _rate(summary)),
        ("sizes", _sizes(summary)),
        ("arrivals", _arrivals(summary)),
        ("footprint", _footprint(summary)),
        ("reuse", _reuse(summary)),
        ("in flight", _in_flight(summary)),
        ("devices", _devices(summary)),
        ("source", _source(summary)),
    ):
        if text:
            lines += labelled(label, text, indent="", width=11)
    return lines


def to_dict(summary: Summary) -> dict[str, object]:
    """Return the numbers for programs. Units are in the names."""
    return {
        "facts": summary.facts.model_dump(mode="json"),
        "devices": list(summary.devices),
        "span_s": summary.span_s,
        "requests": summary.requests,
        "bytes": summary.bytes,
        "busiest_iops": summary.busiest_iops,
        "directions": {
            direction.value: {
                "requests": part.requests,
                "bytes": part.bytes,
                "sequential": part.sequential,
                "sizes": {str(size): count for size, count in sorted(part.sizes.items())},
                "latency_ns": _quantiles(part.latency),
            }
            for direction, part in summary.directions.items()
        },
        "gap_ns": _quantiles(summary.gaps),
        "gap_variation": summary.gap_variation,
        "footprint_bytes": summary.footprint_bytes,
        "extent_bytes": summary.extent_bytes,
        "exact": summary.exact,
        "reused": summary.reused,
        "lru": [{"cache_bytes": size, "served": share} for size, share in summary.hits],
        "course": [
            {
                "start_s": slot.start_s,
                "end_s": slot.end_s,
                "requests": {direction.value: count for direction, count in slot.requests.items()},
                "bytes": {direction.value: count for direction, count in slot.bytes.items()},
                "footprint_bytes": slot.footprint_bytes,
            }
            for slot in summary.course
        ],
    }


def _quantiles(histogram: Histogram) -> dict[str, int] | None:
    if not histogram.count:
        return None
    return {f"p{100 * q:g}": histogram.quantile(q) for q in (0.5, 0.9, 0.99, 0.999)}


def _answer(summary: Summary, name: str) -> str:
    count = numbers.counted(summary.requests, "request")
    kinds = ", ".join(
        f"{numbers.percent(part.requests / summary.requests)} {direction.value}s"
        for direction, part in sorted(summary.directions.items(), key=lambda pair: -pair[1].requests)
    )
    sequential = sum(part.sequential for part in summary.directions.values()) / summary.requests
    order = (
        "random"
        if sequential < _RANDOM
        else "sequential"
        if sequential > _SEQUENTIAL
        else "partly sequential"
    )
    lossy = f" LOSSY: {numbers.counted(summary.facts.lost, 'event')} lost." if summary.facts.lost else ""
    return (
        f"{name}: {count} in {numbers.clock_time(summary.span_s)}, {kinds}; {order}"
        f"{_burstiness(summary)}; {numbers.rate(summary.requests / summary.span_s)} IOPS and "
        f"{numbers.bandwidth(summary.bytes / summary.span_s)} on average.{lossy}"
    )


def _burstiness(summary: Summary) -> str:
    if summary.is_too_coarse:
        return ""
    variation = summary.gap_variation
    return ", evenly" if variation < _STEADY else ", in bursts" if variation > _BURSTY else ""


def _table(summary: Summary) -> list[list[str]]:
    latencies = any(part.latency.count for part in summary.directions.values())
    head = ["", "requests", "IOPS", "MB/s", "mean size", "sequential"]
    return [
        [*head, *(["p50", "p99", "p99.9"] if latencies else [])],
        *(
            [
                f"{direction.value}s",
                f"{part.requests:,}",
                numbers.rate(part.requests / summary.span_s),
                numbers.megabytes(part.bytes / summary.span_s),
                numbers.size(round(part.bytes / part.requests)) if part.bytes else "-",
                numbers.percent(part.sequential / part.requests) if part.bytes else "-",
                *(_latencies(part) if latencies else []),
            ]
            for direction, part in summary.directions.items()
        ),
    ]


def _latencies(part: PerDirection) -> list[str]:
    shown = part.latency
    return [
        numbers.duration(shown.quantile(q), 3) if shown.count and shown.supports(q) else "-"
        for q in (0.5, 0.99, 0.999)
    ]


def _rate(summary: Summary) -> str:
    mean = summary.requests / summary.span_s
    if len(summary.course) < 2:
        return ""
    slot = numbers.span(round((summary.course[0].end_s - summary.course[0].start_s) * 1e9))
    idle = sum(not sum(slot.requests.values()) for slot in summary.course)
    pauses = f"; nothing in {numbers.percent(idle / len(summary.course))} of them" if idle else ""
    return (
        f"at most {numbers.rate(summary.busiest_iops)} IOPS in {slot}, "
        f"{numbers.short(summary.busiest_iops / mean)} times the mean{pauses}"
    )


def _sizes(summary: Summary) -> str:
    named = []
    for direction, part in summary.directions.items():
        if direction is Direction.SYNC:
            continue
        common = part.sizes.most_common(_SIZES)
        rest = part.requests - sum(count for _, count in common)
        words = [f"{numbers.block(size)} {numbers.percent(count / part.requests)}" for size, count in common]
        if rest:
            words.append(f"{len(part.sizes) - len(common)} others {numbers.percent(rest / part.requests)}")
        named.append(f"{direction.value}s: {', '.join(words)}")
    return "; ".join(named)


def _arrivals(summary: Summary) -> str:
    step = numbers.span(summary.facts.resolution_ns)
    if not summary.gaps.count:
        return ""
    if summary.is_too_coarse:
        return f"too close to tell: most gaps are below the {step} of the trace's clock"
    median, most = (numbers.duration(summary.gaps.quantile(q), 3) for q in (0.5, 0.99))
    return (
        f"gap {median} median, {most} p99; they vary {numbers.short(summary.gap_variation)} times their mean "
        "(1: at random)"
    )


def _footprint(summary: Summary) -> str:
    if not summary.uses:
        return ""
    return (
        f"{_about(summary)}{numbers.rough_size(summary.footprint_bytes)} touched, in blocks of 4 KiB, "
        f"of {numbers.rough_size(summary.extent_bytes)} between the lowest and highest address"
    )


def _reuse(summary: Summary) -> str:
    if not summary.uses:
        return ""
    most = summary.hits[-1][0] if summary.hits else 0
    caches = [size for size in _CACHES if size < most][-3:]
    served = [f"{numbers.block(size)} {numbers.percent(summary.served(size))}" for size in caches]
    text = f"{_about(summary)}{numbers.percent(summary.reused)} of block accesses repeat an earlier one"
    return f"{text}; a cache (LRU) serves, of {', of '.join(served)}" if served else text


def _about(summary: Summary) -> str:
    return "" if summary.exact else "about "


def _in_flight(summary: Summary) -> str:
    known = sum(part.latency.count for part in summary.directions.values())
    if not known:
        return ""
    busy_ns = sum(part.latency_sum_ns for part in summary.directions.values())
    missing = summary.requests - known
    note = f"; {numbers.counted(missing, 'request')} without a latency" if missing else ""
    return f"{numbers.short(busy_ns / 1e9 / summary.span_s)} requests on average{note}"


def _devices(summary: Summary) -> str:
    return numbers.counted(len(summary.devices), "device") if len(summary.devices) > 1 else ""


def _source(summary: Summary) -> str:
    facts = summary.facts
    files = ", ".join(facts.files[:_MOST_FILES])
    more = len(facts.files) - _MOST_FILES
    parts = [
        f"{facts.source}{f': {files}' if files else ''}{f' and {more} more' if more > 0 else ''}",
        f"clock of {numbers.span(facts.resolution_ns)}",
    ]
    if facts.skipped:
        parts.append(f"{numbers.counted(facts.skipped, 'record')} left out")
    if facts.unmatched:
        parts.append(f"{numbers.counted(facts.unmatched, 'completion')} of unknown requests")
    return "; ".join(parts)
