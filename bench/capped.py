"""How often ``find`` finds the limit of a real file: ``python -m bench.capped FILE [SEARCHES] [FIRST_SEED]``, as root.

The kernel caps how often a control group reads the disk below the file, as a cloud caps an instance. Below the cap a
request takes as long as the disk needs; above it the queue grows for as long as one measures. So the most that keeps a
limit is the cap, whatever else uses the disk. Before and after each search, fio reads the file as fast as it may, in
the same group: that is the limit that the search's interval has to hold.

FILE is made where there is none, and removed at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import iogauge
from bench.peers import ROOT

CAP = 5000
"""Reads a second."""
LIMIT = "p99 < 50ms"
"""More than the disk takes by itself, less than a queue that grows for seconds."""
SIZE = "1g"
PRECISION = "0.05"
GROUPS = Path("/sys/fs/cgroup")


def disk_of(file: Path) -> str:
    """Return major and minor number of the whole disk below a file: only whole disks can be capped."""
    number = file.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve(strict=True)
    if (folder / "partition").exists():
        folder = folder.parent
    return (folder / "dev").read_text().strip()


@contextlib.contextmanager
def capped(disk: str) -> Iterator[Callable[[], None]]:
    """Make a control group that reads ``disk`` at most ``CAP`` times a second; yield what moves a process into it."""
    name = f"iogauge-{os.getpid()}"
    old = GROUPS / "blkio"
    group = (old if old.is_dir() else GROUPS) / name
    group.mkdir()
    try:
        if old.is_dir():
            (group / "blkio.throttle.read_iops_device").write_text(f"{disk} {CAP}")
        else:
            (GROUPS / "cgroup.subtree_control").write_text("+io")
            (group / "io.max").write_text(f"{disk} riops={CAP}")

        def join() -> None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

        yield join
    finally:
        group.rmdir()


def output_of(command: list[str], join: Callable[[], None]) -> str:
    """Return what a command prints in the group."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=join).stdout


def passed(file: Path, join: Callable[[], None]) -> float:
    """Return the reads a second that fio is allowed."""
    options = "--rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=64 --time_based --runtime=15 --ramp_time=2"
    command = ["fio", "--name=all", f"--filename={file}", f"--size={SIZE}", *options.split()]
    printed = output_of([*command, "--output-format=json"], join)
    return float(json.loads(printed)["jobs"][0]["read"]["iops"])


def searched(file: Path, seed: int, folder: Path, join: Callable[[], None]) -> tuple[float, float]:
    """Return the highest load that is kept and the lowest that is missed: 0 and infinity where there is none."""
    program = shutil.which("iogauge", path=str(ROOT / ".venv/bin")) or "iogauge"
    options = ["--limit", LIMIT, "--size", SIZE, "--precision", PRECISION, "--seed", str(seed)]
    output_of([program, "find", str(file), *options, "--output", str(folder)], join)
    search = iogauge.open_review(folder).suite("find").conclusions.search
    assert search is not None
    return search.holds or 0.0, search.breaks or float("inf")


def main(file: Path, searches: int, first_seed: int) -> None:
    """Print each interval beside what fio reads, and how many hold it."""
    if os.geteuid() != 0:
        sys.exit("bench.capped needs root, to make a control group")
    made = not file.exists()
    if made:
        fill = ["--rw=write", "--bs=1m", "--direct=1", "--refill_buffers"]
        command = ["fio", "--name=fill", f"--filename={file}", f"--size={SIZE}", *fill]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    holding = 0
    try:
        with capped(disk_of(file)) as join, tempfile.TemporaryDirectory() as folder:
            for seed in range(first_seed, first_seed + searches):
                before, began = passed(file, join), time.monotonic()
                low, high = searched(file, seed, Path(folder) / str(seed), join)
                took_s = time.monotonic() - began
                after = passed(file, join)
                holds = low <= min(before, after) and max(before, after) <= high
                holding += holds
                print(
                    f"seed {seed}: {low:,.0f} to {high:,.0f} IOPS in {took_s:.0f} s; fio reads {before:,.0f} before "
                    f"and {after:,.0f} after: {'holds' if holds else 'DOES NOT HOLD'}",
                    flush=True,
                )
    finally:
        if made:
            file.unlink()
    print(f"{holding} of {searches} intervals hold the limit")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(value) for value in [*sys.argv[2:], "10", "0"][:2]))
