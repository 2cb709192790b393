"""How fast drive models run on one core, compared with other simulators, and whether time is linear in requests.

The simulators were measured once: their figures are constants, each the best of its range. Their load is the nearest
that they offer to that of the models here. iogauge keeps all its statistics.

MQSim and FEMU were measured in simulated 4K I/Os per second of wall time, on one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

import numpy as np

from bench.pairs import Estimate, interleave
from bench.results import Finding, Row
from bench.settings import Settings, note
from bench.virtual import Load, Timed, timed

READS = Load(rw="randread", drive="p4800x", machine="ideal")
WRITES = Load(rw="randwrite", drive="p3700-800g", machine="ideal")
READ_PEERS = {"MQSim, ideal map": 274_000, "MQSim, its own map": 87_000, "SimpleSSD": 126_000}
WRITE_PEERS = {
    "MQSim, ideal map, no collection yet": 175_000,
    "MQSim, its own map": 44_000,
    "SimpleSSD": 83_000,
}
READ_GOAL = 8e6
WRITE_GOAL = 2e6

SPEED_IOS = 8_000_000
SIZES = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
EXPONENT_GOAL = 0.05


def speed(settings: Settings) -> Finding:
    """Measure simulated I/Os a second: reads of an XPoint drive, and writes to flash that always collects garbage."""
    ios = round(SPEED_IOS * settings.scale)
    reads: list[Timed] = []
    writes: list[Timed] = []
    read_seeds, write_seeds = count(), count()
    for read, write in interleave(
        lambda: timed(READS, ios, seed=next(read_seeds)),
        lambda: timed(WRITES, ios, seed=next(write_seeds)),
        pairs=settings.pairs,
    ):
        reads.append(read)
        writes.append(write)
        note(
            f"model {len(reads)}/{settings.pairs}: {read.ios_per_s:,.0f} reads, {write.ios_per_s:,.0f} writes"
        )
    made_s = [one.made_s for one in writes]
    amplification = [one.write_amplification or 0.0 for one in writes]
    return Finding(
        rows=[
            *speed_rows("model p4800x, 4k random reads, 4x4", reads, goal=READ_GOAL, peers=READ_PEERS),
            *speed_rows(
                "model p3700-800g, 4k random writes, 4x4", writes, goal=WRITE_GOAL, peers=WRITE_PEERS
            ),
            Row("model p3700-800g, made and in its steady state", "s", Estimate.of(made_s).median),
            Row("model p3700-800g, write amplification", "", Estimate.of(amplification).median),
        ],
        samples={
            "reads_per_s": [one.ios_per_s for one in reads],
            "writes_per_s": [one.ios_per_s for one in writes],
            "writes_made_s": made_s,
        },
    )


def speed_rows(measure: str, runs: Sequence[Timed], *, goal: float, peers: Mapping[str, float]) -> list[Row]:
    """Return the row of a speed against its goal, and a row for every simulator."""
    speeds = [run.ios_per_s for run in runs]
    median = Estimate.of(speeds).median
    rows = [Row(measure, "I/Os per s", median, goal=f"median >= {goal:,.0f}", met=median >= goal)]
    for peer, figure in peers.items():
        ratio = Estimate.of([speed / figure for speed in speeds])
        rows.append(Row(f"  compared with {peer}", "I/Os per s", median, figure, ratio))
    return rows


def linearity(settings: Settings) -> Finding:
    """Measure the power of the number of I/Os with which time grows: 1 if it is linear."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    for load in (READS, WRITES):
        sizes = [round(size * settings.scale) for size in SIZES]
        took_s: dict[int, list[float]] = {size: [] for size in sizes}
        for turn in range(settings.pairs):
            note(f"model-linear {load.drive} {turn + 1}/{settings.pairs}")
            for size in sizes if turn % 2 == 0 else reversed(sizes):
                took_s[size].append(timed(load, size, seed=turn).ran_s)
        for size in sizes:
            ns_per_io = [1e9 * one / size for one in took_s[size]]
            rows.append(
                Row(f"model {load.drive}, {size:,} I/Os", "ns per I/O", Estimate.of(ns_per_io).median)
            )
            samples[f"{load.drive}_{size}_s"] = took_s[size]
        turns = [[took_s[size][turn] for size in sizes] for turn in range(settings.pairs)]
        exponent = Estimate.of([power(sizes, turn) for turn in turns])
        rows.append(
            Row(
                f"model {load.drive}, time over I/Os",
                f"power {exponent}",
                exponent.median,
                goal=f"median within {EXPONENT_GOAL} of 1",
                met=abs(exponent.median - 1) <= EXPONENT_GOAL,
            )
        )
    return Finding(rows, samples)


def power(sizes: Sequence[float], took_s: Sequence[float]) -> float:
    """Return the power of the size with which time grows, by least squares over logarithms.

    >>> round(power([1, 2, 4], [3, 6, 12]), 6), round(power([1, 2, 4], [1, 4, 16]), 6)
    (1.0, 2.0)
    """
    return float(np.polyfit(np.log(sizes), np.log(took_s), 1)[0])
