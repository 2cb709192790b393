"""Centres and spreads that a few slow drives neither move nor inflate, and Benjamini and Hochberg's correction.

A centre is Tukey's biweight: members further than 4.7 standard deviations from it have no weight, and without such
members it is 95 % as precise as the mean. A spread is the root mean square of the members within three standard
deviations, corrected for those that it leaves out; it starts from the median of absolute deviations.

Source: P. Huber and E. Ronchetti, "Robust Statistics" (2009); Y. Benjamini and Y. Hochberg, "Controlling the false
discovery rate" (JRSS B 57, 1995).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iogauge.stats import special
from iogauge.stats.fleet.observations import Floats, Places

BIWEIGHT = 4.685
"""Standard deviations from which on a member has no weight."""
EFFICIENCY = 0.95
"""Variance of a mean, as a share of that of a centre."""
CUT = 3.0
"""Standard deviations beyond which a member does not count for a spread."""
_KEPT = 1 - 2 * CUT * math.exp(-(CUT**2) / 2) / math.sqrt(2 * math.pi) / math.erf(CUT / math.sqrt(2))
"""Variance of a normal variable within ``CUT``, as a share of its variance."""
_MAD = 1.4826
_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Centres:
    """The centre of each label, and the weight of each member in the centre of its own label."""

    value: Floats
    weight: Floats
    label: Places

    def total(self) -> Floats:
        """Return the sum of weights by label, which is how many members a centre rests on."""
        return np.bincount(self.label, self.weight, minlength=len(self.value)).astype(np.float64)


def medians(values: Floats, label: Places, count: int) -> Floats:
    """Return the median of the values of each of ``count`` labels; NaN where a label has none.

    >>> medians(np.array([1.0, 9, 2, 4]), np.array([0, 0, 0, 1]), 3).tolist()
    [2.0, 4.0, nan]
    """
    return quantiles(values, label, count, 0.5)


def quantiles(values: Floats, label: Places, count: int, q: float) -> Floats:
    """Return the ``q``-quantile of each of ``count`` labels, as numpy.quantile does; NaN where a label has none.

    >>> quantiles(np.array([1.0, 9, 2, 4]), np.array([0, 0, 0, 1]), 3, 0.25).tolist()
    [1.5, 4.0, nan]
    """
    order = np.lexsort((values, label))
    ordered = values[order]
    sizes = np.bincount(label, minlength=count)
    first = np.cumsum(sizes) - sizes
    places = np.full(count, np.nan)
    some = sizes > 0
    within = q * (sizes[some] - 1)
    below = np.floor(within).astype(np.intp)
    low = ordered[first[some] + below]
    high = ordered[first[some] + np.minimum(below + 1, sizes[some] - 1)]
    places[some] = low + (within - below) * (high - low)
    return places


def centres(values: Floats, label: Places, count: int, spread: Floats) -> Centres:
    """Return the biweight centre of each of ``count`` labels; ``spread`` is the standard deviation of each member.

    >>> several = centres(np.array([1.0, 1.2, 1.1, 7.0]), np.zeros(4, dtype=np.intp), 1, np.full(4, 0.1))
    >>> round(float(several.value[0]), 2), several.weight.round(1).tolist()
    (1.1, [0.9, 0.9, 1.0, 0.0])
    """
    centre = medians(values, label, count)
    weight = np.ones_like(values)
    for _ in range(_ROUNDS):
        weight = np.clip(1 - ((values - centre[label]) / (BIWEIGHT * spread)) ** 2, 0, None) ** 2
        total = np.bincount(label, weight, minlength=count)
        moved = np.bincount(label, weight * values, minlength=count)
        centre = np.where(total > 0, moved / np.where(total > 0, total, 1.0), centre)
    return Centres(centre, weight, label)


def spread(deviations: Floats) -> float:
    """Return the standard deviation of deviations from a centre that was estimated from them; 0 for fewer than two.

    >>> typical = np.random.default_rng(1).normal(0, 2, 5000)
    >>> round(spread(typical), 1), round(spread(np.append(typical, np.full(250, 50.0))), 1)
    (2.0, 2.0)
    """
    if len(deviations) < 2:
        return 0.0
    sizes = np.abs(deviations)
    estimate = _MAD * float(np.median(sizes))
    for _ in range(_ROUNDS):
        within = sizes[sizes <= CUT * estimate]
        estimate = math.sqrt(float(np.mean(within**2)) / _KEPT)
    # A few members lie closer to their own median than to the centre of all such members.
    return estimate * len(sizes) / (len(sizes) - 1)


def degrees(members: int) -> float:
    """Return the degrees of freedom of a spread of so many members, at least 1."""
    return max(1.0, DEGREES * (members - 1))


DEGREES = 0.5
"""Degrees of freedom of a spread for each member but one: see tests/fast/stats/fleet/test_robust.py."""


def upper_tail(statistic: Floats, freedom: float | Floats) -> Floats:
    """Return the chance that Student's t is as large as each statistic."""
    tails: Floats = special.stdtr(freedom, -statistic)
    return tails


def benjamini_hochberg(p_values: Floats) -> Floats:
    """Return the q of each p: the smallest false discovery rate at which it is a finding.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    number = len(p_values)
    order = np.argsort(p_values)[::-1]
    q = np.empty(number)
    q[order] = np.minimum.accumulate(p_values[order] * number / np.arange(number, 0, -1))
    return q
