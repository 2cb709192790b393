"""The kinds of published figures, the errors that a good model may have, and errors grouped by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from iogauge.catalog.published import Point

WORST = 2.0
"""No figure may be further off than this many times the goal of its kind without a reason in ``misses``."""


class FigureKind(StrEnum):
    """A kind of figure, by what is hard about it."""

    RATE = "rates and throughput"
    MEAN = "means"
    P50 = "p50"
    P99 = "p99"
    P99_9 = "p99.9"
    P99_999 = "p99.999"
    P99_99999 = "p99.99999"
    OTHER = "ratios, depths and watts"


GOALS: Mapping[FigureKind, float] = {
    FigureKind.RATE: 0.05,
    FigureKind.MEAN: 0.05,
    FigureKind.P50: 0.08,
    FigureKind.P99: 0.15,
    FigureKind.P99_999: 0.30,
}
"""The median error that a kind should have at most. The others have no goal."""

_RATES = ("IOPS", "GB/s", "MB/s")


def kind_of(point: Point) -> FigureKind:
    """Return the kind of a row.

    >>> from iogauge.catalog.published import points
    >>> str(kind_of(points()[0])), str(kind_of(points()[7]))
    ('rates and throughput', 'p99.999')
    """
    if point.unit in _RATES:
        return FigureKind.RATE
    if point.unit != "us" or not point.metric.startswith("lat_"):
        return FigureKind.OTHER
    tail = point.metric.removeprefix("lat_")
    if tail in ("mean", "typical"):
        return FigureKind.MEAN
    return FigureKind(tail) if tail in set(FigureKind) else FigureKind.OTHER


@dataclass(frozen=True)
class Errors:
    """Absolute relative errors of some figures."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, errors: Sequence[float | None]) -> Errors:
        """Return the absolute errors of those figures that have one."""
        return cls(tuple(abs(error) for error in errors if error is not None))

    @property
    def median(self) -> float | None:
        """The median; None without figures."""
        return float(np.median(self.values)) if self.values else None

    @property
    def worst(self) -> float | None:
        """The largest; None without figures."""
        return max(self.values, default=None)
