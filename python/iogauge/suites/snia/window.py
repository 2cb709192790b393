"""Windows of five values over which a test may be steady, as text and for charts.

``stats.steady`` computes the two criteria. Source: SNIA PTS 2.0.2, steady state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from iogauge.results.conclusions import Convergence
from iogauge.stats.steady import RANGE, ROUNDS, SLOPE, Rounds, last_rounds
from iogauge.text import numbers

CRITERIA = (f"range ({100 * RANGE:g} %)", f"slope ({100 * SLOPE:g} %)")
"""Heads of the table columns for a window's range and slope."""


@dataclass(frozen=True)
class Window:
    """Five consecutive values of a series, and whether they are steady."""

    first: int
    """Index of its first value."""
    rounds: Rounds

    @property
    def last(self) -> int:
        """Index of its last value."""
        return self.first + ROUNDS - 1


def windows_of(values: Sequence[float]) -> list[Window]:
    """Return all windows of a series that have a value above 0, first to last."""
    windows = ((end - ROUNDS, last_rounds(values[:end])) for end in range(ROUNDS, len(values) + 1))
    return [Window(first, rounds) for first, rounds in windows if rounds is not None]


def window_of(values: Sequence[float]) -> Window | None:
    """Return the first steady window of a series, or the last window if none is steady; None: the series is too short.

    >>> window_of([50, 100, 101, 99, 100, 100]).last + 1
    6
    >>> window_of([10, 20, 30, 40, 50]).rounds.steady, window_of([1, 2]) is None
    (False, True)
    """
    windows = windows_of(values)
    return next((window for window in windows if window.rounds.steady), windows[-1] if windows else None)


def steady_text(rounds: Rounds) -> str:
    """Return a window's range and slope with their limits."""
    return (
        f"range {numbers.percent(rounds.range_share)} ({100 * RANGE:g} % allowed), "
        f"slope {numbers.percent(rounds.slope_share)} ({100 * SLOPE:g} % allowed)"
    )


def convergence(
    title: str, places: Sequence[float], values: Sequence[float], window: Window, *, axis: str, unit: str
) -> Convergence:
    """Return a series of values and its window for a chart."""
    return Convergence(
        title=title,
        axis=axis,
        unit=unit,
        places=tuple(places),
        values=tuple(values),
        first=window.first,
        last=window.last,
        mean=window.rounds.mean,
        slope=window.rounds.slope,
        steady=window.rounds.steady,
    )


def rounds_of(course: Convergence) -> Rounds:
    """Return the range and slope of a chart's window."""
    rounds = last_rounds(course.values[: course.last + 1])
    assert rounds is not None  # or there would be no window
    return rounds
