"""One figure: a value with its unit, its 95 % interval, and the size of its sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iogauge.text import numbers

Unit = Literal["ns", "IOPS", "B/s", "W"]
QUANTILES = (0.5, 0.99, 0.999, 0.9999)
"""Median and tail, as the write-pressure chart offers them."""


@dataclass(frozen=True)
class Figure:
    """A latency or a rate of a sample, with its interval. ``str()`` is for people."""

    value: float
    """In ``unit``, as are the bounds."""
    low: float | None = None
    """The lower bound of the 95 % interval; None: open, or not known."""
    high: float | None = None
    """The upper bound."""
    supported: bool = True
    """Whether the sample is large enough: at least ten requests are expected beyond a quantile."""
    needed: int = 0
    """The number of samples that support it; 0 for a mean or a rate."""
    count: int = 0
    """The number of requests in the sample; 0: not known."""
    dependence: bool = False
    """Whether the interval allows for clustering in time."""
    log_error: float | None = None
    """Standard error of the natural logarithm of ``value``, if known. The interval is wider than 1.96 standard errors,
    since the error itself is estimated from few intervals."""
    long_enough: bool = True
    """Whether the run is long enough for its dependence. If not, both sides of the interval are open."""
    unit: Unit = "ns"
    """``ns`` of a latency, ``IOPS`` or ``B/s`` of a rate, ``W`` of a power."""

    @property
    def text(self) -> str:
        """The value in its best unit, in the digits that its interval supports.

        It is marked ~ if the sample is too small and ? if the run is too short.
        """
        return numbers.mark(self) + numbers.in_digits(self.value, self.low, self.high, self._written)[0]

    def __str__(self) -> str:
        """Return the value with its unit and its interval; one without any is written alone.

        >>> str(Figure(15_000, 14_200, 16_100)), str(Figure(583558.2, unit="IOPS"))
        ('15.0 us (14.2 to 16.1 us)', '584,000 IOPS')
        """
        if self.low is None and self.high is None:
            return numbers.mark(self) + self.shown(self.value)
        return numbers.estimated(self, self.with_unit)

    def shown(self, value: float) -> str:
        """Return the value or a bound with its unit, in the digits that the interval supports."""
        return numbers.in_digits(value, self.low, self.high, self.with_unit)[0]

    def _written(self, value: float, digits: int) -> str:
        return written(value, self.unit, digits)

    def with_unit(self, value: float, digits: int) -> str:
        """Return a value of its unit with so many significant digits."""
        text = written(value, self.unit, digits)
        return f"{text} IOPS" if self.unit == "IOPS" else text

    def _repr_html_(self) -> str:
        return str(self)


def open_figure(
    value: float, *, count: int, needed: int = 0, supported: bool = True, unit: Unit = "ns"
) -> Figure:
    """Return the figure of a run that is too short for its dependence, with an open interval."""
    return Figure(
        value, supported=supported, needed=needed, count=count, dependence=True, long_enough=False, unit=unit
    )


def written(value: float, unit: Unit, digits: int | None = None) -> str:
    """Return a value as people read it, by default with four digits; requests a second are a bare number.

    >>> written(583558.2, "IOPS"), written(2.5e9, "B/s"), written(15000, "ns"), written(15000, "ns", 2)
    ('583,558', '2,500 MB/s', '15.00 us', '15 us')
    """
    if unit == "IOPS":
        if digits is not None:
            return numbers.rate(value, digits)
        return numbers.figure(value) if value < 1000 else f"{value:,.0f}"
    if unit == "W":
        return numbers.power(value, digits)
    return numbers.duration(value, digits) if unit == "ns" else numbers.bandwidth(value, digits)
