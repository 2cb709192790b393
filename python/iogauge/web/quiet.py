"""Keeps the server from slowing a measurement on the same computer.

Workers of a run are pinned, each to a CPU of its own. The server leaves these CPUs to them as long as it has others,
and has a low priority wherever it runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from iogauge.live.finding import feeds

NICE = 10
"""The server's nice value."""
_ALL = frozenset(os.sched_getaffinity(0))
"""The CPUs that the process was started with."""


def lower_priority() -> None:
    """Give way to every other process."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


def leave_workers_cpus() -> None:
    """Move all threads of this process off the CPUs to which workers of running measurements are pinned."""
    taken = frozenset().union(*(pinned_cpus(feed.pid) for feed in feeds()))
    cpus = (_ALL - taken) or _ALL
    for thread in _threads(os.getpid()):
        with contextlib.suppress(OSError):  # the thread has ended
            if os.sched_getaffinity(thread) != cpus:
                os.sched_setaffinity(thread, cpus)


def pinned_cpus(pid: int) -> frozenset[int]:
    """Return the CPUs to which threads of a process are pinned alone; none if the process has ended."""
    cpus = []
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            cpus.append(os.sched_getaffinity(thread))
    return frozenset(cpu for own in cpus if len(own) == 1 for cpu in own)


def _threads(pid: int) -> Iterable[int]:
    try:
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
