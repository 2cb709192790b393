"""Fleets of real processes: the command that runs one, what it says, its processes, and what it saved."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from iogauge.fleet import open_fleet
from iogauge.store import Review

SUITE = """
name = "few"
title = "A few writes"
axis = {{ name = "writes in flight", unit = "in flight" }}

[options]
rw = "randwrite"
bs = "4k"
io_size = "{kib}k"
rate_iops = 2000
time_based = false
ramp_time = "0"
"""
STEP = """
[[step]]
at = {depth}
options = {{ iodepth = {depth} }}
"""
DEPTHS = (1, 4)
SEED = 11
WAIT_S = 120
IOGAUGE = (sys.executable, "-m", "iogauge")


class Command:
    """A command that runs in a folder, which is its home; its output comes line by line."""

    def __init__(self, folder: Path, *command: str, state: str = "state") -> None:
        """``state``: where below the folder it keeps the user's state."""
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / state)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._lines: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._changed = threading.Condition()
        self._open = 2
        for name, stream in (("stdout", self._process.stdout), ("stderr", self._process.stderr)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> str:
        return "".join(self._lines["stdout"])

    @property
    def stderr(self) -> str:
        return "".join(self._lines["stderr"])

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def says(self, text: str) -> bool:
        """Wait for a text on its standard error, or its end; return whether it came."""
        with self._changed:
            self._changed.wait_for(lambda: text in self.stderr or not self._open, WAIT_S)
        return text in self.stderr

    def until(self, text: str) -> None:
        """Wait for a text on its standard error."""
        assert self.says(text), self.stderr

    def word_after(self, text: str) -> str:
        """Return the word after a text that it has said on its standard error."""
        return self.stderr.partition(text)[2].split()[0]

    def status(self) -> int:
        """Wait until it has ended; return its exit status."""
        try:
            return self._process.wait(WAIT_S)
        finally:
            with self._changed:
                self._changed.wait_for(lambda: not self._open, 5)

    def ends_within(self, seconds: float) -> bool:
        """Wait so long for its end; return whether it came."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return not self.is_running

    def kill(self) -> None:
        self._process.kill()

    def _read(self, name: str, stream: Iterator[str]) -> None:
        for line in stream:
            with self._changed:
                self._lines[name].append(line)
                self._changed.notify_all()
        with self._changed:
            self._open -= 1
            self._changed.notify_all()


def review(folder: Path, *arguments: str, on: Sequence[str] = ()) -> Command:
    """Begin or resume a fleet. ``on``: what begins the command on another computer."""
    return Command(folder, *on, *IOGAUGE, "fleet", "review", *arguments, "--yes")


def plan(folder: Path, *, ios: int, depths: Sequence[int] = DEPTHS) -> tuple[str, ...]:
    """Return the options of a review whose steps each issue so many requests, 2000 a second if they can."""
    steps = [STEP.format(depth=depth) for depth in depths]
    (folder / "few.toml").write_text(SUITE.format(kib=4 * ios) + "".join(steps))
    # Steps that a busy machine slows down still complete.
    return ("--suite", str(folder / "few.toml"), "--runtime", "60s", "--size", "1m", "--seed", str(SEED))


def processes(folder: Path) -> list[psutil.Process]:
    """Return the processes whose home is a folder: all that a test has started."""
    started = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HOME") == str(folder):
                started.append(process)
    return started


def workers(folder: Path) -> dict[str, psutil.Process]:
    """Return the processes of hosts by their names."""
    by_name = {}
    for process in processes(folder):
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if "--no-nanny" in words:
                by_name[words[words.index("--name") + 1]] = process
    return by_name


def reviewing(worker: psutil.Process) -> psutil.Process | None:
    """Return the process that runs a host's review now, if there is one."""
    with contextlib.suppress(psutil.Error):
        for process in worker.children():
            if "iogauge.fleet.host.child" in process.cmdline():
                return process
    return None


def require_reviews_end(folder: Path) -> None:
    """Wait until no review of a host runs any more: leases end, and reviews with them."""
    running = []
    for process in processes(folder):
        with contextlib.suppress(psutil.Error):
            if "iogauge.fleet.host.child" in process.cmdline():
                running.append(process)
    _, left = psutil.wait_procs(running, timeout=WAIT_S)
    assert left == []


def kill_all(folder: Path) -> None:
    """Kill what a test has left, and wait until it is gone."""
    left = processes(folder)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=10)


def outcomes(directory: Path) -> dict[str, str]:
    """Return what became of each host of a saved fleet."""
    return {host.name: host.outcome.value for host in open_fleet(directory).hosts}


def require_whole_steps(directory: Path, *, ios: int) -> None:
    """Check all that is saved of a fleet: each step is whole, done hosts have all, figures name who is missing."""
    fleet = open_fleet(directory)
    complete = {host.name: _complete(directory / "hosts" / host.name, ios=ios) for host in fleet.hosts}
    for host in fleet.hosts:
        if host.outcome.value == "done":
            assert complete[host.name] == set(fleet.steps), host
    for step in fleet.steps:
        (group,) = fleet.merged(step)
        have = {name for name, steps in complete.items() if step in steps}
        assert {*group.hosts, *group.apart} == have
        assert set(group.missing) == {host.name for host in fleet.hosts} - have


def _complete(directory: Path, *, ios: int) -> set[str]:
    """Return the complete steps of a host; each issued what it does alone, and none was interrupted."""
    if not (directory / "manifest.json").exists():
        return set()
    review = Review.open(directory)
    for step in review.completed():
        result = review.record(step).result
        assert result.stopped_by is None
        assert sum(tally.ios for row in result.rows for tally in row.tallies.values()) == ios
    return set(review.completed())


@contextlib.contextmanager
def ended(folder: Path) -> Iterator[Path]:
    """Yield a folder as the home of processes, which all end with the context."""
    try:
        yield folder
    finally:
        kill_all(folder)


def shown(directory: Path, folder: Path) -> str:
    """Return what the user is shown of a saved fleet."""
    show = Command(folder, *IOGAUGE, "fleet", "show", str(directory))
    if show.status():
        pytest.fail(show.stderr)
    return show.stdout
