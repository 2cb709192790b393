"""Whether the requests of a trace waited for each other (a closed loop), and how deep the loop was.

In an open loop, requests arrive whatever is in flight: now and then many are. In a closed loop, no more are in flight
than its depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.traces.rows import UNKNOWN, Rows

_BUSY = 0.95
"""From this share of its depth on, a loop has no pauses."""
_BURSTING = 0.8
"""The same of a loop that pauses: before each pause it runs empty."""
_LONG = 4
"""Bursts of a loop are at least so many times its depth."""
_EXPECTED = 10
"""So many requests would have found the depth exceeded in an open loop, if a depth is to be called a limit."""
_DEEPEST = 1024
_REGULAR = 0.5
"""Below this variation of their gaps, requests come by a clock."""


@dataclass(frozen=True)
class Loop:
    """Requests of which each waited for one before it."""

    depth: int
    think_ns: float = 0.0
    """From the completion of a request to the next one in its place; 0: none."""
    burst: int = 0
    """How many requests come between two pauses in which nothing is in flight; 0: there are no such pauses."""
    pause_ns: float = 0.0


def in_flight(rows: Rows) -> NDArray[np.int64] | None:
    """Return how many requests are in flight as each arrives, itself included; None: unknown. Shape (n,)."""
    if (rows["latency_ns"] == UNKNOWN).any():
        return None
    done = np.sort(rows["time_ns"] + rows["latency_ns"])
    completed = np.searchsorted(done, rows["time_ns"], side="right")
    # A request that takes no time is in flight as it arrives, too.
    return np.asarray(np.maximum(np.arange(1, len(rows) + 1) - completed, 1))


def loop_of(rows: Rows) -> Loop | None:
    """Return the closed loop that made requests, in the order of arrival; None: an open loop, or unknown."""
    flying = in_flight(rows)
    if flying is None or len(rows) < 2:
        return None
    depth, done = int(flying.max()), np.maximum.accumulate(rows["time_ns"] + rows["latency_ns"])
    span_ns = max(int(done[-1] - rows["time_ns"][0]), 1)
    busy = float(rows["latency_ns"].sum()) / span_ns
    if depth > _DEEPEST:
        return None
    alone = np.flatnonzero(flying[1:] == 1) + 1
    pauses_ns = rows["time_ns"][alone] - done[alone - 1]
    burst = len(rows) / (len(alone) + 1)
    if 1 < depth <= burst / _LONG and busy * span_ns >= _BURSTING * depth * (span_ns - int(pauses_ns.sum())):
        return (
            Loop(depth, burst=round(burst), pause_ns=float(pauses_ns.mean())) if len(alone) else Loop(depth)
        )
    if len(rows) * _more_than(depth, busy) < _EXPECTED:
        return None
    if busy >= _BUSY * depth:
        return Loop(depth)
    gaps = np.diff(rows["time_ns"])
    if gaps.std() < _REGULAR * gaps.mean():
        return None
    return Loop(depth, think_ns=depth * span_ns / len(rows) - float(rows["latency_ns"].mean()))


def _more_than(depth: int, mean: float) -> float:
    """Return the share of requests that find the depth used up if arrivals are independent (Poisson)."""
    from scipy.special import pdtrc

    return float(pdtrc(depth - 1, mean))
