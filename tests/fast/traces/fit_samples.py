"""Traces of known laws, by seed, for the tests of fitted jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import iogauge
from iogauge.traces.file import Facts, TraceFile
from iogauge.traces.rows import DIRECTIONS, ROW, UNKNOWN, Rows

READ, WRITE = 0, 1
KIB = 1024
Random = np.random.Generator


def rows(time_ns: Any, direction: Any, offset_bytes: Any, size_bytes: Any, latency_ns: Any = UNKNOWN) -> Rows:
    """Return requests as rows; what is one number is the same for all."""
    made = np.zeros(len(time_ns), dtype=ROW)
    made["time_ns"], made["direction"], made["latency_ns"] = time_ns, direction, latency_ns
    made["offset_bytes"], made["size_bytes"] = offset_bytes, size_bytes
    return made


def write(path: Path, made: Rows) -> Path:
    """Write rows as a trace, and return its path."""
    with path.open("wb") as sink, TraceFile(sink) as file:
        file.write(made, ["disk"])
        file.close(Facts(source="test"))
    return path


def arrivals(random: Random, count: int, rate: float) -> NDArray[np.int64]:
    """Return random arrivals (Poisson) at a rate a second, in ns."""
    return np.cumsum(random.exponential(1e9 / rate, count)).astype(np.int64)


def poisson(random: Random, count: int) -> Rows:
    """Random reads of 4 KiB."""
    return rows(arrivals(random, count, 20_000), READ, random.integers(0, 1 << 20, count) * 4096, 4096)


def mixed(random: Random, count: int) -> Rows:
    """70 % reads, 30 % writes, each of three sizes."""
    direction = (random.random(count) < 0.3).astype(int)
    reads = random.choice([4 * KIB, 8 * KIB, 64 * KIB], count, p=[0.6, 0.3, 0.1])
    writes = random.choice([4 * KIB, 16 * KIB, 128 * KIB], count, p=[0.5, 0.4, 0.1])
    offset = random.integers(0, 1 << 18, count) * 16 * KIB
    return rows(arrivals(random, count, 8_000), direction, offset, np.where(direction == READ, reads, writes))


def bursts(random: Random, count: int) -> Rows:
    """50 ms at 40,000 a second, then nothing for 200 ms."""
    busy = arrivals(random, count, 40_000)
    direction = (random.random(count) < 0.2).astype(int)
    time = busy + busy // 50_000_000 * 200_000_000
    return rows(time, direction, random.integers(0, 1 << 20, count) * 4096, 4096)


def hot(random: Random, count: int) -> Rows:
    """Runs of 2.5 reads, which begin at hot blocks (zipf, 0.9)."""
    blocks = 1 << 18
    weights = np.cumsum(np.arange(1, blocks + 1) ** -0.9)
    starts = random.permutation(blocks)[np.searchsorted(weights, random.random(count) * weights[-1])]
    goes_on = random.random(count) < 0.6
    goes_on[0] = False
    number = np.arange(count)
    first = np.maximum.accumulate(np.where(goes_on, 0, number))
    block = np.minimum(starts[first] + number - first, blocks - 1)
    return rows(arrivals(random, count, 10_000), READ, block * 16 * KIB, 16 * KIB)


def wandering(random: Random, count: int) -> Rows:
    """A rate that wanders over two decades (log-normal, correlated), and addresses in zones (a beta law)."""
    steps = count // 20
    level = np.zeros(steps)
    for step in range(1, steps):
        level[step] = 0.95 * level[step - 1] + random.normal(0, 0.35)
    counts = random.poisson(80 * np.exp(level))
    time = np.sort((np.repeat(np.arange(steps), counts) + random.random(counts.sum())) * 20e6)[:count]
    direction = (random.random(count) < 0.3).astype(int)
    offset = (random.beta(2, 5, count) * (1 << 20)).astype(np.int64) * 4096
    return rows(
        time.astype(np.int64), direction, offset, random.choice([4096, 8192, 65536], count, p=[0.7, 0.2, 0.1])
    )


def batches(random: Random, count: int) -> Rows:
    """Batches of 1 to 64 requests at 2,000 a second."""
    sizes = random.choice([1, 4, 16, 64], count, p=[0.6, 0.2, 0.15, 0.05])
    time = np.repeat(arrivals(random, count, 2_000), sizes)[:count]
    direction = (random.random(count) < 0.3).astype(int)
    return rows(time, direction, random.integers(0, 1 << 20, count) * 4096, 8192)


def journal(random: Random, count: int) -> Rows:
    """Writes of 4 KiB that fill a journal of 96 KiB from its start, again and again."""
    return rows(arrivals(random, count, 500), WRITE, np.arange(count) * 4 * KIB % (96 * KIB), 4 * KIB)


def slow(random: Random, count: int) -> Rows:
    """Random writes of 4 KiB, one in three seconds."""
    return rows(arrivals(random, count, 0.3), WRITE, random.integers(0, 1 << 18, count) * 4 * KIB, 4 * KIB)


def recorded(folder: Path, *options: str) -> Rows:
    """Return the requests of a job on a drive model, with their latencies."""
    log = folder / "made.parquet"
    job = ["--name=x", "--ioengine=io_uring", "--size=4g", "--norandommap", "--io_size=1t", *options]
    iogauge.run(job, target="model:p4800x", seed=3, request_log=log)
    table = pq.read_table(log).to_pydict()
    numbers = {direction.value: number for number, direction in enumerate(DIRECTIONS)}
    start = np.array(table["start_ns"], dtype=np.int64)
    made = rows(
        start - start.min(),
        [numbers[name] for name in table["direction"]],
        table["offset_bytes"],
        table["length_bytes"],
        np.array(table["done_ns"], dtype=np.int64) - start,
    )
    return made[np.argsort(made["time_ns"], kind="stable")]


OPEN: dict[str, Callable[[Random, int], Rows]] = {
    "poisson": poisson,
    "mixed": mixed,
    "bursts": bursts,
    "hot": hot,
    "wandering": wandering,
    "batches": batches,
    "journal": journal,
}
CLOSED = {
    "closed": ["--rw=randrw", "--rwmixread=70", "--bs=4k", "--iodepth=8", "--number_ios={count}"],
    "think": ["--rw=randread", "--bs=4k", "--numjobs=4", "--thinktime=100", "--number_ios={quarter}"],
}


def trace(kind: str, folder: Path, count: int, seed: int = 1) -> Path:
    """Write a trace of a kind, of OPEN or CLOSED, and return its path."""
    if kind in OPEN:
        made = OPEN[kind](np.random.default_rng(seed), count)
    else:
        made = recorded(folder, *(word.format(count=count, quarter=count // 4) for word in CLOSED[kind]))
    return write(folder / f"{kind}.trace", made)
