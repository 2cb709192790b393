"""What a fleet costs beside the same reviews without it: Dask, TLS, leases, the fetching of files, and the judgement.

``iogauge fleet review --local N --mode independent`` reviews a drive model on N hosts; beside it, N processes of
``iogauge review`` are started at once. Both are timed from their start until the last process has ended. The load of a
model is computed and takes no longer than it must, so the time is that of work, and not of a drive.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # its stubs are a package of their own

from bench import peers
from bench.pairs import interleave
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings, note

HOSTS = (4, 16)
TARGET = "model:p4800x"
REVIEW = ("--suite", "mixed", "--seed", "1")
LENGTH_S = 10
"""The length of a step, in the model's time."""
SAMPLED_S = 0.5
"""Between looks at the memory of all processes."""


@dataclass(frozen=True)
class Cost:
    """What some processes took together, with those that they started."""

    wall_s: float
    cpu_s: float
    peak_bytes: float
    """The proportional set size of all of them at once, at most, as far as it was looked at."""


def overhead(settings: Settings) -> Finding:
    """Compare fleets of two sizes with as many reviews at once, in pairs."""
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    for hosts in HOSTS:
        runs = partial(as_fleet, hosts, settings), partial(alone, hosts, settings)
        ours: list[Cost] = []
        others: list[Cost] = []
        for us, them in interleave(*runs, pairs=settings.pairs):
            ours.append(us)
            others.append(them)
            note(
                f"fleet-overhead {hosts} hosts {len(ours)}/{settings.pairs}: {us.wall_s:.1f} s, "
                f"{us.cpu_s:.1f} s of CPU; without: {them.wall_s:.1f} s, {them.cpu_s:.1f} s of CPU"
            )
        for name, unit, scale in (("wall_s", "s", 1), ("cpu_s", "s of CPU", 1), ("peak_bytes", "MiB", 2**20)):
            mine, theirs = ([getattr(cost, name) / scale for cost in costs] for costs in (ours, others))
            rows.append(ratio_row(f"a fleet of {hosts} hosts / as many reviews", unit, mine, theirs))
            samples |= {f"{hosts}_fleet_{name}": mine, f"{hosts}_reviews_{name}": theirs}
        more = [(us.cpu_s - them.cpu_s) / hosts for us, them in zip(ours, others, strict=True)]
        rows.append(Row(f"of {hosts} hosts, more for each", "s of CPU", sorted(more)[len(more) // 2]))
    return Finding(rows, samples)


def as_fleet(hosts: int, settings: Settings) -> Cost:
    """Review a fleet on this computer."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--local", str(hosts), "--mode", "independent", "--yes", "--output", f"{folder}/fleet"]
        return cost([["fleet", "review", *options, *_load(settings)]], Path(folder))


def alone(hosts: int, settings: Settings) -> Cost:
    """Run as many reviews at once."""
    with tempfile.TemporaryDirectory() as folder:
        load = _load(settings)
        return cost(
            [["review", "--output", f"{folder}/{number}", *load] for number in range(hosts)], Path(folder)
        )


def cost(commands: Sequence[Sequence[str]], folder: Path) -> Cost:
    """Start iogauge with all these arguments at once, wait for the last process, and return what they took.

    Raises PeerError if one fails.
    """
    cpu_s = _children_cpu_s()
    began = time.perf_counter()
    outputs = [folder / f"output-{number}" for number in range(len(commands))]
    processes = []
    for command, output in zip(commands, outputs, strict=True):
        with output.open("wb") as sink:
            processes.append(
                subprocess.Popen(
                    [str(peers.IOGAUGE), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    env=peers.environment(),
                )
            )
    with Memory([process.pid for process in processes]) as memory:
        statuses = [process.wait() for process in processes]
        wall_s = time.perf_counter() - began
    for command, status, output in zip(commands, statuses, outputs, strict=True):
        if status != 0:
            said = output.read_text(errors="replace")
            raise peers.PeerError(f"iogauge {' '.join(command)}: exit status {status}: {said}")
    return Cost(wall_s, _children_cpu_s() - cpu_s, memory.peak_bytes)


class Memory:
    """Looks at the memory of some processes and of all that they started, until the context ends."""

    def __init__(self, pids: Sequence[int]) -> None:
        self.peak_bytes = 0.0
        self._pids = pids
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(SAMPLED_S):
            self.peak_bytes = max(self.peak_bytes, float(sum(map(_tree_bytes, self._pids))))


def _tree_bytes(pid: int) -> int:
    """Return the memory of a process and of those that it started; 0 if it has ended."""
    try:
        top = psutil.Process(pid)
        tree = [top, *top.children(recursive=True)]
    except psutil.Error:
        return 0
    total = 0
    for process in tree:
        try:
            total += process.memory_full_info().pss
        except psutil.Error:
            continue
    return total


def _load(settings: Settings) -> list[str]:
    return [TARGET, *REVIEW, "--runtime", f"{settings.seconds(LENGTH_S)}s"]


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
