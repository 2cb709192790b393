"""Identifies a process by its number and the time of its start, since Linux uses numbers again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Owner:
    """A process: its number, the time of its start in clock ticks since boot, and the boot."""

    pid: int
    start: int
    boot: str

    @classmethod
    def of_this_process(cls) -> Owner:
        """Return the process that asks."""
        return cls(os.getpid(), start_of(os.getpid()) or 0, boot_id())

    @property
    def alive(self) -> bool:
        """Whether it still runs. A zombie has ended."""
        same = self.boot == boot_id() and start_of(self.pid) == self.start
        return same and state_of(self.pid) not in ("Z", "X")


def boot_id() -> str:
    """Return the identity that the kernel gave to this boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def start_of(pid: int, proc: Path = PROC) -> int | None:
    """Return when a process started, in clock ticks since boot; None: it has ended. Source: proc_pid_stat(5)."""
    fields = _fields(pid, proc)
    return int(fields[19]) if fields else None


def state_of(pid: int, proc: Path = PROC) -> str:
    """Return the state of a process: R, S, T (stopped), Z (a zombie); empty: it has ended."""
    fields = _fields(pid, proc)
    return fields[0] if fields else ""


def _fields(pid: int, proc: Path) -> list[str]:
    """Return the fields of a process's stat file from its state on; none: it has ended."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # a name may hold blanks and brackets
