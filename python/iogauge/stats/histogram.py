"""Latency histograms: decode what the recorder wrote, merge exactly, read quantiles.

Percentiles are never averaged: histograms are merged, and the quantile is read from the merged one. A quantile errs by
at most the width of its bucket (under 0.1 % of the value at three significant digits); ``bounds`` returns that bucket.
Mean, minimum and maximum are exact where the recorder stored them beside the buckets (schema ``Exact``), also after
merging; otherwise they come from the buckets.

The encoding is in ``schema/hdr_histogram.py``, intervals are in ``quantiles.py``.

Source: ranks are counted as HdrHistogram's own implementations count them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from iogauge.schema import Encoded, Exact
from iogauge.schema.hdr_histogram import Layout, decode, encode

EXCEEDANCES = 10
"""Samples expected beyond a quantile that the sample supports, at least."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts of latencies, in nanoseconds, by bucket, without empty buckets.

    ``lowest`` and ``values`` are the first and the last nanosecond of each bucket, ascending; ``counts`` are the
    samples between them. All three are int64 arrays of one length, zero for an empty histogram. ``exact`` has the
    exact sum, minimum and maximum where they are known.
    """

    lowest: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    exact: Exact | None = None

    @classmethod
    def empty(cls) -> Histogram:
        """Return a histogram of no samples.

        >>> Histogram.empty().count
        0
        """
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    @classmethod
    def decode(cls, data: bytes, exact: Exact | None = None) -> Histogram:
        """Return the histogram encoded in ``data``, with its exact figures.

        Raises IogaugeError where the bytes are not a complete encoding.
        """
        layout, index, counts = decode(data)
        return cls(*layout.bounds(index), counts, exact)

    def encoded(self) -> Encoded:
        """Return the encoding in the recorder's buckets, as ``Tally`` stores it, without the exact figures.

        >>> Histogram.decode(Histogram.of([1000, 1000, 3000]).encoded()).counts.tolist()
        [2, 1]
        """
        return encode(self.lowest, self.counts)

    @classmethod
    def of(cls, samples_ns: Iterable[int], *, digits: int = 3) -> Histogram:
        """Return the histogram of raw samples, in the recorder's buckets.

        >>> Histogram.of([1000, 1000, 3000]).count
        3
        """
        samples = np.fromiter(samples_ns, dtype=np.int64)
        layout = Layout.of(lowest=1, digits=digits)
        index, counts = np.unique(layout.index_of(samples), return_counts=True)
        return cls(*layout.bounds(index), counts.astype(np.int64))

    @classmethod
    def merge(cls, histograms: Iterable[Histogram]) -> Histogram:
        """Return one histogram of all samples: counts of equal buckets add up.

        >>> Histogram.merge([Histogram.of([5, 7]), Histogram.of([7])]).counts.tolist()
        [1, 2]
        """
        parts = [part for part in histograms if len(part.counts)]
        if not parts:
            return cls.empty()
        if len(parts) == 1:
            return parts[0]
        values, place = np.unique(np.concatenate([part.values for part in parts]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        lowest = np.empty(len(values), dtype=np.int64)
        lowest[place] = np.concatenate([part.lowest for part in parts])
        return cls(lowest, values, counts, _merged_exact([part.exact for part in parts]))

    @cached_property
    def count(self) -> int:
        """Number of samples."""
        return int(self.counts.sum())

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Number of samples in each bucket or below it."""
        return np.cumsum(self.counts)

    @property
    def midpoints(self) -> NDArray[np.float64]:
        """The middle of each bucket, in nanoseconds, which stands for its samples in a mean."""
        return (self.lowest + self.values) / 2

    @property
    def min(self) -> int:
        """The least sample, or the first nanosecond of its bucket where that is all we know; 0 without samples."""
        if not len(self.lowest):
            return 0
        return int(self.lowest[0]) if self.exact is None else self.exact.min_ns

    @property
    def max(self) -> int:
        """The greatest sample, or the last nanosecond of its bucket where that is all we know; 0 without samples."""
        if not len(self.values):
            return 0
        return int(self.values[-1]) if self.exact is None else self.exact.max_ns

    @cached_property
    def mean(self) -> float:
        """Mean in nanoseconds, from midpoints where it is not known exactly; NaN without samples."""
        if not self.count:
            return math.nan
        if self.exact is not None:
            return self.exact.sum_ns / self.exact.count
        return float(self.counts @ self.midpoints) / self.count

    @cached_property
    def stddev(self) -> float:
        """Standard deviation of the sample (n - 1) in nanoseconds, from midpoints; NaN below two samples."""
        if self.count < 2:
            return math.nan
        return math.sqrt(float(self.counts @ (self.midpoints - self.mean) ** 2) / (self.count - 1))

    def quantile(self, q: float) -> int:
        """Return the ``q``-quantile in nanoseconds: the last value of the bucket of rank ceil(q n), up to the maximum.

        Raises ValueError where ``q`` is outside [0, 1], and for an empty histogram.

        >>> Histogram.of(range(1, 101)).quantile(0.99)
        99
        """
        if not 0 <= q <= 1:
            raise ValueError(f"quantile {q} is outside [0, 1]")
        return self.bounds(math.ceil(_fraction(q) * self.count))[1]

    def bounds(self, rank: int) -> tuple[int, int]:
        """Return the first and last nanosecond of the bucket of the ``rank``-th least sample, counted from 1.

        Ranks beyond the ends stand for the first and the last sample. Raises ValueError for an empty histogram.
        """
        if not self.count:
            raise ValueError("an empty histogram has no quantiles")
        rank = min(max(rank, 1), self.count)
        place = int(np.searchsorted(self.cumulative, rank))
        return max(int(self.lowest[place]), self.min), min(int(self.values[place]), self.max)

    def supports(self, q: float) -> bool:
        """Return whether ten samples or more are expected beyond the ``q``-quantile.

        >>> Histogram.of(range(1000)).supports(0.99), Histogram.of(range(999)).supports(0.99)
        (True, False)
        """
        return self.count >= needed(q)


def all_but_one(histograms: Sequence[Histogram]) -> list[Histogram]:
    """Return, for each histogram, all others merged.

    >>> [rest.count for rest in all_but_one([Histogram.of([5, 7]), Histogram.of([7]), Histogram.empty()])]
    [1, 2, 3]
    """
    return [
        Histogram.merge([*histograms[:place], *histograms[place + 1 :]]) for place in range(len(histograms))
    ]


def needed(q: float) -> int:
    """Return how many samples the ``q``-quantile needs: the least n with n (1 - q) >= 10.

    >>> needed(0.9999)
    100000
    """
    if q >= 1:
        raise ValueError("no sample supports the maximum")
    return math.ceil(EXCEEDANCES / (1 - _fraction(q)))


def _merged_exact(parts: Sequence[Exact | None]) -> Exact | None:
    """Merge exact figures; ``None`` where a part has none."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Exact(
        count=sum(part.count for part in known),
        sum_ns=sum(part.sum_ns for part in known),
        min_ns=min(part.min_ns for part in known),
        max_ns=max(part.max_ns for part in known),
    )


@lru_cache(maxsize=64)
def _fraction(q: float) -> Fraction:
    """Return ``q`` as the decimal fraction that was written: 0.07 * 100 is 7.000000000000001 in floating point."""
    return Fraction(str(float(q)))


def supported_up_to(count: int) -> str:
    """Return the name of the highest usual quantile that ``count`` samples support.

    >>> supported_up_to(10_000), supported_up_to(19)
    ('p99.9', 'none')
    """
    names = {20: "median", 100: "p90"}
    exponent = math.floor(math.log10(count / EXCEEDANCES)) if count >= 100 else 0
    if exponent < 2:
        return next((name for needed, name in sorted(names.items(), reverse=True) if count >= needed), "none")
    return "p99" if exponent == 2 else f"p99.{'9' * (exponent - 2)}"
