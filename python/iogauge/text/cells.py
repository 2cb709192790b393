"""Figures with their intervals as text for the report's sentences and table cells.

Where a sample is too small, the text says how many samples it needs. The text is plain: the template escapes it and
lays it out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from iogauge.text.numbers import Estimated, Written, capitalised, duration, figure, in_digits

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


def cell(estimate: Estimated | None, *, ios: int = 0, shown: Written = duration) -> Cell:
    """Return a figure as a cell, in the digits that its interval supports; ``shown`` writes a number of them.

    ``ios`` tells why there is none: nothing completed, or it was not reported.
    """
    if estimate is None:
        return Cell("–", unsupported="not reported" if ios else "nothing completed")
    missing = "" if estimate.supported else f"needs {estimate.needed:,}"
    if not estimate.long_enough:
        missing = "; ".join(filter(None, [missing, "run too short"]))
    value, low, high = in_digits(estimate.value, estimate.low, estimate.high, shown)
    return Cell(micro(value), micro(interval_text(low, high)), missing)


def interval_text(low: str, high: str) -> str:
    """Return an interval of two bounds with their units; an empty one is open.

    >>> interval_text("83.90 us", "84.60 us"), interval_text("980 us", "1.01 ms")
    ('83.90–84.60 us', '980 us–1.01 ms')
    >>> interval_text("1.9 ms", ""), interval_text("", "")
    ('≥ 1.9 ms', '')
    """
    if low and high:
        unit = high.rpartition(" ")[2]
        return f"{low.removesuffix(f' {unit}')}–{high}"
    if low:
        return f"≥ {low}"
    return f"≤ {high}" if high else ""


def latency(value_ns: float) -> str:
    """Return a latency in its best unit.

    >>> latency(84_230), latency(812)
    ('84.23 µs', '812 ns')
    """
    return micro(duration(value_ns))


def span(low_ns: float, high_ns: float) -> str:
    """Return the span of several latencies in one unit.

    >>> span(83_900, 84_600)
    '83.90–84.60 µs'
    """
    scale, unit = next((pair for pair in _UNITS if high_ns >= pair[0]), _UNITS[-1])
    return f"{figure(low_ns / scale)}–{figure(high_ns / scale)} {unit}"
