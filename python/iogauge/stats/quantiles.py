"""Means and quantiles with their 95 % intervals, and whether the sample supports them.

Two intervals are made and the wider is shown. One takes every request as independent: for a quantile, the order
statistics at binomial ranks, widened by their buckets; for a mean, the normal one. Latencies cluster, so the
other resamples the run's one-second histograms in blocks, which keeps what neighbouring seconds have in common.
Below ``FEWEST_BLOCKS`` intervals there is nothing to resample, and ``Estimate.dependence`` says that it is missing.

Does not compare runs: repeats are the replicate there, not requests.
Source: methods.md section 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from iogauge.stats.histogram import Histogram, needed

LEVEL = 0.95
"""Two-sided confidence of every interval."""

FEWEST_BLOCKS = 10
"""Intervals with samples that a block bootstrap needs to say anything."""

RESAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """One figure of a sample, in nanoseconds, and how sure it is.

    ``low`` and ``high`` bound the 95 % interval; ``None`` stands for no bound on that side. ``supported`` is
    false where fewer than ten samples are expected beyond the quantile; ``needed`` is how many would support it
    (0 for a mean). ``dependence`` tells whether clustering in time widened the interval or could have.
    """

    value: float
    low: float | None
    high: float | None
    supported: bool
    needed: int
    count: int
    dependence: bool


class Sample:
    """A run's latencies: the whole, and its intervals for what they say of dependence in time.

    ``intervals`` are the histograms of consecutive slices of equal length, in order; empty ones belong to it.
    """

    def __init__(
        self, intervals: Sequence[Histogram], *, whole: Histogram | None = None, seed: int = 0
    ) -> None:
        self.whole = Histogram.merge(intervals) if whole is None else whole
        filled = sum(1 for interval in intervals if interval.count)
        self.dependence = filled >= FEWEST_BLOCKS
        self._resampled = _resample(intervals, seed=seed) if self.dependence else None

    def mean(self) -> Estimate | None:
        """Return the mean; ``None`` where nothing completed. A single sample has no interval."""
        count = self.whole.count
        if not count:
            return None
        value = self.whole.mean
        if count < 2:
            return Estimate(value, None, None, False, 2, count, False)
        half = float(ndtri((1 + LEVEL) / 2)) * self.whole.stddev / math.sqrt(count)
        low, high = value - half, value + half
        if self._resampled is not None:
            bottom, top = _middle(self._resampled.means())
            low, high = min(low, bottom), max(high, top)
        return Estimate(value, max(low, 0.0), high, True, 0, count, self.dependence)

    def quantile(self, q: float) -> Estimate | None:
        """Return the ``q``-quantile, 0 < q < 1; ``None`` where nothing completed."""
        count = self.whole.count
        if not count:
            return None
        low, high = binomial_interval(self.whole, q)
        if self._resampled is not None:
            bottom, top = _middle(self._resampled.quantiles(q))
            low = None if low is None else min(low, bottom)
            high = None if high is None else max(high, top)
        supported = self.whole.supports(q)
        return Estimate(
            float(self.whole.quantile(q)), low, high, supported, needed(q), count, self.dependence
        )


def binomial_interval(histogram: Histogram, q: float) -> tuple[float | None, float | None]:
    """Return the bounds of the ``q``-quantile's interval in nanoseconds; ``None`` where the sample has no such rank.

    The number of samples at or below the true quantile is binomial(n, q), so the order statistics at its outer
    percentiles enclose the quantile, whatever the distribution. Each bound is the outer edge of its bucket.

    >>> binomial_interval(Histogram.of(range(1, 1001)), 0.5)
    (469.0, 532.0)
    >>> binomial_interval(Histogram.of(range(1, 101)), 0.99)[1] is None
    True
    """
    count = histogram.count
    tail = (1 - LEVEL) / 2
    below = binomial_rank(tail, count, q)
    above = binomial_rank(1 - tail, count, q) + 1
    low = float(histogram.bounds(below)[0]) if below >= 1 else None
    high = float(histogram.bounds(above)[1]) if above <= count else None
    return low, high


def binomial_rank(level: float, count: int, q: float) -> int:
    """Return the ``level``-quantile of binomial(count, q): the least k with P(X <= k) >= level, for 0 < q < 1.

    ``scipy.stats`` has it too, and takes a second to import.

    >>> binomial_rank(0.025, 1000, 0.5), binomial_rank(0.975, 1000, 0.5)
    (469, 531)
    """
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if betainc(count - middle, middle + 1, 1 - q) >= level:
            high = middle
        else:
            low = middle + 1
    return low


@dataclass(frozen=True)
class _Resampled:
    """Histograms of resampled runs: ``counts`` is resamples x buckets, whole numbers in float64."""

    values: NDArray[np.int64]
    midpoints: NDArray[np.float64]
    counts: NDArray[np.float64]

    def means(self) -> NDArray[np.float64]:
        means: NDArray[np.float64] = (self.counts @ self.midpoints) / self.counts.sum(axis=1)
        return means

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        return np.cumsum(self.counts, axis=1)

    def quantiles(self, q: float) -> NDArray[np.float64]:
        rank = np.maximum(np.ceil(np.round(q * self.cumulative[:, -1:], 9)), 1)
        places = np.argmax(self.cumulative >= rank, axis=1)
        quantiles: NDArray[np.float64] = self.values[places].astype(np.float64)
        return quantiles


def _middle(resampled: NDArray[np.float64]) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of resampled figures."""
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _resample(intervals: Sequence[Histogram], *, seed: int) -> _Resampled:
    """Return resampled runs: circular blocks of neighbouring intervals, drawn with replacement.

    Blocks are as long as the cube root of the run, the usual order for a mean or a quantile of a short series.
    """
    whole = Histogram.merge(intervals)
    table = np.zeros((len(intervals), len(whole.values)))
    for row, interval in enumerate(intervals):
        table[row, np.searchsorted(whole.values, interval.values)] = interval.counts
    length = max(1, round(len(intervals) ** (1 / 3)))
    blocks = math.ceil(len(intervals) / length)
    random = np.random.default_rng(seed)
    starts = random.integers(0, len(intervals), size=(RESAMPLES, blocks, 1))
    drawn = ((starts + np.arange(length)) % len(intervals)).reshape(RESAMPLES, -1)[:, : len(intervals)]
    weights = np.zeros((RESAMPLES, len(intervals)))
    np.add.at(weights, (np.arange(RESAMPLES)[:, None], drawn), 1)
    counts = weights @ table
    filled = counts.sum(axis=1) > 0
    return _Resampled(whole.values, whole.midpoints, counts[filled])
