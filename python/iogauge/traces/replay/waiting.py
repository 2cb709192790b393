"""Finds out which requests of a trace wait for which: for those that had completed before they were issued.

What a request waits for, each later request waits for as well. So of each request it is enough to know which one is the
first that waits for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from iogauge.traces.replay.scratch import Column
from iogauge.traces.rows import UNKNOWN

NEVER = 2**32 - 1
"""Of a request that none waits for."""
_PIECE = 1 << 18


class Waiting:
    """The times of requests in the order in which they are issued, and how long each took."""

    def __init__(self) -> None:
        self._issued, self._latencies = Column("<i8"), Column("<i8")
        self.known = False
        """Whether the latency of any request is known."""

    def append(self, issued_ns: Any, latency_ns: Any) -> None:
        """Add requests; a latency may be ``UNKNOWN``."""
        self._issued.append(issued_ns)
        self._latencies.append(latency_ns)
        self.known |= bool((latency_ns != UNKNOWN).any())

    def close(self) -> None:
        """Remove the files."""
        self._issued.close()
        self._latencies.close()

    def depth(self) -> int:
        """Return how many requests were in flight at most; 0: unknown."""
        if not self.known:
            return 0
        ended = Column("<u4")
        try:
            ended.extend_zeros(self._issued.length + 1)
            counts = ended.array()
            for _, first, _ in self._firsts():
                np.add.at(counts, first, 1)
            return self._deepest(counts)
        finally:
            ended.close()

    def infer(self, rows: Any, *, gaps: bool) -> int:
        """Set what rows wait for, and, with ``gaps``, how long after it they are due. Return the depth of the trace."""
        total = self._issued.length
        ended, last = Column("<u4"), Column("<i8")
        try:
            ended.extend_zeros(total + 1)
            last.extend_zeros(total + 1)
            counts, completions = ended.array(), last.array()
            for requests, first, done in self._firsts():
                np.add.at(counts, first, 1)
                np.maximum.at(completions, first, done)
                needed = first < total
                rows["needed_after"][requests[needed]] = np.minimum((first - requests)[needed], NEVER - 1)
                rows["waits"][first[needed]] = 1
            if gaps:
                self._set_gaps(rows, completions)
            return self._deepest(counts)
        finally:
            ended.close()
            last.close()

    def _firsts(self) -> Any:
        """Yield, piece by piece, requests by number, the first that waits for each (or the end), and its completion."""
        issued, latencies = self._issued.array(), self._latencies.array()
        for begin in range(0, len(issued), _PIECE):
            latency = np.array(latencies[begin : begin + _PIECE])
            requests = begin + np.flatnonzero(latency != UNKNOWN)
            done = np.array(issued[requests]) + latency[requests - begin]
            first = np.searchsorted(issued, done, side="left")
            # A request that took no time does not wait for itself.
            yield requests, np.maximum(first, requests + 1), done

    def _set_gaps(self, rows: Any, completions: Any) -> None:
        issued, before = self._issued.array(), 0
        for begin in range(0, len(issued), _PIECE):
            part = slice(begin, min(begin + _PIECE, len(issued)))
            latest = np.maximum(np.maximum.accumulate(completions[part]), before)
            rows["due_ns"][part] = np.maximum(issued[part] - latest, 0)
            before = int(latest[-1])

    def _deepest(self, counts: Any) -> int:
        deepest, ended = 0, 0
        for begin in range(0, self._issued.length, _PIECE):
            part = np.array(counts[begin : min(begin + _PIECE, self._issued.length)], dtype=np.int64)
            completed = ended + np.cumsum(part)
            in_flight = np.arange(begin, begin + len(part)) + 1 - completed
            deepest, ended = max(deepest, int(in_flight.max())), int(completed[-1])
        return deepest
