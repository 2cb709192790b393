"""The course of a rate over the seconds of a step: one level, several levels, or a drift.

These are models of the rate's logarithm, each with noise in which a second resembles the one before (AR(1)). The model
that explains the series best is chosen:

- one level;
- levels that begin at certain seconds: PELT finds the best ones for each of several penalties;
- a drift: a line, a curve that levels off or sets in, or a line between two levels that takes ten seconds or more. A
  line may also follow a change of level.

Seconds are not independent, and a choice that ignores this finds changes everywhere. So a model is judged by its
residuals after the correlation of neighbours is removed, and by a price for its parameters. The prices are calibrated
on stationary series: in steps of 60 and of 600 seconds whose neighbours correlate by up to 0.9, a change is found in at
most one of twenty (``python -m bench coverage``).

A change of up to five seconds is no level: ``steady.py`` counts stalls.

Source: R. Killick, P. Fearnhead and I. Eckley, "Optimal detection of changepoints with a linear computational cost"
(JASA 107, 2012), as in the ``ruptures`` package; R. Davis, T. Lee and G. Rodriguez-Yam, "Structural break estimation
for nonstationary time series models" (JASA 101, 2006), for choosing by the residuals of an autoregression;
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
"""Smaller changes of level are ignored."""
LEAST_DRIFT = 0.10
"""A step with a smaller drift is steady: SNIA's limit for the slope of its rounds."""

_REACH = 5
"""Seconds on both sides that an outlier is compared with; a change that lasts no longer makes no level."""
_OUTLYING = 5.0
"""Robust standard deviations beyond which a second is an outlier."""
_PRICE_OF_SLOPE = 2.5
"""Price of a line: the reduction of n log(residual sum of squares) that it must reach, divided by log n."""
_PRICE_OF_PLACE = 4.5
"""Price of a level or a curve, which is higher because its start is chosen too."""
_LEAST_PRICED_S = 60
"""Shorter series pay as if they had this many seconds, since they show too little correlation."""
_HALVINGS = 12
"""Number of penalties that are tried: the total sum of squares, and each half of the one before."""
_MOST_CHANGES = 8
"""Solutions with more changes are ignored: a rate that goes up and down so often has no levels."""
_LEAST_NOISE = 1e-3
"""Standard deviation that is added to the logarithm of every rate. A generator's own rate has no noise, and any
difference would be a change."""
_HIGHEST_CORRELATION = 0.99
_MAD = 1.4826
"""Ratio of a normal distribution's standard deviation to its median absolute deviation."""

_PARTS = 12
"""A drift begins and ends at twelfths of a step."""
_SHORTEST_DRIFT_S = 2 * _REACH
_TIME_CONSTANTS = (0.1, 0.2, 0.5)
"""Time constants of exponential curves, as shares of the step's length."""


@dataclass(frozen=True)
class Drift:
    """A gradual change of the rate from ``start_s`` to ``end_s``; ``log_change`` is that of its natural logarithm."""

    log_change: float
    start_s: int
    end_s: int

    @property
    def change(self) -> float:
        """Change of the rate as a fraction of its start: -0.12 for an end 12 % below the start."""
        return math.expm1(self.log_change)

    @property
    def present(self) -> bool:
        """Whether the drift is large enough to matter."""
        return abs(self.log_change) >= math.log1p(LEAST_DRIFT)


@dataclass(frozen=True)
class Course:
    """The seconds at which levels after the first begin, ascending, and the drift of the last level."""

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
    """A course and its cost: that of its residuals, plus the price of its parameters."""

    course: Course
    cost: float


def _unit(count: int) -> float:
    """Return the unit of prices for a series of ``count`` seconds."""
    return math.log(max(count, _LEAST_PRICED_S))


def _drifts(logs: NDArray[np.float64]) -> Iterator[_Model]:
    """Yield a line and the best curve over the whole series."""
    count = len(logs)
    shapes, spans = _shapes(count)
    slopes, costs = _fitted(logs, shapes)
    curve = 1 + int(np.argmin(costs[1:]))
    for place, price in ((0, _PRICE_OF_SLOPE), (curve, _PRICE_OF_PLACE)):
        drift = Drift(float(slopes[place] * np.ptp(shapes[place])), *spans[place])
        yield _Model(Course(drift=drift), float(costs[place]) + price * _unit(count))


def _levels(logs: NDArray[np.float64]) -> Iterator[_Model]:
    """Yield sequences of levels, each with and without a slope in the last level."""
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
    """Return where levels may begin: PELT's solutions, and these without their last changes."""
    # Imported here because it takes a second.
    from ruptures import KernelCPD  # type: ignore[import-untyped]

    # With a linear kernel, this is PELT for changes of the mean, in C.
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
    """Return the shapes of drifts over ``count`` seconds, and the seconds from and to which each shape changes.

    Shapes are the rows of a read-only array, each of mean 0; the first is the line.
    """
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
    # All shapes rise, so that the sign of a slope is that of the change.
    shapes *= np.sign(shapes[:, -1] - shapes[:, 0])[:, None]
    shapes -= shapes.mean(axis=1, keepdims=True)
    shapes.flags.writeable = False
    return shapes, ((0, count),) * (1 + 2 * len(settling)) + tuple(ramps)


def _fitted(
    logs: NDArray[np.float64], shapes: NDArray[np.float64], *, before: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit each shape by least squares; return the slopes, and the whitened cost of the residuals.

    ``before`` are residuals of the seconds before ``logs``.
    """
    deviations = logs - logs.mean()
    slopes = np.einsum("ij,j->i", shapes, deviations) / np.einsum("ij,ij->i", shapes, shapes)
    rest = deviations - slopes[:, None] * shapes
    if before is not None:
        rest = np.concatenate([np.broadcast_to(before, (len(rest), len(before))), rest], axis=1)
    return slopes, _whitened_cost(rest)


def _whitened_cost(rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return n log(sum of squares) of each row of residuals, after removing each second's correlation with the last."""
    count = rest.shape[1]
    squares = np.einsum("ij,ij->i", rest[:, :-1], rest[:, :-1])
    lag_product = np.einsum("ij,ij->i", rest[:, 1:], rest[:, :-1])
    correlation = np.clip(lag_product / np.maximum(squares, 1e-300), 0.0, _HIGHEST_CORRELATION)
    own = rest[:, 1:] - correlation[:, None] * rest[:, :-1]
    cost: NDArray[np.float64] = count * np.log(np.einsum("ij,ij->i", own, own) + count * _LEAST_NOISE**2)
    return cost


def _logarithms(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return logarithms of rates; a second without completions counts as half an I/O."""
    return np.log(np.maximum(rates, 0.5))


def _without_outliers(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace every outlier by its neighbours' median (Hampel's identifier)."""
    padded = np.pad(logs, _REACH, constant_values=np.nan)
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1)
    middle = np.nanmedian(around, axis=1)
    distance = np.abs(logs - middle)
    deviation = _MAD * np.nanmedian(np.abs(around - middle[:, None]), axis=1)
    # Eleven seconds may lie close together by chance, so the median deviation of the whole series is a floor.
    limit = _OUTLYING * np.maximum(np.maximum(deviation, np.median(deviation)), _LEAST_NOISE)
    return np.where(distance > limit, middle, logs)


def _that_matter(logs: NDArray[np.float64], places: Sequence[int]) -> tuple[int, ...]:
    """Return the places where the level changes by enough to matter; the least change is dropped first."""
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
