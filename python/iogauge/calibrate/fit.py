"""Makes differences small: bounded least squares over the numbers that a file calls fitted.

What cannot be met must not spoil the rest: far off its limit a figure weighs by its distance, not by the square. Every
number moves in its range, on a logarithmic scale where that is positive; it begins at its file's ``start``, so that a
fit does not depend on the one before. Derivatives are differences over a share of the range, each a trial of its own.
Where the steps that follow from them lead nowhere, since a figure jumped in between, others are taken over less.

How sure a number is comes from a parametric bootstrap: had every figure been off by chance, by as much as the fit
leaves it off, where would the linearised fit have ended? Figures are few beside the numbers, so that drawing among
them would leave numbers without any. A figure that jumps has no derivative, and one taken across the jump would say
that all is known: what differs between two steps counts for nothing.

Source: scipy.optimize.least_squares (trust region reflective, soft_l1); Efron & Tibshirani, An Introduction to the
Bootstrap, chapter 6 (parametric).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from iogauge.calibrate.numbers import Free

Vector = NDArray[np.float64]

BEGUN_AGAIN = 5
"""Times that a fit goes on from the best trial, until each of ``STEPS`` has gained less than ``ENOUGH`` from there."""
ENOUGH = 0.97
"""Of the cost before."""
SMOOTH = 1.5
"""Derivatives over two steps agree within this factor where a figure does not jump."""
STEPS = (0.05, 0.025)
"""Of a number's range: above the noise of a trial, below what bends its effect."""
DRAWS = 1000
IDENTIFIED = 0.25
"""A number is identified where its interval is narrower than this share of its range."""
LEAST_NOISE = 0.25
"""Rows are not taken to be surer than a quarter of their limits, however well they are met."""


@dataclass(frozen=True, kw_only=True)
class FittedNumber:
    """Where one number ended."""

    free: Free
    value: float
    interval: tuple[float, float]
    """95 %, by bootstrap."""
    identified: bool


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Where all of them ended."""

    numbers: tuple[FittedNumber, ...]
    rms: float
    """Of the residuals: 1 is on average at the limits."""


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
    """Return the values at which the squares of ``residuals`` are least, and how sure they are.

    ``residuals`` takes values by place; threads may call it at a time. ``pull`` holds numbers where they begin: what a
    way through the whole range weighs; so what figures do not tell apart moves together. ``told`` hears after each
    trial how many there were and the least root mean square so far. Raises what ``residuals`` raises.
    """
    known: dict[bytes, Vector] = {}
    least = math.inf
    lock = threading.Lock()
    start = np.array([min(max(number.share(number.start), 1e-6), 1 - 1e-6) for number in free])

    def at(z: Vector) -> Vector:
        """The residuals there, with what pulls back."""
        nonlocal least
        key = z.tobytes()
        if key not in known:
            values = {number.place: number.value(float(share)) for number, share in zip(free, z, strict=True)}
            current = residuals(values)
            with lock:
                known[key] = current
                least = min(least, root_mean_square(current))
                on_trial(len(known), least)
        return np.concatenate([known[key], pull * (z - start)]) if pull else known[key]

    def jacobian(z: Vector, step: float) -> NDArray[np.float64]:
        here = at(z)
        # Towards the middle, where there is room.
        ways = [step if share < 0.5 else -step for share in z]
        moved = [z + way * axis for way, axis in zip(ways, np.eye(len(z)), strict=True)]
        with ThreadPoolExecutor(threads) as pool:
            there = list(pool.map(at, moved))
        return np.stack([(values - here) / way for values, way in zip(there, ways, strict=True)], axis=1)

    def best() -> Vector:
        return min((np.frombuffer(key) for key in known), key=lambda z: _cost(at(z)))

    z, stuck = start, 0
    for _ in range(BEGUN_AGAIN + 1):
        before = _cost(at(z))
        least_squares(
            at,
            z,
            jac=partial(jacobian, step=STEPS[stuck]),
            bounds=(0.0, 1.0),
            loss="soft_l1",
            max_nfev=rounds,
            ftol=1e-4,
            xtol=1e-4,
        )
        # Figures jump where a tail passes a stall, so the trial beside may be better than where the steps lead.
        z = best()
        stuck = stuck + 1 if _cost(at(z)) > before * ENOUGH else 0
        if stuck == len(STEPS):
            break
    # What pulls back is no figure: it says nothing of how sure a number is.
    derivatives = _smooth(*(jacobian(z, step)[: len(known[z.tobytes()])] for step in STEPS))
    draws = _bootstrap(z, derivatives, known[z.tobytes()], seed=seed)
    return Fitted(
        numbers=tuple(map(_fitted_number, free, z, draws)), rms=root_mean_square(known[z.tobytes()])
    )


def _smooth(wide: NDArray[np.float64], narrow: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivatives on which two steps agree, and 0 for the others: there a figure jumps."""
    with np.errstate(divide="ignore", invalid="ignore"):
        times = wide / narrow
    agree = (times > 1 / SMOOTH) & (times < SMOOTH)
    return np.where(agree, narrow, 0.0)


def _cost(residuals: Vector) -> float:
    """What is made small: soft_l1's sum."""
    return float(np.sum(np.sqrt(1 + residuals**2) - 1))


def root_mean_square(residuals: Sequence[float] | Vector) -> float:
    """Return the root mean square of residuals; 0 of none.

    >>> root_mean_square([3.0, 4.0, 5.0, 0.0])
    3.5355339059327378
    """
    return float(np.sqrt(np.mean(np.square(residuals)))) if len(residuals) else 0.0


def _bootstrap(
    z: Vector, jacobian: NDArray[np.float64], residuals: Vector, *, seed: int
) -> NDArray[np.float64]:
    """Return where each number ends in each draw of what figures are off by; numbers x draws.

    That a number lies in its range is one more thing known of it, and all where figures say nothing.
    """
    rows, numbers = jacobian.shape
    # As many numbers as rows leave nothing over, and yet rows are not exact.
    noise = max(root_mean_square(residuals) * math.sqrt(rows / max(rows - numbers, rows / 4)), LEAST_NOISE)
    equations = np.concatenate([jacobian / noise, np.eye(numbers)])
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
