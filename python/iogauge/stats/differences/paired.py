"""What a change does, over pairs of runs that have the same random numbers.

Both runs of a pair draw the same requests, stalls and noise, so most of what differs between seeds cancels in their
difference. The interval is Student's over the differences of the pairs.

Source: A. Law, "Simulation Modeling and Analysis" (2015), paired-t intervals and common random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.stats import special
from iogauge.stats.quantiles import TAIL


@dataclass(frozen=True)
class PairedDifference:
    """The mean difference over pairs, and its 95 % interval, in the unit of the values."""

    value: float
    low: float
    high: float
    pairs: int

    @property
    def shown(self) -> bool:
        """Whether the interval leaves out zero, so that the runs show a difference."""
        return self.low > 0 or self.high < 0


def paired_difference(before: Sequence[float], after: Sequence[float]) -> PairedDifference:
    """Return how much ``after`` is more than ``before``, pair by pair. Both have the same length, at least two.

    Raises ValueError for other lengths.

    >>> difference = paired_difference([10.0, 11.0, 9.0, 10.5], [12.0, 13.1, 10.9, 12.6])
    >>> print(f"{difference.value:.3f} ({difference.low:.3f} to {difference.high:.3f})", difference.shown)
    2.025 (1.873 to 2.177) True
    >>> paired_difference([1.0, 2.0], [2.0, 1.0]).shown
    False
    """
    if len(before) != len(after) or len(before) < 2:
        raise ValueError(f"{len(before)} and {len(after)} values are not at least two pairs")
    differences = np.subtract(after, before, dtype=np.float64)
    count = len(differences)
    value = float(differences.mean())
    reach = -float(special.stdtrit(count - 1, TAIL)) * float(differences.std(ddof=1)) / math.sqrt(count)
    return PairedDifference(value, value - reach, value + reach, count)
