"""Whether a step held its rate: SNIA's rule for rounds, and levels and drift of its rate second by second.

Three questions, and a step is steady where all are answered well:

- SNIA's: do the last five rounds lie within 20 % of their mean, and their line within 10 %? It was made for rounds of
  minutes, sees no change that a round averages out, and takes any noise below a tenth as steady;
- did the level change, and when? PELT finds the best change points of the rate's logarithm for each of a row of
  penalties, from none on. Seconds are not independent, and a search that takes them so finds changes everywhere; so
  which of these answers holds is decided by what the levels leave unexplained once a second's likeness to the one
  before is taken out (AR(1)). What a change must gain is calibrated on stationary series: of 600 seconds whose
  neighbours correlate by up to 0.9, at most one in twenty has a change found in it;
- does it drift? A straight line, its standard error by Newey and West. Where neighbouring seconds correlate by 0.9, a
  stationary series of 60 seconds seems to drift in one of nine cases.

Changes below 5 % and drifts below 10 % of the rate are no reason to call a step unsteady, however sure they are.

A second without completions is a stall and counts: its logarithm is taken of half an I/O. What lasts up to five seconds
is counted as a stall or burst by itself and does not make a level; what lasts longer does.

Does not say why a step left its level; temperature and cache are for the reader to look at.
Source: SNIA PTS 2.0.2 (2020), steady state; R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints
with a linear computational cost" (JASA 107, 2012), as in the ``ruptures`` package; R. Davis, T. Lee and
G. Rodriguez-Yam, "Structural break estimation for nonstationary time series models" (JASA 101, 2006), for choosing by
what an autoregression of each answer leaves; W. Newey and K. West (Econometrica 55, 1987); F. Hampel's identifier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from iogauge.stats.moments import Moment
from iogauge.stats.quantiles import LEVEL
from iogauge.stats.words import figure, percent

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
LEAST_CHANGE = 0.05
"""A change of level by less is none."""
LEAST_DRIFT = SLOPE
"""A drift by less over all of a stretch is none."""

_REACH = 5
"""Seconds on both sides by which a second is judged as an outlier; what lasts no longer makes no level."""
_OUTLYING = 5.0
"""Robust standard deviations beyond which a second is an outlier."""
_PENALTY = 3.5
"""What a change point must gain in n log(unexplained sum of squares), times log n."""
_HALVINGS = 12
"""Penalties that are tried: the whole sum of squares, and so often half of the one before."""
_MOST_CHANGES = 8
"""Answers with more are not looked at: a rate that goes up and down so often has no levels."""
_TRIMMED = 0.1
"""Share of the greatest differences that is left out where variances are estimated: changes of level are among them."""
_LEAST_NOISE = 1e-3
"""Standard deviation of the logarithm that every rate is given: a generator's own rate has none, and then any
difference would be a change."""
_MAD = 1.4826
"""From the median absolute deviation of a normal distribution to its standard deviation."""


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

    >>> found = last_rounds([900, 400, 104, 100, 102, 98, 96])
    >>> found.steady, found.range_share, round(found.slope_share, 3), round(found.slope, 3)
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
class Drift:
    """A trend in the logarithm of the rate: what it comes to over the stretch, as a fraction, and its p value.

    -0.12 stands for a rate that ends 12 % below where it began.
    """

    change: float
    p: float

    @property
    def present(self) -> bool:
        """Whether it is both sure and large enough to matter."""
        return self.p <= 1 - LEVEL and abs(math.log1p(self.change)) >= math.log1p(LEAST_DRIFT)


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
    def steady(self) -> bool:
        """Whether the step held one level from its start to its end."""
        return self.stable_from_s == 0

    @property
    def stable_from_s(self) -> int | None:
        """The second from which on the rate was stable to the end; ``None`` where it was not even there."""
        stable = (
            self.rounds is not None
            and self.rounds.steady
            and not (self.drift is not None and self.drift.present)
        )
        return self.stretches[-1].start_s if stable else None

    @property
    def left(self) -> tuple[Stretch, Stretch] | None:
        """The level that the step left last, and the one it left it for; ``None`` where it had one only."""
        return (self.stretches[-2], self.stretches[-1]) if len(self.stretches) > 1 else None

    def __str__(self) -> str:
        last = self.stretches[-1]
        said = []
        if self.left is not None:
            before = self.left[0]
            said.append(
                f"left its level at second {last.start_s}: from {figure(before.rate_iops)}"
                f" to {figure(last.rate_iops)} IOPS"
            )
        if self.drift is not None and self.drift.present:
            way = "fell" if self.drift.change < 0 else "rose"
            since = f" from second {last.start_s} on" if last.start_s else ""
            said.append(f"its rate {way} by {percent(abs(self.drift.change))}{since}")
        elif self.stable_from_s is None:
            said.append("its rate does not meet SNIA's steady state")
        if not said:
            said.append(f"steady at {figure(last.rate_iops)} IOPS")
        if self.stalled_s:
            said.append(f"nothing completed in {self.stalled_s} of {last.end_s} seconds")
        return "; ".join(said)


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
    starts = [0, *change_points(rates)]
    stretches = tuple(
        Stretch(start, end, float(rates[start:end].mean()))
        for start, end in zip(starts, [*starts[1:], len(rates)], strict=True)
    )
    last = rates[starts[-1] :]
    rounds = last_rounds([float(part.mean()) for part in np.array_split(last, ROUNDS)])
    return Steadiness(stretches, drift(last), rounds, int(np.sum(rates == 0)))


def left_level(moments: Sequence[Moment]) -> Steadiness | None:
    """Return how the rate of a long step left its level: heat, a cache that filled, a budget spent.

    ``None`` where it did not, or there are fewer than ``LONG_ENOUGH_S`` whole seconds to tell from.
    """
    seconds = [moment.iops for moment in moments if 0.99 < moment.end_s - moment.start_s < 1.01]
    if len(seconds) < LONG_ENOUGH_S:
        return None
    found = steadiness(seconds)
    return found if found and found.left else None


def change_points(rates: NDArray[np.float64]) -> list[int]:
    """Return the seconds at which a new level begins, ascending; none of them is 0.

    ``rates`` is I/Os per second, one for each second.

    >>> change_points(np.repeat([100.0, 103.0, 60.0], 20))
    [40]
    """
    # Importing it takes a second, which nothing else should wait for.
    from ruptures import KernelCPD  # type: ignore[import-untyped]

    if len(rates) < 2 * (_REACH + 1):
        return []
    logs = _without_outliers(_logarithms(rates))
    # With a linear kernel this is PELT for changes of the mean, in C.
    search = KernelCPD(kernel="linear", min_size=_REACH).fit(logs)
    most = max(len(logs) * float(np.var(logs)), _LEAST_NOISE**2)
    answers = [
        [int(place) for place in search.predict(pen=most / 2**halved)[:-1]] for halved in range(_HALVINGS)
    ]
    best = min(
        (answer for answer in [[], *answers] if len(answer) <= _MOST_CHANGES),
        key=lambda answer: _unexplained(logs, answer) + _PENALTY * len(answer) * math.log(len(logs)),
    )
    return _that_matter(logs, best)


def drift(rates: NDArray[np.float64]) -> Drift | None:
    """Return the trend of I/Os per second over a stretch; ``None`` where it is shorter than ten seconds.

    The standard error is Newey and West's, with their usual 4 (n / 100)^(2/9) lags, of the whitened series: seconds are
    not independent, and so few lags alone would not see how much. A trend too small to matter is not tested, and has
    p = 1.

    >>> drift(np.linspace(100.0, 80.0, 60)).present, drift(np.linspace(100.0, 99.0, 60)).present
    (True, False)
    """
    count = len(rates)
    if count < 2 * _REACH:
        return None
    logs = _without_outliers(_logarithms(rates))
    time = np.arange(count) - (count - 1) / 2
    change = math.expm1(float(time @ logs / (time @ time)) * (count - 1))
    if not Drift(change, 0.0).present:
        return Drift(change, 1.0)
    # Importing it takes seconds, which only a step that seems to drift should wait for.
    from statsmodels.regression.linear_model import OLS  # type: ignore[import-untyped]

    correlation = _correlation(logs)
    design = np.column_stack([np.ones(count), time])
    fitted = OLS(_whitened(logs, correlation), _whitened(design, correlation)).fit(
        cov_type="HAC",
        cov_kwds={"maxlags": int(4 * (count / 100) ** (2 / 9)), "use_correction": True},
        use_t=True,
    )
    return Drift(change, float(fitted.pvalues[1]))


def _logarithms(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of rates; of a second in which nothing completed, as if half an I/O had."""
    return np.log(np.maximum(rates, 0.5))


def _without_outliers(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the series with every outlier in the place of its neighbours' median (Hampel's identifier)."""
    padded = np.pad(logs, _REACH, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1)
    middle = np.nanmedian(around, axis=1)
    distance = np.abs(logs - middle)
    deviation = _MAD * np.nanmedian(np.abs(around - middle[:, None]), axis=1)
    # Eleven seconds may lie close together by chance; the usual deviation of the whole series is a floor.
    limit = _OUTLYING * np.maximum(np.maximum(deviation, np.median(deviation)), _LEAST_NOISE)
    return np.where(distance > limit, middle, logs)


def _unexplained(logs: NDArray[np.float64], places: list[int]) -> float:
    """Return n log of the squares that levels from ``places`` on and each second's likeness to the last leave."""
    rest = logs - np.concatenate([np.full(len(part), part.mean()) for part in np.split(logs, places)])
    squares = float(rest[:-1] @ rest[:-1])
    correlation = min(max(float(rest[1:] @ rest[:-1]) / squares, 0.0), 0.99) if squares > 0 else 0.0
    own = _whitened(rest, correlation)
    return len(logs) * math.log(float(own @ own) + len(logs) * _LEAST_NOISE**2)


def _correlation(logs: NDArray[np.float64]) -> float:
    """Return the correlation of neighbouring seconds, which neither a drift nor a change of level raises.

    It is from differences over one and two seconds, whose variances are 2 v (1 - r) and 2 v (1 - r^2), and a standard
    error higher, since believing in too little of it finds drifts where there are none.
    """

    def variance(differences: NDArray[np.float64]) -> float:
        squares = np.sort(differences**2)
        return float(squares[: math.ceil((1 - _TRIMMED) * len(squares))].mean())

    one, two = variance(np.diff(logs)), variance(logs[2:] - logs[:-2])
    correlation = (two / one - 1 if one > 0 else 0.0) + 1 / math.sqrt(len(logs))
    return min(max(correlation, 0.0), 0.95)


def _whitened(series: NDArray[np.float64], correlation: float) -> NDArray[np.float64]:
    """Return what each second of a series adds of its own to what it has of the one before; the first has none."""
    return series[1:] - correlation * series[:-1]


def _that_matter(logs: NDArray[np.float64], places: list[int]) -> list[int]:
    """Return the places where the level changes by enough to matter, the least change taken out first."""
    while places:
        ends = [0, *places, len(logs)]
        levels = [float(logs[start:end].mean()) for start, end in pairwise(ends)]
        changes = [abs(after - before) for before, after in pairwise(levels)]
        least = min(range(len(changes)), key=changes.__getitem__)
        if changes[least] >= math.log1p(LEAST_CHANGE):
            break
        places = places[:least] + places[least + 1 :]
    return places
