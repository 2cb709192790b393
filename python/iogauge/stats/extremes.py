"""Find the extreme of an axis, and the positions that cannot be told from it.

A figure of a run that is too short for its dependence has an open interval. It is left out here, and ``undecided``
lists its position, so that a finding can name it. A figure without an interval for another reason (a run of few
intervals, a summary by another program) takes part by its value, and ties with no other.

The extremes are chosen by value, and no interval allows for that choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iogauge.stats.figure import Figure
from iogauge.stats.figures import Ratio, ratio

SATURATED = 0.95
"""A position saturates the drive where its rate is at least this share of the highest."""


def decided(estimates: Mapping[float, Figure]) -> dict[float, Figure]:
    """Return the positive figures of runs that are long enough for their dependence."""
    return {
        position: estimate
        for position, estimate in estimates.items()
        if estimate.long_enough and estimate.value > 0
    }


def undecided(estimates: Mapping[float, Figure]) -> tuple[float, ...]:
    """Return the positions, in order, of runs that are too short for their dependence."""
    return tuple(sorted(position for position, estimate in estimates.items() if not estimate.long_enough))


def ties(estimates: Mapping[float, Figure], position: float) -> tuple[float, ...]:
    """Return the positions, in order, whose figure cannot be told from that at ``position``, with ``position`` itself.

    >>> def figure(value):
    ...     return Figure(value, value - 5, value + 5)
    >>> ties({1: figure(50), 2: figure(98), 4: figure(97), 8: figure(100)}, 8)
    (2, 4, 8)
    """
    tied = {position}
    for other, estimate in decided(estimates).items():
        share = ratio(estimate, estimates[position])
        if share.low is not None and share.high is not None and share.low <= 1 <= share.high:
            tied.add(other)
    return tuple(sorted(tied))


def all_tied(estimates: Mapping[float, Figure]) -> bool:
    """Return whether no two decided figures can be told from each other."""
    positions = decided(estimates)
    return all(len(ties(positions, position)) == len(positions) for position in positions)


def knee(rates: Mapping[float, float]) -> float | None:
    """Return the least position whose rate is ``SATURATED`` of the highest; ``None`` with fewer than two rates above 0.

    >>> knee({1: 100.0, 2: 190.0, 4: 240.0, 8: 250.0}), knee({1: 100.0})
    (4, None)
    """
    positive = {position: rate for position, rate in rates.items() if rate > 0}
    if len(positive) < 2:
        return None
    most = max(positive.values())
    return min(position for position, rate in positive.items() if rate >= SATURATED * most)


@dataclass(frozen=True)
class Saturation:
    """The highest rate on an axis, and the least position that reaches ``SATURATED`` of it."""

    most: Figure
    most_at: float
    least_at: float
    share: Ratio
    """The rate at ``least_at`` relative to the highest."""


def saturation(rates: Mapping[float, Figure]) -> Saturation | None:
    """Return where rates stop growing, by the rule of ``knee``; ``None`` with fewer than two decided rates.

    >>> def rate(value):
    ...     return Figure(value, value - 5, value + 5)
    >>> where = saturation({1: rate(50), 2: rate(98), 8: rate(100)})
    >>> where.most_at, where.least_at, where.share.value
    (8, 2, 0.98)
    """
    known = decided(rates)
    least_at = knee({position: rate.value for position, rate in known.items()})
    if least_at is None:
        return None
    most_at = max(known, key=lambda position: known[position].value)
    return Saturation(known[most_at], most_at, least_at, ratio(known[least_at], known[most_at]))
