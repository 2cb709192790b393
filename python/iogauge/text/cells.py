"""Figures with their intervals as text for the report's sentences and table cells.

Where a sample is too small, the text says how many samples it needs. The text is plain: the template escapes it and
lays it out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from iogauge.text.numbers import Estimated, capitalised, duration, figure

_TERM = re.compile(r"p\d|t:|\S+ ?<")
"""A term that keeps its small letter at the beginning of a sentence: a quantile, a setting, a condition."""
_MICROSECONDS = re.compile(r"(?<=\d) us\b")
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def micro(text: str) -> str:
    """Return a text as a report writes microseconds; what was typed without a space stays as it was typed.

    >>> micro("p99 < 100us up to 3 IOPS: 96.25 us (94.98 to 97.15 us)")
    'p99 < 100us up to 3 IOPS: 96.25 µs (94.98 to 97.15 µs)'
    """
    return _MICROSECONDS.sub(" µs", text)


def sentence_of(text: str) -> str:
    """Return a finding as a sentence of a report: a term keeps its small letter, and no line breaks before %.

    >>> sentence_of("reads take 3 us"), sentence_of("p99 grew"), sentence_of("mean < 1ms up to 3 IOPS")
    ('Reads take 3 µs.', 'p99 grew.', 'mean < 1ms up to 3 IOPS.')
    """
    begun = text if _TERM.match(text) else capitalised(text)
    return f"{micro(begun).replace(' %', chr(0xA0) + '%')}."


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
    return micro(duration(value_ns))


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
