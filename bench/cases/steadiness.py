"""How often a step of known course is reported to leave its level, and how: a part of the case ``coverage``.

The function that judges a step's rates judges synthetic ones, one number for each second. Their noise is normal in the
logarithm, with a standard deviation and a correlation between neighbours. Drives show 2 to 5 %, with a correlation of 0
to 0.5; 20 % with a correlation of 0.9 is harder than any drive.
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
"""The noise of drifts and jumps: standard deviation, and correlation of neighbours."""
CORRELATIONS = (0.0, 0.5, 0.7, 0.9)
"""The correlations of stationary series, whose noise is ``SHIFT``."""
SECONDS = (60, 600)
MOST_FALSE = 0.05
LEAST_DETECTED = 0.90

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
    """The shares of trials in which a step was reported to jump to another level, or only to drift."""

    jumps: float
    drifts: float

    @property
    def warned(self) -> float:
        """The share of trials with a warning."""
        return self.jumps + self.drifts


def departures(
    shape: str, *, noise: float, correlation: float, seconds: int, trials: int, seed: int = 4
) -> Departures:
    """Return what is reported of ``trials`` steps of one shape."""
    random = np.random.default_rng(seed)
    level = RATE_IOPS * SHAPES[shape](np.linspace(0.0, 1.0, seconds))
    jumps = drifts = 0
    for _ in range(trials):
        departed = steadiness((level * np.exp(noise * correlated(random, seconds, correlation))).tolist())
        if departed is not None and departed.left:
            jumps += 1
        elif departed is not None and departed.drifts:
            drifts += 1
    return Departures(jumps / trials, drifts / trials)


def tables(trials: int) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield the title and the rows of each table."""
    for seconds in SECONDS:
        yield (
            f"stationary series of {seconds} s with a warning",
            [
                _row(
                    f"correlation {correlation:g}",
                    departed,
                    departed.warned <= MOST_FALSE,
                    f"<= {MOST_FALSE:.0%} warned",
                )
                for correlation in CORRELATIONS
                for departed in (
                    departures("flat", noise=SHIFT, correlation=correlation, seconds=seconds, trials=trials),
                )
            ],
        )
    for shape in [shape for shape in SHAPES if shape != "flat"]:
        rows = []
        for noise, correlation in NOISES:
            departed = departures(shape, noise=noise, correlation=correlation, seconds=STEP_S, trials=trials)
            rows.append(
                _row(f"noise {noise:.0%}, correlation {correlation:g}", departed, *_goal(shape, departed))
            )
        yield f"steps of {STEP_S} s: {shape}", rows


def _goal(shape: str, departed: Departures) -> tuple[bool, str]:
    """Return whether the reports on a shape meet their goal, and the goal."""
    if shape.startswith("8 %"):
        return departed.jumps <= MOST_FALSE, f"<= {MOST_FALSE:.0%} jumps"
    if "at once" in shape:
        return departed.jumps >= LEAST_DETECTED, f">= {LEAST_DETECTED:.0%} jumps"
    return departed.drifts >= LEAST_DETECTED, f">= {LEAST_DETECTED:.0%} drifts"


def _row(name: str, departed: Departures, met: bool, goal: str) -> Row:
    shares = f"{100 * departed.jumps:.1f} % jumps, {100 * departed.drifts:.1f} % drifts"
    return Row(name, "", shares, goal=goal, met=met)
