"""Autocorrelation between the intervals of a run: how to resample them, and the standard error of their mean.

Latencies cluster: thousands of slow requests may be one event, and a slow second is often followed by another. An
interval that treats requests, or even seconds, as independent is far too narrow. Two textbook methods correct that.

The stationary bootstrap draws blocks of neighbours, of random lengths, and chooses the mean length from the series. Its
percentiles are too narrow for a step of a few dozen seconds: blocks break correlations at their ends, and percentiles
ignore degrees of freedom. So the bootstrap supplies the skewness of the error only.

The variance comes from the lowest frequencies of the series, which have a t distribution with as many degrees of
freedom as there are frequencies. If one second is much like the next, the lowest frequencies of a minute are not low
enough. An autoregression of the series estimates by how much the variance is higher at frequency zero. Its correlation
is taken at the upper end of its interval, if the series shows any. If that raises the error at these frequencies more
than threefold (root mean square), the interval is left open.

A series is one number for each interval, equally spaced. The ``arch`` package has the bootstrap too, and the tests
compare with it; importing it takes longer than all the arithmetic of a review.

Source: D. Politis and J. Romano, "The stationary bootstrap" (JASA 89, 1994); D. Politis and H. White, "Automatic
block-length selection for the dependent bootstrap" (Econometric Reviews 23, 2004; corrected 28, 2009); E. Lazarus,
D. Lewis, J. Stock and M. Watson, "HAR inference: recommendations for practice" (JBES 36, 2018); D. Andrews and
J. Monahan, "An improved heteroskedasticity and autocorrelation consistent covariance matrix estimator" (Econometrica
60, 1992), for an autoregression before the frequencies are used; F. Marriott and J. Pope, "Bias in the estimation
of autocorrelations" (Biometrika 41, 1954).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000

FREQUENCIES = 0.25
"""Frequencies used for the long-run variance, as a multiple of n^(2/3). The paper advises 0.4, the best trade of width
for coverage. Fewer keep more coverage where neighbouring seconds correlate by 0.7, and make intervals a sixth wider for
60 seconds and 3 % wider for 600."""

FEWEST_FREQUENCIES = 2
"""With one, a t interval is 12.7 standard errors wide."""

BOUND_ERRORS = 1.645
"""Standard errors from an estimate to its one-sided 95 % bound. A smaller correlation counts as 0: at most one
independent series in twenty exceeds it, and its upper bound would be high wherever there are few intervals. Larger
correlations, and the share of the variance that is not noise, are taken at their upper bounds."""
HIGHEST_CORRELATION = 0.999
"""Limit for neighbours; a random walk would have 1, and no mean."""
LEAST_NOISE = 1e-3
"""Standard deviation, as a share of the level, that is added to every series before correlations are estimated. A
series that hardly varies is known well enough in any order."""
MOST_LAGS = 5
"""Autocorrelations that the share of the variance which is not noise is estimated from."""
MOST_RAISED = 3.0
"""A series is too short for its dependence if its low frequencies show less than a third of the error: 60 numbers from
a correlation of 0.95 on (as a bound), 600 from 0.98 on."""


def block_length(series: NDArray[np.float64]) -> float:
    """Return the best mean length of blocks, in intervals, for a series of at least ten numbers.

    It minimises the error of the bootstrapped variance of the mean, estimated from the autocorrelations up to where
    they vanish. It is at least the cube root of the series' length, since a short series shows too little correlation.

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
    """Return how often each of ``count`` intervals is drawn: a read-only array of ``resamples`` x ``count``.

    Blocks begin anywhere, have geometric lengths of mean ``length`` (in intervals, at least 1) and wrap around at the
    end of the series.

    >>> stationary_weights(12, 3, seed=0, resamples=5).sum(axis=1).tolist()
    [12.0, 12.0, 12.0, 12.0, 12.0]
    """
    random = np.random.default_rng(seed)
    begins = random.random((resamples, count), dtype=np.float32) < 1 / length
    begins[:, 0] = True
    row, place = np.nonzero(begins)
    lengths = np.diff(row * count + place, append=resamples * count)
    # How many blocks cover each place, of the series written twice: blocks begun before, less blocks ended. Counting
    # blocks is much faster than counting draws.
    starts = 2 * count * row + random.integers(0, count, size=len(row))
    size = 2 * count * resamples
    edges = np.bincount(starts, minlength=size) - np.bincount(starts + lengths, minlength=size)
    covered = np.cumsum(edges.reshape(resamples, 2, count), axis=None).reshape(resamples, 2, count)
    weights: NDArray[np.float64] = covered.sum(axis=1).astype(np.float64)
    weights.flags.writeable = False
    return weights


@dataclass(frozen=True)
class LongRun:
    """The standard error of a series' sum, in the series' unit, and the degrees of freedom of its t distribution.

    ``long_enough`` is false where neighbours correlate so strongly that the series is too short for its standard error.
    """

    error: float
    degrees: int
    long_enough: bool


def long_run(series: NDArray[np.float64], *, level: float = 0.0, correlation: float = 0.0) -> LongRun:
    """Return the standard error of the sum of an autocorrelated series.

    It is the mean square of the series' lowest cosine coefficients. Each is orthogonal to the mean and, if the series
    is stationary, has the long-run variance, so there is one degree of freedom for each. That holds if the spectrum is
    flat up to there. Where neighbours correlate strongly the spectrum falls, and each square is raised by as much as
    the spectrum of an autoregressive series plus white noise falls.

    ``level`` is the level that was subtracted from the series, if any; differences that are tiny beside it do not
    count. ``correlation`` is a bound of the correlation from other series of the same run: with few requests beyond a
    quantile, noise hides that they follow the run's level.

    >>> scattered, together = np.tile([1.0, -1.0], 50), np.repeat([1.0, -1.0], 50)
    >>> round(long_run(scattered).error), long_run(scattered).long_enough, long_run(together).long_enough
    (1, True, False)
    """
    count = len(series)
    degrees = max(FEWEST_FREQUENCIES, round(FREQUENCIES * count ** (2 / 3)))
    bound = max(correlation, correlation_bound(series, level=level))
    spectrum_ratio = _spectrum_ratio(series, degrees, level, bound)
    squares = spectrum_ratio * (_cosines(count, degrees) @ series) ** 2
    return LongRun(
        math.sqrt(float(np.mean(squares)) * count),
        degrees,
        long_enough=math.sqrt(float(np.mean(spectrum_ratio))) <= MOST_RAISED,
    )


def correlation_bound(series: NDArray[np.float64], *, level: float = 0.0) -> float:
    """Return the upper bound of a one-sided interval of the correlation of neighbours; 0 if the series shows none.

    >>> correlation_bound(np.tile([1.0, -1.0], 50)), round(correlation_bound(np.repeat([1.0, -1.0], 50)), 2)
    (0.0, 1.0)
    """
    count = len(series)
    (shown,) = _shown_autocorrelations(series, 1, level)
    if shown <= BOUND_ERRORS / math.sqrt(count):
        return 0.0
    (correlation,) = _autocorrelations(series, 1, level)
    error = math.sqrt(max(1 - correlation**2, 0.0) / count)
    return float(min(correlation + BOUND_ERRORS * error, HIGHEST_CORRELATION))


def _autocorrelations(series: NDArray[np.float64], lags: int, level: float) -> NDArray[np.float64]:
    """Return a series' autocorrelations at the first lags, corrected for bias; 0 if it does not vary.

    A short series shows too little; the mean bias is added (Marriott and Pope).
    """
    shown = _shown_autocorrelations(series, lags, level)
    if not shown.any():
        return shown
    hidden: NDArray[np.float64] = (1 + 3 * np.maximum(shown, 0.0)) / len(series)
    return shown + hidden


def _shown_autocorrelations(series: NDArray[np.float64], lags: int, level: float) -> NDArray[np.float64]:
    """Return a series' sample autocorrelations at the first lags; 0 if it does not vary."""
    deviations = series - series.mean()
    squares = float(deviations @ deviations) + len(series) * (LEAST_NOISE * level) ** 2
    if not squares > 0:
        return np.zeros(lags)
    return np.array([float(deviations[lag:] @ deviations[:-lag]) for lag in range(1, lags + 1)]) / squares


def _spectrum_ratio(
    series: NDArray[np.float64], degrees: int, level: float, correlation: float
) -> NDArray[np.float64]:
    """Return how many times higher a series' spectrum is at zero than at each of its lowest cosines.

    The model is an autoregression of ``correlation`` plus white noise. Its first autocorrelations show which share of
    the variance is not noise. That share is taken at the upper end of its interval: ``correlation`` is itself an upper
    bound, and beside it the estimate would be too small.
    """
    count = len(series)
    if not correlation > 0:
        return np.ones(degrees)
    lags = max(1, min(MOST_LAGS, count // 10))
    expected = correlation ** np.arange(1, lags + 1)
    shown = float(_autocorrelations(series, lags, level) @ expected / (expected @ expected))
    error = 1 / math.sqrt(count * float(expected @ expected))
    share = min(max(shown + BOUND_ERRORS * error, 0.0), 1.0)
    frequency = np.pi * np.arange(degrees + 1) / count
    spectrum = (1 - correlation**2) / (1 - 2 * correlation * np.cos(frequency) + correlation**2)
    mixed = share * spectrum + 1 - share
    spectrum_ratio: NDArray[np.float64] = mixed[0] / mixed[1:]
    return spectrum_ratio


@lru_cache(maxsize=16)
def _cosines(count: int, degrees: int) -> NDArray[np.float64]:
    """Return the lowest cosines of a series of ``count``, orthonormal: an array of ``degrees`` x ``count``."""
    middle = (np.arange(count) + 0.5) / count
    cosines: NDArray[np.float64] = np.sqrt(2 / count) * np.cos(
        np.pi * np.outer(np.arange(1, degrees + 1), middle)
    )
    return cosines
