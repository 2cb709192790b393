"""What it costs to be watched: iogauge with ``iogauge watch`` beside it, and without, on the null engine and on a file.

The screen is drawn on a terminal of 80 columns and 24 lines, which is read as an emulator would. It is attached during
the ramp, so that neither its start nor that of the run is measured. Both runs write their feed, as every run does.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time
from contextlib import AbstractContextManager
from functools import partial

from bench import peers
from bench.cases.block import FILE, URING, on_one_core, samples_of, written_file
from bench.cases.null import JOB
from bench.pairs import Estimate
from bench.peers import Job, Outcome
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings
from iogauge.live.finding import feeds

LEAST = 0.99
"""The goal: a watched run loses at most a hundredth of its IOPS."""
RAMP_S = 4
COLUMNS, LINES = 80, 24


def cost(settings: Settings) -> Finding:
    """Compare the IOPS of watched runs and of others, in pairs."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    plain = partial(peers.iogauge, options=["--no-ceiling"])
    times: Job = {"ramp_time": RAMP_S, "runtime": settings.seconds(10)}
    jobs: dict[str, Job] = {
        "null engine": {**JOB, **on_one_core(), **times},
        "file": {**URING, "filename": str(written_file(FILE)), **times},
    }
    for name, job in jobs.items():
        shares: list[float] = []
        ours, peer = settings.compare(f"watched, {name}", partial(watched, shares=shares), plain, job)
        figures = {"iops": ([run.iops for run in ours], [run.iops for run in peer])}
        rows.append(
            ratio_row(f"watched / not watched, {name} QD32", "IOPS", *figures["iops"], at_least=LEAST)
        )
        rows.append(Row(f"watching, {name}", "% of a CPU", 100 * Estimate.of(shares).median))
        samples |= {f"{name}_{key}": values for key, values in samples_of(figures).items()}
        samples[f"{name}_cpu_share"] = shares
    return Finding(rows, samples)


def watched(job: Job, *, shares: list[float]) -> Outcome:
    """Run ``job`` with ``iogauge watch`` beside it, and append the share of a CPU that this took, its start included.

    Raises PeerError if the run fails, or nothing was shown.
    """
    command = [str(peers.IOGAUGE), "run", "--output-format=json+", "--no-ceiling", *peers.arguments(job)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=peers.environment(),
    ) as running:
        while running.poll() is None and all(info.pid != running.pid for info in feeds()):
            time.sleep(0.05)
        with Shown(running.pid) as shown:
            stdout, _ = running.communicate()
            drawn = shown.ended()
        shares.append(shown.cpu_share)
    if running.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {running.returncode}")
    if drawn < 5:
        raise peers.PeerError(f"iogauge watch drew {drawn} screens: it was not attached")
    (fields,) = peers.jobs_of(stdout)
    return peers.outcome(fields, command)


class Shown(AbstractContextManager["Shown"]):
    """``iogauge watch`` on a terminal of its own, and how many screens it has drawn. It ends with the context."""

    def __init__(self, pid: int) -> None:
        self._terminal, other_end = pty.openpty()
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self._watch = subprocess.Popen(
            [str(peers.IOGAUGE), "watch", str(pid)],
            stdin=other_end,
            stdout=other_end,
            stderr=other_end,
            env={**peers.environment(), "TERM": "xterm-256color"},
            start_new_session=True,
        )
        os.close(other_end)
        self._began = time.monotonic()
        self._screens = 0
        self.cpu_share = 0.0
        """The share of a CPU that the watch took, once it has ended."""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._watch.returncode is None:
            self._watch.kill()
            self._watch.wait()
        self._thread.join()
        os.close(self._terminal)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # EIO: nobody has the other end open any more.
                return
            self._screens += data.count(b"\x1b[H")

    def ended(self) -> int:
        """Wait for the end of the watch, and return how many screens it drew."""
        _, status, usage = os.wait4(self._watch.pid, 0)
        self._watch.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_share = (usage.ru_utime + usage.ru_stime) / (time.monotonic() - self._began)
        self._thread.join()
        return self._screens
