"""fio's classes of latencies, queue depths and batches, for the files that fio's tools read.

There are three kinds: the 1,856 buckets of a histogram log, the coarse classes of ``latency_ns|us|ms``, and the classes
of queue depths and batches. iogauge's own buckets are finer; each lies within one bucket of fio's.

Source: fio 3.33's stat.h (plat buckets); the limits are facts of its file formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from iogauge.stats.histogram import Histogram

BUCKETS = 29 * 64
"""Counts in one line of a histogram log."""
HIGHEST_NS = 17_112_760_320
"""The last of fio's bins. fio's converter to CSV does not terminate if a file has a greater one."""

_LIMITS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
_BATCHES = ("0", "4", "8", "16", "32", "64", ">=64")


def bucket_of(values_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return fio's bucket of each latency: exact below 128 ns, then 64 buckets to the octave.

    >>> bucket_of(np.array([5, 127, 128, 130, 10**12])).tolist()
    [5, 127, 128, 129, 1855]
    """
    values = values_ns.astype(np.int64)
    # frexp gives the exponent of the next power of two: 7 for 64 to 127, which are still exact.
    shift = np.maximum(np.frexp(values.astype(np.float64))[1] - 7, 0)
    bucket = np.where(shift > 0, (shift << 6) + (values >> shift), values)
    return np.minimum(bucket, BUCKETS - 1).astype(np.int64)


def buckets(histogram: Histogram, *, coarseness: int = 0) -> NDArray[np.int64]:
    """Return the histogram's counts in fio's buckets; shape (1856 >> coarseness,)."""
    counts = np.zeros(BUCKETS, dtype=np.int64)
    np.add.at(counts, bucket_of(histogram.lowest), histogram.counts)
    merged: NDArray[np.int64] = counts.reshape(-1, 1 << coarseness).sum(axis=1)
    return merged


def bins(histogram: Histogram, *, capped: bool) -> dict[str, int]:
    """Return counts by the midpoint of their bucket in nanoseconds, as in json+. ``capped`` folds into fio's last bin.

    >>> bins(Histogram.of([5, 5, 60 * 10**9]), capped=True)
    {'5': 2, '17112760320': 1}
    """
    counts: dict[str, int] = {}
    for middle, count in zip(histogram.midpoints.astype(np.int64), histogram.counts, strict=True):
        key = str(min(int(middle), HIGHEST_NS) if capped else int(middle))
        counts[key] = counts.get(key, 0) + int(count)
    return counts


def classes(histogram: Histogram) -> dict[str, dict[str, float]]:
    """Return the percentages of ``latency_ns``, ``latency_us`` and ``latency_ms``; each latency is in one of them.

    The name of a class is its upper limit in whole units.

    >>> classes(Histogram.of([30, 1500, 3_000_000_000]))["latency_us"]["2"]
    33.333333
    """
    shares: dict[str, dict[str, float]] = {}
    total = max(histogram.count, 1)
    floor_ns, units = 0, (("latency_ns", 1), ("latency_us", 10**3), ("latency_ms", 10**6))
    for name, unit_ns in units:
        limits = _LIMITS if unit_ns < 10**6 else (*_LIMITS, 2000)
        edges = np.array([floor_ns, *(limit * unit_ns for limit in limits)], dtype=np.int64)
        below = np.concatenate(([0], histogram.cumulative))[np.searchsorted(histogram.midpoints, edges)]
        percentages = np.diff(below) * 100 / total
        shares[name] = {
            str(limit): round(float(share), 6) for limit, share in zip(limits, percentages, strict=True)
        }
        floor_ns = limits[-1] * unit_ns
    beyond = histogram.count - int(below[-1])
    shares["latency_ms"][">=2000"] = round(beyond * 100 / total, 6)
    return shares


def depths(by_power: Sequence[int]) -> dict[str, float]:
    """Return the percentages of ``iodepth_level`` from counts by powers of two.

    >>> depths([3, 1])["1"]
    75.0
    """
    return _shares(_DEPTHS, by_power)


def batches(by_power: Sequence[int]) -> dict[str, float]:
    """Return the percentages of ``iodepth_submit`` or ``iodepth_complete`` from counts of ``submit_batch``'s classes.

    >>> batches([3, 1, 0, 0, 0, 4])["4"], batches([3, 1, 0, 0, 0, 4])["32"]
    (50.0, 50.0)
    """
    # fio's class "4" holds 1, 2 and 3 to 4. Its class "0" counts calls that took nothing, which iogauge never makes.
    merged = [0, sum(by_power[:3]), *by_power[3:]]
    return _shares(_BATCHES, merged)


def _shares(names: Sequence[str], counts: Sequence[int]) -> dict[str, float]:
    last = len(names) - 1
    # The last class includes all that is beyond it.
    folded = [*[*counts, *([0] * last)][:last], sum(counts[last:])]
    total = max(sum(folded), 1)
    return {name: round(100 * count / total, 6) for name, count in zip(names, folded, strict=True)}


def added(parts: Iterable[Sequence[int]]) -> list[int]:
    """Return the sum of lists of counts, entry by entry; the lists may differ in length.

    >>> added([[1, 2], [1]])
    [2, 2]
    """
    total: list[int] = []
    for part in parts:
        total.extend([0] * (len(part) - len(total)))
        for index, count in enumerate(part):
            total[index] += count
    return total
