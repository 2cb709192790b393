"""What a trace has: rates, sizes, the mix of directions, times between arrivals, reuse of blocks, footprint.

All is counted in one pass, in memory that does not grow with the trace.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from iogauge.errors import IogaugeError
from iogauge.schema import Direction
from iogauge.stats.histogram import Histogram
from iogauge.traces.file import Facts, Trace
from iogauge.traces.parsing import Reuse
from iogauge.traces.rows import DIRECTIONS, UNKNOWN, Rows

BLOCK_BYTES = 4096
"""Footprint and reuse count blocks of this size."""
MOST_BLOCKS = 1 << 17
"""How many blocks are counted at most; of more, a sample is."""
_SLOTS = 240
"""About how many points a course over the trace has."""
_NS = 10**9


@dataclass(frozen=True)
class Course:
    """What happens in a slot of time of the trace."""

    start_s: float
    end_s: float
    requests: dict[Direction, int]
    bytes: dict[Direction, int]
    footprint_bytes: float
    """What was touched so far."""


@dataclass
class PerDirection:
    """The requests of one direction."""

    requests: int = 0
    bytes: int = 0
    sequential: int = 0
    """Those that begin where the one before them, of the same device and direction, ended."""
    sizes: Counter[int] = field(default_factory=Counter)
    """How many there are of each size."""
    latency: Histogram = field(default_factory=Histogram.empty)
    """Of those whose latency is known."""
    latency_sum_ns: int = 0


@dataclass(frozen=True)
class Summary:
    """All that is shown of a trace."""

    facts: Facts
    devices: tuple[str, ...]
    span_ns: int
    """From the first arrival to the last."""
    directions: dict[Direction, PerDirection]
    """Those that occur."""
    course: tuple[Course, ...]
    gaps: Histogram
    """Times between arrivals."""
    gap_variation: float
    """Their standard deviation over their mean: 1 of random arrivals, more of bursts, 0 of a clock."""
    busiest_iops: float
    """The most requests in a slot of the course, as a rate."""
    footprint_bytes: float
    extent_bytes: int
    """From the lowest address to the highest, of all devices together."""
    uses: float
    """Uses of blocks by reads and writes."""
    hits: tuple[tuple[float, float], ...]
    """Of an LRU cache of so many bytes, the share of uses that it serves; ascending."""
    exact: bool
    """Whether footprint and reuse are exact; otherwise they are estimates by a sample of the blocks."""

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return sum(part.requests for part in self.directions.values())

    @property
    def bytes(self) -> int:
        """How much they move."""
        return sum(part.bytes for part in self.directions.values())

    @property
    def span_s(self) -> float:
        """From the first arrival to the last, in seconds; of a single request the step of its clock."""
        return max(self.span_ns, self.facts.resolution_ns) / _NS

    @property
    def is_too_coarse(self) -> bool:
        """Whether the clock of the trace is too coarse for its gaps: half of them are 0, or there are none."""
        return not self.gaps.count or self.gaps.quantile(0.5) < self.facts.resolution_ns

    @property
    def reused(self) -> float:
        """The share of uses whose block was used before: what an LRU cache without a limit serves."""
        return self.hits[-1][1] if self.hits else 0.0

    def served(self, cache_bytes: float) -> float:
        """Return the share of uses that an LRU cache of this size serves."""
        return max((share for size, share in self.hits if size <= cache_bytes), default=0.0)


def summarise(trace: Trace, *, on_progress: Callable[[int, int], None] = lambda *_: None) -> Summary:
    """Return what a trace has. ``on_progress`` gets the number of requests so far, and of all.

    Raises IogaugeError if the trace is damaged or empty.
    """
    counter = _Counter(_slot_ns(trace.span_ns, trace.facts.resolution_ns))
    done = 0
    for rows in trace.batches():
        counter.add(rows)
        done += len(rows)
        on_progress(done, trace.facts.requests)
    if not done:
        raise IogaugeError(f"{trace.path}: the trace has no requests", hint="import or record another")
    return counter.summary(trace)


def _slot_ns(span_ns: int, resolution_ns: int = 1) -> int:
    """Return the length of a slot: 1, 2 or 5 times a power of ten, and no less than a step of the trace's clock.

    >>> _slot_ns(60 * 10**9), _slot_ns(0), _slot_ns(5 * 10**9, 10**9)
    (500000000, 1, 1000000000)
    """
    least = max(span_ns / _SLOTS, resolution_ns)
    power = 10 ** math.floor(math.log10(least))
    return int(next(step * power for step in (1, 2, 5, 10) if step * power >= least))


class _Counter:
    def __init__(self, slot_ns: int) -> None:
        self._slot_ns = slot_ns
        self._slots: dict[int, tuple[NDArray[np.int64], NDArray[np.int64], float]] = {}
        self._directions: dict[int, PerDirection] = defaultdict(PerDirection)
        self._ends: dict[int, int] = {}
        self._extents: dict[int, tuple[int, int]] = {}
        self._gaps = Histogram.empty()
        self._last_ns: int | None = None
        self._gap_sums = [0, 0.0, 0.0]
        self._reuse = Reuse(block_bytes=BLOCK_BYTES, most_blocks=MOST_BLOCKS)

    def add(self, rows: Rows) -> None:
        if not len(rows):
            return
        self._add_directions(rows)
        self._add_sequences(rows)
        self._add_gaps(rows["time_ns"])
        slots = rows["time_ns"] // self._slot_ns
        edges = [0, *(np.flatnonzero(np.diff(slots)) + 1), len(rows)]
        for first, last in itertools.pairwise(edges):
            self._add_slot(int(slots[first]), rows[first:last])

    def _add_directions(self, rows: Rows) -> None:
        for number in np.unique(rows["direction"]):
            mine = rows[rows["direction"] == number]
            part = self._directions[int(number)]
            part.requests += len(mine)
            part.bytes += int(mine["size_bytes"].sum())
            sizes, counts = np.unique(mine["size_bytes"], return_counts=True)
            part.sizes.update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
            latency_ns = mine["latency_ns"][mine["latency_ns"] != UNKNOWN]
            if len(latency_ns):
                part.latency = Histogram.merge([part.latency, Histogram.of(latency_ns)])
                part.latency_sum_ns += int(latency_ns.sum())

    def _add_sequences(self, rows: Rows) -> None:
        """Count the requests that continue the one before them of their device and direction."""
        moves = rows[rows["size_bytes"] > 0]
        if not len(moves):
            return
        stream = moves["device"].astype(np.int64) * len(DIRECTIONS) + moves["direction"]
        order = np.argsort(stream, kind="stable")
        moves, stream = moves[order], stream[order]
        begin, end = moves["offset_bytes"], moves["offset_bytes"] + moves["size_bytes"]
        edges = np.flatnonzero(np.diff(stream, prepend=-1))
        before = np.concatenate([[-1], end[:-1]])
        for first, last in zip(edges, [*edges[1:], len(stream)], strict=True):
            number = int(stream[first])
            device = number // len(DIRECTIONS)
            before[first] = self._ends.get(number, -1)
            self._ends[number] = int(end[last - 1])
            lowest, highest = self._extents.get(device, (int(begin[first]), 0))
            self._extents[device] = (
                min(lowest, int(begin[first:last].min())),
                max(highest, int(end[first:last].max())),
            )
            part = self._directions[number % len(DIRECTIONS)]
            part.sequential += int((begin[first:last] == before[first:last]).sum())

    def _add_gaps(self, time_ns: NDArray[np.int64]) -> None:
        gaps_ns = np.diff(time_ns) if self._last_ns is None else np.diff(time_ns, prepend=self._last_ns)
        self._last_ns = int(time_ns[-1])
        if len(gaps_ns):
            self._gaps = Histogram.merge([self._gaps, Histogram.of(gaps_ns)])
            seconds = gaps_ns / _NS
            self._gap_sums[0] += len(seconds)
            self._gap_sums[1] += float(seconds.sum())
            self._gap_sums[2] += float((seconds**2).sum())

    def _add_slot(self, slot: int, rows: Rows) -> None:
        self._reuse.add(rows)
        requests = np.bincount(rows["direction"], minlength=len(DIRECTIONS))
        # Exact up to 2**53 bytes in a slot.
        moved = np.bincount(rows["direction"], weights=rows["size_bytes"], minlength=len(DIRECTIONS))
        known = self._slots.get(slot)
        if known is not None:
            requests, moved = requests + known[0], moved + known[1]
        self._slots[slot] = (requests, moved.astype(np.int64), self._reuse.blocks * BLOCK_BYTES)

    def summary(self, trace: Trace) -> Summary:
        directions = {
            DIRECTIONS[number]: part for number, part in sorted(self._directions.items()) if part.requests
        }
        hits, served = [], 0.0
        for blocks, uses in self._reuse.hits:
            served += uses
            hits.append((blocks * BLOCK_BYTES, served / self._reuse.uses))
        course = self._course(list(directions))
        slot_s = self._slot_ns / _NS
        return Summary(
            facts=trace.facts,
            devices=tuple(trace.devices),
            span_ns=trace.span_ns,
            directions=directions,
            course=course,
            gaps=self._gaps,
            gap_variation=self._variation(),
            busiest_iops=max((sum(slot.requests.values()) for slot in course), default=0) / slot_s,
            footprint_bytes=self._reuse.blocks * BLOCK_BYTES,
            extent_bytes=sum(highest - lowest for lowest, highest in self._extents.values()),
            uses=self._reuse.uses,
            hits=tuple(hits),
            exact=self._reuse.exact,
        )

    def _variation(self) -> float:
        count, total, squares = self._gap_sums
        if count < 2 or not total:
            return 0.0
        mean = total / count
        return math.sqrt(max(squares / count - mean**2, 0.0)) / mean

    def _course(self, directions: list[Direction]) -> tuple[Course, ...]:
        """Return all slots, also those without a request."""
        nothing = np.zeros(len(DIRECTIONS), dtype=np.int64)
        footprint = 0.0
        course = []
        for slot in range(max(self._slots, default=-1) + 1):
            requests, moved, footprint = self._slots.get(slot, (nothing, nothing, footprint))
            numbers = {direction: DIRECTIONS.index(direction) for direction in directions}
            course.append(
                Course(
                    start_s=slot * self._slot_ns / _NS,
                    end_s=(slot + 1) * self._slot_ns / _NS,
                    requests={direction: int(requests[number]) for direction, number in numbers.items()},
                    bytes={direction: int(moved[number]) for direction, number in numbers.items()},
                    footprint_bytes=footprint,
                )
            )
        return tuple(course)
