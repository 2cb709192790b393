"""A machine that can be tuned: a recorded tree whose files behave as the kernel's, and processes killed on the way.

``Kernel`` is the door to it. All its state is in files, so an owner, its guardian and the next start share it as they
share a real /sys. A ``Clock`` ticks before and after everything that leaves a trace: a setting that changes, a piece of
a journal's line, a sync, a rename. At one tick of a process, SIGKILL ends it; over all ticks there is no instant left
out, and no test waits for time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.machine.tuning import guardian, journal, session
from iogauge.machine.tuning.door import Door
from iogauge.machine.tuning.journal import State
from iogauge.machine.tuning.owner import Owner
from iogauge.machine.tuning.profile import Profile
from tests.audit_trees import Tree, build, write

APST_ON = "on:" + "a0" * 256


@dataclass
class Clock:
    """Counts the instants of one process, and ends it at one of them."""

    ticks: int = 0
    end_at: int | None = None
    end: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGKILL)

    def tick(self) -> None:
        """Let an instant pass."""
        self.ticks += 1
        if self.end_at is not None and self.ticks >= self.end_at:
            self.end()


@dataclass
class Disk:
    """Stands for ``os`` in the journal: every call that leaves a trace is an instant, a written line two."""

    clock: Clock

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write in two pieces, with an instant between."""
        middle = len(data) // 2
        self.clock.tick()
        os.write(descriptor, data[:middle])
        self.clock.tick()
        os.write(descriptor, data[middle:])
        self.clock.tick()
        return len(data)

    def fsync(self, _: int) -> None:
        """Pass: a kill loses nothing that was written, and syncing a thousand times takes minutes."""
        self.clock.tick()

    def open(self, *arguments: Any) -> int:
        """Open, which can create a file."""
        self.clock.tick()
        return os.open(*arguments)

    def ftruncate(self, descriptor: int, size: int) -> None:
        """Empty the lock file."""
        self.clock.tick()
        os.ftruncate(descriptor, size)


class Kernel(Door):
    """The settings of a recorded machine."""

    def __init__(self, folder: Path, clock: Clock | None = None, *, managed: tuple[int, ...] = ()) -> None:
        super().__init__(folder / "sys", folder / "proc")
        self.clock = clock or Clock()
        self.managed = managed
        """Interrupts that nobody may move."""
        self.stubborn: dict[str, str] = {}
        """Files, by their name, that take any value without an error and then have this one."""
        self.held_us: int | None = None
        self._memory = folder.with_name(folder.name + "-memory")

    def write(self, place: str, value: str) -> None:
        """Change a value, with an instant before and after."""
        self.clock.tick()
        super().write(place, value)
        self.clock.tick()

    def _write(self, path: Path, value: str) -> None:
        text = path.read_text()
        if path.name == "smp_affinity_list" and int(path.parent.name) in self.managed:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if re.search(r"\[[^]]+\]", text):
            words = text.replace("[", "").replace("]", "").split()
            if value not in words:
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
            new = " ".join(f"[{word}]" if word == value else word for word in words) + "\n"
        else:
            new = self.stubborn.get(path.name, value) + "\n"
        if path.name == "energy_performance_preference" and value != "performance":
            governor = path.with_name("scaling_governor")
            if governor.exists() and governor.read_text() == "performance\n":
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        if path.name.endswith("_aspm") and self._memory_of(path).exists():
            return  # the policy performance keeps every state off
        if path.name == "scaling_governor":
            self._coupled([path.with_name("energy_performance_preference")], "performance", value)
        if path.as_posix().endswith("pcie_aspm/parameters/policy"):
            self._coupled(sorted(self.sys.glob("devices/pci*/**/link/*_aspm")), "0", value)
        self._replace(path, new)

    def _coupled(self, files: list[Path], forced: str, value: str) -> None:
        """Give files the value that ``performance`` forces on them, or the ones from before."""
        for path in filter(Path.exists, files):
            memory = self._memory_of(path)
            if value == "performance" and not memory.exists():
                self._replace(memory, path.read_text())
                self._replace(path, f"{forced}\n")
            elif value != "performance" and memory.exists():
                self._replace(path, memory.read_text())
                memory.unlink()

    def _memory_of(self, path: Path) -> Path:
        """Return where the value is kept that ``performance`` displaced."""
        return self._memory / str(path.resolve().relative_to(self.sys.resolve())).replace("/", "!")

    def _replace(self, path: Path, text: str) -> None:
        """Change a file at one instant, as the kernel changes a setting."""
        self._memory.mkdir(exist_ok=True)
        temporary = self._memory / "new"
        temporary.write_text(text)
        temporary.replace(path)

    def hold_latency(self, most_us: int) -> int:
        """Return a descriptor; no file changes, as the kernel's does not."""
        self.held_us = most_us
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    def _signal(self, pid: int, start: int, value: str) -> None:
        self._process(pid, start)
        letter = {"stopped": "T", "running": "S"}[value]
        path = self.proc / str(pid) / "stat"
        self._replace(path, re.sub(r"\) [A-Z]", f") {letter}", path.read_text()))

    def _feature(self, controller: str, serial: str, number: int, value: str | None) -> str:
        path = self.sys.parent / "features" / f"{controller}-{serial}-{number:02x}"
        if value is not None:
            self._replace(path, f"{value}\n")
        return path.read_text().strip()


def machine(name: str, folder: Path) -> Tree:
    """Build a recorded machine with all that tuning reads, and which an audit does not."""
    tree = build(name, folder)
    for number in tree.subject.interrupts:
        write(folder / f"proc/irq/{number}/smp_affinity_list", "0-3")
    for comm in (folder / "proc").glob("[0-9]*/comm"):
        fields = " ".join(["S", *map(str, range(2, 50))])
        write(comm.with_name("stat"), f"{comm.parent.name} ({comm.read_text().strip()}) {fields}")
    for policy in (folder / "sys/devices/system/cpu/cpufreq").glob("policy*"):
        write(policy / "cpuinfo_min_freq", "800000")
        write(policy / "cpuinfo_max_freq", "3500000")
    if tree.subject.nvme is not None:
        write(tree.subject.nvme / "serial", "S1")
        write(folder / f"features/{tree.subject.nvme.name}-S1-08", "0x103")
        write(folder / f"features/{tree.subject.nvme.name}-S1-0c", APST_ON)
    return tree


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file and link of a tree."""
    return {
        str(path.relative_to(folder)): os.fsencode(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@dataclass
class Rig:
    """Tunes one machine in processes of its own, and ends them where it is told to."""

    folder: Path
    tree: Tree
    profile: Profile
    state: Path
    before: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = contents(self.folder)

    def tune(self, *, owner_at: int | None = None, guardian_at: int | None = None) -> tuple[int, int]:
        """Tune once, and wait until owner and guardian have ended; return how many instants each has lived.

        A process that is ended lives no longer than that, so its count is 0.
        """
        reports = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forking beside threads: the children start none
            reader = _forked(lambda pipe: self._own(Clock(end_at=owner_at), guardian_at, pipe))
        with os.fdopen(reader, "rb") as pipe:  # at its end when nobody holds it any longer
            for line in pipe:
                who, _, text = line.decode().partition(" ")
                assert text.strip().isdecimal(), (who, text)
                reports[who] = int(text)
        self._wait_for_lock()
        return reports.get("owner", 0), reports.get("guardian", 0)

    def recover(self, *, end_at: int | None = None) -> int:
        """Recover as the next start does, in a process of its own; return its instants."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = _forked(lambda pipe: self._recover(Clock(end_at=end_at), pipe))
        with os.fdopen(reader, "rb") as pipe:
            line = pipe.read().decode()
        assert line == "" or line.startswith("next "), line
        self._wait_for_lock()
        return int(line.split()[1]) if line else 0

    def _wait_for_lock(self) -> None:
        """Wait until the kernel has taken the lock from a dead process: it closes the pipe a moment earlier."""
        with State(self.state).locked(wait=True):
            pass

    def changed(self) -> list[str]:
        """Return the files that are not as before."""
        now = contents(self.folder)
        return sorted(path for path in self.before.keys() | now if self.before.get(path) != now.get(path))

    def _own(self, clock: Clock, guardian_at: int | None, pipe: int) -> None:
        journal.os = Disk(clock)  # type: ignore[attr-defined]

        @contextlib.contextmanager
        def guard(state: State, door: Door) -> Iterator[None]:
            owner = Owner.of_this_process()
            ready, is_ready = os.pipe()
            wait, end = os.pipe()
            pid = os.fork()
            if pid == 0:
                keep = {is_ready, wait, pipe}
                _child(lambda: self._guard(owner, guardian_at, wait, is_ready, pipe), pipe, keep)
            os.close(is_ready)
            os.close(wait)
            assert os.read(ready, 1) == guardian.READY
            yield
            os.close(end)
            os.waitpid(pid, 0)

        with session.tuned(
            self.profile,
            self.tree.subject,
            on_message=lambda _: None,
            state_dir=self.state,
            door=Kernel(self.folder, clock),
            guard=guard,
        ):
            clock.tick()
        os.write(pipe, f"owner {clock.ticks}\n".encode())

    def _guard(self, owner: Owner, end_at: int | None, wait: int, ready: int, pipe: int) -> None:
        clock = Clock(end_at=end_at)
        journal.os = Disk(clock)  # type: ignore[attr-defined]
        os.setsid()
        guardian.watch(owner.pid, owner.start, pipe=wait, ready=ready)
        guardian.recover_from(
            State(self.state), Kernel(self.folder, clock), owner=owner.pid, start=owner.start
        )
        os.write(pipe, f"guardian {clock.ticks}\n".encode())

    def _recover(self, clock: Clock, pipe: int) -> None:
        journal.os = Disk(clock)  # type: ignore[attr-defined]
        door = Kernel(self.folder, clock)
        session.recover(self.tree.subject.host, lambda _: None, state_dir=self.state, door=door)
        os.write(pipe, f"next {clock.ticks}\n".encode())


def _forked(work: Callable[[int], None]) -> int:
    """Run ``work`` in another process; return a pipe that ends when it and all its children have ended."""
    reader, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(lambda: work(pipe), pipe, {pipe})
    os.close(pipe)
    os.waitpid(pid, 0)
    return reader


def _child(work: Callable[[], None], pipe: int, keep: set[int]) -> None:
    """Run ``work`` and end. Descriptors of the parent, locks among them, are closed first."""
    try:
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
            if int(name) > 2 and int(name) not in keep:
                with contextlib.suppress(OSError):
                    os.close(int(name))
        work()
    except BaseException:
        os.write(pipe, f"error {traceback.format_exc()!r}\n".encode())
    os._exit(0)
