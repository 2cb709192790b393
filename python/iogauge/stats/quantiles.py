"""Means and quantiles with their 95 % intervals, and whether the sample supports them.

There are three intervals, and the figure takes the widest bound on each side. The first treats every request as
independent: for a quantile, the order statistics at binomial ranks, widened by their buckets; for a mean, the normal
interval. Latencies cluster, so the other two use the correlation between the run's intervals (mostly seconds). Both
rest on the long-run variance and its t distribution. The second takes the shape of the error from theory: that of the
mean's logarithm, or that of a binomial share of the effective number of requests. The third takes the skewness of the
error from a stationary bootstrap, and corrects for it. Both need ``FEWEST_BLOCKS`` intervals;
``Figure.dependence`` is false where there are fewer.

Runs are compared in ``repeats.py``, where the replicate is the run, not the request.
Source: for the clustered quantile E. Korn and B. Graubard, "Confidence intervals for proportions with small expected
number of positive counts estimated from survey data" (Survey Methodology 24, 1998), and R. Woodruff, "Confidence
intervals for medians and other position measures" (JASA 47, 1952); C. Francisco and W. Fuller, "Quantile estimation
with a complex survey design" (Annals of Statistics 19, 1991), for testing each value as the quantile; the rest as in
``dependence.py`` and ``skewness.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from iogauge.stats import special
from iogauge.stats.dependence import LongRun, block_length, correlation_bound, long_run, stationary_weights
from iogauge.stats.figure import Figure, open_figure
from iogauge.stats.histogram import Histogram, needed
from iogauge.stats.skewness import skewed, skewness, skewness_of_share, straightened

LEVEL = 0.95
"""Two-sided confidence of every interval."""

TAIL = (1 - LEVEL) / 2

FEWEST_BLOCKS = 10
"""Intervals with samples that an estimate of dependence in time needs."""


class Latencies(Protocol):
    """The latencies of a step: a run's sample, or that of several runs."""

    @property
    def histogram(self) -> Histogram:
        """All latencies; empty where nothing completed, or where only summary figures are known."""
        ...

    def mean(self) -> Figure | None:
        """Return the mean; ``None`` where nothing completed or the mean is unknown."""
        ...

    def quantile(self, q: float) -> Figure | None:
        """Return the ``q``-quantile, 0 < q < 1; ``None`` where nothing completed or the quantile is unknown."""
        ...


class Sample:
    """A run's latencies: merged, and by interval, which shows their dependence in time.

    ``intervals`` are the histograms of consecutive slices of equal length, in order, with empty ones. They may be given
    as a function, which is called once, when the first figure is computed.
    """

    def __init__(
        self,
        intervals: Sequence[Histogram] | Callable[[], Sequence[Histogram]],
        *,
        histogram: Histogram | None = None,
        seed: int = 0,
    ) -> None:
        self._read = intervals
        self._seed = seed
        self.histogram = Histogram.merge(self._intervals) if histogram is None else histogram

    @cached_property
    def _intervals(self) -> Sequence[Histogram]:
        return self._read() if callable(self._read) else self._read

    @cached_property
    def dependence(self) -> bool:
        """Whether there are enough intervals with samples to estimate how latencies cluster in time."""
        return sum(1 for interval in self._intervals if interval.count) >= FEWEST_BLOCKS

    @cached_property
    def _course(self) -> _Course | None:
        return _Course(self._intervals, self._seed) if self.dependence else None

    def mean(self) -> Figure | None:
        """Return the mean; ``None`` where nothing completed. A single sample has no interval."""
        count = self.histogram.count
        if not count:
            return None
        value = self.histogram.mean
        if count < 2:
            return Figure(value, supported=False, needed=2, count=count)
        error = self.histogram.stddev / math.sqrt(count)
        half = -float(special.ndtri(TAIL)) * error
        low, high = value - half, value + half
        if self._course is not None and value > 0:
            long = self._course.mean_error()
            if not long.long_enough:
                return open_figure(value, count=count)
            # On a logarithmic scale: a run with few stalls has a low mean and a small variance, so the true mean is
            # more likely to be far above than far below.
            t = -float(special.stdtrit(long.degrees, TAIL))
            reach, skew = t * long.error / value, self._course.mean_skewness()
            low = min(low, value * math.exp(-reach), value - long.error * skewed(t, skew))
            high = max(high, value * math.exp(reach), value - long.error * skewed(-t, skew))
            error = max(error, long.error)
        return Figure(
            value, max(low, 0.0), high, True, 0, count, self.dependence, error / value if value else None
        )

    def quantile(self, q: float) -> Figure | None:
        """Return the ``q``-quantile, 0 < q < 1; ``None`` where nothing completed."""
        count = self.histogram.count
        if not count:
            return None
        value = self.histogram.quantile(q)
        low, high = binomial_interval(self.histogram, q)
        effective = float(count)
        if self._course is not None:
            long = self._course.share_error(value)
            if not long.long_enough:
                return open_figure(
                    float(value), count=count, needed=needed(q), supported=self.histogram.supports(q)
                )
            effective = _effective_count(count, q, long.error)
            t = -float(special.stdtrit(long.degrees, TAIL))
            bottom, top = _clustered_interval(
                self.histogram,
                q,
                effective=_effective_count(count, q, long.error * t / -float(special.ndtri(TAIL))),
            )
            first, last = self._course.quantile_bounds(q, value, t=t)
            low = None if low is None or bottom is None else min(low, bottom, first)
            high = None if high is None or top is None else max(high, top, last)
        return Figure(
            float(value),
            low,
            high,
            self.histogram.supports(q),
            needed(q),
            count,
            self.dependence,
            _log_error(self.histogram, q, effective=effective),
        )


def binomial_interval(histogram: Histogram, q: float) -> tuple[float | None, float | None]:
    """Return the bounds of the ``q``-quantile's interval in nanoseconds, for independent requests.

    The number of samples at or below the true quantile is binomial(n, q), so the order statistics at its outer
    percentiles enclose the quantile, whatever the distribution. Each bound is the outer edge of its bucket, or ``None``
    where its rank is outside the sample.

    >>> binomial_interval(Histogram.of(range(1, 1001)), 0.5)
    (469.0, 532.0)
    >>> binomial_interval(Histogram.of(range(1, 101)), 0.99)[1] is None
    True
    """
    count = histogram.count
    below = binomial_rank(TAIL, count, q)
    above = binomial_rank(1 - TAIL, count, q) + 1
    low = float(histogram.bounds(below)[0]) if below >= 1 else None
    high = float(histogram.bounds(above)[1]) if above <= count else None
    return low, high


def binomial_rank(level: float, count: int, q: float) -> int:
    """Return the ``level``-quantile of binomial(count, q): the least k with P(X <= k) >= level, for 0 < q < 1.

    ``scipy.stats`` has it too, but takes a second to import.

    >>> binomial_rank(0.025, 1000, 0.5), binomial_rank(0.975, 1000, 0.5)
    (469, 531)
    """
    return _first(0, count, lambda k: bool(special.betainc(count - k, k + 1, 1 - q) >= level))


def _effective_count(count: int, q: float, error: float) -> float:
    """Return the number of independent requests for which the share below the ``q``-quantile has ``error``."""
    return min(q * (1 - q) / error**2, count) if error else count


def _clustered_interval(
    histogram: Histogram, q: float, *, effective: float
) -> tuple[float | None, float | None]:
    """Return the bounds of the ``q``-quantile for ``effective`` independent requests.

    They are the ranks at the ends of the exact binomial interval of the share beyond the quantile; ``effective`` need
    not be a whole number. A side is open where less than one independent request is expected beyond it.
    """
    count = histogram.count
    beyond, within = effective * (1 - q), effective * q
    low = high = None
    if within >= 1:
        most = float(special.betaincinv(beyond + 1, within, 1 - TAIL))
        below = math.floor((1 - most) * count)
        low = float(histogram.bounds(below)[0]) if below >= 1 else None
    if beyond >= 1:
        least = float(special.betaincinv(beyond, within + 1, TAIL))
        high = float(histogram.bounds(math.floor((1 - least) * count) + 1)[1])
    return low, high


def _log_error(histogram: Histogram, q: float, *, effective: float) -> float | None:
    """Return the standard error of the quantile's logarithm.

    It is half the distance between the quantiles one standard error of the rank below and above (Woodruff).
    """
    error = math.sqrt(q * (1 - q) / effective)
    low, high = (
        histogram.bounds(math.ceil(min(max(at, 0.0), 1.0) * histogram.count)) for at in (q - error, q + error)
    )
    return math.log(high[1] / low[0]) / 2 if low[0] > 0 else None


class _Course:
    """A run's intervals as a table, and the errors that follow from their order."""

    def __init__(self, intervals: Sequence[Histogram], seed: int) -> None:
        merged = Histogram.merge(intervals)
        self.lowest, self.values = merged.lowest, merged.values
        counts = np.zeros((len(self.values), len(intervals)))
        for place, interval in enumerate(intervals):
            counts[np.searchsorted(self.values, interval.values), place] = interval.counts
        self.cumulative = np.cumsum(counts, axis=0, out=counts)
        """Requests up to each bucket: buckets x intervals."""
        self.counts = self.cumulative[-1]
        self.sums = np.array([part.mean * part.count if part.count else 0.0 for part in intervals])
        self.seed = seed

    def mean_error(self) -> LongRun:
        """Return the standard error of the mean, in nanoseconds."""
        return self._error(self._from_mean, level=float(self.sums.mean()))

    def mean_skewness(self) -> float:
        """Return the skewness of resampled means."""
        weights = self._weights(self._from_mean)
        return skewness(_drawn(weights, self.sums) / _drawn(weights, self.counts))

    def share_error(self, value: int) -> LongRun:
        """Return the standard error of the share of requests at or below ``value``."""
        return self._error(self._from_share(value))

    def quantile_bounds(self, q: float, value: int, *, t: float) -> tuple[float, float]:
        """Return the outer edges of the buckets that could hold the ``q``-quantile; ``value`` is the sample's quantile.

        A bucket could hold it where the shares of requests below the bucket and up to it agree with ``q`` within ``t``
        standard errors, after their skewness is removed. Error and skewness are computed for each bucket anew: farther
        out, fewer requests are left, perhaps of a single event.
        """
        weights = self._weights(self._from_share(value))
        drawn = _drawn(weights, self.counts)
        total = float(self.counts.sum())

        def statistic(place: int) -> float:
            """Return by how many standard errors the share up to a bucket differs from ``q``."""
            up_to = self.cumulative[place]
            # Ranks are whole numbers, but q times a count is not exact in floating point.
            off = (float(up_to.sum()) - q * total + 1e-6) / total
            error = self.share_error(int(self.values[place])).error
            if not error:
                return math.copysign(math.inf, off)
            resampled = skewness(_drawn(weights, up_to) / drawn)
            skew = skewness_of_share(resampled, share=float(up_to.sum()) / total, error=error)
            return straightened(off / error, skew)

        own = int(np.searchsorted(self.values, value))
        first = _first(0, own, lambda place: statistic(place) >= -t)
        last = _first(own, len(self.values) - 1, lambda place: statistic(place) > t)
        return float(self.lowest[first]), float(self.values[last])

    def _error(self, series: NDArray[np.float64], *, level: float = 0.0) -> LongRun:
        """Return the standard error of a series' sum, per request of the run."""
        long = long_run(series, level=level, correlation=self._correlation)
        return replace(long, error=long.error / float(self.counts.sum()))

    @cached_property
    def _correlation(self) -> float:
        """An upper bound of how neighbours correlate, in their mean and in their share of requests up to the median."""
        total = self.cumulative.sum(axis=1)
        middle = int(self.values[np.searchsorted(total, total[-1] / 2)])
        return max(
            correlation_bound(self._from_mean, level=float(self.sums.mean())),
            correlation_bound(self._from_share(middle)),
        )

    @cached_property
    def _from_mean(self) -> NDArray[np.float64]:
        """Each interval's sum of latencies, less the run's mean times the interval's requests."""
        difference: NDArray[np.float64] = self.sums - self.sums.sum() / self.counts.sum() * self.counts
        return difference

    def _from_share(self, value: int) -> NDArray[np.float64]:
        """Return each interval's requests up to ``value``, less the run's share of them times its requests."""
        up_to = self.cumulative[min(int(np.searchsorted(self.values, value)), len(self.values) - 1)]
        difference: NDArray[np.float64] = up_to - up_to.sum() / self.counts.sum() * self.counts
        return difference

    def _weights(self, series: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often each resampled run draws each interval, in blocks of a length that suits ``series``."""
        drawn = stationary_weights(len(series), round(block_length(series)), seed=self.seed)
        filled: NDArray[np.float64] = drawn[_drawn(drawn, self.counts) > 0]
        return filled


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first place from ``low`` on where ``holds`` is true, by bisection; ``high`` if there is none."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _drawn(weights: NDArray[np.float64], per_interval: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of a quantity of the intervals in each resampled run.

    Not by ``@``: arrays this small lose more to the threads of a BLAS than they gain, a hundredfold on a busy machine.
    """
    held: NDArray[np.float64] = np.einsum("ij,j->i", weights, per_interval)
    return held
