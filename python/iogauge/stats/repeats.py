"""Figures of repeats: one number for several runs of a step, its 95 % interval, and the sources of its variance.

Runs are the replicates: a single run, however long, does not show what differs between runs (placement, temperature,
the drive's history). So an interval comes from the spread of the runs alone, as a t interval on logarithms: latencies
and rates are positive, and disturbances multiply them.

The quantile of several runs is that of their merged histograms, since percentiles are never averaged. It is not what
the geometric mean of the runs' quantiles estimates: the merged tail is that of the worse runs. So the interval lies
around the merged value. Its error is the larger of two: that of the runs' own logarithms, and that of the jackknife,
which leaves out one run after another and observes the merged value. Where runs differ by 5 %, the interval holds the
quantile of all possible runs in 94 of 100 cases. Where they differ by 20 %, a few runs do not show the tail of many,
and it holds p99.9 in 90 of 100.

The published alternative, a hierarchical bootstrap (of runs, then of blocks within them), is not used: with n runs its
spread is too small by the root of (n - 1) / n, and its percentiles ignore degrees of freedom.
``python -m bench coverage`` shows both side by side.

Two sides are compared in ``comparison.py``.
Source: the t interval and the one-way random effects model of any textbook; R. Jain, "The Art of Computer Systems
Performance Analysis" (1991), for geometric means of replicates; R. Miller, "The jackknife - a review" (Biometrika 61,
1974).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.stats import special
from iogauge.stats.quantiles import TAIL


@dataclass(frozen=True)
class Repeated:
    """One figure for several runs, in their unit.

    ``low`` and ``high`` bound the 95 % interval; both are ``None`` for a single run, which does not show how runs
    differ.
    """

    value: float
    low: float | None
    high: float | None
    runs: int


@dataclass(frozen=True)
class Variation:
    """How much a figure varies from run to run, and how much of that arises within runs.

    ``coefficient`` is the coefficient of variation between the runs' figures, as a fraction. ``within`` and ``between``
    are standard deviations of the natural logarithm (fractions too, where they are small), within a run and between
    runs. ``share`` is the part of the variance that lies between runs, in [0, 1]; ``None`` where nothing varies. All
    three are ``None`` where a run's figure has no standard error.
    """

    runs: int
    coefficient: float
    within: float | None
    between: float | None
    share: float | None


def repeated(
    values: Sequence[float], *, merged: float | None = None, others: Sequence[float] | None = None
) -> Repeated:
    """Combine the figures of several runs into one, in any unit.

    The value is ``merged``, the figure of all histograms merged, or else the geometric mean. ``others`` are the figures
    of all runs but one merged, leaving out one run after the other. Raises ValueError where there are no values, one is
    not positive, or the two lists differ in length.

    >>> spread = repeated([100.0, 110.0, 121.0])
    >>> round(spread.value, 6), round(spread.low, 2), round(spread.high, 2), spread.runs
    (110.0, 86.81, 139.39, 3)
    >>> spread = repeated([100.0, 110.0, 121.0], merged=115.0, others=[118.0, 116.0, 106.0])
    >>> spread.value, round(spread.low, 2), round(spread.high, 2)
    (115.0, 86.37, 153.12)
    """
    logs = _logarithms(values)
    value = math.exp(float(np.mean(logs))) if merged is None else merged
    if value <= 0:
        raise ValueError(f"a merged figure of {value} is not positive")
    if others is not None and len(others) != len(logs):
        raise ValueError(f"{len(others)} leave-one-out figures for {len(logs)} runs")
    if len(logs) < 2:
        return Repeated(value, None, None, len(logs))
    spread = float(np.std(logs, ddof=1))
    if others is not None:
        # The jackknife's pseudo-values spread n - 1 times as much as the leave-one-out figures.
        spread = max(spread, (len(logs) - 1) * float(np.std(_logarithms(others), ddof=1)))
    reach = math.exp(-float(special.stdtrit(len(logs) - 1, TAIL)) * spread / math.sqrt(len(logs)))
    return Repeated(value, value / reach, value * reach, len(logs))


def variation(values: Sequence[float], log_errors: Sequence[float | None]) -> Variation | None:
    """Split the variance of a figure, given each run's value and the standard error of its logarithm.

    ``None`` for a single run. The variance between runs is that of the logarithms less the mean of the runs' own
    variances, and never below 0. Raises ValueError where there are no values, one is not positive, or the two lists
    differ in length.

    >>> spread = variation([100.0, 104.0, 96.0, 101.0], [0.01, 0.02, 0.01, 0.02])
    >>> round(spread.coefficient, 4), round(spread.between, 4), round(spread.share, 2)
    (0.033, 0.0291, 0.77)
    """
    logs = _logarithms(values)
    if len(log_errors) != len(logs):
        raise ValueError(f"{len(log_errors)} errors for {len(logs)} values")
    if len(logs) < 2:
        return None
    coefficient = float(np.std(values, ddof=1) / np.mean(values))
    known = [error for error in log_errors if error is not None]
    if len(known) < len(logs):
        return Variation(len(logs), coefficient, None, None, None)
    within = float(np.mean(np.square(known)))
    between = max(float(np.var(logs, ddof=1)) - within, 0.0)
    share = between / (between + within) if between + within > 0 else None
    return Variation(len(logs), coefficient, math.sqrt(within), math.sqrt(between), share)


def _logarithms(values: Sequence[float]) -> list[float]:
    if not values:
        raise ValueError("no runs, so there is no figure")
    if not all(value > 0 and math.isfinite(value) for value in values):
        raise ValueError("figures of repeats must be positive and finite")
    return [math.log(value) for value in values]
