"""What skewness does to a t interval, and how to undo it.

A run with few stalls has a low mean and a small variance, one with many has both high: the two go together wherever
latencies are skewed. A t interval that takes them as unrelated ends too early above, where the truth of the run with
few stalls lies. Hall's transformation makes a skewed t statistic nearly symmetric; turned around, it makes symmetric
bounds as lopsided as they must be. Unlike a correction by a polynomial of lower degree it rises everywhere, so that no
statistic stands for two confidences.

Does not resample, and changes no variance and no degrees of freedom.
Source: P. Hall, "On the removal of skewness by transformation" (Journal of the Royal Statistical Society B 54, 1992).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NONE = 1e-6
"""Skewness below which there is none to remove, and the way back would only lose digits."""


def skewness(values: NDArray[np.float64]) -> float:
    """Return the skewness of an array of numbers, which has no unit; 0 where they are all the same.

    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 3), skewness(np.ones(4))
    (1.155, 0.0)
    """
    if not np.ptp(values):
        return 0.0
    deviations = values - values.mean()
    return float(np.mean(deviations**3) / np.mean(deviations**2) ** 1.5)


def skewness_of_share(resampled: float, *, share: float, error: float) -> float:
    """Return how skewed a share of requests, in (0, 1), is whose standard error is ``error``.

    ``resampled`` is the skewness that resampled runs show, and of few events they show too little. Rare events of one
    size make a share as skewed as the binomial one of the same error, and unequal ones more: the larger of the two.

    >>> round(skewness_of_share(0.4, share=0.001, error=0.0007), 3), skewness_of_share(0.4, share=0.5, error=0.1)
    (0.699, 0.4)
    """
    binomial = (1 - 2 * share) * error / (share * (1 - share))
    return max(resampled, binomial, key=abs)


def straightened(statistic: float, skew: float) -> float:
    """Return what a t statistic would be without skewness, ``skew`` being that of the estimate in its numerator.

    >>> straightened(2.0, 0.0), round(straightened(2.0, 0.3), 2), round(straightened(-2.0, 0.3), 2)
    (2.0, 2.48, -1.58)
    """
    return statistic + skew / 6 + skew * statistic**2 / 3 + skew**2 * statistic**3 / 27


def skewed(statistic: float, skew: float) -> float:
    """Return the t statistic that ``straightened`` would make into ``statistic``.

    >>> round(skewed(2.0, 0.3), 2), round(skewed(-2.0, 0.3), 2)
    (1.66, -2.73)
    """
    if abs(skew) < NONE:
        return statistic
    return 3 / skew * (float(np.cbrt(1 + skew * (statistic - skew / 6))) - 1)
