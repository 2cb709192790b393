"""How often ``find`` finds the limit of a file; as root: ``python -m bench.capped FILE [--searches N] [--seed N]``.

The kernel caps how often a control group reads the disk below the file, as a cloud caps an instance. Below the cap only
the disk decides how long a request takes; above it the queue grows for as long as one measures. So the most that keeps
a limit is the cap, as long as the disk itself keeps the limit. Before and after each search, fio reads the file as fast
as it may, in the same group: the search's interval has to hold what fio reads.

FILE is made where there is none, and removed at the end.
"""

from __future__ import annotations

import argparse
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
SIZE_BYTES = 1 << 30
PRECISION = "0.05"
GROUPS = Path("/sys/fs/cgroup")

Join = Callable[[], None]
"""Moves the calling process into a control group."""


def disk_of(file: Path) -> str:
    """Return major and minor number of the disk below a file: a partition cannot be capped."""
    number = file.stat().st_dev
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not folder.exists():
        sys.exit(f"{file}: its file system is not on one disk or partition")
    if (folder / "partition").exists():
        folder = folder.parent
    return (folder / "dev").read_text().strip()


@contextlib.contextmanager
def capped(disk: str) -> Iterator[Join]:
    """Make a control group that reads ``disk`` at most ``CAP`` times a second, and yield how to join it."""
    old = GROUPS / "blkio"
    group = (old if old.is_dir() else GROUPS) / f"iogauge-{os.getpid()}"
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


@contextlib.contextmanager
def filled(file: Path) -> Iterator[None]:
    """Make a file where there is none, and remove it in the end."""
    if file.exists():
        if file.stat().st_size < SIZE_BYTES:
            sys.exit(f"{file}: is smaller than {SIZE_BYTES >> 20} MiB")
        yield
        return
    try:
        fio(file, "--rw=write", "--bs=1m", "--refill_buffers")
        yield
    finally:
        file.unlink(missing_ok=True)


def fio(file: Path, *options: str, join: Join | None = None) -> dict[str, float]:
    """Run fio on a file; return what its JSON says of reads."""
    job = ["--name=job", f"--filename={file}", f"--size={SIZE_BYTES}", "--direct=1", "--output-format=json"]
    done = subprocess.run(
        ["fio", *job, *options], check=True, stdout=subprocess.PIPE, text=True, preexec_fn=join
    )
    reads: dict[str, float] = json.loads(done.stdout)["jobs"][0]["read"]
    return reads


def fio_iops(file: Path, join: Join) -> float:
    """Return the reads a second that fio is allowed."""
    load = ("--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=64")
    return fio(file, *load, "--time_based", "--runtime=15", "--ramp_time=2", join=join)["iops"]


def interval_of(file: Path, seed: int, folder: Path, join: Join) -> tuple[float, float]:
    """Return the highest load that is kept and the lowest that is missed: 0 and infinity where there is none."""
    program = shutil.which("iogauge", path=str(ROOT / ".venv/bin")) or "iogauge"
    options = ["--limit", LIMIT, "--size", str(SIZE_BYTES), "--precision", PRECISION, "--seed", str(seed)]
    command = [program, "find", str(file), *options, "--output", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, preexec_fn=join)
    search = iogauge.open_review(folder).suite("find").conclusions.search
    assert search is not None
    return search.holds or 0.0, search.breaks or float("inf")


def main(file: Path, seeds: range) -> None:
    """Print each interval beside what fio reads, and how many hold it."""
    holding = 0
    with filled(file), capped(disk_of(file)) as join, tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            before, began = fio_iops(file, join), time.monotonic()
            low, high = interval_of(file, seed, Path(folder) / str(seed), join)
            took_s = time.monotonic() - began
            after = fio_iops(file, join)
            holds = low <= min(before, after) and max(before, after) <= high
            holding += holds
            print(
                f"seed {seed}: {low:,.0f} to {high:,.0f} IOPS in {took_s:.0f} s; fio reads {before:,.0f} before "
                f"and {after:,.0f} after: {'holds' if holds else 'DOES NOT HOLD'}",
                flush=True,
            )
    print(f"{holding} of {len(seeds)} intervals hold the limit")


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("bench.capped needs root, to make a control group")
    parser = argparse.ArgumentParser(prog="bench.capped")
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--searches", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first search")
    options = parser.parse_args()
    main(options.file, range(options.seed, options.seed + options.searches))
