"""The numbers that a fit may change: where they are in a model, and how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Free:
    """A number that a fit may change."""

    place: str
    """As ``media.read_chunk_ns``."""
    start: float
    low: float
    high: float

    def value(self, z: float) -> float:
        """Return the number at a share ``z`` of its range: logarithmic where that is positive.

        >>> round(Free(place="x", start=2.0, low=1.0, high=100.0).value(0.5), 9)
        10.0
        """
        if self.low > 0:
            return self.low * math.exp(z * math.log(self.high / self.low))
        return self.low + (self.high - self.low) * z

    def share(self, value: float) -> float:
        """Return where in its range a number is, in [0, 1]."""
        if self.low > 0:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def rounded(value: float, *, integral: bool) -> float | int:
    """Return a number as files have it: no more digits than mean anything.

    >>> rounded(1713.2468, integral=False), rounded(1713.2, integral=True), rounded(0.0123456, integral=False)
    (1713.2, 1713, 0.012346)
    """
    return round(value) if integral else float(f"{value:.5g}")


def put(parameters: Any, place: str, value: float) -> None:
    """Put a number into a model's parameters, whole where the one before it was.

    >>> parameters = {"stalls": [{"mean_ns": 5}]}
    >>> put(parameters, "stalls.0.mean_ns", 7.2)
    >>> parameters
    {'stalls': [{'mean_ns': 7}]}
    """
    tree, last = folder(parameters, place)
    tree[last] = rounded(value, integral=isinstance(tree[last], int))


def folder(tree: Any, place: str) -> tuple[Any, int | str]:
    """Return the table or list that holds a number, and the key there."""
    *folders, last = (int(key) if key.isdecimal() else key for key in place.split("."))
    for key in folders:
        tree = tree[key]
    return tree, last
