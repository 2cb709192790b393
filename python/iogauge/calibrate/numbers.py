"""The numbers that a fit may change: where they are in a model, and how they are rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Free:
    """A number that a fit may change."""

    place: str
    """Its path in the model, such as ``media.read_chunk_ns``."""
    start: float
    low: float
    high: float

    def value(self, z: float) -> float:
        """Return the number at a share ``z`` of its range; the scale is logarithmic where the range is positive.

        >>> round(Free(place="x", start=2.0, low=1.0, high=100.0).value(0.5), 9)
        10.0
        """
        if self.low > 0:
            return self.low * math.exp(z * math.log(self.high / self.low))
        return self.low + (self.high - self.low) * z

    def share(self, value: float) -> float:
        """Return the position of a value in the range, in [0, 1]."""
        if self.low > 0:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def rounded(value: float, *, integral: bool) -> float | int:
    """Return a number rounded as model files write it: to an integer, or to five significant digits.

    >>> rounded(1713.2468, integral=False), rounded(1713.2, integral=True), rounded(0.0123456, integral=False)
    (1713.2, 1713, 0.012346)
    """
    return round(value) if integral else float(f"{value:.5g}")


def put(parameters: Any, place: str, value: float) -> None:
    """Put a number into a model's parameters; an integer stays an integer.

    >>> parameters = {"stalls": [{"mean_ns": 5}]}
    >>> put(parameters, "stalls.0.mean_ns", 7.2)
    >>> parameters
    {'stalls': [{'mean_ns': 7}]}
    """
    tree, last = folder(parameters, place)
    tree[last] = rounded(value, integral=isinstance(tree[last], int))


def folder(tree: Any, place: str) -> tuple[Any, int | str]:
    """Return the table or list that holds a number, and its key there."""
    *folders, last = (int(key) if key.isdecimal() else key for key in place.split("."))
    for key in folders:
        tree = tree[key]
    return tree, last
