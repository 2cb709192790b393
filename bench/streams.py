"""Synthetic runs whose true mean and quantiles are known, to test intervals against.

There are five stationary streams of latencies, with an interval a second. None models a drive; each has a property that
makes real intervals hard: independent requests, three strengths of correlation between neighbouring seconds, and rare
stalls in clusters of seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from iogauge.schema.hdr_histogram import RECORDER
from iogauge.stats.histogram import Histogram

RATE_IOPS = 1000
MEDIAN_NS = 80e3
SPREAD = 0.4
"""Standard deviation of the logarithm of latencies within a second."""

CORRELATION = 0.7
"""The correlation of a second's shift with that of the second before."""
STRONG = (0.9, 0.95)
"""The correlations of streams for which a minute is too short."""
SHIFT = 0.2
"""The standard deviation of a second's shift, of the logarithm."""

STALLED = 0.2
"""The share of seconds with stalls."""
STALL_S = 3.0
"""The mean length of a cluster of stalls."""
SLOW_NS = 2e6
SLOW_SPREAD = 0.5
SLOW_SHARE = {False: 0.0005, True: 0.1}
"""The share of slow requests in seconds without and with stalls."""

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Stream:
    """A stream: a function that draws latencies in ns (seconds x requests), and their true mean and quantiles."""

    name: str
    draw: Draw
    mean: float
    quantile: Callable[[float], float]

    def intervals(self, random: np.random.Generator, seconds: int) -> list[Histogram]:
        """Return a run of ``seconds`` as the histograms of its seconds."""
        return histograms(self.draw(random, seconds))


def histograms(latencies_ns: NDArray[np.float64]) -> list[Histogram]:
    """Return a histogram, in the recorder's buckets, of each row of latencies."""
    ordered = np.sort(latencies_ns.astype(np.int64), axis=1)
    made = []
    for index in RECORDER.index_of(ordered):
        places = np.flatnonzero(np.diff(index, prepend=-1))
        made.append(Histogram(*RECORDER.bounds(index[places]), np.diff(places, append=len(index))))
    return made


def correlated(
    random: np.random.Generator, count: int, correlation: float = CORRELATION
) -> NDArray[np.float64]:
    """Return a stationary series of unit variance in which neighbours correlate: AR(1)."""
    series = random.standard_normal(count)
    for place in range(1, count):
        series[place] = correlation * series[place - 1] + math.sqrt(1 - correlation**2) * series[place]
    return series


def noisy(
    *levels: tuple[int, float], spread: float = 0.03, correlation: float = 0.5, seed: int = 1
) -> NDArray[np.float64]:
    """Return rates at levels (seconds, rate), with correlated noise on the scale of logarithms."""
    level = np.concatenate([np.full(seconds, float(rate)) for seconds, rate in levels])
    return level * np.exp(spread * correlated(np.random.default_rng(seed), len(level), correlation))


def shifted(random: np.random.Generator, shifts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a row of lognormal latencies for each of ``shifts``, which are added to the logarithms."""
    noise = random.standard_normal((len(shifts), RATE_IOPS))
    return MEDIAN_NS * np.exp(SPREAD * noise + shifts[:, None])


def lognormal(name: str, draw: Draw, *shifts: float) -> Stream:
    """Return a stream of lognormal latencies; ``shifts`` are standard deviations that add to ``SPREAD``."""
    spread = math.hypot(SPREAD, *shifts)
    return Stream(
        name,
        draw,
        MEDIAN_NS * math.exp(spread**2 / 2),
        lambda q: MEDIAN_NS * math.exp(spread * float(ndtri(q))),
    )


def _independent(random: np.random.Generator, seconds: int) -> NDArray[np.float64]:
    return shifted(random, np.zeros(seconds))


def _autocorrelated(correlation: float) -> Draw:
    return lambda random, seconds: shifted(random, SHIFT * correlated(random, seconds, correlation))


def _stalling(random: np.random.Generator, seconds: int) -> NDArray[np.float64]:
    leave = 1 / STALL_S
    enter = leave * STALLED / (1 - STALLED)
    troubled = [bool(random.random() < STALLED)]
    for chance in random.random(seconds - 1):
        troubled.append(bool(chance >= leave if troubled[-1] else chance < enter))
    share = np.array([SLOW_SHARE[state] for state in troubled])
    slow = random.random((seconds, RATE_IOPS)) < share[:, None]
    noise = random.standard_normal((seconds, RATE_IOPS))
    return np.where(slow, SLOW_NS * np.exp(SLOW_SPREAD * noise), MEDIAN_NS * np.exp(SPREAD * noise))


def _stalling_stream() -> Stream:
    slow = STALLED * SLOW_SHARE[True] + (1 - STALLED) * SLOW_SHARE[False]

    def beyond(latency_ns: float, q: float) -> float:
        fast_below = float(ndtr(math.log(latency_ns / MEDIAN_NS) / SPREAD))
        slow_below = float(ndtr(math.log(latency_ns / SLOW_NS) / SLOW_SPREAD))
        return (1 - slow) * fast_below + slow * slow_below - q

    mean = (1 - slow) * MEDIAN_NS * math.exp(SPREAD**2 / 2) + slow * SLOW_NS * math.exp(SLOW_SPREAD**2 / 2)
    return Stream(
        "rare stalls in clusters", _stalling, mean, lambda q: float(brentq(beyond, 1e3, 1e9, args=(q,)))
    )


STREAMS: Sequence[Stream] = (
    lognormal("independent", _independent),
    *(
        lognormal(f"correlation {correlation:g}", _autocorrelated(correlation), SHIFT)
        for correlation in (CORRELATION, *STRONG)
    ),
    _stalling_stream(),
)


def repeats(
    random: np.random.Generator, runs: int, seconds: int, between: float
) -> list[NDArray[np.float64]]:
    """Return runs of the correlated stream, each with a shift of its own of standard deviation ``between``."""
    return [
        shifted(random, SHIFT * correlated(random, seconds) + between * random.standard_normal())
        for _ in range(runs)
    ]
