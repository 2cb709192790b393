"""When requests of an open loop arrive: phases of a constant rate, pauses, and batches that arrive at once.

A trace with few changes of its rate has a phase for each of them, in their order. Of many changes, similar rates are
put together: the fitted job then spends as much time at each rate, but not in turns.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.traces.fitting.blocks import blocks

MOST_PHASES = 8
TOGETHER_NS = 2_000
"""Requests that follow each other within this time reach a drive together."""
_CELL = 16
"""Arrivals whose times are looked at together."""
_MOST_CELLS = 1 << 15
_PAUSE = 30
"""A gap is a pause if it is so many times the mean of the gaps on either side."""
_BATCHED = 0.05
"""There are batches if this share of requests is together with the one before by more than chance."""
_SIMILAR = 1.25
"""Rates up to this ratio are put together first."""

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Phase:
    """A time of constant rate, or all the times of similar rates together."""

    requests: NDArray[np.int64]
    """The numbers of its requests, ascending."""
    batch: NDArray[np.int64]
    """For each of them, how many arrive together with it, itself included."""
    length_ns: float
    pause_ns: float
    """How long nothing arrives before its blocks, all together."""
    parts: int
    """Into how many parts pauses divide it."""


@dataclass(frozen=True)
class _Block:
    """Arrivals at a constant rate: their numbers, from the first to before the last."""

    first: int
    last: int
    length_ns: float
    pause_ns: float

    @property
    def rate(self) -> float:
        return (self.last - self.first) / self.length_ns


def phases(time_ns: Times) -> list[Phase]:
    """Return the phases of requests, whose arrivals are ``time_ns``: ascending, of shape (n,)."""
    starts = _batch_starts(time_ns)
    sizes = np.diff(np.append(starts, len(time_ns)))
    steady = _blocks(time_ns[starts])
    groups = [[block] for block in steady] if len(steady) <= MOST_PHASES else _levels(steady)
    return [_phase(group, np.append(starts, len(time_ns)), sizes) for group in groups]


def _batch_starts(time_ns: Times) -> NDArray[np.int64]:
    """Return the numbers of the requests that begin a batch; all, where no more are together than by chance."""
    gaps = np.diff(time_ns)
    together = gaps <= TOGETHER_NS
    apart = gaps[~together]
    if len(gaps) and len(apart):
        # The median of random gaps is log 2 of their mean, and pauses hardly move it.
        mean_ns = max(float(np.median(apart)) - TOGETHER_NS, 1.0) / math.log(2)
        if together.mean() < 1 - math.exp(-TOGETHER_NS / mean_ns) + _BATCHED:
            return np.arange(len(time_ns))
    return np.flatnonzero(np.append(True, ~together))


def _blocks(time_ns: Times) -> list[_Block]:
    """Return blocks of constant rate, without the pauses between them."""
    pauses = np.flatnonzero(_is_pause(np.diff(time_ns))) + 1
    cell = max(_CELL, len(time_ns) // _MOST_CELLS)
    result = []
    for first, last in itertools.pairwise([0, *pauses.tolist(), len(time_ns)]):
        inside = time_ns[first:last]
        cuts = np.arange(0, max(len(inside) - cell, 0) + 1, cell)
        mean_gap_ns = float(inside[-1] - inside[0]) / max(len(inside) - 1, 1)
        widths = np.maximum(np.diff(np.append(inside[cuts], inside[-1] + mean_gap_ns)), 1.0)
        edges = np.append(cuts, len(inside))
        pause_ns = float(inside[0] - time_ns[first - 1]) if first else 0.0
        for begin, end in itertools.pairwise(blocks(np.diff(edges), widths)):
            length_ns = float(widths[begin:end].sum())
            result.append(
                _Block(
                    first + int(edges[begin]), first + int(edges[end]), length_ns, 0.0 if begin else pause_ns
                )
            )
    return result


def _is_pause(gaps: Times) -> NDArray[np.bool_]:
    """Return which gaps are pauses: far longer than those before them and those after them."""
    sums, at = np.cumsum([0.0, *gaps]), np.arange(len(gaps))
    low, high = np.maximum(at - _CELL, 0), np.minimum(at + 1 + _CELL, len(gaps))
    before = (sums[at] - sums[low]) / np.maximum(at - low, 1)
    after = (sums[high] - sums[at + 1]) / np.maximum(high - at - 1, 1)
    # Fewer gaps say little of their mean.
    before[at - low < _CELL] = 0
    after[high - at - 1 < _CELL] = 0
    usual = np.maximum(before, after)
    return np.asarray((usual > 0) & (gaps > _PAUSE * usual))


def _levels(steady: list[_Block]) -> list[list[_Block]]:
    """Put blocks of similar rates together, as similar as the number of phases allows."""
    ordered = sorted(steady, key=lambda block: block.rate)
    ratio = _SIMILAR
    while True:
        groups: list[list[_Block]] = []
        for block in ordered:
            if groups and block.rate <= ratio * groups[-1][0].rate:
                groups[-1].append(block)
            else:
                groups.append([block])
        if len(groups) <= MOST_PHASES:
            return groups
        ratio *= _SIMILAR


def _phase(group: list[_Block], edges: NDArray[np.int64], sizes: NDArray[np.int64]) -> Phase:
    arrivals = [np.arange(block.first, block.last) for block in group]
    requests = [np.arange(edges[block.first], edges[block.last]) for block in group]
    of_arrivals = np.concatenate([sizes[numbers] for numbers in arrivals])
    order = np.argsort(np.concatenate(requests), kind="stable")
    return Phase(
        requests=np.concatenate(requests)[order],
        batch=np.repeat(of_arrivals, of_arrivals)[order],
        length_ns=sum(block.length_ns for block in group),
        pause_ns=sum(block.pause_ns for block in group),
        parts=max(sum(block.pause_ns > 0 or not block.first for block in group), 1),
    )
