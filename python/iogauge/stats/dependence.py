"""What neighbouring intervals of a run have in common: how to resample them, and how unsure their mean is.

Latencies cluster: thousands of slow requests may be one event, and a slow second is followed by another. Whoever takes
requests, or even seconds, as independent is far too sure. Here are the two textbook ways around that. The stationary
bootstrap draws blocks of neighbours, of lengths that are random themselves, and chooses their mean length from the
series. Its percentiles fall short on the few dozen seconds that a step lasts: blocks cut what they join, and a
percentile knows nothing of degrees of freedom. So the variance is estimated from the lowest frequencies of the series,
which have a t distribution with as many degrees of freedom as there are frequencies, and the bootstrap says what they
cannot: how skewed the error is.

Does not know histograms or requests: a series is one number for each interval, equally spaced. The ``arch`` package has
the bootstrap too; importing it takes longer than all the arithmetic of a review, so it is what the tests compare with.

Source: D. Politis and J. Romano, "The stationary bootstrap" (JASA 89, 1994); D. Politis and H. White, "Automatic
block-length selection for the dependent bootstrap" (Econometric Reviews 23, 2004; corrected 28, 2009); E. Lazarus,
D. Lewis, J. Stock and M. Watson, "HAR inference: recommendations for practice" (JBES 36, 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000

FREQUENCIES = 0.25
"""Frequencies taken for the long-run variance, times n^(2/3). The paper advises 0.4, the best trade of width for
coverage; fewer keep more coverage where neighbouring seconds correlate by 0.7, for intervals that are a sixth wider of
60 seconds and 3 % wider of 600."""

FEWEST_FREQUENCIES = 2
"""With one, a t interval is 12.7 standard errors wide and says nothing."""


def block_length(series: NDArray[np.float64]) -> float:
    """Return the mean length of blocks, in intervals, that suits a series of at least ten numbers.

    It is the one that makes the bootstrapped variance of the mean least wrong, estimated from the autocorrelations up
    to where they vanish; at least the cube root of the series' length, since a short series hides what it has.

    >>> fast_and_slow = np.repeat([1.0, 2.0, 1.0, 2.0], 16)
    >>> round(block_length(fast_and_slow), 1), round(block_length(np.ones(64)), 1)
    (7.7, 4.0)
    """
    count = len(series)
    floor: float = count ** (1 / 3)
    deviations = series - series.mean()
    if not np.abs(deviations).max() > 1e-12 * np.abs(series).max():
        return floor
    longest = math.ceil(min(3 * math.sqrt(count), count / 3))
    together = max(5, int(math.log10(count)))
    last = min(math.ceil(math.sqrt(count)) + together, count - 1)
    lags = range(last + 1)
    covariance = np.array([deviations[lag:] @ deviations[: count - lag] for lag in lags]) / count
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.abs(covariance * count) / np.sqrt(
            [np.sum(deviations[lag + 1 :] ** 2) * np.sum(deviations[: -(lag + 1)] ** 2) for lag in lags]
        )
    small = correlation < 2 * math.sqrt(math.log10(count) / count)
    vanished = next((lag for lag in range(last - together + 1) if small[lag : lag + together].all()), None)
    used = last if vanished is None else min(2 * max(vanished, 1), last)
    lag = np.arange(1, used + 1)
    taper = np.where(lag / used <= 0.5, 1.0, 2 * (1 - lag / used))
    bias = 2 * float(np.sum(taper * lag * covariance[1 : used + 1]))
    variance = float(covariance[0] + 2 * np.sum(taper * covariance[1 : used + 1]))
    best = (bias**2 / variance**2 * count) ** (1 / 3) if variance else longest
    return float(max(min(best, longest), floor))


@lru_cache(maxsize=4)
def stationary_weights(
    count: int, length: int, *, seed: int, resamples: int = RESAMPLES
) -> NDArray[np.float64]:
    """Return how often each of ``count`` intervals is drawn: an array of ``resamples`` x ``count``, not to be written.

    Blocks begin anywhere, have geometric lengths of mean ``length`` (in intervals, at least 1) and go on at the
    series' start where they pass its end.

    >>> stationary_weights(12, 3, seed=0, resamples=5).sum(axis=1).tolist()
    [12.0, 12.0, 12.0, 12.0, 12.0]
    """
    random = np.random.default_rng(seed)
    begins = random.random((resamples, count), dtype=np.float32) < 1 / length
    begins[:, 0] = True
    row, place = np.nonzero(begins)
    lengths = np.diff(row * count + place, append=resamples * count)
    # How many blocks cover each place of the series written twice: those begun before less those ended. Counting
    # blocks, not draws, is what makes this fast.
    starts = 2 * count * row + random.integers(0, count, size=len(row))
    size = 2 * count * resamples
    edges = np.bincount(starts, minlength=size) - np.bincount(starts + lengths, minlength=size)
    covered = np.cumsum(edges.reshape(resamples, 2, count), axis=None).reshape(resamples, 2, count)
    weights: NDArray[np.float64] = covered.sum(axis=1).astype(np.float64)
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True)
class LongRun:
    """The standard error of a series' sum, in the series' unit, and the degrees of freedom of its t distribution."""

    error: float
    degrees: int


def long_run(series: NDArray[np.float64]) -> LongRun:
    """Return how unsure the sum of an autocorrelated series is.

    The mean square of the series' lowest cosines: each is orthogonal to the mean and, of a stationary series, has the
    long-run variance, so their number is that of the degrees of freedom.

    >>> scattered, together = np.tile([1.0, -1.0], 50), np.repeat([1.0, -1.0], 50)
    >>> round(long_run(scattered).error), round(long_run(together).error)
    (1, 43)
    """
    count = len(series)
    degrees = max(FEWEST_FREQUENCIES, round(FREQUENCIES * count ** (2 / 3)))
    return LongRun(math.sqrt(float(np.mean((_cosines(count, degrees) @ series) ** 2)) * count), degrees)


@lru_cache(maxsize=16)
def _cosines(count: int, degrees: int) -> NDArray[np.float64]:
    """Return the lowest cosines of a series of ``count``, orthonormal: an array of ``degrees`` x ``count``."""
    middle = (np.arange(count) + 0.5) / count
    cosines: NDArray[np.float64] = np.sqrt(2 / count) * np.cos(
        np.pi * np.outer(np.arange(1, degrees + 1), middle)
    )
    return cosines
