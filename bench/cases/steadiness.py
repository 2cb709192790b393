"""How often a step of known course is said to have left its level, and in which way.

Made-up rates, a number for each second, are given to the function that judges a step's. Their noise is that of the
logarithm, a standard deviation and a correlation of neighbours; 2 to 5 % without and with a correlation of 0.5 is what
drives show from second to second, and 20 % with a correlation of 0.9 is harder than any of them. A part of the case
``coverage``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.results import Row
from bench.streams import SHIFT, correlated
from iogauge.stats.steady import steadiness

RATE_IOPS = 1e5
STEP_S = 60
NOISES = ((0.02, 0.0), (0.02, 0.5), (0.03, 0.0), (0.03, 0.5), (0.05, 0.0), (0.05, 0.5))
"""Of drifts and jumps: standard deviation, and correlation of neighbours."""
CORRELATIONS = (0.0, 0.5, 0.7, 0.9)
"""Of stationary series, whose noise is ``SHIFT``."""
SECONDS = (60, 600)
MOST_FALSE = 0.05
FEWEST_FOUND = 0.90

SHAPES: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "flat": np.ones_like,
    "8 % down, linear": lambda time: 1 - 0.08 * time,
    "30 % down, linear": lambda time: 1 - 0.3 * time,
    "down to half, exponential": lambda time: 0.5**time,
    "20 % down at once": lambda time: np.where(time < 0.5, 1.0, 0.8),
}
"""The rate over a step, as a share of what it is at its start; time goes from 0 to 1."""


@dataclass(frozen=True)
class Departures:
    """The shares of trials in which a step was said to jump to another level, and to drift and nothing else."""

    jumps: float
    drifts: float

    @property
    def warned(self) -> float:
        """The share that was warned of."""
        return self.jumps + self.drifts


def departures(
    shape: str, *, noise: float, correlation: float, seconds: int, trials: int, seed: int = 4
) -> Departures:
    """Return what is said of so many steps of one shape."""
    random = np.random.default_rng(seed)
    level = RATE_IOPS * SHAPES[shape](np.linspace(0.0, 1.0, seconds))
    jumps = drifts = 0
    for _ in range(trials):
        found = steadiness((level * np.exp(noise * correlated(random, seconds, correlation))).tolist())
        if found is not None and found.left:
            jumps += 1
        elif found is not None and found.drifts:
            drifts += 1
    return Departures(jumps / trials, drifts / trials)


def tables(trials: int) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield each table of the case: its title and its rows."""
    for seconds in SECONDS:
        yield (
            f"stationary series of {seconds} s that are warned of",
            [
                _row(
                    f"correlation {correlation:g}",
                    found,
                    found.warned <= MOST_FALSE,
                    f"<= {MOST_FALSE:.0%} warned",
                )
                for correlation in CORRELATIONS
                for found in (
                    departures("flat", noise=SHIFT, correlation=correlation, seconds=seconds, trials=trials),
                )
            ],
        )
    for shape in [shape for shape in SHAPES if shape != "flat"]:
        rows = []
        for noise, correlation in NOISES:
            found = departures(shape, noise=noise, correlation=correlation, seconds=STEP_S, trials=trials)
            rows.append(_row(f"noise {noise:.0%}, correlation {correlation:g}", found, *_goal(shape, found)))
        yield f"steps of {STEP_S} s: {shape}", rows


def _goal(shape: str, found: Departures) -> tuple[bool, str]:
    """Return whether what was said of a shape is right often enough, and what that asks for."""
    if shape.startswith("8 %"):
        return found.jumps <= MOST_FALSE, f"<= {MOST_FALSE:.0%} jumps"
    if "at once" in shape:
        return found.jumps >= FEWEST_FOUND, f">= {FEWEST_FOUND:.0%} jumps"
    return found.drifts >= FEWEST_FOUND, f">= {FEWEST_FOUND:.0%} drifts"


def _row(name: str, found: Departures, met: bool, goal: str) -> Row:
    said = f"{100 * found.jumps:.1f} % jumps, {100 * found.drifts:.1f} % drifts"
    return Row(name, "", said, goal=goal, met=met)
