"""A step of 10, 100 and 1,000 hosts merged, judged, and as a table: time, memory, and how they grow with the hosts.

Each host has 3,600 intervals.

Two made-up reviews are saved; the other hosts are hard links to their files. So files are read from the page cache:
the case measures the merging, not a disk. ``python -m bench.cases.fleet.merge DIRECTORY merge`` (or ``judge``, or
``table``) reads one fleet and prints what that took as JSON.
"""

from __future__ import annotations

import json
import math
import os
import re
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
READINGS = {
    "merge": ("merged", 3, HOSTS),
    "judge": ("judged", 1, HOSTS),
    "table": ("as a table", 1, HOSTS[:2]),
}
"""What is done with a fleet, in words, how often, and with how many hosts.

A table is timed once, since the figures of its steps are kept then; of 1,000 hosts that would take long."""
GOAL_S = 30.0
GOAL_BYTES = 2 << 30
GOAL_EXPONENT = 1.1
_MADE = 2


def merging(settings: Settings) -> Finding:
    """Measure the merging of fleets of several sizes, each in processes of its own."""
    intervals = max(60, round(INTERVALS * settings.scale))
    samples: dict[str, list[float]] = {}
    rows: list[Row] = []
    walls_s: dict[str, list[float]] = {name: [] for name in READINGS}
    with tempfile.TemporaryDirectory() as folder:
        for hosts in HOSTS:
            path = make(Path(folder) / f"fleet-{hosts}", hosts=hosts, intervals=intervals)
            for name, (done, times, sizes) in READINGS.items():
                if hosts not in sizes:
                    continue
                costs = [reading(path, name) for _ in range(times)]
                figures = {key: [cost[key] for cost in costs] for key in costs[0]}
                samples |= {f"{hosts}_{name}_{key}": values for key, values in figures.items()}
                wall_s, cpu_s = (Estimate.of(figures[key]).median for key in ("wall_s", "cpu_s"))
                peak_bytes = max(figures["peak_bytes"])
                walls_s[name].append(wall_s)
                note(
                    f"fleet-merge: {hosts} hosts {done}: {wall_s:.2f} s, {cpu_s:.2f} s of CPU, "
                    f"{peak_bytes / 2**20:,.0f} MiB"
                )
                judged = name == "merge" and hosts == HOSTS[-1] and intervals == INTERVALS
                title = f"{hosts:,} hosts x {intervals:,} intervals {done}"
                rows += [
                    _row(title, "s", wall_s, GOAL_S, judged=judged),
                    Row(title, "s of CPU", cpu_s),
                    _row(
                        title,
                        "MiB of the largest process",
                        peak_bytes / 2**20,
                        GOAL_BYTES / 2**20,
                        judged=judged,
                    ),
                ]
    for name, (done, _, sizes) in READINGS.items():
        exponent = slope([math.log(hosts) for hosts in sizes], [math.log(wall_s) for wall_s in walls_s[name]])
        title = f"growth of the time with hosts {done}"
        rows.append(_row(title, "exponent", exponent, GOAL_EXPONENT, judged=name == "merge"))
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


def reading(path: Path, name: str) -> dict[str, float]:
    """Read a fleet in a process of its own; return its time without the start of the process, and its memory.

    The time counts the processes that it starts, the memory is that of the largest.
    """
    command = [sys.executable, "-m", "bench.cases.fleet.merge", str(path), name]
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


def _read(path: Path, name: str) -> None:
    """Merge the step of a fleet, judge its drives or make its table, and print what that took."""
    import resource

    # Imports are no part of what is timed.
    import iogauge.fleet.judge
    import iogauge.fleet.merge.merged
    import iogauge.fleet.merge.table  # noqa: F401
    from iogauge.fleet.saved import open_fleet

    def cpu_s() -> float:
        return sum(os.times()[:4])

    began, cpu_before_s = time.perf_counter(), cpu_s()
    fleet = open_fleet(path)
    if name == "merge":
        (step,) = fleet.steps
        (group,) = fleet.merged(step)
        assert len(group.hosts) == len(fleet.hosts)
    elif name == "judge":
        fleet.slow_drives()
    else:
        assert {*fleet.table().column("host").to_pylist()} == {host.name for host in fleet.hosts}
    figures = {"wall_s": time.perf_counter() - began, "cpu_s": cpu_s() - cpu_before_s}
    # getrusage's maximum for this process itself includes what the parent held when it forked.
    (own,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    peak_bytes = 1024.0 * max(int(own), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print(json.dumps({**figures, "peak_bytes": peak_bytes}))


if __name__ == "__main__":
    _read(Path(sys.argv[1]), sys.argv[2])
