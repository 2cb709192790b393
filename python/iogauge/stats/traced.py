"""Distributions of traced requests: decodes them, says which quantiles they support and what tracing cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from iogauge.schema import Direction, LatencyTrace, Part
from iogauge.stats.histogram import EXCEEDANCES, Histogram


def histogram_of(trace: LatencyTrace, direction: Direction, part: Part) -> Histogram | None:
    """Return the distribution of one part; None: nothing of it was traced."""
    known = trace.latency(direction, part)
    return None if known is None else Histogram.decode(known.histogram, known.exact)


def supports(histogram: Histogram, q: float, *, cut: int) -> bool:
    """Return whether ten requests or more are expected beyond a quantile, besides those that were cut off.

    Requests that were cut off count with their age. They took longer, so they lie beyond any quantile that is stated.

    >>> samples = Histogram.of(range(10_000))
    >>> supports(samples, 0.999, cut=0), supports(samples, 0.999, cut=1)
    (True, False)
    """
    beyond = histogram.count * (1 - q) - cut
    return histogram.supports(q) and (not cut or beyond >= EXCEEDANCES)


def slowdown(rates: Sequence[tuple[float, float]]) -> tuple[float, float | None, float | None] | None:
    """Return the share by which the first rates of pairs are lower than the second, and its 95 % interval.

    Pairs without a second rate are left out. The interval is Student's; it needs three pairs. None: there is no pair.

    >>> share, low, high = slowdown([(80.0, 100.0), (79.0, 100.0), (81.0, 100.0)])
    >>> round(share, 3), round(low, 3), round(high, 3)
    (0.2, 0.175, 0.225)
    """
    from scipy import stats  # takes a second, which every run would wait for

    lost = np.array([1 - first / second for first, second in rates if second > 0])
    if not len(lost):
        return None
    mean = float(lost.mean())
    if len(lost) < 3:
        return mean, None, None
    half = float(stats.t.ppf(0.975, len(lost) - 1) * lost.std(ddof=1) / math.sqrt(len(lost)))
    return mean, mean - half, mean + half
