"""The sizes of requests as fio's bssplit, whose shares are whole percentages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST = 32
"""Different sizes whose own shares are written; of more, fiftieths of the requests are."""


def split(sizes: NDArray[Any]) -> dict[int, int]:
    """Return the percentage of each size, which are of shape (n,) in bytes. They add up to 100.

    fio rounds sizes down to multiples of the smallest one; these are rounded to the nearest.

    >>> split(np.array([4096] * 2 + [8192]))
    {4096: 67, 8192: 33}
    >>> split(np.array([4096] * 3 + [6656]))
    {4096: 75, 8192: 25}
    """
    values, counts = np.unique(sizes, return_counts=True)
    if len(values) > _MOST:
        middles = np.sort(sizes)[(np.arange(50) * 2 + 1) * len(sizes) // 100]
        values, counts = np.unique(middles, return_counts=True)
    shares: Counter[int] = Counter()
    smallest = 0
    for value, share in zip(values.tolist(), percentages(counts), strict=True):
        if share:
            smallest = smallest or value
            shares[round(value / smallest) * smallest] += share
    return dict(shares)


def percentages(weights: NDArray[Any]) -> list[int]:
    """Return whole percentages that add up to 100, by the largest remainders.

    >>> percentages(np.array([1, 1, 1]))
    [34, 33, 33]
    """
    exact = 100 * np.asarray(weights, dtype=np.float64) / np.sum(weights)
    shares = np.floor(exact).astype(np.int64)
    for place in np.argsort(shares - exact, kind="stable")[: 100 - int(shares.sum())]:
        shares[place] += 1
    return [int(share) for share in shares]


def bssplit(shares: dict[int, int]) -> str:
    """Return sizes and their shares in fio's words.

    >>> bssplit({4096: 67, 8192: 33})
    '4096/67:8192/33'
    """
    return ":".join(f"{size}/{share}" for size, share in shares.items())


def alignment(values: Sequence[NDArray[Any]], most: int) -> int:
    """Return the largest power of two up to ``most`` that divides all values.

    >>> alignment([np.array([8192, 12288])], 1 << 20)
    4096
    """
    bits = most
    for array in values:
        bits |= int(np.bitwise_or.reduce(array)) if len(array) else 0
    return bits & -bits
