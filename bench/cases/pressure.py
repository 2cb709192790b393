"""A whole review of two drive models: write pressure at its published length, as a user runs it.

Every step lasts sixty simulated seconds. Intervals are passed to Python, saved, judged and printed.
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
WALL_GOAL_S = 60.0
PEAK_GOAL_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """The cost of one review as a process."""

    wall_s: float
    peak_bytes: float


def review(settings: Settings) -> Finding:
    """Measure the wall time of both reviews, and the larger resident memory."""
    walls_s: list[float] = []
    peaks: list[float] = []
    samples: dict[str, list[float]] = {f"{drive}_wall_s": [] for drive in DRIVES}
    for both in interleave(
        lambda: reviewed(DRIVES[0]), lambda: reviewed(DRIVES[1]), pairs=max(1, settings.pairs // 5)
    ):
        for drive, one in zip(DRIVES, both, strict=True):
            samples[f"{drive}_wall_s"].append(one.wall_s)
        walls_s.append(sum(one.wall_s for one in both))
        peaks.append(max(one.peak_bytes for one in both))
        note(f"model-review: {walls_s[-1]:.1f} s, {peaks[-1] / 2**20:,.0f} MiB")
    wall_s, peak = Estimate.of(walls_s).median, max(peaks)
    name = f"write pressure, 7 x 60 s, {' and '.join(DRIVES)}"
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
        ],
        samples={**samples, "peak_bytes": peaks},
    )


def reviewed(drive: str) -> Reviewed:
    """Review a drive model from start to end in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(peers.IOGAUGE), "review", f"model:{drive}", "--suite", "write-pressure"]
        command += ["--pace", "full", "--output", str(Path(folder) / "review")]
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
            # RUSAGE_CHILDREN would be the maximum over all children so far.
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
    if running.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {running.returncode}")
    return Reviewed(wall_s=wall_s, peak_bytes=used.ru_maxrss * 1024.0)
