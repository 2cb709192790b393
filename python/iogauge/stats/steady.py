"""Whether a step held its rate: SNIA's rule for rounds, and the course of the rate second by second.

A step is steady if it passes two tests:

- SNIA's: do the last five rounds lie within 20 % of their mean, and their line within 10 %? It was made for rounds of
  minutes. It misses changes that a round averages out, and takes any noise below a tenth as steady;
- did the rate stay at one level, rather than jump to another or drift? ``course.py`` decides.

A second without completions is a stall. In the course it counts as half an I/O, since zero has no logarithm. Stalls and
bursts of up to five seconds do not make a level; longer ones do.

Source: SNIA PTS 2.0.2 (2020), steady state; the rest as in ``course.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.stats.course import Drift, course
from iogauge.stats.moments import Moment
from iogauge.text.numbers import figure, percent

ROUNDS = 5
"""SNIA's window: the number of last rounds that the rule looks at."""
RANGE = 0.20
"""SNIA: the limit of the greatest less the least round, as a share of their mean."""
SLOPE = 0.10
"""SNIA: the limit of the rise or fall of the line through the rounds within the window, as a share of their mean."""

FEWEST_SECONDS = 20
"""Shorter steps get no verdict."""
LONG_ENOUGH_S = 60
"""Shorter steps are not tested for leaving their level."""


@dataclass(frozen=True)
class Rounds:
    """SNIA's verdict on the last five rounds of a tracking variable, with its numbers.

    ``range_share`` and ``slope_share`` are compared with the two limits, as shares of the mean. The line of a
    convergence plot is ``intercept + slope * k`` at the rounds k = 0 to 4, in the variable's unit.
    """

    mean: float
    least: float
    greatest: float
    slope: float
    intercept: float
    range_share: float
    slope_share: float

    @property
    def steady(self) -> bool:
        """Whether both criteria are met."""
        return self.range_share <= RANGE and self.slope_share <= SLOPE


def last_rounds(values: Sequence[float]) -> Rounds | None:
    """Return SNIA's verdict on the last five of ``values``; ``None`` where there are fewer or their mean is 0.

    >>> rounds = last_rounds([900, 400, 104, 100, 102, 98, 96])
    >>> rounds.steady, rounds.range_share, round(rounds.slope_share, 3), round(rounds.slope, 3)
    (True, 0.08, 0.072, -1.8)
    """
    if len(values) < ROUNDS:
        return None
    last = np.asarray(values[-ROUNDS:], dtype=np.float64)
    mean, least, greatest = float(last.mean()), float(last.min()), float(last.max())
    if not mean > 0:
        return None
    place = np.arange(ROUNDS) - (ROUNDS - 1) / 2
    slope = float(place @ last / (place @ place))
    return Rounds(
        mean,
        least,
        greatest,
        slope,
        mean - slope * (ROUNDS - 1) / 2,
        (greatest - least) / mean,
        # In the specification's order of operations, so that a value on the limit is within it.
        abs(slope) * (ROUNDS - 1) / mean,
    )


@dataclass(frozen=True)
class Stretch:
    """Seconds from ``start_s`` up to ``end_s``, and their mean rate in I/Os a second, stalls included."""

    start_s: int
    end_s: int
    rate_iops: float


@dataclass(frozen=True)
class Steadiness:
    """The course of a step's rate: its levels in order, and the drift and the rounds of the last level.

    The rounds are fifths of the last level. ``stalled_s`` counts seconds in which nothing completed.
    """

    stretches: tuple[Stretch, ...]
    drift: Drift | None
    rounds: Rounds | None
    stalled_s: int

    @property
    def left(self) -> tuple[Stretch, Stretch] | None:
        """The last two levels; ``None`` where the step stayed at one."""
        return (self.stretches[-2], self.stretches[-1]) if len(self.stretches) > 1 else None

    @property
    def drifts(self) -> bool:
        """Whether the last level drifts by enough to matter."""
        return self.drift is not None and self.drift.present

    def __str__(self) -> str:
        last = self.stretches[-1]
        clauses = []
        if self.left is not None:
            before = self.left[0]
            clauses.append(
                f"left its level at second {last.start_s}: from {figure(before.rate_iops)}"
                f" to {figure(last.rate_iops)} IOPS"
            )
        if self.drift is not None and self.drifts:
            way = "fell" if self.drift.change < 0 else "rose"
            span = drift_span(self.drift.start_s, self.drift.end_s, last.end_s)
            clauses.append(f"its rate {way} gradually by {percent(abs(self.drift.change))}{span}")
        elif self.rounds is None or not self.rounds.steady:
            clauses.append("its rate does not meet SNIA's steady state")
        if not clauses:
            clauses.append(f"steady at {figure(last.rate_iops)} IOPS")
        if self.stalled_s:
            clauses.append(f"nothing completed in {self.stalled_s} of {last.end_s} seconds")
        return "; ".join(clauses)


def drift_span(start_s: float, end_s: float, step_s: float) -> str:
    """Return in words when a drift lasted; empty for the whole step of ``step_s`` seconds.

    >>> drift_span(20, 40, 60), drift_span(20, 60, 60), drift_span(0, 60, 60)
    (' between seconds 20 and 40', ' from second 20 on', '')
    """
    if end_s < step_s:
        return f" between seconds {start_s:g} and {end_s:g}"
    return f" from second {start_s:g} on" if start_s else ""


def steadiness(rates_iops: Sequence[float]) -> Steadiness | None:
    """Judge the rate of a step, given I/Os per second for each of its seconds, zeros included.

    ``None`` for fewer than ``FEWEST_SECONDS``, and where nothing completed. Raises ValueError for a negative rate.

    >>> throttled = [500_000 + 900 * (second % 7) for second in range(40)] + [310_000] * 30
    >>> print(steadiness(throttled))
    left its level at second 40: from 502,588 to 310,000 IOPS
    >>> print(steadiness([1000, 1003, 998, 1001] * 10))
    steady at 1,000 IOPS
    """
    rates = np.asarray(rates_iops, dtype=np.float64)
    if len(rates) and not rates.min() >= 0:
        raise ValueError("a rate cannot be negative")
    if len(rates) < FEWEST_SECONDS or not rates.any():
        return None
    rate_course = course(rates)
    starts = [0, *rate_course.level_starts_s]
    stretches = tuple(
        Stretch(start, end, float(rates[start:end].mean()))
        for start, end in zip(starts, [*starts[1:], len(rates)], strict=True)
    )
    last = rates[starts[-1] :]
    rounds = last_rounds([float(part.mean()) for part in np.array_split(last, ROUNDS)])
    return Steadiness(stretches, rate_course.drift, rounds, int(np.sum(rates == 0)))


def left_level(moments: Sequence[Moment]) -> Steadiness | None:
    """Return the course of a long step that left its level, abruptly or gradually, as through heat or a full cache.

    ``None`` where it did not, or where there are fewer than ``LONG_ENOUGH_S`` whole seconds.
    """
    seconds = [moment.iops for moment in moments if 0.99 < moment.end_s - moment.start_s < 1.01]
    if len(seconds) < LONG_ENOUGH_S:
        return None
    held = steadiness(seconds)
    return held if held and (held.left or held.drifts) else None
