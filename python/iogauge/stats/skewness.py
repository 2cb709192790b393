"""Correct t intervals for skewness.

A run with few stalls has a low mean and a small variance; a run with many has a high mean and a large variance. So mean
and variance are correlated wherever latencies are skewed. A t interval assumes that they are not, and its upper bound
is too low. Hall's transformation makes a skewed t statistic nearly symmetric; its inverse makes symmetric bounds as
lopsided as the skewness requires. Unlike a polynomial of lower degree it is monotone, so that each statistic has one
confidence.
Source: P. Hall, "On the removal of skewness by transformation" (Journal of the Royal Statistical Society B 54, 1992).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NONE = 1e-6
"""Smaller skewness is ignored: the inverse would only lose digits."""


def skewness(values: NDArray[np.float64]) -> float:
    """Return the skewness of an array of numbers, without unit; 0 where they are all equal.

    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 3), skewness(np.ones(4))
    (1.155, 0.0)
    """
    if not np.ptp(values):
        return 0.0
    deviations = values - values.mean()
    squares = deviations * deviations
    # A third power by numpy's ** takes ten times as long.
    return float(np.mean(squares * deviations) / np.mean(squares) ** 1.5)


def skewness_of_share(resampled: float, *, share: float, error: float) -> float:
    """Return the skewness of a share of requests, in (0, 1), with the standard error ``error``.

    It is the larger of two. ``resampled`` is the skewness of resampled runs, which is too small where events are few.
    The other is that of a binomial share with the same error: rare events of equal size have it, unequal ones more.

    >>> round(skewness_of_share(0.4, share=0.001, error=0.0007), 3), skewness_of_share(0.4, share=0.5, error=0.1)
    (0.699, 0.4)
    """
    binomial = (1 - 2 * share) * error / (share * (1 - share))
    return max(resampled, binomial, key=abs)


def straightened(statistic: float, skew: float) -> float:
    """Remove the skewness from a t statistic; ``skew`` is that of the estimate in its numerator.

    >>> straightened(2.0, 0.0), round(straightened(2.0, 0.3), 2), round(straightened(-2.0, 0.3), 2)
    (2.0, 2.48, -1.58)
    """
    return statistic + skew / 6 + skew * statistic**2 / 3 + skew**2 * statistic**3 / 27


def skewed(statistic: float, skew: float) -> float:
    """Add the skewness to a symmetric t statistic: the inverse of ``straightened``.

    >>> round(skewed(2.0, 0.3), 2), round(skewed(-2.0, 0.3), 2)
    (1.66, -2.73)
    """
    if abs(skew) < NONE:
        return statistic
    return 3 / skew * (float(np.cbrt(1 + skew * (statistic - skew / 6))) - 1)
