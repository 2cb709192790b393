"""Which place on an axis has the most or the least, and which places cannot be told from it.

A figure of a run that is too short for its dependence has an open interval. It decides nothing: it takes no part here,
and ``undecided`` names its place, so that a finding can say so. A figure that has no interval for another reason (a run
of a few intervals, a summary of another program) takes part by its value, and is no tie of any other.

The extremes are chosen by value, and no interval allows for that choice. Does not know what the figures are of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iogauge.stats.figures import Ratio, ratio
from iogauge.stats.quantiles import Estimate

SATURATED = 0.95
"""A place on an axis is enough where its rate has this share of the most."""


def decided(estimates: Mapping[float, Estimate]) -> dict[float, Estimate]:
    """Return the figures of runs that are long enough for their dependence, those of no more than 0 left out."""
    return {
        place: estimate
        for place, estimate in estimates.items()
        if estimate.long_enough and estimate.value > 0
    }


def undecided(estimates: Mapping[float, Estimate]) -> tuple[float, ...]:
    """Return the places, in order, whose run is too short for its dependence."""
    return tuple(sorted(place for place, estimate in estimates.items() if not estimate.long_enough))


def ties(estimates: Mapping[float, Estimate], place: float) -> tuple[float, ...]:
    """Return the places whose figure cannot be told from that at ``place``, itself among them, in order.

    >>> def figure(value):
    ...     return Estimate(value, value - 5, value + 5, supported=True, needed=0, count=100, dependence=True)
    >>> ties({1: figure(50), 2: figure(98), 4: figure(97), 8: figure(100)}, 8)
    (2, 4, 8)
    """
    tied = {place}
    for other, estimate in decided(estimates).items():
        share = ratio(estimate, estimates[place])
        if share.low is not None and share.high is not None and share.low <= 1 <= share.high:
            tied.add(other)
    return tuple(sorted(tied))


def all_tied(estimates: Mapping[float, Estimate]) -> bool:
    """Return whether no two decided figures can be told from each other."""
    places = decided(estimates)
    return all(len(ties(places, place)) == len(places) for place in places)


def knee(rates: Mapping[float, float]) -> float | None:
    """Return the least place whose rate has ``SATURATED`` of the most; ``None`` where fewer than two have any.

    >>> knee({1: 100.0, 2: 190.0, 4: 240.0, 8: 250.0}), knee({1: 100.0})
    (4, None)
    """
    positive = {place: rate for place, rate in rates.items() if rate > 0}
    if len(positive) < 2:
        return None
    most = max(positive.values())
    return min(place for place, rate in positive.items() if rate >= SATURATED * most)


@dataclass(frozen=True)
class Saturation:
    """The most of an axis, and the least place that reaches ``SATURATED`` of it."""

    most: Estimate
    most_at: float
    least_at: float
    share: Ratio
    """Of the most, what the least place reaches."""


def saturation(rates: Mapping[float, Estimate]) -> Saturation | None:
    """Return where rates stop growing, by the knee rule; ``None`` where fewer than two are decided.

    >>> def rate(value):
    ...     return Estimate(value, value - 5, value + 5, supported=True, needed=0, count=100, dependence=True)
    >>> where = saturation({1: rate(50), 2: rate(98), 8: rate(100)})
    >>> where.most_at, where.least_at, where.share.value
    (8, 2, 0.98)
    """
    known = decided(rates)
    least_at = knee({place: rate.value for place, rate in known.items()})
    if least_at is None:
        return None
    most_at = max(known, key=lambda place: known[place].value)
    return Saturation(known[most_at], most_at, least_at, ratio(known[least_at], known[most_at]))
