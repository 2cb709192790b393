"""A step of 10, 100 and 1,000 hosts merged: time, memory, and how both grow. Each host has 3,600 intervals.

Two made-up reviews are saved; the other hosts are hard links to their files. So files are read from the page cache:
the case measures the merging, not a disk. ``python -m bench.cases.fleet.merge DIRECTORY`` merges one fleet and prints
the result as JSON.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from bench import peers
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note

HOSTS = (10, 100, 1000)
INTERVALS = 3600
TIMES = 3
GOAL_S = 30.0
GOAL_BYTES = 2 << 30
GOAL_EXPONENT = 1.1
_MADE = 2


def merging(settings: Settings) -> Finding:
    """Measure the merging of fleets of several sizes, each in processes of its own."""
    intervals = max(60, round(INTERVALS * settings.scale))
    samples: dict[str, list[float]] = {}
    rows: list[Row] = []
    medians_s: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for hosts in HOSTS:
            path = make(Path(folder) / f"fleet-{hosts}", hosts=hosts, intervals=intervals)
            merges = [merged(path) for _ in range(TIMES)]
            times_s, peaks = ([one[name] for one in merges] for name in ("wall_s", "peak_bytes"))
            samples |= {f"{hosts}_wall_s": times_s, f"{hosts}_peak_bytes": peaks}
            medians_s.append(Estimate.of(times_s).median)
            note(f"fleet-merge: {hosts} hosts {medians_s[-1]:.2f} s, {max(peaks) / 2**20:,.0f} MiB")
            judged = hosts == HOSTS[-1] and intervals == INTERVALS
            title = f"{hosts:,} hosts x {intervals:,} intervals merged"
            rows += [
                _row(title, "s", medians_s[-1], GOAL_S, judged=judged),
                _row(title, "MiB resident at most", max(peaks) / 2**20, GOAL_BYTES / 2**20, judged=judged),
            ]
    exponent = slope([math.log(hosts) for hosts in HOSTS], [math.log(median) for median in medians_s])
    rows.append(_row("growth of the time with hosts", "exponent", exponent, GOAL_EXPONENT, judged=True))
    return Finding(rows, samples)


def make(path: Path, *, hosts: int, intervals: int) -> Path:
    """Save a fleet of made-up reviews of one step; return its directory."""
    from iogauge.schema import FleetHost, FleetManifest
    from iogauge.store.fleet import FleetStore

    reviews: Any = import_module("tests.reviews")  # tests are not checked for types as benchmarks are
    members = tuple(
        FleetHost(name=f"host-{n}", targets=("/dev/nvme0n1",), seed=n, labels={"zone": f"zone-{n % 3}"})
        for n in range(hosts)
    )
    manifest = FleetManifest(id="bench", created="2026-01-01T00:00:00Z", seed=1, hosts=members)
    store = FleetStore.create(path, manifest)
    places = [store.host_directory(member.name) for member in members]
    for seed, place in enumerate(places[:_MADE]):
        reviews.save(place, reviews.Drive(seconds=intervals), pressures_MBps=(300,), seed=seed)
    for number, place in enumerate(places[_MADE:]):
        original = places[number % _MADE]
        for file in sorted(original.rglob("*")):
            copy = place / file.relative_to(original)
            if file.is_file():
                copy.parent.mkdir(parents=True, exist_ok=True)
                os.link(file, copy)
    return path


def merged(path: Path) -> dict[str, float]:
    """Merge a fleet in a process of its own; return its time without the start of the process, and its memory."""
    command = [sys.executable, "-m", "bench.cases.fleet.merge", str(path)]
    done = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def slope(x: list[float], y: list[float]) -> float:
    """Return the slope of the line of least squares.

    >>> slope([0, 1, 2], [1, 3, 5])
    2.0
    """
    middle = sum(x) / len(x)
    covered = sum((one - middle) * other for one, other in zip(x, y, strict=True))
    return covered / sum((one - middle) ** 2 for one in x)


def _row(title: str, unit: str, value: float, goal: float, *, judged: bool) -> Row:
    if not judged:
        return Row(title, unit, value)
    return Row(title, unit, value, goal=f"<= {goal:g}", met=value <= goal)


def _merge(path: Path) -> None:
    """Merge the step of a fleet, and print what that took."""
    import resource

    import iogauge.fleet.merge.merged  # noqa: F401  # its import is no part of the merging
    from iogauge.fleet.saved import open_fleet

    began = time.perf_counter()
    fleet = open_fleet(path)
    (step,) = fleet.steps
    (group,) = fleet.merged(step)
    wall_s = time.perf_counter() - began
    assert len(group.hosts) == len(fleet.hosts)
    peak_bytes = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"wall_s": wall_s, "peak_bytes": peak_bytes}))


if __name__ == "__main__":
    _merge(Path(sys.argv[1]))
