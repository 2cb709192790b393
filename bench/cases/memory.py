"""Whether a run's memory grows with its length: resident size early and late in one long run."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from bench import peers
from bench.cases.null import JOB
from bench.results import Finding, Row
from bench.settings import Settings

RATE_IOPS = 1_000_000
EARLY_S = 5
LATE_S = 60
GOAL_BYTES = 2 << 20


def growth(settings: Settings) -> Finding:
    """Measure the growth of resident memory from 5 s to 60 s, at a million IOPS."""
    late_s = max(EARLY_S + 2, settings.seconds(LATE_S))
    job = {**JOB, "rate_iops": RATE_IOPS, "runtime": late_s + 2}
    command = [str(peers.IOGAUGE), "run", "--output-format=json+", *peers.arguments(job)]
    sizes: list[float] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        began = wait_for_worker(running)
        for second in range(1, late_s + 1):
            time.sleep(max(0.0, began + second - time.monotonic()))
            sizes.append(resident_bytes(running.pid))
        running.communicate(timeout=60)
    if running.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {running.returncode}")
    grown = sizes[-1] - sizes[EARLY_S - 1]
    row = Row(
        f"resident memory, {EARLY_S} s to {late_s} s at {RATE_IOPS:,} IOPS",
        "KiB grown",
        grown / 1024,
        goal=f"<= {GOAL_BYTES // 1024}",
        met=grown <= GOAL_BYTES,
    )
    return Finding([row], {"resident_bytes": sizes})


def wait_for_worker(running: subprocess.Popen[str]) -> float:
    """Return the instant at which the process began to use CPU steadily: its workers are running."""
    used = -1.0
    while running.poll() is None:
        time.sleep(0.25)
        fields = Path(f"/proc/{running.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        threads = int(fields[17])
        now = (int(fields[11]) + int(fields[12])) / 100
        if used >= 0 and threads > 1 and now - used > 0.15:
            return time.monotonic()
        used = now
    raise peers.PeerError("iogauge ended before its run began")


def resident_bytes(pid: int) -> float:
    """Return the resident bytes (VmRSS) of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(float(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS:"))
