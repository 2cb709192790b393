"""Time the commands around a measurement: ``plan``, and ``show``, ``compare`` and ``report`` of saved reviews.

The reviews are default ones of two drive models. Each command is timed as a process, in two states of the reviews:
``first``, before any figures were computed, and with the figures that an earlier command saved there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import peers
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note

DRIVES = ("p4800x", "p3700")
COMPUTED = "computed.json"
"""The file in a saved review that keeps computed figures."""
PLAN = "plan"


@dataclass(frozen=True)
class Command:
    """A command on the reviews ``p4800x`` and ``p3700``, run where they are; and the longest that it should take."""

    arguments: str
    goal_s: float | None = None


COMMANDS: Mapping[str, Command] = {
    PLAN: Command("plan model:p4800x", 1),
    "show": Command("show p4800x", 1),
    "compare": Command("compare p4800x p3700", 3),
    "report": Command("report p4800x --output report.html"),
    "report-md": Command("report p4800x --format md --output report.md"),
}


@dataclass(frozen=True)
class Took:
    """The cost of one process. A busy machine stretches ``wall_s`` alone."""

    wall_s: float
    cpu_s: float


def times(settings: Settings) -> Finding:
    """Measure the wall time of every command, and its CPU time."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    with reviews() as folder:
        for name, command in COMMANDS.items():
            for first in turns(name):
                label = f"{name}, first" if first else name
                took = [one_run(name, folder, first=first) for _ in range(settings.pairs + 1)][1:]
                note(f"{label}: {', '.join(f'{one.wall_s:.2f}' for one in took)} s")
                wall_s, cpu_s = ([getattr(one, of) for one in took] for of in ("wall_s", "cpu_s"))
                samples |= {f"{label}_wall_s": wall_s, f"{label}_cpu_s": cpu_s}
                median, goal_s = Estimate.of(wall_s).median, command.goal_s
                goal = f"< {goal_s:g}" if goal_s else ""
                rows.append(Row(label, "s", median, goal=goal, met=median < goal_s if goal_s else None))
                rows.append(Row(label, "s of CPU", Estimate.of(cpu_s).median))
    return Finding(rows=rows, samples=samples)


@contextmanager
def reviews(checkout: Path = peers.ROOT) -> Iterator[Path]:
    """Yield a folder with a saved review of each drive, made by a checkout's iogauge."""
    with tempfile.TemporaryDirectory() as folder:
        for drive in DRIVES:
            note(f"commands: a review of {drive}")
            run(f"review model:{drive} --seed 1 --output {drive}", Path(folder), checkout)
        yield Path(folder)


def turns(name: str) -> tuple[bool, ...]:
    """Return the values of ``first`` with which a command is timed, in order; a plan reads no review."""
    return (False,) if name == PLAN else (True, False)


def one_run(name: str, folder: Path, *, first: bool, checkout: Path = peers.ROOT) -> Took:
    """Run a command on the reviews in ``folder``; ``first``: without figures that were computed before."""
    if first:
        for drive in DRIVES:
            (folder / drive / COMPUTED).unlink(missing_ok=True)
    return run(COMMANDS[name].arguments, folder, checkout)


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of the reviews, for another version of iogauge, which computes figures of its own."""
    return Path(shutil.copytree(folder, to))


def run(arguments: str, folder: Path, checkout: Path = peers.ROOT) -> Took:
    """Run a command of a checkout's iogauge in ``folder``. Raises PeerError if it fails."""
    command = [str(peers.command_of(checkout)), *arguments.split()]
    began = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, env=peers.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    wall_s = time.monotonic() - began
    if running.returncode != 0:
        raise peers.PeerError(f"{' '.join(command)}: exit status {running.returncode}")
    return Took(wall_s, used.ru_utime + used.ru_stime)
