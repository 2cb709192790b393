"""Fits many numbers to the figures of many runs, with as few runs as possible.

It takes damped Gauss-Newton steps (Levenberg-Marquardt) within the ranges of the numbers, on the soft loss of ``fit``.
Derivatives are finite differences, which take a trial for each number. So they are taken once or twice: in between,
every trial corrects them along its own step (Broyden's update), and a step takes one trial.

A fit has levels: short runs come near, longer ones count the tails too. A number that moves no run of a kind (such as
the time of a write, in runs that only read) in the first differences is not tried on runs of that kind again.

Source: Nocedal & Wright, Numerical Optimization, chapters 10.3 (Levenberg-Marquardt) and 11.1 (Broyden).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from iogauge.calibrate.fit import Vector, root_mean_square, soft_cost
from iogauge.calibrate.numbers import Free
from iogauge.errors import IogaugeError

Matrix = NDArray[np.float64]
Values = Mapping[str, float]

LONGEST = 0.25
"""The longest move of a number in one step, as a share of its range."""
ENOUGH = 0.02
"""A step gains enough if it lowers the cost by this share."""
PATIENCE = 2
"""Steps in a row that gain too little before derivatives are taken again, or a level ends."""
EXACT = 1e-9
"""A cost at which there is nothing to gain."""
DAMPING = 1e-3
"""The first damping, as a share of the mean squared derivative."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run whose figures are compared."""

    kind: str
    residuals: Callable[[Values], Vector]
    """Takes values by place. Several threads call it at once. Raises IogaugeError if the core refuses a value."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """The runs at one length."""

    runs: Sequence[Run]
    difference: float
    """The step of a derivative, as a share of a number's range."""
    jacobians: int
    """How often derivatives are taken at most."""
    steps: int
    """Steps at most."""


@dataclass(frozen=True, kw_only=True)
class Descended:
    """Where a descent ended."""

    z: Vector
    """The numbers, as shares of their ranges."""
    derivatives: Sequence[Matrix]
    """By level: the last derivatives that were taken; figures x numbers."""
    residuals: Vector
    """Of the last level, at ``z``."""


@dataclass
class _Trials:
    """Runs trials, and counts them."""

    free: Sequence[Free]
    threads: ThreadPoolExecutor
    on_trial: Callable[[int, float], None]
    still: set[tuple[str, int]] | None = None
    """Kinds of runs, and the index of a number that does not move them; None until derivatives were taken."""
    done: int = field(default=0, init=False)
    least: float = field(default=math.inf, init=False)

    def all(self, runs: Sequence[Run], z: Vector, *, counts: bool = True) -> list[Vector]:
        """Return the residuals of every run. Raises IogaugeError if the core refuses a value.

        ``counts``: whether their mean square may be the least. That of some runs alone may be smaller than that of all.
        """
        values = {
            number.place: number.value(float(share)) for number, share in zip(self.free, z, strict=True)
        }
        parts = list(self.threads.map(lambda run: run.residuals(values), runs))
        self.done += 1
        if counts:
            self.least = min(self.least, root_mean_square(np.concatenate(parts)))
        self.on_trial(self.done, self.least)
        return parts

    def derivatives(self, level: Level, z: Vector, here: Sequence[Vector]) -> Matrix:
        """Return the derivative of every figure by every number; 0 where the core refuses both differences."""
        columns = [self._column(level, z, here, index) for index in range(len(z))]
        if self.still is None:
            kinds = {run.kind for run in level.runs}
            self.still = {
                (kind, index)
                for index, column in enumerate(columns)
                if any(part.any() for part in column)
                for kind in kinds
                if not any(
                    part.any() for run, part in zip(level.runs, column, strict=True) if run.kind == kind
                )
            }
        return np.stack([np.concatenate(column) for column in columns], axis=1)

    def _column(self, level: Level, z: Vector, here: Sequence[Vector], index: int) -> list[Vector]:
        still = self.still or set()
        moved = [place for place, run in enumerate(level.runs) if (run.kind, index) not in still]
        column = [np.zeros_like(part) for part in here]
        # Differences go towards the middle first, so that they stay within the range.
        way = level.difference if z[index] < 0.5 else -level.difference
        for difference in (way, -way):
            there = z.copy()
            there[index] += difference
            if not 0 <= there[index] <= 1:
                continue
            try:
                parts = self.all([level.runs[place] for place in moved], there, counts=False)
            except IogaugeError:
                continue
            for place, part in zip(moved, parts, strict=True):
                column[place] = (part - here[place]) / difference
            break
        return column


def descend(
    free: Sequence[Free],
    levels: Sequence[Level],
    *,
    pull: float = 0.0,
    threads: int = 2,
    on_trial: Callable[[int, float], None] = lambda _done, _rms: None,
) -> Descended:
    """Return where the residuals of the last level are least, beginning where every number starts.

    ``pull`` draws each number to its start. It is the residual of a move through the full range, so it decides between
    numbers that the figures cannot tell apart. Raises IogaugeError if the core refuses the start.
    """
    start = np.array([min(max(number.share(number.start), 0.0), 1.0) for number in free])
    z, derivatives = start, []
    with ThreadPoolExecutor(threads) as pool:
        trials = _Trials(free, pool, on_trial)
        for level in levels:
            # Another length has other figures: its least is another.
            trials.least = math.inf
            z, taken, residuals = _descend_level(trials, level, z, start, pull)
            derivatives.append(taken)
    return Descended(z=z, derivatives=derivatives, residuals=residuals)


def _descend_level(
    trials: _Trials, level: Level, z: Vector, start: Vector, pull: float
) -> tuple[Vector, Matrix, Vector]:
    """Return where one level ends, the derivatives last taken, and the residuals there."""

    def cost(residuals: Vector, at: Vector) -> float:
        return soft_cost(residuals) + 0.5 * float(np.sum((pull * (at - start)) ** 2))

    parts = trials.all(level.runs, z)
    here = np.concatenate(parts)
    taken = trials.derivatives(level, z, parts)
    slope, left, damping, poor, moved = taken.copy(), level.jacobians - 1, DAMPING, 0, False
    for _ in range(level.steps):
        before = cost(here, z)
        if before < EXACT:
            break
        move = _step(slope, here, z, start, pull, damping)
        there = _tried(trials, level, z + move)
        gain = 0.0
        if there is not None:
            gain = 1 - cost(there, z + move) / before
            slope += np.outer(there - here - slope @ move, move) / max(float(move @ move), 1e-12)
        if there is not None and gain > 0:
            z, here, damping, moved = z + move, there, damping / 4, True
        else:
            damping *= 8
        poor = poor + 1 if gain < ENOUGH else 0
        if poor < PATIENCE:
            continue
        if not left or not moved:
            break
        parts = trials.all(level.runs, z)
        taken = trials.derivatives(level, z, parts)
        slope, left, damping, poor, moved = taken.copy(), left - 1, DAMPING, 0, False
    return z, taken, here


def _tried(trials: _Trials, level: Level, z: Vector) -> Vector | None:
    """Return the residuals at ``z``; None if the core refuses a value."""
    try:
        return np.concatenate(trials.all(level.runs, z))
    except IogaugeError:
        return None


def _step(slope: Matrix, here: Vector, z: Vector, start: Vector, pull: float, damping: float) -> Vector:
    """Return the move that the linearised problem calls for, within the ranges and ``LONGEST``."""
    weights = np.sqrt(1 / np.sqrt(1 + here**2))
    weighted = slope * weights[:, None]
    mean_square = float(np.mean(np.sum(weighted**2, axis=0)))
    identity = np.eye(len(z))
    equations = np.concatenate(
        [weighted, pull * identity, math.sqrt(damping * mean_square + 1e-9) * identity]
    )
    wanted = -np.concatenate([weights * here, pull * (z - start), np.zeros(len(z))])
    low, high = np.maximum(-z, -LONGEST), np.minimum(1 - z, LONGEST)
    # The solver wants some room between the bounds.
    move: Vector = lsq_linear(equations, wanted, bounds=(low - 1e-9, high + 1e-9)).x
    return np.clip(z + move, 0.0, 1.0) - z
