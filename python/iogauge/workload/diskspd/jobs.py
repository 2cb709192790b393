"""Turns a DiskSpd command into fio jobs, so that iogauge issues the same load.

Each target becomes a job, and its threads the clones of the job; with -F one job has all targets. DiskSpd draws random
offsets without a map, submits requests one by one, takes up to sixteen completions at a time, and warms up before the
measured time. With one request in flight DiskSpd makes synchronous calls, which become psync. With more it uses a
completion port, which becomes libaio, or io_uring if the cache is in use, since libaio would block there.

``notes_of`` returns the differences, which the user is shown; docs/diskspd.md lists all.

Source: DiskSpd 2.2 (IORequestGenerator.cpp, ThroughputMeter.cpp).
"""

from __future__ import annotations

from typing import Any

from iogauge.errors import IogaugeError
from iogauge.schema import (
    Amount,
    BlockSize,
    Distribution,
    EngineKind,
    Job,
    JobFile,
    PerDirection,
    Rw,
    SyncMode,
    UniformDistribution,
    Zone,
    ZonedDistribution,
)
from iogauge.workload import parse, to_fio
from iogauge.workload.diskspd.arguments import Command

SECOND_NS = 10**9
TAKEN_AT_ONCE = 16
"""The most completions that DiskSpd takes from its port in one call."""


def jobs_of(command: Command) -> tuple[Job, ...]:
    """Return the jobs of a command: one for each target, or with -T one for each thread."""
    if command.total_threads:
        threads, groups = command.total_threads, [command.targets]
    else:
        threads, groups = command.threads, [(target,) for target in command.targets]
    shared = _shared(command)
    names = [f"diskspd-{number}" for number in range(1, len(groups) + 1)] if len(groups) > 1 else ["diskspd"]
    jobs = []
    for name, targets in zip(names, groups, strict=True):
        if command.thread_stride_bytes:
            for thread in range(threads):
                skipped = command.thread_stride_bytes * thread
                region = _region(command, skipped=skipped, files=1)
                jobs.append(Job(name=f"{name}.{thread}", filenames=targets, **shared, **region))
        else:
            region = _region(command, skipped=0, files=len(targets))
            jobs.append(Job(name=name, filenames=targets, numjobs=threads, **shared, **region))
    return tuple(jobs)


def notes_of(command: Command) -> tuple[str, ...]:
    """Return sentences about what the jobs of a command do differently from DiskSpd."""
    notes = list(command.notes)
    if command.write_percent and command.content == "pattern":
        notes.append(
            "the written data is random; without -Z, DiskSpd writes the bytes 0 to 255 over and over"
        )
    if command.thread_stride_bytes:
        notes.append(
            "a thread that reaches the end of the target continues at its own start, not at the target's (-T)"
        )
    if command.unpinned:
        notes.append("each worker gets a CPU of its own if there are enough, also with -n")
    if 0 < command.random_percent < 100 and 0 < command.write_percent < 100:
        notes.append("reads and writes also mix within a sequential part (-rs)")
    return tuple(notes)


def _shared(command: Command) -> dict[str, Any]:
    writes = command.write_percent
    depth = command.thread_outstanding or command.outstanding
    size = BlockSize(minimum_bytes=command.block_bytes, maximum_bytes=command.block_bytes)
    values: dict[str, Any] = {
        "rw": _rw(command),
        "bs": PerDirection[BlockSize].same(size),
        "rwmix_read_percent": 100.0 - writes if 0 < writes < 100 else 50.0,
        "iodepth": depth,
        "runtime_ns": command.duration_s * SECOND_NS,
        "time_based": True,
        "ramp_time_ns": command.warmup_s * SECOND_NS,
        "direct": command.unbuffered,
        "sync": SyncMode.DSYNC if command.write_through and writes else SyncMode.NONE,
        "thread": True,
        "zero_buffers": bool(writes) and command.content == "zero",
        "refill_buffers": bool(writes) and command.content == "random",
        "cpus_allowed": tuple(sorted(command.cpus)),
        "cpus_allowed_policy": "split" if command.cpus else "shared",
        "randrepeat": command.seed is not None,
        "randseed": command.seed or None,
    }
    queueing = queueing_of(depth, unbuffered=command.unbuffered)
    return values | queueing | _offsets(command) | _pace(command)


def _rw(command: Command) -> Rw:
    writes, random = command.write_percent, bool(command.random_percent)
    if writes == 0:
        return Rw.RANDREAD if random else Rw.READ
    if writes == 100:
        return Rw.RANDWRITE if random else Rw.WRITE
    return Rw.RANDRW if random else Rw.READWRITE


def queueing_of(depth: int, *, unbuffered: bool) -> dict[str, Any]:
    """Return the options of a job that queues as a thread of DiskSpd does at this depth.

    >>> queueing_of(1, unbuffered=True)["ioengine"].value, queueing_of(4, unbuffered=True)["iodepth_batch"]
    ('psync', 1)
    """
    if depth == 1:
        return {"ioengine": EngineKind.PSYNC}
    return {
        "ioengine": EngineKind.LIBAIO if unbuffered else EngineKind.IO_URING,
        "iodepth_batch": 1,
        "iodepth_batch_complete_max": min(TAKEN_AT_ONCE, depth),
    }


def _offsets(command: Command) -> dict[str, Any]:
    align = command.align_bytes or command.block_bytes
    if not command.random_percent:
        return {"rw_sequence": align - command.block_bytes}
    distribution: Distribution = UniformDistribution()
    if command.zones:
        ios, covered = (sum(column) for column in zip(*command.zones, strict=True))
        rest = ((100 - ios, 100 - covered),) if covered < 100 else ()
        zones = tuple(Zone(access_percent=io, size_percent=size) for io, size in (*command.zones, *rest))
        distribution = ZonedDistribution(zones=zones)
    return {
        "norandommap": True,
        "ba": PerDirection[int].same(align if align != command.block_bytes else 0),
        "percentage_random": PerDirection[float].same(float(command.random_percent)),
        "random_distribution": PerDirection[Distribution].same(distribution),
    }


def _pace(command: Command) -> dict[str, Any]:
    """Return the limits and pauses. DiskSpd limits reads and writes together; here each direction gets its share."""
    values: dict[str, Any] = {}
    for field, limit in (("rate_Bps", command.rate_Bpms * 1000), ("rate_iops", command.rate_iops)):
        writes = limit * command.write_percent // 100
        if 0 < writes < limit:
            values[field] = PerDirection[int](read=limit - writes, write=writes, trim=limit)
        elif limit:
            values[field] = PerDirection[int].same(limit)
    if command.think_ms:
        threads = command.total_threads or command.threads
        values |= {"thinktime_ns": command.think_ms * 10**6, "thinktime_blocks": command.burst // threads}
    return values


def _region(command: Command, *, skipped: int, files: int) -> dict[str, Any]:
    """Return the offset and the size of a job with ``files`` targets. The size is that of all targets together."""
    begin = command.base_bytes + skipped
    end = command.end_bytes or command.create_bytes
    if end and end < begin:
        raise IogaugeError(
            f"diskspd: the load begins at {begin} bytes, after its end at {end}",
            hint="lower -B or -T, or raise -f or -c",
        )
    size = Amount(size_bytes=(end - begin) * files) if end else None
    return {"offset": Amount(size_bytes=begin), "size": size}


def job_file(command: Command, *, source: str) -> JobFile:
    """Return the jobs as a parsed job file, with fio's rules for combined options applied.

    Raises ``IogaugeError`` if a value is out of range for a job.
    """
    text = "\n".join(to_fio(job) for job in jobs_of(command))
    return parse(text, source=source, environ={})
