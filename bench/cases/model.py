"""How fast drive models run on one core, compared with the null engine and with other simulators, and whether time is
linear in requests.

The null engine, as a user starts it on the same core in the same minute, is the measure: a modelled request passes
through the same worker and recorder, and has a drive besides. iogauge keeps all its statistics in both.

The simulators were measured once: their figures are constants, each the best of its range. Their load is the nearest
that they offer to that of the models here. MQSim and SimpleSSD were measured in simulated 4K I/Os per second of wall
time, on one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bench import peers
from bench.cases import null
from bench.pairs import Estimate, interleave
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings, note
from bench.virtual import Load, Timed, core, timed

READS = Load(rw="randread", drive="p4800x", machine="ideal")
WRITES = Load(rw="randwrite", drive="p3700-800g", machine="ideal")
LOADS = {
    "p4800x, 4k random reads, 4x4": READS,
    "p4800x, half of them writes": Load(rw="randrw", drive="p4800x", machine="ideal"),
    "p4800x, reads, behind anandtech-linux": Load(rw="randread", drive="p4800x", machine="anandtech-linux"),
    "p3700-800g, 4k random writes, 4x4": WRITES,
}
"""The loads whose speed is measured, by what a row says of them."""
READ_PEERS = {"MQSim, ideal map": 274_000, "MQSim, its own map": 87_000, "SimpleSSD": 126_000}
WRITE_PEERS = {
    "MQSim, ideal map, no collection yet": 175_000,
    "MQSim, its own map": 44_000,
    "SimpleSSD": 83_000,
}
XPOINT_GOAL = 1 / 3
FLASH_GOAL = 1 / 8

SPEED_IOS = 8_000_000
SIZES = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
EXPONENT_GOAL = 0.05


def speed(settings: Settings) -> Finding:
    """Measure simulated I/Os a second: of an XPoint drive, and of flash that always collects garbage."""
    ios = round(SPEED_IOS * settings.scale)
    null_job = {**null.JOB, "runtime": settings.seconds(3)}
    null_iops: list[float] = []
    runs: dict[str, list[Timed]] = {name: [] for name in LOADS}

    def run_null() -> None:
        null_iops.append(peers.iogauge(null_job, pin=core()).iops)

    def run_models() -> None:
        for name, load in LOADS.items():
            runs[name].append(timed(load, ios, seed=len(runs[name])))

    for _ in interleave(run_null, run_models, pairs=settings.pairs):
        speeds = ", ".join(f"{past[-1].ios_per_s:,.0f}" for past in runs.values())
        note(f"model {len(null_iops)}/{settings.pairs}: null {null_iops[-1]:,.0f}, models {speeds}")
    writes = next(runs[name] for name, load in LOADS.items() if load is WRITES)
    made_s = [one.made_s for one in writes]
    amplification = [one.write_amplification or 0.0 for one in writes]
    return Finding(
        rows=[
            *(row for name, load in LOADS.items() for row in speed_rows(name, load, runs[name], null_iops)),
            Row("model p3700-800g, made and in its steady state", "s", Estimate.of(made_s).median),
            Row("model p3700-800g, write amplification", "", Estimate.of(amplification).median),
        ],
        samples={
            "null_iops": null_iops,
            **{f"{name}: per_s": [run.ios_per_s for run in past] for name, past in runs.items()},
            "writes_made_s": made_s,
        },
    )


def speed_rows(name: str, load: Load, runs: Sequence[Timed], null_iops: Sequence[float]) -> list[Row]:
    """Return the row of a speed beside the null engine's, and a row for every simulator that has the load."""
    speeds = [run.ios_per_s for run in runs]
    goal = FLASH_GOAL if load is WRITES else XPOINT_GOAL
    rows = [ratio_row(f"model {name} / null", "I/Os per s", speeds, null_iops, at_least=goal)]
    simulators: Mapping[str, float] = {}
    if load is READS:
        simulators = READ_PEERS
    elif load is WRITES:
        simulators = WRITE_PEERS
    for peer, figure in simulators.items():
        ratio = Estimate.of([speed / figure for speed in speeds])
        rows.append(Row(f"  compared with {peer}", "I/Os per s", Estimate.of(speeds).median, figure, ratio))
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
