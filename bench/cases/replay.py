"""Whether a trace is replayed at its instants: a million requests at 100,000 a second, by both programs.

Arrivals are random (Poisson), in whole microseconds as fio's iolog has them. The error of a request is its issue minus
its instant in the trace, both from the first request on. Ours is of the request log. fio writes no iolog while it reads
one, so its own is of its latency log, in whole milliseconds, when requests completed: where they take no time, that is
when they were issued. fio waits from request to request, iogauge until instants.

As root, a third case is zram, whose requests take about a microsecond within their submission.

Both have a depth of one: at a depth of 64, fio 3.33 on the null engine does not keep the times of a trace (it took
0.3 s for one of 10 s). The goals are for a machine with a free CPU. On a shared one, compare with the case `rates`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import peers, zram
from bench.cases import requests
from bench.results import Finding, Row
from bench.settings import Settings, note

RATE_IOPS = 100_000
REQUESTS = 1_000_000
GOAL_P99_US = 20.0
GOAL_LENGTH = 1e-4
FILE_BYTES = 1 << 28
BLOCK_BYTES = 4096

Times = NDArray[np.int64]


def instants(settings: Settings) -> Finding:
    """Measure the length of a replay and the error of its requests: with no target, on a file in memory, on zram."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        target = Path(memory) / "target"
        target.write_bytes(bytes(FILE_BYTES))
        for engine in ("null", "psync"):
            _replay(settings, engine, engine, target, rows, samples)
    if zram.unavailable() is None:
        with zram.device(size_bytes=FILE_BYTES) as device:
            _replay(settings, "zram, psync", "psync", device, rows, samples)
    return Finding(rows, samples)


def _replay(
    settings: Settings,
    label: str,
    engine: str,
    target: Path,
    rows: list[Row],
    samples: dict[str, list[float]],
) -> None:
    """Replay a trace on a target with both programs."""
    count = max(int(REQUESTS * settings.scale), 100_000)
    note(f"replay: {count:,} requests, {label}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "trace.log"
        times_us = _write(log, target, count)
        job: dict[str, str | int] = {"read_iolog": str(log), "ioengine": engine, "iodepth": 1}
        if target.is_block_device():
            job["direct"] = 1
        for who, replay in (("iogauge", _ours), ("fio", _fios)):
            _judge(label, who, times_us, replay(job, folder), rows, samples)


def _write(log: Path, target: Path, count: int) -> Times:
    """Write an iolog of reads. Return when they are due, in microseconds from the first on."""
    rng = np.random.default_rng(1)
    times_us = 100 + np.cumsum(rng.exponential(1e6 / RATE_IOPS, count)).astype(np.int64)
    offsets = rng.integers(0, FILE_BYTES // BLOCK_BYTES, count) * BLOCK_BYTES
    with log.open("w") as file:
        file.write(f"fio version 3 iolog\n1 {target} add\n2 {target} open\n")
        file.writelines(
            f"{time} {target} read {offset} {BLOCK_BYTES}\n"
            for time, offset in zip(times_us.tolist(), offsets.tolist(), strict=True)
        )
        file.write(f"{times_us[-1]} {target} close\n")
    return np.asarray(times_us - times_us[0])


def _ours(job: peers.Job, folder: Path) -> NDArray[np.float64]:
    logged = requests.run_logged(job, folder)
    # The intended instants are the trace's: the first one is where it began.
    return np.asarray((np.sort(logged.column_ns("start")) - logged.column_ns("intended").min()) / 1e3)


def _fios(job: peers.Job, folder: Path) -> NDArray[np.float64]:
    prefix = folder / "fio"
    peers.fio({**job, "write_lat_log": str(prefix), "disable_slat": 1, "disable_clat": 1})
    times_ms = np.loadtxt(f"{prefix}_lat.1.log", delimiter=",", usecols=0)
    # From the first request to begin; what is lost before it is not fio's error.
    return np.asarray((times_ms - times_ms[0]) * 1e3)


def _judge(
    engine: str,
    who: str,
    times_us: Times,
    issued_us: NDArray[np.float64],
    rows: list[Row],
    samples: dict[str, list[float]],
) -> None:
    # fio 3.33 logs one request less than it replays.
    times_us = times_us[: len(issued_us)]
    error_us = issued_us - times_us
    length = float(issued_us[-1] / times_us[-1] - 1)
    p50, p99, worst = (float(np.quantile(error_us, q)) for q in (0.5, 0.99, 1))
    samples[f"{engine}_{who}"] = [length, p50, p99, worst]
    mine = who == "iogauge"
    rows += [
        Row(f"{engine}, {who}: length", "% off", 100 * length, goal=f"within {100 * GOAL_LENGTH:g}" if mine else "",
            met=abs(length) <= GOAL_LENGTH if mine else None),
        Row(f"{engine}, {who}: p50 error", "us", p50),
        Row(f"{engine}, {who}: p99 error", "us", p99, goal=f"<= {GOAL_P99_US:g}" if mine else "",
            met=p99 <= GOAL_P99_US if mine else None),
        Row(f"{engine}, {who}: worst error", "us", worst),
    ]  # fmt: skip
