"""Whether a step held its rate: SNIA's rule for rounds, and the course of its rate second by second.

Two questions, and a step is steady where both are answered well:

- SNIA's: do the last five rounds lie within 20 % of their mean, and their line within 10 %? It was made for rounds of
  minutes, sees no change that a round averages out, and takes any noise below a tenth as steady;
- did the rate stay at one level, jump to another at a certain second, or drift? ``course.py`` chooses between them.

A second without completions is a stall and counts: its logarithm is taken of half an I/O. What lasts up to five seconds
is counted as a stall or burst by itself and does not make a level; what lasts longer does.

Does not say why a step left its level; temperature and cache are for the reader to look at.
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
"""SNIA's window: the last rounds that are looked at."""
RANGE = 0.20
"""SNIA: greatest less least round, as a share of their mean, at most."""
SLOPE = 0.10
"""SNIA: what the line through the rounds rises or falls within the window, as a share of their mean, at most."""

FEWEST_SECONDS = 20
"""Seconds that a step must have for anything to be said."""
LONG_ENOUGH_S = 60
"""Seconds of a step from which it is asked whether it stayed at its level."""


@dataclass(frozen=True)
class Rounds:
    """SNIA's verdict on the last five rounds of a tracking variable, with the numbers that it stands on.

    ``range_share`` and ``slope_share`` are the two criteria's left sides, as shares of the mean. The line that a
    convergence plot draws is ``intercept + slope * k`` at the rounds k = 0 to 4, in the variable's unit.
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
    """Return SNIA's verdict on the last five of ``values``; ``None`` where there are fewer, or where their mean is 0.

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
        # Multiplied out as the specification has it, so that a value on the limit is within it.
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
    """How a step's rate went. ``stretches`` are its levels in order; ``drift`` and ``rounds`` are of the last one.

    ``rounds`` takes fifths of the last stretch as rounds. ``stalled_s`` counts seconds in which nothing completed.
    """

    stretches: tuple[Stretch, ...]
    drift: Drift | None
    rounds: Rounds | None
    stalled_s: int

    @property
    def left(self) -> tuple[Stretch, Stretch] | None:
        """The level that the step left last, and the one it left it for; ``None`` where it had one only."""
        return (self.stretches[-2], self.stretches[-1]) if len(self.stretches) > 1 else None

    @property
    def drifts(self) -> bool:
        """Whether its last level drifts by so much that it matters."""
        return self.drift is not None and self.drift.present

    def __str__(self) -> str:
        last = self.stretches[-1]
        said = []
        if self.left is not None:
            before = self.left[0]
            said.append(
                f"left its level at second {last.start_s}: from {figure(before.rate_iops)}"
                f" to {figure(last.rate_iops)} IOPS"
            )
        if self.drift is not None and self.drifts:
            way = "fell" if self.drift.change < 0 else "rose"
            span = drift_span(self.drift.start_s, self.drift.end_s, last.end_s)
            said.append(f"its rate {way} gradually by {percent(abs(self.drift.change))}{span}")
        elif self.rounds is None or not self.rounds.steady:
            said.append("its rate does not meet SNIA's steady state")
        if not said:
            said.append(f"steady at {figure(last.rate_iops)} IOPS")
        if self.stalled_s:
            said.append(f"nothing completed in {self.stalled_s} of {last.end_s} seconds")
        return "; ".join(said)


def drift_span(start_s: float, end_s: float, step_s: float) -> str:
    """Return from when to when a drift lasted, as far as that is not the whole step of ``step_s`` seconds.

    >>> drift_span(20, 40, 60), drift_span(20, 60, 60), drift_span(0, 60, 60)
    (' between seconds 20 and 40', ' from second 20 on', '')
    """
    if end_s < step_s:
        return f" between seconds {start_s:g} and {end_s:g}"
    return f" from second {start_s:g} on" if start_s else ""


def steadiness(rates_iops: Sequence[float]) -> Steadiness | None:
    """Return how the rate of a step went, given I/Os per second for each of its seconds, zeros included.

    ``None`` for fewer than ``FEWEST_SECONDS``, and where nothing completed at all. Raises ValueError for a negative
    rate.

    >>> throttled = [500_000 + 900 * (second % 7) for second in range(40)] + [310_000] * 30
    >>> print(steadiness(throttled))
    left its level at second 40: from 502,588 to 310,000 IOPS
    >>> print(steadiness([1000, 1003, 998, 1001] * 10))
    steady at 1,000 IOPS
    """
    rates = np.asarray(rates_iops, dtype=np.float64)
    if len(rates) and not rates.min() >= 0:
        raise ValueError("a rate is not negative")
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
    """Return how the rate of a long step left its level, at once or gradually: heat, a full cache, a spent budget.

    ``None`` where it did not, or there are fewer than ``LONG_ENOUGH_S`` whole seconds to tell from.
    """
    seconds = [moment.iops for moment in moments if 0.99 < moment.end_s - moment.start_s < 1.01]
    if len(seconds) < LONG_ENOUGH_S:
        return None
    held = steadiness(seconds)
    return held if held and (held.left or held.drifts) else None
