"""Puts rows in the order of their times, in bounded memory: within a file, and of several files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from iogauge.errors import IogaugeError
from iogauge.traces.rows import Rows

WINDOW_ROWS = 1 << 18
"""How many rows may come between a row and its place."""


def in_order(batches: Iterator[Rows], *, name: str, window_rows: int = WINDOW_ROWS) -> Iterator[Rows]:
    """Yield the rows of one file in the order of their times; rows of the same time keep theirs.

    Raises IogaugeError, with the file's ``name``, if a row comes more than ``window_rows`` rows too late.
    """
    held: deque[Rows] = deque()
    held_rows = 0
    last = None
    for batch in batches:
        if not len(batch):
            continue
        times = batch["time_ns"]
        in_time = bool((times[1:] >= times[:-1]).all())
        held_rows += len(batch)
        if in_time and (not held or times[0] >= held[-1]["time_ns"][-1]):
            held.append(batch)
        else:
            held = deque([by_time(np.concatenate([*held, batch]))])
            if last is not None and held[0]["time_ns"][0] < last:
                raise IogaugeError(
                    f"{name}: requests are more than {window_rows} lines from their place in time",
                    hint="sort the file by time, as with 'sort', and import that",
                )
            # A long array is cut, so that its first part can go.
            held = deque(np.array_split(held[0], max(len(held[0]) // max(window_rows // 4, 1), 1)))
        while held_rows - len(held[0]) >= window_rows:
            ready = held.popleft()
            held_rows -= len(ready)
            last = ready["time_ns"][-1]
            yield ready
    yield from held


def merged(inputs: Sequence[Iterator[Rows]]) -> Iterator[Rows]:
    """Yield the rows of several inputs, each in the order of its times, in that of all."""
    if len(inputs) == 1:
        yield from inputs[0]
        return
    heads = [(rows, batches) for batches in inputs if (rows := next(batches, None)) is not None]
    while heads:
        until = min(rows["time_ns"][-1] for rows, _ in heads)
        ready, rest = [], []
        for rows, batches in heads:
            count = int(np.searchsorted(rows["time_ns"], until, side="right"))
            ready.append(rows[:count])
            left: Rows | None = rows[count:]
            if left is not None and not len(left):
                left = next(batches, None)
            if left is not None:
                rest.append((left, batches))
        heads = rest
        yield by_time(np.concatenate(ready))


def by_time(rows: Rows) -> Rows:
    """Return rows in the order of their times."""
    times = rows["time_ns"]
    if (times[1:] >= times[:-1]).all():
        return rows
    ordered: Rows = rows[np.argsort(times, kind="stable")]
    return ordered
