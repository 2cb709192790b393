"""The position that stands for a suite where it has one row or a few figures."""

from __future__ import annotations

from collections.abc import Iterable

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import StepFigures

SMALL_BYTES = 16 << 10
"""Requests up to this size are counted, as random ones are by custom; of larger ones the bytes count."""


def counts_requests(steps: Iterable[StepFigures]) -> bool:
    """Return whether the rate of these steps is told in requests a second, since their requests are all small."""
    return all(figures.rate_Bps <= SMALL_BYTES * figures.iops for figures in steps)


def leading(result: SuiteResult) -> Position | None:
    """Return the position with the most writes where reads are measured under writes, else that of the highest rate.

    Rates of small requests and of large ones do not compare: those of the first position's kind are looked at. None if
    nothing completed.
    """
    measured = [position for position in result.positions if position.figures.mean is not None]
    if not measured:
        return None
    if result.along_pressure:
        return max(measured, key=lambda position: position.achieved_Bps)
    in_requests = counts_requests([measured[0].figures])
    alike = [position for position in measured if counts_requests([position.figures]) == in_requests]
    return max(
        alike, key=lambda position: position.figures.iops if in_requests else position.figures.rate_Bps
    )
