"""Makes rows of the core's layout of a trace, with fio's rules for times, offsets and sizes.

A request whose time lies before that of the one before it is issued together with it, as in fio. Requests without data
are left out and counted.

Source: fio's iolog.c (read_iolog, delay_since_ttime) and blktrace.c (queue_trace, store_ipo).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Job, Pacing
from iogauge.text.option import call
from iogauge.traces.replay.scratch import Column
from iogauge.traces.replay.source import Source
from iogauge.traces.replay.waiting import NEVER, Waiting
from iogauge.traces.rows import DATA_SYNC, DIRECTIONS, UNKNOWN, Rows

ROW = np.dtype(
    [
        ("due_ns", "<u8"),
        ("offset_bytes", "<u8"),
        ("length_bytes", "<u4"),
        ("target", "<u4"),
        ("needed_after", "<u4"),
        ("kind", "u1"),
        ("waits", "u1"),
        ("padding", "<u2"),
    ]
)
"""The layout of crates/core's ``replay::Row``."""
PIECE_ROWS = 1 << 18
_DATA_SYNC_KIND = 4
_SYNC = DIRECTIONS.index(Direction.SYNC)
_LARGEST = 2**31 - 4096
"""The most bytes that Linux moves by one call."""
_PERCENT = 100


@dataclass
class Compiled:
    """A trace as rows in a temporary file. The numbers of devices stand in place of targets until it is placed."""

    rows: Column
    devices: list[str]
    """Their names, by number."""
    sizes: dict[Direction, tuple[int, int]]
    """The smallest and the largest size of each direction that occurs; zero of syncs."""
    ends: dict[int, int]
    """Where the last byte of each device lies that is used."""
    granularity: int
    """The largest power of two, at most 4096, of which every offset and size is a multiple."""
    depth: int
    """The most requests in flight in the trace; 0: unknown."""
    empty: int
    """Requests without data, which are left out."""
    backwards: int
    """Requests whose time is before that of the one before them."""
    requests: int
    together: int
    """Requests whose time is that of the one before them, of all in the trace."""

    @property
    def is_coarse(self) -> bool:
        """Whether the clock of the trace does not say when most of its requests came."""
        return self.together > self.requests / 2

    def close(self) -> None:
        """Remove the file."""
        self.rows.close()


def compile_trace(job: Job, source: Source) -> Compiled:
    """Return the rows of the trace that a job replays.

    Raises IogaugeError if the trace cannot be read, has no requests, or lacks the completions that the job's pacing
    needs.
    """
    rows = Column(ROW)
    waiting = Waiting()
    try:
        compiler = _Compiler(job, source, rows, waiting)
        for batch in source.batches():
            compiler.add(batch)
        if not rows.length:
            raise IogaugeError(
                f"{source.path}: has no request to replay",
                hint="skip fewer directions, or name another trace",
            )
        if job.replay_pacing in (Pacing.THINK, Pacing.DEPENDENT):
            if not waiting.known:
                raise IogaugeError(
                    f"{source.path}: does not say when requests completed, which the pacing {job.replay_pacing} needs",
                    hint=f"use the pacing timed or closed, or a trace of {call('record_trace')} or blktrace",
                )
            depth = waiting.infer(rows.array(), gaps=job.replay_pacing is Pacing.THINK)
        else:
            depth = waiting.depth()
        return compiler.compiled(depth)
    except BaseException:
        rows.close()
        raise
    finally:
        waiting.close()


@dataclass
class _Compiler:
    job: Job
    source: Source
    rows: Column
    waiting: Waiting
    sizes: dict[Direction, tuple[int, int]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    bits: int = 4096
    empty: int = 0
    backwards: int = 0
    requests: int = 0
    together: int = 0
    last_ns: int | None = None
    """The time of the last request of the trace, even of one that is skipped."""
    elapsed_ns: int = 0

    def add(self, batch: Rows) -> None:
        """Add requests of the trace."""
        if not len(batch):
            return
        due_ns = self._due(batch["time_ns"])
        keep = np.ones(len(batch), dtype=bool)
        for direction in self.job.replay_skip:
            keep &= batch["direction"] != DIRECTIONS.index(direction)
        empty = keep & (batch["size_bytes"] <= 0) & (batch["direction"] != _SYNC)
        self.empty += int(empty.sum())
        keep &= ~empty
        batch, due_ns = batch[keep], due_ns[keep]
        if not len(batch):
            return
        rows = np.zeros(len(batch), dtype=ROW)
        rows["due_ns"] = due_ns
        rows["target"] = batch["device"]
        rows["needed_after"] = NEVER
        rows["kind"] = np.where(batch["kind"] == DATA_SYNC, _DATA_SYNC_KIND, batch["direction"])
        self._measure(rows, batch)
        self.rows.append(rows)
        latency_ns = batch["latency_ns"]
        scaled_ns = np.where(latency_ns == UNKNOWN, UNKNOWN, self._scaled(latency_ns))
        self.waiting.append(rows["due_ns"].astype(np.int64), scaled_ns)

    def _due(self, time_ns: Any) -> Any:
        """Return when requests are due, from the first on. Time that runs backwards stands still."""
        first = int(time_ns[0]) if self.last_ns is None else self.last_ns
        gaps = np.diff(time_ns, prepend=first)
        self.backwards += int((gaps < 0).sum())
        self.requests += len(gaps)
        self.together += int((gaps[self.last_ns is None :] == 0).sum())
        passed = self.elapsed_ns + np.cumsum(np.maximum(gaps, 0))
        self.last_ns, self.elapsed_ns = int(time_ns[-1]), int(passed[-1])
        return self._scaled(passed)

    def _scaled(self, times_ns: Any) -> Any:
        scale = self.job.replay_time_scale
        if scale == _PERCENT or not self.source.scales_time:
            return times_ns
        return times_ns * _PERCENT // scale

    def _measure(self, rows: Any, batch: Rows) -> None:
        """Set offsets and sizes, and note the extremes."""
        job, mask = self.job, max(self.job.replay_align, 1) - 1
        offset, size = batch["offset_bytes"] // job.replay_scale & ~mask, batch["size_bytes"]
        if self.source.rounds_sizes:
            size = (size + mask) & ~mask
        if (wrong := (offset < 0) | (size > _LARGEST)).any():
            at = int(np.flatnonzero(wrong)[0])
            raise IogaugeError(
                f"{self.source.path}: request {self.rows.length + at + 1}, of {int(size[at])} bytes at "
                f"{int(offset[at])}, cannot be issued: offsets begin at 0, and one call moves at most {_LARGEST} bytes",
                hint="import the trace with the right columns and units, or cut such requests",
            )
        moves = batch["direction"] != _SYNC
        rows["offset_bytes"] = np.where(moves, offset, 0)
        rows["length_bytes"] = np.where(moves, size, 0)
        for number in np.unique(batch["direction"]):
            mine = rows["length_bytes"][batch["direction"] == number]
            direction = DIRECTIONS[number]
            low, high = self.sizes.get(direction, (int(mine.min()), 0))
            self.sizes[direction] = min(low, int(mine.min())), max(high, int(mine.max()))
        ends = rows["offset_bytes"] + rows["length_bytes"]
        for device in np.unique(rows["target"]):
            self.ends[int(device)] = max(self.ends[int(device)], int(ends[rows["target"] == device].max()))
        used = int(np.bitwise_or.reduce(rows["offset_bytes"]) | np.bitwise_or.reduce(rows["length_bytes"]))
        self.bits |= used

    def compiled(self, depth: int) -> Compiled:
        return Compiled(
            rows=self.rows,
            devices=list(self.source.devices),
            sizes={direction: self.sizes[direction] for direction in Direction if direction in self.sizes},
            ends=dict(self.ends),
            granularity=self.bits & -self.bits,
            depth=depth,
            empty=self.empty,
            backwards=self.backwards,
            requests=self.requests,
            together=self.together,
        )
