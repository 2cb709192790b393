"""A rate with its 95 % interval, from how it went interval by interval.

A count over a known time has no sampling error of its own; what is unsure is how the drive would have done at another
time. That shows in how its intervals differ, which are not independent either, so the standard error is that of the
long-run variance, and the interval is taken on the scale of logarithms, as that of a mean latency is.

Does not know I/Os or bytes. Source: as in ``dependence.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from iogauge.stats.dependence import long_run
from iogauge.stats.quantiles import FEWEST_BLOCKS, TAIL, Estimate, open_estimate


def rate_estimate(value: float, per_interval: Sequence[float], *, count: int) -> Estimate:
    """Return a rate of a run with its interval, in the unit of ``value``.

    ``per_interval`` is the same rate in each of the run's intervals, of equal length and in order; below
    ``FEWEST_BLOCKS`` of them there are no bounds. ``count`` is how many I/Os the rate is of.

    >>> steady = rate_estimate(100.0, [99.0, 101.0] * 10, count=2000)
    >>> round(steady.low, 1), round(steady.high, 1)
    (99.8, 100.2)
    >>> rate_estimate(100.0, [99.0, 101.0], count=200).low is None
    True
    """
    series = np.asarray(per_interval, dtype=np.float64)
    if len(series) < FEWEST_BLOCKS or value <= 0:
        return Estimate(value, None, None, supported=True, needed=0, count=count, dependence=False)
    long = long_run(series, level=value)
    if not long.long_enough:
        return open_estimate(value, count=count)
    error = long.error / len(series) / value
    reach = math.exp(-float(stdtrit(long.degrees, TAIL)) * error)
    return Estimate(
        value,
        value / reach,
        value * reach,
        supported=True,
        needed=0,
        count=count,
        dependence=True,
        log_error=error,
    )
