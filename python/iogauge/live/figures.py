"""What a feed says of an interval: counts, quantiles and bands of latency, of one interval or of several merged."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from iogauge.live.bands import BANDS, begin_ns
from iogauge.schema import Direction, Interval, Kind, Tally
from iogauge.stats.histogram import Histogram
from iogauge.stats.selection import latencies

_EDGES_NS = np.array([begin_ns(band) for band in range(1, BANDS)])
QUANTILES = {"p50_ns": 0.5, "p99_ns": 0.99, "p999_ns": 0.999, "p9999_ns": 0.9999}


def merged(intervals: list[Interval], *, with_latencies: bool = True) -> dict[str, Any]:
    """Return the fields of one event about neighbouring intervals of a row, of which there is at least one.

    Without ``with_latencies`` no histogram is decoded: the quantiles are None, and there are no bands.
    """
    first, last = intervals[0], intervals[-1]
    directions = dict.fromkeys(direction for interval in intervals for direction in interval.tallies)
    return {
        "stage": first.stage,
        "row": first.row,
        "start_s": first.start_ns / 1e9,
        "end_s": last.end_ns / 1e9,
        "ramp": first.ramp,
        "directions": {
            direction.value: figures
            for direction in directions
            if (figures := _figures(_tallies(intervals, direction), with_latencies=with_latencies))
        },
    }


def _tallies(intervals: list[Interval], direction: Direction) -> list[Tally]:
    return [interval.tallies[direction] for interval in intervals if direction in interval.tallies]


def _figures(tallies: list[Tally], *, with_latencies: bool) -> dict[str, Any] | None:
    """Return the figures of one direction; None: nothing completed."""
    errors: Counter[int] = Counter()
    for tally in tallies:
        errors.update(tally.errors)
    figures: dict[str, Any] = {
        "ios": sum(tally.ios for tally in tallies),
        "bytes": sum(tally.bytes for tally in tallies),
        "errors": errors.total(),
    }
    if not figures["ios"] and not figures["errors"]:
        return None
    exact = [tally.exact[Kind.LAT] for tally in tallies if Kind.LAT in tally.exact]
    count = sum(part.count for part in exact)
    figures["mean_ns"] = round(sum(part.sum_ns for part in exact) / count) if count else None
    histogram = latencies(tallies, Kind.LAT) if with_latencies else Histogram.empty()
    for name, q in QUANTILES.items():
        figures[name] = histogram.quantile(q) if histogram.count else None
    figures["max_ns"] = max((part.max_ns for part in exact), default=None)
    figures["bands"] = bands(histogram)
    return figures


def bands(histogram: Histogram) -> list[list[int]]:
    """Return the index and the count of each band that is not empty, ascending.

    >>> bands(Histogram.of([200, 1_500, 1_999, 90_000_000, 5_000_000_000]))
    [[0, 2], [1, 1], [19, 1], [24, 1]]
    """
    places = np.searchsorted(_EDGES_NS, histogram.midpoints, side="right")
    counts = np.bincount(places, weights=histogram.counts, minlength=BANDS)
    return [[int(place), int(counts[place])] for place in np.flatnonzero(counts)]
