"""Figures as cells of a table on a screen: the digits that their intervals support, and their marks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from iogauge.stats.figure import Figure
from iogauge.text import numbers

_WIDE = 0.2
"""An interval wider than this share of its figure is lopsided: its bounds are shown instead of ±."""


def rate_cell(rate: Figure) -> str:
    """Return a rate: requests a second, or MB/s."""
    return numbers.mark(rate) + numbers.within(*_scaled(rate))


def interval_cell(rate: Figure) -> str:
    """Return the interval of a rate as a share of it, or the bounds of a wide one; empty: there is none.

    >>> interval_cell(Figure(100.0, 98.0, 103.0)), interval_cell(Figure(54_338.0, 16_000.0, 190_000.0))
    ('±3.0 %', '20,000 to 190,000')
    """
    value, low, high = _scaled(rate)
    if low is None or high is None or value <= 0:
        return ""
    reach = max(high / value - 1, 1 - low / value)
    if reach <= _WIDE:
        return numbers.reaching(reach)
    return " to ".join(numbers.within(bound, low, high) for bound in (low, high))


def latency_cells(latencies: Sequence[Figure | None]) -> list[str]:
    """Return the latencies of a row.

    Each rounded by its own interval, 3.936 ms would look greater than 3.9394 ms if it had three digits and that four.
    Of such a pair both have the digits of the less certain one.

    >>> p99, tail = Figure(3_936_000, 3_880_000, 3_990_000), Figure(3_939_400, 3_939_000, 3_940_000)
    >>> latency_cells([p99, tail, None])
    ['3.94 ms', '3.94 ms', '-']
    """
    digits = [0 if it is None else numbers.supported_digits(it.value, it.low, it.high) for it in latencies]
    known = [(place, it.value) for place, it in enumerate(latencies) if it is not None]
    pairs = list(combinations(sorted(known, key=lambda pair: pair[1]), 2))
    while turned := next(
        (
            (less, more)
            for (less, small), (more, great) in pairs
            if digits[less] != digits[more] and _rounded(small, digits[less]) > _rounded(great, digits[more])
        ),
        None,
    ):
        digits[turned[0]] = digits[turned[1]] = min(digits[place] for place in turned)
    return [
        "-" if it is None else numbers.mark(it) + numbers.duration(it.value, kept)
        for it, kept in zip(latencies, digits, strict=True)
    ]


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def _scaled(rate: Figure) -> tuple[float, float | None, float | None]:
    """Return a rate and its bounds, bytes as MB."""
    per = 1e6 if rate.unit == "B/s" else 1.0
    low, high = (None if bound is None else bound / per for bound in (rate.low, rate.high))
    return rate.value / per, low, high
