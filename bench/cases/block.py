"""The cost and the latency of real I/O: io_uring and pvsync2 on a RAM-backed block device and on a file.

Both programs get the same options. ``unbatched`` is fio's default, one request a system call; ``batched`` hands 32
over at once and takes 32 back at once: with a smaller iodepth_batch_complete_min both programs use batches of a few.
User time is sampled by the kernel in ticks, so runs are long.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench import peers, zram
from bench.peers import Job
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings, note

DEVICE_BYTES = 2 << 30
FILE_BYTES = 1 << 30
FILE = peers.ROOT / "bench" / "out" / "target.bin"

RANDREAD: Job = {"rw": "randread", "bs": "4k", "direct": 1, "norandommap": 1, "time_based": 1}
URING: Job = {**RANDREAD, "ioengine": "io_uring", "iodepth": 32, "fixedbufs": 1, "registerfiles": 1}
UNBATCHED: Job = {"iodepth_batch": 1, "iodepth_batch_complete_min": 1, "iodepth_batch_complete_max": 1}
BATCHED: Job = {"iodepth_batch": 32, "iodepth_batch_complete_min": 32, "iodepth_batch_complete_max": 32}


def zram_unbatched(settings: Settings) -> Finding:
    """CPU per I/O and IOPS, one request a call."""
    return on_zram("zram unbatched", settings, {**URING, **UNBATCHED}, cpu_at_most=0.5)


def zram_batched(settings: Settings) -> Finding:
    """CPU per I/O and IOPS, 32 requests a call."""
    return on_zram("zram batched", settings, {**URING, **BATCHED}, cpu_at_most=0.25)


def on_zram(name: str, settings: Settings, job: Job, *, cpu_at_most: float) -> Finding:
    """Compare both programs' CPU and IOPS on a new zram device, with their workers on the same core."""
    if reason := zram.unavailable():
        return Finding(skipped=reason)
    with zram.device(size_bytes=DEVICE_BYTES) as device:
        job = {**job, **on_one_core(), "filename": str(device), "runtime": settings.seconds(30)}
        ours, fio = settings.compare(name, peers.iogauge, peers.fio, job)
    figures = {
        figure: ([getattr(run, figure) for run in ours], [getattr(run, figure) for run in fio])
        for figure in ("iops", "user_ns_per_io", "system_ns_per_io", "process_user_s")
    }
    rows = [
        ratio_row(name, "user ns per I/O", *figures["user_ns_per_io"], at_most=cpu_at_most),
        ratio_row(name, "system ns per I/O", *figures["system_ns_per_io"]),
        ratio_row(name, "IOPS", *figures["iops"], at_least=0.97, bound=True),
    ]
    return Finding(rows, samples_of(figures))


def zram_sync(settings: Settings) -> Finding:
    """Mean latency of one request at a time."""
    if reason := zram.unavailable():
        return Finding(skipped=reason)
    with zram.device(size_bytes=DEVICE_BYTES) as device:
        job: Job = {**RANDREAD, **on_one_core(), "ioengine": "pvsync2", "filename": str(device)}
        job = {**job, "runtime": settings.seconds(10)}
        ours, fio = settings.compare("zram pvsync2", peers.iogauge, peers.fio, job)
    figures = {"lat_mean_ns": ([run.lat_mean_ns for run in ours], [run.lat_mean_ns for run in fio])}
    row = ratio_row("zram pvsync2 QD1", "mean lat, ns", *figures["lat_mean_ns"], at_most=1.02)
    return Finding([row], samples_of(figures))


def direct_file(settings: Settings) -> Finding:
    """IOPS on a file, past the page cache."""
    job: Job = {**URING, "filename": str(written_file(FILE)), "runtime": settings.seconds(10)}
    ours, fio = settings.compare("direct file", peers.iogauge, peers.fio, job)
    figures = {"iops": ([run.iops for run in ours], [run.iops for run in fio])}
    rows: list[Row] = [ratio_row("direct file QD32", "IOPS", *figures["iops"], at_least=0.97, bound=True)]
    return Finding(rows, samples_of(figures))


def on_one_core() -> Job:
    """Return options that pin the worker to the last CPU; the other threads of a program may run elsewhere."""
    return {"cpus_allowed": max(os.sched_getaffinity(0))}


def written_file(path: Path) -> Path:
    """Return ``path``; create it first, full of random bytes, if it does not exist."""
    if not path.exists() or path.stat().st_size != FILE_BYTES:
        note(f"writing {path}")
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as target:
            for _ in range(FILE_BYTES // zram.CHUNK_BYTES):
                target.write(os.urandom(zram.CHUNK_BYTES))
            target.flush()
            os.fsync(target.fileno())
    return path


def samples_of(figures: dict[str, tuple[list[float], list[float]]]) -> dict[str, list[float]]:
    """Return the values of each program and figure, by ``PROGRAM_FIGURE``."""
    return {
        f"{program}_{figure}": values
        for figure, both in figures.items()
        for program, values in zip(("iogauge", "fio"), both, strict=True)
    }
