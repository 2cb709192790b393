"""Combines the tests of mean latency and tail into one p for each drive, host, slot, model and firmware.

That p is the least of those of its figures, each divided by its weight (Bonferroni, weighted). So each is one
hypothesis of the correction by Benjamini and Hochberg, however many figures show that it is slow.
"""

from __future__ import annotations

import numpy as np

from iogauge.stats.fleet.observations import Floats

MEAN = 0.6
"""Weight of the mean's p."""
TAIL = 0.3
"""Weight of the tail's p. Drives have the rest for their events (``bound.py``)."""


def weighted(p: Floats, weight: float) -> Floats:
    """Return p-values divided by their weight.

    >>> weighted(np.array([0.003, 0.9]), TAIL).round(3).tolist()
    [0.01, 1.0]
    """
    return np.minimum(p / weight, 1.0)


def is_in_tail(*, mean_p: float, tail_p: float, most_p: float, mean_high: float, tail_low: float) -> bool:
    """Return whether a finding is named slow in its tail, rather than throughout.

    What is slow throughout is slow in its tail, too. So the tail is named only where the mean is as usual, or the
    tail's interval lies above the mean's. The p-values are weighted; ``most_p`` is the largest p of any finding.
    """
    return tail_p <= most_p and (mean_p > most_p or tail_low > mean_high)
