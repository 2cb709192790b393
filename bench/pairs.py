"""Interleaved pairs and their ratios: how two programs are compared on a machine that drifts.

The speed of a shared machine changes over minutes. Two runs in a row see nearly the same machine, so each pair gives
one ratio. The order alternates (A B, B A, A B, ...), so that a steady drift favours neither program. The interval of
the median ratio is that of order statistics, which assume no distribution.

A figure without a peer cannot be corrected for the machine in this way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.stats import binom

T = TypeVar("T")


@dataclass(frozen=True)
class Estimate:
    """A median with its 95 % interval; the ends are NaN for fewer than six values."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Return the median of ``values`` and the exact interval by the sign test.

        >>> Estimate.of([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
        Estimate(median=3.5, lower=1.0, upper=6.0)
        >>> Estimate.of([1.0, 2.0]).lower
        nan
        """
        ordered = np.sort(np.asarray(values, dtype=np.float64))
        rank = int(binom.ppf(0.025, ordered.size, 0.5))
        lower, upper = (ordered[rank - 1], ordered[-rank]) if rank else (math.nan, math.nan)
        return cls(float(np.median(ordered)), float(lower), float(upper))

    def __str__(self) -> str:
        """Return ``median [lower, upper]``."""
        if math.isnan(self.lower):
            return f"{self.median:.3f} [too few]"
        return f"{self.median:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


def interleave(ours: Callable[[], T], peer: Callable[[], T], *, pairs: int) -> Iterator[tuple[T, T]]:
    """Run both ``pairs`` times in alternating order; yield ``(ours, peer)`` of every pair as it completes.

    >>> order = []
    >>> list(interleave(lambda: order.append("A"), lambda: order.append("B"), pairs=3)) and "".join(order)
    'ABBAAB'
    """
    for index in range(pairs):
        if index % 2 == 0:
            first = ours()
            yield first, peer()
        else:
            second = peer()
            yield ours(), second
