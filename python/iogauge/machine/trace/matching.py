"""Combines the events of one window into requests.

A request's events name its first sector. Between two requests for the same sector lie other events in time, unless both
are in flight at once; such requests, and those that were split or merged, are counted and left out.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iogauge.machine.trace.events import Events, Kind


class Requests(NamedTuple):
    """Requests that entered the block layer within a window; the arrays are of one length."""

    direction: NDArray[np.int64]
    """The letter of the direction, as its character code."""
    submission_ns: NDArray[np.int64]
    """From the system call to the block layer's entry; -1 where another thread made the call, or none was seen."""
    queue_ns: NDArray[np.int64]
    """From the block layer's entry to the driver; -1 where the driver has no requests, or it never got there."""
    block_ns: NDArray[np.int64]
    """From the block layer's entry to the completion; where that is missing, to the window's end."""
    complete: NDArray[np.bool_]
    """Whether the completion was seen."""
    unmatched: int
    foreign: int


def match(
    events: Events, *, begin_ns: int, last_ns: int, end_ns: int, threads: Collection[int] | None
) -> Requests:
    """Return the requests that entered the block layer from ``begin_ns`` to before ``last_ns``.

    ``events`` are those from ``begin_ns`` to ``end_ns``. ``threads`` are the run's own: requests of others are counted
    as foreign. None: all are its own.
    """
    called_ns = _called(events)
    of_device = events.kind != Kind.ENTER
    called_ns, events = called_ns[of_device], Events(*(column[of_device] for column in events))
    order = np.lexsort((events.kind, events.time_ns, events.sector))
    called_ns = called_ns[order]
    time, kind, sector, sectors, direction, thread = (column[order] for column in events)
    entered = np.flatnonzero((kind == Kind.QUEUE) & (time >= begin_ns) & (time < last_ns) & (direction != 0))
    foreign = 0
    if threads is not None:
        own = np.isin(thread[entered], np.fromiter(threads, dtype=np.int64))
        foreign = int(len(entered) - own.sum())
        entered = entered[own]

    def follows(steps: int, wanted: Kind) -> NDArray[np.bool_]:
        """Return whether the event so many steps on is of the same request and this kind."""
        at = np.minimum(entered + steps, len(kind) - 1)
        same = (sector[at] == sector[entered]) & (sectors[at] == sectors[entered])
        matching: NDArray[np.bool_] = same & (at == entered + steps) & (kind[at] == wanted)
        return matching

    def nothing_follows(steps: int) -> NDArray[np.bool_]:
        """Return whether no event for the same sector is so many steps on."""
        at = np.minimum(entered + steps, len(kind) - 1)
        missing: NDArray[np.bool_] = (at != entered + steps) | (sector[at] != sector[entered])
        return missing

    def since_entry(steps: int) -> NDArray[np.int64]:
        return time[np.minimum(entered + steps, len(kind) - 1)] - time[entered]

    issued = follows(1, Kind.ISSUE)
    through = issued & follows(2, Kind.COMPLETE)
    direct = follows(1, Kind.COMPLETE)
    cut = nothing_follows(1) | (issued & nothing_follows(2))
    called = called_ns[entered]
    submission = np.where(called >= 0, time[entered] - called, -1)
    block = np.where(through, since_entry(2), np.where(direct, since_entry(1), end_ns - time[entered]))
    queue = np.where(issued, since_entry(1), -1)
    kept = through | direct | cut
    return Requests(
        direction=direction[entered][kept],
        submission_ns=submission[kept],
        queue_ns=queue[kept],
        block_ns=block[kept],
        complete=(through | direct)[kept],
        unmatched=int(len(entered) - kept.sum()),
        foreign=foreign,
    )


def _called(events: Events) -> NDArray[np.int64]:
    """Return for every event when its thread last began a system call, -1 where none was seen before it."""
    order = np.lexsort((events.time_ns, events.thread))
    place = np.arange(len(order))
    calls = events.kind[order] == Kind.ENTER
    last = np.maximum.accumulate(np.where(calls, place, -1)) if len(order) else place
    thread, time = events.thread[order], events.time_ns[order]
    same = (last >= 0) & (thread[np.maximum(last, 0)] == thread)
    called = np.empty(len(order), dtype=np.int64)
    called[order] = np.where(same, time[np.maximum(last, 0)], -1)
    return called
