"""Fits a model's numbers to figures: bounded least squares over the numbers that a file calls fitted.

The loss is soft: far from its limit a figure weighs by its distance, not by the square, so that a figure the model
cannot meet does not spoil the others. Every number moves within its range, on a logarithmic scale where the range is
positive. It starts at its file's ``start``, so that a fit does not depend on the previous one. Derivatives are finite
differences over a share of the range; each takes a trial. If a fit makes no progress because a figure jumps between
two trials, it continues with a smaller difference.

The intervals come from a parametric bootstrap: every figure is disturbed by as much as the fit misses it, and the
linearised fit is solved again. Resampling the figures would not do: there are few figures for each number, and some
numbers would be left without any. A figure that jumps has no derivative, and a difference across the jump would
claim certainty: where the two differences disagree, the derivative counts as 0.

Source: scipy.optimize.least_squares (trust region reflective, soft_l1); Efron & Tibshirani, An Introduction to the
Bootstrap, chapter 6 (parametric).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from iogauge.calibrate.numbers import Free

Vector = NDArray[np.float64]

BEGUN_AGAIN = 2
"""How often a fit restarts from the best trial at most. It ends earlier once no step of ``STEPS`` gains ``ENOUGH``."""
ENOUGH = 0.97
"""A restart must lower the cost below this share of the previous cost."""
SMOOTH = 1.5
"""Where a figure does not jump, its derivatives over both steps agree within this factor."""
STEPS = (0.05, 0.025)
"""Finite differences, as shares of a number's range: above the noise of a trial, and small enough to be linear."""
DRAWS = 1000
IDENTIFIED = 0.25
"""A number is identified where its interval is narrower than this share of its range."""
LEAST_NOISE = 0.25
"""The least noise assumed of a row, as a share of its limit, however well the fit meets it."""


@dataclass(frozen=True, kw_only=True)
class FittedNumber:
    """The fitted value of one number."""

    free: Free
    value: float
    interval: tuple[float, float]
    """95 %, by bootstrap."""
    identified: bool


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """The result of a fit."""

    numbers: tuple[FittedNumber, ...]
    rms: float
    """Root mean square of the residuals. At 1 the figures are at their limits on average."""


class Search:
    """Searches the values that minimise residuals, and remembers every trial.

    ``residuals`` takes values by place; several threads call it at once. ``pull`` draws each number to its
    start. It is the residual of a move through the full range, so it decides between numbers that the figures cannot
    tell apart. ``on_trial`` is called after each trial with the number of trials and the least root mean square so
    far. Its methods raise what ``residuals`` raises.
    """

    def __init__(
        self,
        free: Sequence[Free],
        residuals: Callable[[dict[str, float]], Vector],
        *,
        pull: float = 0.0,
        threads: int = 2,
        on_trial: Callable[[int, float], None] = lambda _done, _rms: None,
    ) -> None:
        self._free = free
        self._residuals = residuals
        self._pull = pull
        self._threads = threads
        self._on_trial = on_trial
        self._known: dict[bytes, Vector] = {}
        self._least = math.inf
        self._lock = threading.Lock()
        self.start = self.shares({number.place: number.start for number in free})

    def shares(self, values: Mapping[str, float]) -> Vector:
        """Return values by place as shares of their ranges, slightly inside."""
        return np.array(
            [min(max(number.share(values[number.place]), 1e-6), 1 - 1e-6) for number in self._free]
        )

    def values(self, z: Vector) -> dict[str, float]:
        """Return the values by place of shares of the ranges."""
        return {number.place: number.value(float(share)) for number, share in zip(self._free, z, strict=True)}

    def figures(self, z: Vector) -> Vector:
        """Return the residuals at ``z``."""
        key = z.tobytes()
        if key not in self._known:
            current = self._residuals(self.values(z))
            with self._lock:
                self._known[key] = current
                self._least = min(self._least, root_mean_square(current))
                self._on_trial(len(self._known), self._least)
        return self._known[key]

    def at(self, z: Vector) -> Vector:
        """Return the residuals at ``z``, followed by the pull."""
        current = self.figures(z)
        return np.concatenate([current, self._pull * (z - self.start)]) if self._pull else current

    def many(self, moved: Sequence[Vector]) -> list[Vector]:
        """Return the residuals with the pull at several places, computed in parallel."""
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self.at, moved))

    def jacobian(self, z: Vector, step: float) -> NDArray[np.float64]:
        """Return the derivatives at ``z``, as differences over ``step``."""
        here = self.at(z)
        # Differences go towards the middle, so that they stay within the range.
        ways = [step if share < 0.5 else -step for share in z]
        there = self.many([z + way * axis for way, axis in zip(ways, np.eye(len(z)), strict=True)])
        return np.stack([(values - here) / way for values, way in zip(there, ways, strict=True)], axis=1)

    def best(self) -> Vector:
        """Return the best place of all trials."""
        return min((np.frombuffer(key) for key in self._known), key=lambda z: soft_cost(self.at(z)))

    def least(self, z: Vector, *, rounds: int, restarts: int) -> Vector:
        """Return the place with the least residuals that a search from ``z`` reaches.

        ``rounds`` bounds the steps of the solver before a restart.
        """
        stuck = 0
        for _ in range(restarts + 1):
            before = soft_cost(self.at(z))
            least_squares(
                self.at,
                z,
                jac=partial(self.jacobian, step=STEPS[stuck]),
                bounds=(0.0, 1.0),
                loss="soft_l1",
                max_nfev=rounds,
                ftol=1e-4,
                xtol=1e-4,
            )
            # Figures jump where a tail passes a stall, so a trial for a derivative may be better than the solver's end.
            z = self.best()
            stuck = stuck + 1 if soft_cost(self.at(z)) > before * ENOUGH else 0
            if stuck == len(STEPS):
                break
        return z


def fit(
    free: Sequence[Free],
    residuals: Callable[[dict[str, float]], Vector],
    *,
    seed: int,
    rounds: int = 6,
    pull: float = 0.0,
    threads: int = 2,
    on_trial: Callable[[int, float], None] = lambda _done, _rms: None,
) -> Fitted:
    """Return the values that minimise ``residuals``, with their intervals.

    The arguments are those of ``Search``. Raises what ``residuals`` raises.
    """
    search = Search(free, residuals, pull=pull, threads=threads, on_trial=on_trial)
    z = search.least(search.start, rounds=rounds, restarts=BEGUN_AGAIN)
    figures = search.figures(z)
    # The pull is no measurement, so it does not narrow an interval.
    wide, narrow = (search.jacobian(z, step)[: len(figures)] for step in STEPS)
    return with_intervals(free, z, wide, narrow, figures, seed=seed)


def with_intervals(
    free: Sequence[Free],
    z: Vector,
    wide: NDArray[np.float64],
    narrow: NDArray[np.float64],
    residuals: Vector,
    *,
    seed: int,
    alike: float = 1.0,
    wider: float = 1.0,
) -> Fitted:
    """Return the numbers at ``z`` with their intervals, by two derivatives of the residuals there.

    ``alike``: how many figures count as one on average, because they come from the same requests. ``wider``: how many
    times as wide as the linearised fit says they are.
    """
    draws = _bootstrap(z, _smooth(wide, narrow), residuals, seed=seed, alike=alike, wider=wider)
    return Fitted(numbers=tuple(map(_fitted_number, free, z, draws)), rms=root_mean_square(residuals))


def _smooth(wide: NDArray[np.float64], narrow: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivatives on which both steps agree, and 0 where they differ because a figure jumps."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = wide / narrow
    agree = (times > 1 / SMOOTH) & (times < SMOOTH)
    return np.where(agree, narrow, 0.0)


def soft_cost(residuals: Vector) -> float:
    """Return what a fit minimises: the sum of soft_l1."""
    return float(np.sum(np.sqrt(1 + residuals**2) - 1))


def root_mean_square(residuals: Sequence[float] | Vector) -> float:
    """Return the root mean square of residuals; 0 if there are none.

    >>> root_mean_square([3.0, 4.0, 5.0, 0.0])
    3.5355339059327378
    """
    return float(np.sqrt(np.mean(np.square(residuals)))) if len(residuals) else 0.0


def _bootstrap(
    z: Vector, jacobian: NDArray[np.float64], residuals: Vector, *, seed: int, alike: float, wider: float
) -> NDArray[np.float64]:
    """Return the value of each number in each draw of the noise; numbers x draws.

    That a number lies in its range adds one equation for it. Where no figure depends on the number, it is the only one.
    """
    rows, numbers = jacobian.shape
    # With as many numbers as rows the residuals vanish, although the rows are not exact.
    independent = rows / alike
    freedom = max(independent - numbers, independent / 4)
    noise = max(root_mean_square(residuals) * math.sqrt(independent / freedom), LEAST_NOISE)
    equations = np.concatenate([jacobian / (noise * wider * math.sqrt(alike)), np.eye(numbers)])
    drawn = np.random.default_rng(seed).normal(0.0, 1.0, (rows + numbers, DRAWS))
    moved: NDArray[np.float64] = np.linalg.lstsq(equations, drawn)[0]
    ends: NDArray[np.float64] = np.clip(z[:, None] - moved, 0.0, 1.0)
    return ends


def _fitted_number(free: Free, z: float, draws: NDArray[np.float64]) -> FittedNumber:
    low, high = np.quantile(draws, (0.025, 0.975))
    return FittedNumber(
        free=free,
        value=free.value(float(z)),
        interval=(free.value(float(low)), free.value(float(high))),
        identified=float(high - low) < IDENTIFIED,
    )
