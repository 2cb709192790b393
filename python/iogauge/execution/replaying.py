"""Jobs that replay traces: what a trace says of its job, and the rows that its workers draw their requests from.

A trace says which targets its job uses, in which directions and with which sizes. ``with_traces`` puts that into the
jobs before anything else looks at them, so that the gate of ``target`` sees what will be written. ``open_rows`` makes
the rows, once the targets are open and their sizes are known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError
from iogauge.execution.plans.planning import Opened, targets_of
from iogauge.schema import (
    Addresses,
    BlockSize,
    Direction,
    EngineKind,
    Job,
    JobFile,
    Pacing,
    PerDirection,
    ReplayPlan,
    Rw,
)
from iogauge.target import is_model
from iogauge.workload.regions import region

if TYPE_CHECKING:
    from iogauge.traces.replay.compiling import Compiled

DEEPEST = 1024
"""The highest depth that a trace gives its job, as in fio."""
BUFFERS_BYTES = 1 << 28
"""The most memory of buffers at the depth that a trace gives its job."""

Say = Callable[[str], None]


def with_traces(jobs: JobFile, *, unknown_depth: int = 1, say: Say = lambda _: None) -> JobFile:
    """Return jobs whose targets, directions and sizes are those of the traces that they replay.

    A job without an iodepth gets that of its trace, or ``unknown_depth`` if the trace does not say what was in flight.
    ``say`` is called with what is replayed otherwise than the trace has it. Raises IogaugeError if a trace cannot be
    replayed.
    """
    if not any(job.read_iolog for job in jobs.jobs):
        return jobs
    options = jobs.options or tuple({} for _ in jobs.jobs)
    pairs = zip(jobs.jobs, options, strict=True)
    resolved = tuple(
        _resolved(job, None if "iodepth" in written else unknown_depth, say=say) if job.read_iolog else job
        for job, written in pairs
    )
    return jobs.model_copy(update={"jobs": resolved})


def open_rows(jobs: JobFile, opened: Mapping[str, Opened], stack: ExitStack) -> dict[int, ReplayPlan]:
    """Return what the workers of each job replay, by the job's index. The rows are closed with ``stack``."""
    replayed = [(index, job) for index, job in enumerate(jobs.jobs) if job.read_iolog]
    if not replayed:
        return {}
    # Imported here: it loads pyarrow, and most runs replay nothing.
    from iogauge.traces.replay.compiling import compile_trace
    from iogauge.traces.replay.placing import Region, place
    from iogauge.traces.replay.source import Source

    plans = {}
    for index, job in replayed:
        compiled = compile_trace(job, Source(Path(job.read_iolog)))
        stack.callback(compiled.close)
        targets = targets_of(job, 0, opened)
        regions = []
        for path in job.filenames:
            size = targets[path].size_bytes
            offset, length = region(job, 0, path=path, file_bytes=size, files=len(job.filenames))
            regions.append(Region(path, offset, length))
        place(compiled, regions, _turns(job, compiled), job.replay_addresses)
        plans[index] = ReplayPlan(
            fd=compiled.rows.file.fileno(),
            rows=compiled.rows.length,
            pacing=job.replay_pacing,
            trace_depth=compiled.depth,
            directions=tuple(compiled.sizes),
        )
    return plans


def _resolved(job: Job, unknown_depth: int | None, *, say: Say) -> Job:
    from iogauge.traces.replay.compiling import compile_trace
    from iogauge.traces.replay.source import Source

    source = Source(Path(job.read_iolog))
    compiled = compile_trace(job, source)
    try:
        if compiled.empty:
            say(f"{source.path}: {compiled.empty} requests without data are left out")
        if compiled.backwards:
            say(
                f"{source.path}: {compiled.backwards} requests have an earlier time than the one before them, and are "
                "issued together with it"
            )
        if compiled.is_coarse and job.replay_pacing is Pacing.TIMED:
            say(
                f"{source.path}: {compiled.together:,} of {compiled.requests:,} requests have the time of the one "
                "before them and are issued together with it: the clock of the trace is too coarse, so that latencies "
                "say nothing of the program"
            )
        updates = {
            "filenames": tuple(dict.fromkeys(_names(job, compiled))),
            "directory": (),
            "rw": _rw(compiled),
            "bs": _sizes(compiled),
        }
        job = job.model_copy(update=updates)
        if unknown_depth is not None:
            job = job.model_copy(update={"iodepth": _depth(job, compiled.depth or unknown_depth)})
        return job.model_copy(update={"filesize": _file_bytes(job, compiled)})
    finally:
        compiled.close()


def _names(job: Job, compiled: Compiled) -> list[str]:
    """Return what each device of the trace becomes, by number."""
    targets = job.replay_redirect
    if job.ioengine is EngineKind.NULL and not targets:
        return compiled.devices
    if targets:
        return [targets[number % len(targets)] for number in range(len(compiled.devices))]
    return [_device(job, name) for name in compiled.devices]


def _device(job: Job, name: str) -> str:
    """Return the file that a trace names. blktrace names a device by its numbers, such as 8:0."""
    if os.path.lexists(name) or "/" in name:
        return name
    numbered = Path("/sys/dev/block") / name
    if ":" in name and numbered.exists():
        return f"/dev/{numbered.resolve().name}"
    if Path(f"/dev/{name}").is_block_device():
        return f"/dev/{name}"
    raise IogaugeError(
        f"{job.read_iolog}: names {name}, which is no file or device here",
        hint="say what to replay it on: replay_redirect=TARGET",
    )


def _turns(job: Job, compiled: Compiled) -> list[int]:
    return [job.filenames.index(name) for name in _names(job, compiled)]


def _rw(compiled: Compiled) -> Rw:
    """Return the narrowest pattern that has the directions of the trace. Syncs belong to writes."""
    directions = {direction for direction in compiled.sizes if direction is not Direction.SYNC}
    if Direction.READ in directions and len(directions) > 1:
        return Rw.READWRITE
    if directions == {Direction.WRITE, Direction.TRIM}:
        return Rw.TRIMWRITE
    return Rw(next(iter(directions), Direction.WRITE).value)


def _sizes(compiled: Compiled) -> PerDirection[BlockSize]:
    """Return the sizes of the trace. The smallest is what all are multiples of, which direct I/O checks."""

    def sizes(direction: Direction) -> BlockSize:
        _, largest = compiled.sizes.get(direction, (0, 0))
        least = compiled.granularity
        return BlockSize(minimum_bytes=least, maximum_bytes=max(largest, least))

    return PerDirection[BlockSize](
        read=sizes(Direction.READ), write=sizes(Direction.WRITE), trim=sizes(Direction.TRIM)
    )


def _depth(job: Job, depth: int) -> int:
    """Return the depth of a trace, as far as buffers may have memory."""
    largest = max(job.bs.read.maximum_bytes, job.bs.write.maximum_bytes)
    return min(depth, DEEPEST, max(BUFFERS_BYTES // largest, 1))


def _file_bytes(job: Job, compiled: Compiled) -> int | None:
    """Return how large a file must be that does not exist, or is to grow; None: its size is given, or its own."""
    if job.size is not None or job.filesize or job.replay_addresses is not Addresses.KEEP:
        return job.filesize
    grows = all(
        job.ioengine is EngineKind.NULL or (not is_model(name) and not Path(name).exists())
        for name in job.filenames
    )
    largest = max(compiled.ends.values(), default=0)
    return -(-max(largest, 1) // 4096) * 4096 if grows else None
