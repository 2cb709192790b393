"""Which course a rate took over the seconds of a step: one level, several levels, or a drift.

The three are models of the rate's logarithm, each with noise in which a second resembles the one before (AR(1)), and
the one that explains the series best is taken:

- one level;
- levels that begin at certain seconds: PELT finds the best ones for each of a row of penalties;
- a drift: a line, a curve that levels off or sets in, or a line between two levels that takes ten seconds and more. It
  may also follow on a change of level, as a line.

Seconds are not independent, and a choice that takes them so finds something everywhere. So a model is judged by what it
leaves unexplained once the likeness of neighbours is taken out, and by what its parameters cost. Their price is
calibrated on stationary series: of steps of 60 and of 600 seconds whose neighbours correlate by up to 0.9, at most one
in twenty is found to have left its level (``python -m bench coverage``).

What lasts up to five seconds makes no level: ``steady.py`` counts stalls. Does not say why a rate changed.

Source: R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints with a linear computational cost"
(JASA 107, 2012), as in the ``ruptures`` package; R. Davis, T. Lee and G. Rodriguez-Yam, "Structural break estimation
for nonstationary time series models" (JASA 101, 2006), for choosing by what an autoregression of each model leaves;
F. Hampel's identifier of outliers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LEAST_CHANGE = 0.05
"""A change of level by less is none."""
LEAST_DRIFT = 0.10
"""A drift by less is no reason to call a step unsteady: SNIA's limit for the slope of its rounds."""

_REACH = 5
"""Seconds on both sides by which a second is judged as an outlier; what lasts no longer makes no level."""
_OUTLYING = 5.0
"""Robust standard deviations beyond which a second is an outlier."""
_PRICE_OF_SLOPE = 2.5
"""What a line must gain in n log(unexplained sum of squares), times log n."""
_PRICE_OF_PLACE = 4.5
"""The same of a level, and of a curve: where they begin is chosen too."""
_LEAST_PRICED_S = 60
"""Shorter series pay as if they had so many seconds: they hide how alike neighbours are."""
_HALVINGS = 12
"""Penalties that are tried: the whole sum of squares, and so often half of the one before."""
_MOST_CHANGES = 8
"""Answers with more are not looked at: a rate that goes up and down so often has no levels."""
_LEAST_NOISE = 1e-3
"""Standard deviation of the logarithm that every rate is given: a generator's own rate has none, and then any
difference would be a change."""
_HIGHEST_CORRELATION = 0.99
_MAD = 1.4826
"""From the median absolute deviation of a normal distribution to its standard deviation."""

_PARTS = 12
"""A drift begins and ends at multiples of this part of a step."""
_SHORTEST_DRIFT_S = 2 * _REACH
_TIME_CONSTANTS = (0.1, 0.2, 0.5)
"""Of exponential curves, as shares of the step's length."""


@dataclass(frozen=True)
class Drift:
    """A gradual change of the rate from ``start_s`` to ``end_s``; ``log_change`` is that of its natural logarithm."""

    log_change: float
    start_s: int
    end_s: int

    @property
    def change(self) -> float:
        """By how much the rate changed, as a fraction of what it was: -0.12 stands for an end 12 % below the start."""
        return math.expm1(self.log_change)

    @property
    def present(self) -> bool:
        """Whether it is large enough to matter."""
        return abs(self.log_change) >= math.log1p(LEAST_DRIFT)


@dataclass(frozen=True)
class Course:
    """``level_starts_s`` are the seconds at which levels after the first begin, ascending; ``drift`` is of the last."""

    level_starts_s: tuple[int, ...] = ()
    drift: Drift | None = None


def course(rates_iops: NDArray[np.float64]) -> Course:
    """Return the course of a rate, given I/Os per second for each of its seconds.

    >>> course(np.repeat([100.0, 103.0, 60.0], 20))
    Course(level_starts_s=(40,), drift=None)
    >>> drift = course(np.geomspace(100.0, 80.0, 60)).drift
    >>> round(drift.change, 6), drift.start_s, drift.end_s
    (-0.2, 0, 60)
    """
    if len(rates_iops) < 2 * (_REACH + 1):
        return Course()
    logs = _without_outliers(_logarithms(rates_iops))
    flat = _Model(Course(), _whitened_cost((logs - logs.mean())[None, :])[0])
    models = [flat, *_drifts(logs), *_levels(logs)]
    return min(models, key=lambda model: model.cost).course


@dataclass(frozen=True)
class _Model:
    """A course and what it costs: what it leaves unexplained, and the price of its parameters."""

    course: Course
    cost: float


def _unit(count: int) -> float:
    """Return what prices are multiples of, for a series of ``count`` seconds."""
    return math.log(max(count, _LEAST_PRICED_S))


def _drifts(logs: NDArray[np.float64]) -> Iterator[_Model]:
    """Yield a line, and the curve that explains most, over the whole series."""
    count = len(logs)
    shapes, spans = _shapes(count)
    slopes, costs = _fitted(logs, shapes)
    curve = 1 + int(np.argmin(costs[1:]))
    for place, price in ((0, _PRICE_OF_SLOPE), (curve, _PRICE_OF_PLACE)):
        drift = Drift(float(slopes[place] * np.ptp(shapes[place])), *spans[place])
        yield _Model(Course(drift=drift), float(costs[place]) + price * _unit(count))


def _levels(logs: NDArray[np.float64]) -> Iterator[_Model]:
    """Yield levels, the last of them with and without a slope."""
    count = len(logs)
    for starts in _candidate_starts(logs):
        before = np.concatenate([part - part.mean() for part in np.split(logs[: starts[-1]], starts[:-1])])
        last = logs[starts[-1] :]
        price = _PRICE_OF_PLACE * len(starts)
        flat = np.concatenate([before, last - last.mean()])
        yield _Model(Course(starts), _whitened_cost(flat[None, :])[0] + price * _unit(count))
        if len(last) >= _SHORTEST_DRIFT_S:
            line = np.arange(len(last), dtype=np.float64)[None, :] - (len(last) - 1) / 2
            (slope,), (cost,) = _fitted(last, line, before=before)
            drift = Drift(float(slope * (len(last) - 1)), starts[-1], count)
            yield _Model(Course(starts, drift), cost + (price + _PRICE_OF_SLOPE) * _unit(count))


def _candidate_starts(logs: NDArray[np.float64]) -> list[tuple[int, ...]]:
    """Return where levels may begin: PELT's answers, and these without their last changes."""
    # Importing it takes a second, which nothing else should wait for.
    from ruptures import KernelCPD  # type: ignore[import-untyped]

    # With a linear kernel this is PELT for changes of the mean, in C.
    search = KernelCPD(kernel="linear", min_size=_REACH).fit(logs)
    most = max(len(logs) * float(np.var(logs)), _LEAST_NOISE**2)
    candidates: dict[tuple[int, ...], None] = {}
    for halved in range(_HALVINGS):
        answer = [int(place) for place in search.predict(pen=most / 2**halved)[:-1]]
        if len(answer) > _MOST_CHANGES:
            break
        for taken in range(1, len(answer) + 1):
            candidates[_that_matter(logs, answer[:taken])] = None
    return [starts for starts in candidates if starts]


@lru_cache(maxsize=16)
def _shapes(count: int) -> tuple[NDArray[np.float64], tuple[tuple[int, int], ...]]:
    """Return how a rate may drift over ``count`` seconds, the line first: a shape in each row, of mean 0; not to be
    written. Beside them the seconds from and to which each of them changes."""
    time = np.linspace(0.0, 1.0, count)
    edges = [round(part * count / _PARTS) for part in range(_PARTS + 1)]
    ramps = [
        (start, end)
        for place, start in enumerate(edges)
        for end in edges[place + 2 :]
        if end - start >= _SHORTEST_DRIFT_S and (start, end) != (0, count)
    ]
    settling = [np.exp(-time / constant) for constant in _TIME_CONSTANTS]
    shapes = np.array(
        [
            time,
            *settling,
            *(shape[::-1] for shape in settling),
            *(np.clip((np.arange(count) - start) / (end - start), 0.0, 1.0) for start, end in ramps),
        ]
    )
    # As rises, so that a slope's sign is the change's.
    shapes *= np.sign(shapes[:, -1] - shapes[:, 0])[:, None]
    shapes -= shapes.mean(axis=1, keepdims=True)
    shapes.flags.writeable = False
    return shapes, ((0, count),) * (1 + 2 * len(settling)) + tuple(ramps)


def _fitted(
    logs: NDArray[np.float64], shapes: NDArray[np.float64], *, before: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slope of each shape that fits best, and the whitened cost of what it leaves.

    ``before`` is what seconds before these have left.
    """
    deviations = logs - logs.mean()
    slopes = np.einsum("ij,j->i", shapes, deviations) / np.einsum("ij,ij->i", shapes, shapes)
    rest = deviations - slopes[:, None] * shapes
    if before is not None:
        rest = np.concatenate([np.broadcast_to(before, (len(rest), len(before))), rest], axis=1)
    return slopes, _whitened_cost(rest)


def _whitened_cost(rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n log of the squares of each row, once each second's correlation with the last is taken out of it."""
    count = rest.shape[1]
    squares = np.einsum("ij,ij->i", rest[:, :-1], rest[:, :-1])
    lag_product = np.einsum("ij,ij->i", rest[:, 1:], rest[:, :-1])
    correlation = np.clip(lag_product / np.maximum(squares, 1e-300), 0.0, _HIGHEST_CORRELATION)
    own = rest[:, 1:] - correlation[:, None] * rest[:, :-1]
    cost: NDArray[np.float64] = count * np.log(np.einsum("ij,ij->i", own, own) + count * _LEAST_NOISE**2)
    return cost


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


def _that_matter(logs: NDArray[np.float64], places: Sequence[int]) -> tuple[int, ...]:
    """Return the places where the level changes by enough to matter, the least change taken out first."""
    remaining = list(places)
    while remaining:
        ends = [0, *remaining, len(logs)]
        levels = [float(logs[start:end].mean()) for start, end in pairwise(ends)]
        changes = [abs(after - before) for before, after in pairwise(levels)]
        least = min(range(len(changes)), key=changes.__getitem__)
        if changes[least] >= math.log1p(LEAST_CHANGE):
            break
        del remaining[least]
    return tuple(remaining)
