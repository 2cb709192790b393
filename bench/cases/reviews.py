"""Whole reviews of two drive models as a user runs them: write pressure alone, and the default review at each pace.

A step of the write pressure lasts sixty simulated seconds, as published. Intervals are passed to Python, saved, judged
and printed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import peers
from bench.pairs import Estimate, interleave
from bench.results import Finding, Row
from bench.settings import Settings, note

DRIVES = ("p4800x", "p3700-1600g")
DEFAULT_DRIVES = ("p4800x", "p3700")
PRESSURE = ("--suite", "write-pressure", "--pace", "full")
WALL_GOAL_S = 60.0
PACE_GOALS_S = {"quick": 10.0, "full": 15.0}
"""Of the default review of one drive."""
PEAK_GOAL_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """The cost of one review as a process."""

    wall_s: float
    peak_bytes: float


def review(settings: Settings) -> Finding:
    """Measure wall times, and the largest resident memory of the reviews of write pressure."""
    walls_s: list[float] = []
    peaks: list[float] = []
    samples: dict[str, list[float]] = {f"{drive}_wall_s": [] for drive in DRIVES}
    for both in interleave(
        lambda: reviewed(DRIVES[0], *PRESSURE),
        lambda: reviewed(DRIVES[1], *PRESSURE),
        pairs=max(1, settings.pairs // 5),
    ):
        for drive, one in zip(DRIVES, both, strict=True):
            samples[f"{drive}_wall_s"].append(one.wall_s)
        walls_s.append(sum(one.wall_s for one in both))
        peaks.append(max(one.peak_bytes for one in both))
        note(f"model-review: {walls_s[-1]:.1f} s, {peaks[-1] / 2**20:,.0f} MiB")
    wall_s, peak = Estimate.of(walls_s).median, max(peaks)
    name = f"write pressure, 7 x 60 s, {' and '.join(DRIVES)}"
    rows, default_samples = defaults(settings)
    return Finding(
        rows=[
            Row(name, "s in all", wall_s, goal=f"median < {WALL_GOAL_S:g}", met=wall_s < WALL_GOAL_S),
            Row(
                name,
                "MiB resident at most",
                peak / 2**20,
                goal=f"< {PEAK_GOAL_BYTES / 2**20:g}",
                met=peak < PEAK_GOAL_BYTES,
            ),
            *rows,
        ],
        samples={**samples, "peak_bytes": peaks, **default_samples},
    )


def defaults(settings: Settings) -> tuple[list[Row], dict[str, list[float]]]:
    """Measure the wall time of the default review of each drive: at quick pace several times, at full pace once."""
    rows, samples = [], {}
    for pace, goal_s in PACE_GOALS_S.items():
        for drive in DEFAULT_DRIVES:
            times = max(1, settings.pairs // 5) if pace == "quick" else 1
            walls_s = [reviewed(drive, "--pace", pace).wall_s for _ in range(times)]
            wall_s = Estimate.of(walls_s).median
            note(f"model-review: {drive} at {pace} pace {wall_s:.1f} s")
            title = f"default review, {drive}, {pace} pace"
            rows.append(Row(title, "s", wall_s, goal=f"median < {goal_s:g}", met=wall_s < goal_s))
            samples[f"{drive}_{pace}_wall_s"] = walls_s
    return rows, samples


def reviewed(drive: str, *options: str) -> Reviewed:
    """Review a drive model from start to end in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(peers.IOGAUGE), "review", f"model:{drive}", *options]
        command += ["--output", str(Path(folder) / "review")]
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            # RUSAGE_CHILDREN would be the maximum over all children so far.
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
    if running.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {running.returncode}")
    return Reviewed(wall_s=wall_s, peak_bytes=used.ru_maxrss * 1024.0)
