"""Figures with their intervals as text for the report's sentences and table cells.

Where a sample is too small, the text says how many samples it needs. The text is plain: the template escapes it and
lays it out.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.text.numbers import Estimated, duration, figure

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


@dataclass(frozen=True)
class Cell:
    """One figure of a table: its text, its interval, and why the sample does not support it (empty: it does)."""

    text: str
    interval: str = ""
    unsupported: str = ""


def cell(estimate: Estimated | None, *, ios: int = 0) -> Cell:
    """Return a latency as a cell. ``ios`` tells why there is none: nothing completed, or it was not reported."""
    if estimate is None:
        return Cell("–", unsupported="not reported" if ios else "nothing completed")
    missing = "" if estimate.supported else f"needs {estimate.needed:,}"
    if not estimate.long_enough:
        missing = "; ".join(filter(None, [missing, "run too short"]))
    return Cell(latency(estimate.value), interval(estimate.low, estimate.high), missing)


def latency(value_ns: float) -> str:
    """Return a latency in its best unit.

    >>> latency(84_230), latency(812)
    ('84.23 µs', '812 ns')
    """
    return duration(value_ns).replace(" us", " µs")


def interval(low_ns: float | None, high_ns: float | None) -> str:
    """Return a 95 % interval in one unit.

    >>> interval(83_900, 84_600), interval(1_900_000, None), interval(None, None)
    ('83.90–84.60 µs', '≥ 1.900 ms', '')
    """
    known = [value for value in (low_ns, high_ns) if value is not None]
    if not known:
        return ""
    scale, unit = next((pair for pair in _UNITS if known[-1] >= pair[0]), _UNITS[-1])
    if low_ns is None or high_ns is None:
        return f"{'≥' if high_ns is None else '≤'} {figure(known[0] / scale)} {unit}"
    return f"{figure(low_ns / scale)}–{figure(high_ns / scale)} {unit}"
