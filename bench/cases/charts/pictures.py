"""Time the export of all charts of a default review as files, and of one chart."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from bench import peers
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note

DRIVES = ("model:p4800x", "model:p3700")
ALL_GOAL_S = 60.0


def export(settings: Settings) -> Finding:
    """Measure the wall time of ``export --pictures`` on a default review of two drive models."""
    every_s: list[float] = []
    one_s: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        saved, pictures = Path(folder) / "saved", Path(folder) / "pictures"
        _run("review", *DRIVES, "--pace", "quick", "--seed", "1", "--output", str(saved))
        for _ in range(max(3, settings.pairs // 5)):
            every_s.append(_run("export", str(saved), "--pictures", str(pictures)))
            one_s.append(
                _run("export", str(saved), "--pictures", str(pictures), "--charts", "write-pressure")
            )
            note(f"pictures: {every_s[-1]:.1f} s, one chart {one_s[-1]:.1f} s")
        files = sum(1 for _ in pictures.iterdir())
    median_s = Estimate.of(every_s).median
    name = f"charts of a default review, {len(DRIVES)} models"
    return Finding(
        rows=[
            Row(
                f"{name}, {files} files",
                "s",
                median_s,
                goal=f"median < {ALL_GOAL_S:g}",
                met=median_s < ALL_GOAL_S,
            ),
            Row(f"{name}, write-pressure alone", "s", Estimate.of(one_s).median),
        ],
        samples={"every_s": every_s, "one_s": one_s},
    )


def _run(*arguments: str) -> float:
    """Return the wall time of a command of iogauge's."""
    began = time.monotonic()
    done = subprocess.run([str(peers.IOGAUGE), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        raise peers.PeerError(f"iogauge {' '.join(arguments)}: exit status {done.returncode}")
    return time.monotonic() - began
