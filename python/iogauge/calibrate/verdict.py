"""How far a model is from a published figure, and whether that is within the limit.

An error is relative: 0.03 is three percent, symmetric in logarithm. The limit depends on the kind of figure and on how
well the drive is known: the maker's guide describes a P4800X row by row, most flash is known from reviewers' prose.
A figure that its source gives as a range is met anywhere within the range.

The limits are our own; docs/accuracy.md lists them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from iogauge.catalog.published import Point

PREDICTED = 2.0
"""The limit of a row that was not fitted is this many times wider."""

_ABSOLUTE = {"iops_fraction_of_peak": 0.01}
"""Absolute limits of figures whose source states their precision."""

_FLAT = 1.5
"""A ratio that its source draws as a flat line stays below this."""
_STEP = 5.0
"""Half a step of a sweep over the share of reads, in percent: the sweep resolves no less."""
_FAR = 3.0
"""What ``>>`` means at least."""
_INSIDE = 0.009
"""How far inside a bound a fit aims, relative: less than ``_BOUND``, so that the margin weighs less than a miss."""
_BOUND = 0.01
"""A bound missed by this share weighs as much as a figure at its limit."""
_AT_IT = 1e-3
"""The error of a figure exactly at a bound that it must pass."""

_KNOWN: Mapping[str, float] = {"rate": 0.03, "mean": 0.08, "p99": 0.15, "p99.999": 0.30, "p99.99999": 2.0}
_REVIEWED: Mapping[str, float] = {"rate": 0.05, "mean": 0.12, "p99": 0.25, "p99.999": 0.50, "p99.99999": 2.0}


class Part(StrEnum):
    """The role of a row in the making of the model."""

    FITTED = "fitted"
    PREDICTED = "predicted"
    """Kept from the fit."""
    STATED = "stated"
    """A parameter states it."""
    BOUND = "bound"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A row, and what the model shows for it."""

    point: Point
    modelled: float
    predicted: bool
    """It was kept from the fit."""
    stated: bool = False
    """A parameter that is not fitted states it, so meeting it proves nothing."""
    machine: str = ""
    """The machine model in front of the drive."""
    limit: float
    """The limit of the error; 0 for a bound."""

    @property
    def part(self) -> Part:
        """The role of the row."""
        if self.point.use == "bound":
            return Part.BOUND
        if self.stated:
            return Part.STATED
        return Part.PREDICTED if self.predicted else Part.FITTED

    @property
    def error(self) -> float:
        """The relative error; 0 within a source's range, or where a bound holds."""
        return error_of(self.point, self.modelled)

    @property
    def holds(self) -> bool:
        """Whether the error is within the limit."""
        if self.point.use == "bound":
            return self.error == 0.0
        ratio = 1 + abs(self.error)
        return ratio <= (1 + self.limit) * (1 + 1e-9)

    @property
    def residual(self) -> float:
        """What a fit minimises: the logarithm of the ratio in units of the limit; for a bound, the distance to it.

        A fit aims slightly inside a bound, so that the bound holds with a margin.
        """
        error = error_of(self.point, self.modelled, inside=_INSIDE)
        signed = math.log1p(abs(error)) * math.copysign(1, error)
        return signed / math.log1p(self.limit or _BOUND)


def verdict(
    point: Point, modelled: float, *, predicted: bool, stated: bool = False, machine: str = ""
) -> Verdict:
    """Return the verdict on what a model shows for a row."""
    limit = 0.0 if point.use == "bound" else limit_of(point)
    return Verdict(
        point=point,
        modelled=modelled,
        predicted=predicted,
        stated=stated,
        machine=machine,
        limit=limit * (PREDICTED if predicted else 1.0),
    )


def limit_of(point: Point) -> float:
    """Return the error that a fitted row may have.

    >>> from iogauge.catalog.published import points
    >>> limit_of(points()[0])
    0.03
    """
    if point.metric in _ABSOLUTE:
        return _ABSOLUTE[point.metric] / point.value
    limits = _KNOWN if "P4800X" in point.drive else _REVIEWED
    return limits[_kind(point.metric)]


def _kind(metric: str) -> str:
    for tail in ("p99.99999", "p99.999", "p99"):
        if tail in metric:
            return tail
    latency = metric.startswith(("lat_", "read_lat_", "pcie_", "saturation_qd", "power"))
    return "mean" if latency else "rate"


def error_of(point: Point, modelled: float, *, inside: float = 0.0) -> float:
    """Return the relative error; 0 within a source's range, or where a bound holds by the share ``inside``."""
    if point.use == "bound" and point.relation is not None and point.unit != "pct":
        return _missing(point, modelled, inside=inside if point.unit != "bool" else 0.0)
    span = point.span
    if point.unit == "pct":
        step = _STEP - inside * point.value
        span = (point.value - step, point.value + step)
    if span is not None:
        low, high = span
        nearest = min(max(modelled, low), high)
        return _relative(modelled, nearest)
    return _relative(modelled, point.value)


def _missing(point: Point, modelled: float, *, inside: float) -> float:
    """Return how far a figure is from its bound; 0 if and only if the bound holds."""
    value = point.value * (_FAR if point.relation == ">>" else 1)
    if point.relation == "~":
        # "Consistent": the only figure of this kind is a ratio that the source draws as a flat line.
        return _relative(modelled, min(max(modelled, value / _FLAT), value * _FLAT))
    value *= 1 + inside if ">" in (point.relation or "") else 1 - inside
    kept = {
        "<": modelled < value,
        "<=": modelled <= value,
        ">": modelled > value,
        ">>": modelled > value,
        ">=": modelled >= value,
    }
    if kept[point.relation or "<"]:
        return 0.0
    return _relative(modelled, value) or math.copysign(_AT_IT, -1 if ">" in (point.relation or "") else 1)


def _relative(modelled: float, value: float) -> float:
    """Return the ratio minus one; below one, 1 minus the inverse ratio."""
    if modelled == value:
        return 0.0
    if modelled <= 0 or value <= 0:
        return math.copysign(9.0, modelled - value)
    return modelled / value - 1 if modelled > value else 1 - value / modelled
