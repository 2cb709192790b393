"""Sums of a group's hosts over some of its intervals, whatever the number of hosts.

Threads add hosts as they come to them. The sums are made when the first host is added, and become figures when the last
is, so that only groups whose hosts are being read take memory.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from iogauge.fleet.merge.group import QUANTILES
from iogauge.fleet.merge.summing import SummedHistograms
from iogauge.fleet.merge.timeline import Places, Timeline, batches
from iogauge.schema import Direction, Exact, Kind
from iogauge.stats.histogram import Histogram
from iogauge.store.checksums import damaged
from iogauge.store.names import INTERVALS

MOST_INTERVALS = 4096
"""Intervals of a window: what bounds its memory. A longer step is read once for each window."""

_GROUPS = 8
"""Row groups whose histograms are read at once: at most 32 MiB (``store/tables.py``) for each CPU."""

Counts = NDArray[np.int64]

_LIKE_LAT = (Kind.RESPONSE, Kind.CLAT)
"""Latencies that the recorder leaves out where they equal ``lat``."""


@dataclass(frozen=True, eq=False)
class Summed:
    """The figures of a window for one direction; arrays have one for each interval."""

    ios: Counts
    bytes: Counts
    latencies: Counts
    """How many latencies were counted."""
    sum_ns: Counts | None
    """Their sum; None: it is not known exactly."""
    quantiles_ns: NDArray[np.float64]
    """A row for each interval, by ``QUANTILES``; NaN where there are too few samples."""
    total: Histogram


class Window:
    """Some intervals of a group, in which all of its hosts were running."""

    def __init__(self, slots: Places, *, hosts: int) -> None:
        """``slots`` are the places of the intervals, ascending. So many ``hosts`` are to be added."""
        self.slots = slots
        self.summed: dict[Direction, Summed] = {}
        """The figures, once all hosts are added."""
        self.requests: dict[str, Counter[Direction]] = {}
        """How many requests each host issued."""
        self._sums: dict[Direction, _Sums] = {}
        self._waiting = hosts
        self._lock = threading.Lock()

    def add(self, timeline: Timeline) -> None:
        """Add a host's intervals. Raises IogaugeError if its file is damaged."""
        path = timeline.step.directory / INTERVALS
        kind = timeline.step.kind
        kinds = (kind, Kind.LAT) if kind in _LIKE_LAT else (kind,)
        exact = tuple(f"{name}_exact" for name in kinds)
        requests: Counter[Direction] = Counter()
        slots_of_all = timeline.rows(self.slots)
        for here, read in batches(path, groups=_GROUPS):
            slots = slots_of_all[here]
            if (slots < 0).all():
                continue
            batch = read(("direction", "ios", "bytes", *kinds, *exact))
            for direction in sorted(timeline.selection.directions):
                ours = pc.equal(batch.column("direction"), pa.scalar(direction.value)).fill_null(False)
                rows = np.where(ours.to_numpy(zero_copy_only=False), slots, -1)
                requests[direction] += int(_numbers(batch.column("ios"))[rows >= 0].sum())
                try:
                    self._of(direction).add(rows, batch, kinds)
                except ValueError as error:
                    raise damaged(path, f"a histogram cannot be read: {error}") from error
        with self._lock:
            self.requests[timeline.step.host] = requests
            self._waiting -= 1
            if not self._waiting:
                self.summed = {direction: sums.result() for direction, sums in sorted(self._sums.items())}
                self._sums = {}

    def _of(self, direction: Direction) -> _Sums:
        with self._lock:
            if direction not in self._sums:
                self._sums[direction] = _Sums(len(self.slots))
            return self._sums[direction]


class _Sums:
    """Sums for one direction; threads may share them."""

    def __init__(self, slots: int) -> None:
        self._histograms = SummedHistograms(slots)
        self._ios, self._bytes, self._sum_ns = (np.zeros(slots, dtype=np.int64) for _ in range(3))
        self._min_ns = np.full(slots, np.iinfo(np.int64).max)
        self._max_ns = np.zeros(slots, dtype=np.int64)
        self._inexact = False
        self._lock = threading.Lock()

    def add(self, slots: NDArray[np.int32], batch: pa.RecordBatch, kinds: tuple[Kind, ...]) -> None:
        """Add the rows of a batch, each to its slot, or to none for -1.

        ``kinds`` are columns of histograms, of which a row counts in the first that it has.
        """
        ours = slots >= 0
        with self._lock:
            np.add.at(self._ios, slots[ours], _numbers(batch.column("ios"))[ours])
            np.add.at(self._bytes, slots[ours], _numbers(batch.column("bytes"))[ours])
        for kind in kinds:
            histograms = batch.column(kind.value)
            known = histograms.is_valid().to_numpy(zero_copy_only=False)
            rows = np.where(known, slots, -1)
            self._histograms.add(rows, histograms)
            self._add_exact(rows, batch.column(f"{kind.value}_exact"))
            slots = np.where(known, -1, slots)

    def _add_exact(self, slots: NDArray[np.int32], exact: pa.Array[Any]) -> None:
        assert isinstance(exact, pa.StructArray)
        fields = {name: _numbers(exact.field(name)) for name in Exact.model_fields}
        known = exact.is_valid().to_numpy(zero_copy_only=False)
        ours = slots >= 0
        rows = ours & known & (fields["count"] > 0)
        at = slots[rows]
        with self._lock:
            self._inexact |= bool((ours & ~known).any())
            np.add.at(self._sum_ns, at, fields["sum_ns"][rows])
            np.minimum.at(self._min_ns, at, fields["min_ns"][rows])
            np.maximum.at(self._max_ns, at, fields["max_ns"][rows])

    def result(self) -> Summed:
        """Return the figures of all that was added."""
        latencies = self._histograms.counts()
        count = int(latencies.sum())
        quantiles_ns = self._histograms.quantiles(QUANTILES)
        exact = None
        if count and not self._inexact:
            quantiles_ns = np.minimum(quantiles_ns, self._max_ns[:, None])
            exact = Exact(
                count=count,
                sum_ns=sum(self._sum_ns.tolist()),
                min_ns=int(self._min_ns.min()),
                max_ns=int(self._max_ns.max()),
            )
        return Summed(
            ios=self._ios,
            bytes=self._bytes,
            latencies=latencies,
            sum_ns=None if self._inexact else self._sum_ns,
            quantiles_ns=quantiles_ns,
            total=self._histograms.total(exact),
        )


def _numbers(column: pa.Array[Any]) -> Counts:
    known = column.fill_null(0) if column.null_count else column
    return known.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
