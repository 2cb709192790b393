"""Where requests lie: one after the other, in zones of different heat, on hot blocks (zipf), or anywhere.

Blocks are hot if fewer different ones are used than chance and the zones explain. The exponent of zipf is then the one
with which so many different blocks are used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from iogauge.traces.fitting.blocks import blocks
from iogauge.traces.fitting.sizes import percentages

_CELLS = 100
"""fio's zones are whole percentages of the region."""
_HOT = 0.95
"""Blocks are hot if at most this share of the expected ones is used."""
_STEEPEST = 3.0
_RANKS = 2000

Floats = NDArray[np.float64]


def distribution(starts: NDArray[np.int64], size: int, block: int) -> str:
    """Return fio's random_distribution for random requests.

    ``starts`` are their offsets in bytes, of shape (n,), in a region of ``size`` bytes. ``block`` is the alignment of
    the offsets. fio 3.33 has no zones for each direction, so all directions share them.

    >>> distribution(np.arange(0, 1 << 30, 4096), 1 << 30, 4096)
    'random'
    """
    count, places = max(size // block, 1), starts // block
    zones, used = _zones(places, count), len(np.unique(places))
    if used < _HOT * _used_of_zones(len(starts), count, zones):
        return f"zipf:{_theta(len(starts), count, used):.2f}"
    if len(zones) > 1:
        return "zoned:" + ":".join(f"{access}/{width}" for access, width in zones)
    return "random"


def _used_of_zones(requests: int, count: int, zones: Sequence[tuple[int, int]]) -> float:
    """Return how many different blocks of ``count`` are used if chance alone decides within zones."""
    access, width = np.array(zones, dtype=np.float64).T / 100
    return _used(requests * access / (count * width), count * width)


def _zones(places: NDArray[np.int64], count: int) -> list[tuple[int, int]]:
    """Return the percentages of accesses and of the region, zone by zone."""
    if count < _CELLS:
        return [(100, 100)]
    cells = np.bincount(np.minimum(places * _CELLS // count, _CELLS - 1), minlength=_CELLS)
    edges = blocks(cells, np.ones(_CELLS))
    access = percentages(np.add.reduceat(cells, edges[:-1]))
    return list(zip(access, np.diff(edges).tolist(), strict=True))


def _used(uses: Floats, blocks_each: Floats) -> float:
    """Return how many different blocks are used, of ``blocks_each`` with a mean of ``uses`` each."""
    return float((blocks_each * -np.expm1(-uses)).sum())


def _theta(requests: int, count: int, used: int) -> float:
    """Return the exponent of zipf by which so many different blocks of ``count`` are used."""
    edges = np.unique(np.geomspace(1, count + 1, min(_RANKS, count + 1)).astype(np.int64))
    many = np.diff(edges).astype(np.float64)
    rank = np.sqrt(edges[:-1] * np.maximum(edges[1:] - 1.0, 1.0))
    low, high = 0.01, _STEEPEST
    for _ in range(30):
        theta = (low + high) / 2
        weight = rank**-theta
        if _used(requests * weight / (weight * many).sum(), many) > used:
            low = theta
        else:
            high = theta
    # fio has no zipf with an exponent of 1.
    return 1.01 if abs(high - 1) < 0.005 else high
