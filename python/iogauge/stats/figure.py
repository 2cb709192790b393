"""One figure: a value with its unit, its 95 % interval, and the size of its sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from iogauge.text import numbers

Unit = Literal["ns", "IOPS", "B/s", "W"]


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
        """The value in its best unit, marked ~ if the sample is too small and ? if the run is too short."""
        return numbers.mark(self) + written(self.value, self.unit)

    def shown(self, value: float) -> str:
        """Return the value or a bound with its unit, and with the digits that the interval supports.

        >>> figure = Figure(1.89e9, 1e8, 3.6e10, unit="B/s")
        >>> figure.shown(figure.value), figure.shown(36e9)
        ('2,000 MB/s', '36,000 MB/s')
        """
        if self.unit == "ns":
            return numbers.duration_with_digits(value, numbers.supported_digits(value, self.low, self.high))
        if self.unit == "W":
            return numbers.power(value)
        scale, unit = (1e6, "MB/s") if self.unit == "B/s" else (1.0, "IOPS")
        low, high = (None if bound is None else bound / scale for bound in (self.low, self.high))
        return f"{numbers.within(value / scale, low, high)} {unit}"

    def __str__(self) -> str:
        """Return the value with its interval, and the digits that this supports.

        >>> str(Figure(15_000, 14_200, 16_100)), str(Figure(583558.2, 570_000, 597_000, unit="IOPS"))
        ('15.0 us (14.2 to 16.1 us)', '584,000 IOPS (570,000 to 597,000 IOPS)')
        >>> str(Figure(7_999_000, 5_235_000, supported=False)), str(Figure(583558.2, unit="IOPS"))
        ('~8.00 ms (5.24 ms or more)', '583,558 IOPS')
        """
        if self.low is None and self.high is None:
            return f"{self.text} IOPS" if self.unit == "IOPS" else self.text
        return numbers.estimated(self, self.shown)

    def _repr_html_(self) -> str:
        return str(self)


def open_figure(
    value: float, *, count: int, needed: int = 0, supported: bool = True, unit: Unit = "ns"
) -> Figure:
    """Return the figure of a run that is too short for its dependence, with an open interval."""
    return Figure(
        value, supported=supported, needed=needed, count=count, dependence=True, long_enough=False, unit=unit
    )


def written(value: float, unit: Unit) -> str:
    """Return a value as people read it; requests a second are a bare number.

    >>> written(583558.2, "IOPS"), written(2.5e9, "B/s"), written(15000, "ns")
    ('583,558', '2,500 MB/s', '15.00 us')
    """
    if unit == "IOPS":
        return numbers.figure(value) if value < 1000 else f"{value:,.0f}"
    if unit == "W":
        return numbers.power(value)
    return numbers.duration(value) if unit == "ns" else numbers.bandwidth(value)
