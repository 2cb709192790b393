"""Run iogauge and fio by their command lines, with the same options.

Both return fio's JSON, of which ``Outcome`` has the figures that are compared. ``process_user_s`` is the operating
system's figure; it includes what a program costs outside its worker's thread.
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

Job = Mapping[str, str | int]
"""fio options by name; flags are 0 and 1, which both programs take."""


class PeerError(Exception):
    """A program failed, or its run cannot be compared; the message has its output."""


@dataclass(frozen=True)
class Outcome:
    """One run of one program. Per-I/O figures are in nanoseconds."""

    iops: float
    total_ios: int
    runtime_s: float
    user_ns_per_io: float
    system_ns_per_io: float
    lat_mean_ns: float
    wall_s: float
    """The whole process, from start to exit."""
    process_user_s: float
    """User time of the whole process, start-up included."""
    job: dict[str, Any]
    """The job's part of the JSON."""

    @property
    def in_flight(self) -> float:
        """The mean number of requests in flight, by Little's law."""
        return self.iops * self.lat_mean_ns / 1e9

    @property
    def direction(self) -> dict[str, Any]:
        """The direction that completed the most I/Os."""
        return active(self.job)


Runner = Callable[[Job], Outcome]


def active(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the direction of fio's JSON job that completed the most I/Os.

    >>> active({"read": {"total_ios": 0}, "write": {"total_ios": 3}, "trim": {"total_ios": 0}})
    {'total_ios': 3}
    """
    directions: list[dict[str, Any]] = [job[name] for name in ("read", "write", "trim")]
    return max(directions, key=lambda direction: int(direction["total_ios"]))


def arguments(job: Job) -> list[str]:
    """Return ``job`` as command-line options.

    >>> arguments({"rw": "randread", "iodepth": 32})
    ['--name=bench', '--rw=randread', '--iodepth=32']
    """
    return ["--name=bench", *(f"--{name}={value}" for name, value in job.items())]


def command_of(checkout: Path) -> Path:
    """Return the iogauge of a checkout of this repository."""
    return checkout / ".venv" / "bin" / "iogauge"


IOGAUGE = command_of(ROOT)


def iogauge(
    job: Job, *, pin: int | None = None, options: Sequence[str] = (), checkout: Path = ROOT
) -> Outcome:
    """Run ``job`` with the iogauge of a checkout; ``options`` are iogauge's own, before the job's."""
    command = [str(command_of(checkout)), "run", "--output-format=json+", *options]
    return run([*command, *arguments(job)], pin=pin)


def fio(job: Job, *, pin: int | None = None) -> Outcome:
    """Run ``job`` with fio from the path, statistics as by default, as a thread."""
    return fio_as_typed({**job, "thread": 1}, pin=pin)


def fio_as_typed(job: Job, *, pin: int | None = None) -> Outcome:
    """Run ``job`` with fio from the path and no further option: its worker is a process on any CPU."""
    return run(["fio", "--output-format=json", *arguments(job)], pin=pin)


def fio_version() -> str | None:
    """Return the version of fio, or None if it is not installed."""
    if shutil.which("fio") is None:
        return None
    return subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()


def run(command: Sequence[str], *, pin: int | None) -> Outcome:
    """Run a command that prints fio's JSON, pinned to CPU ``pin`` unless that is None.

    Raises PeerError if it fails, completes nothing or reports an error of its own.
    """
    pinned = ["taskset", "--cpu-list", str(pin), *command] if pin is not None else list(command)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    stdout = printed(pinned)
    wall_s = time.monotonic() - began
    process_user_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before.ru_utime
    (job,) = jobs_of(stdout)
    return outcome(job, command, wall_s=wall_s, process_user_s=process_user_s)


def environment() -> dict[str, str]:
    """Return the environment of a user's program. Users start compiled modules, so Python may keep them."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def printed(command: Sequence[str], *, cwd: Path | None = None) -> str:
    """Run a command and return what it printed. Raises PeerError if it fails."""
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env=environment(),
    )
    if ran.returncode != 0:
        raise PeerError(f"{' '.join(command)}: exit status {ran.returncode}\n{ran.stderr.strip()[-2000:]}")
    return ran.stdout


def jobs_of(stdout: str) -> list[dict[str, Any]]:
    """Return the jobs in fio's JSON; fio prints warnings before it."""
    jobs: list[dict[str, Any]] = json.loads(stdout[stdout.index("{") :])["jobs"]
    return jobs


def outcome(
    job: dict[str, Any],
    command: Sequence[str],
    *,
    wall_s: float = math.nan,
    process_user_s: float = math.nan,
) -> Outcome:
    """Return what one job in a command's JSON measured. Of one among several, the process's figures are unknown.

    Raises PeerError if it completes nothing or reports an error of its own.
    """
    direction = active(job)
    if job["error"] or not direction["total_ios"]:
        raise PeerError(f"{' '.join(command)}: error {job['error']}, {direction['total_ios']} I/Os")
    runtime_ns, total_ios = float(direction["runtime"]) * 1e6, int(direction["total_ios"])
    return Outcome(
        iops=float(direction["iops"]),
        total_ios=total_ios,
        runtime_s=runtime_ns / 1e9,
        user_ns_per_io=float(job["usr_cpu"]) / 100 * runtime_ns / total_ios,
        system_ns_per_io=float(job["sys_cpu"]) / 100 * runtime_ns / total_ios,
        lat_mean_ns=float(direction["lat_ns"]["mean"]),
        wall_s=wall_s,
        process_user_s=process_user_s,
        job=job,
    )
