"""Divides counts into blocks of constant rate: Bayesian blocks, the most likely steps of a Poisson process.

Source: Scargle et al., Studies in Astronomical Time Series Analysis VI, ApJ 764:167 (2013).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FALSE_POSITIVES = 0.01
"""The share of constant rates that are divided nevertheless."""
_PIECE = 2048
"""Cells that are divided together: the time grows with the square of their number."""


def blocks(counts: NDArray[Any], widths: NDArray[Any]) -> list[int]:
    """Return the edges of blocks, from 0 to the number of cells.

    ``counts`` are events in cells, and ``widths`` (> 0) how long or large the cells are, both of shape (n,).

    >>> blocks(np.array([9, 11, 10, 101, 99, 103]), np.ones(6))
    [0, 3, 6]
    """
    edges = [0]
    for begin in range(0, len(counts), _PIECE):
        end = min(begin + _PIECE, len(counts))
        edges += [begin + edge for edge in _piece(counts[begin:end], widths[begin:end])[1:]]
    if len(counts) > _PIECE and len(edges) - 1 < len(counts):
        # What one rate covers may lie in several pieces.
        merged = blocks(np.add.reduceat(counts, edges[:-1]), np.add.reduceat(widths, edges[:-1]))
        edges = [edges[edge] for edge in merged]
    return edges


def _piece(counts: NDArray[Any], widths: NDArray[Any]) -> list[int]:
    events, lengths = np.cumsum([0.0, *counts]), np.cumsum([0.0, *widths])
    cost = 4 - math.log(73.53 * _FALSE_POSITIVES * len(counts) ** -0.478)
    best, first = np.zeros(len(counts) + 1), np.zeros(len(counts) + 1, dtype=np.int64)
    for end in range(1, len(counts) + 1):
        inside = events[end] - events[:end]
        rate = np.maximum(inside, 1e-300) / (lengths[end] - lengths[:end])
        fitness = best[:end] + inside * np.log(rate) - cost
        first[end] = int(np.argmax(fitness))
        best[end] = fitness[first[end]]
    edges = [len(counts)]
    while edges[-1]:
        edges.append(int(first[edges[-1]]))
    return edges[::-1]
