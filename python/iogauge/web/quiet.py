"""Keeps the server from slowing a measurement on the same computer.

Workers of a run are pinned, each to a CPU of its own. The server and the processes that it uses leave these CPUs to
them as long as there are others, and have a low priority wherever they run. Reviews that pages start are no part of the
server: each has a session of its own, and the priority and the CPUs that the server was started with.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.live.finding import FeedInfo, feeds

NICE = 10
"""The server's nice value."""
_ALL = frozenset(os.sched_getaffinity(0))
"""The CPUs that the process was started with."""
_kept: set[int] = set()
"""Threads of this process that keep their priority and their CPUs."""


def keep_priority() -> None:
    """Let the calling thread keep its priority and its CPUs, for processes that it starts."""
    _kept.add(threading.get_native_id())


def lower_priority() -> None:
    """Give way to every other process. Linux has a priority for each thread; a new one inherits it."""
    for thread in _own_threads():
        _lower(thread)


def leave_workers_cpus() -> None:
    """Move the server off the CPUs to which workers of running measurements are pinned, and lower its priority.

    The server is this process and its descendants, but those with a session of their own.
    """
    taken = frozenset().union(*(pinned_cpus(feed.pid) for feed in feeds()))
    cpus = (_ALL - taken) or _ALL
    for thread in [*_own_threads(), *(thread for pid in _descendants() for thread in _threads(pid))]:
        _lower(thread)
        with contextlib.suppress(OSError):  # the thread has ended
            if os.sched_getaffinity(thread) != cpus:
                os.sched_setaffinity(thread, cpus)


def require_quiet(what: str, running: Sequence[FeedInfo]) -> None:
    """Raise IogaugeError if a measurement of a real drive is running, from which ``what`` would take CPU time."""
    real = [feed for feed in running if not feed.virtual]
    if real:
        raise IogaugeError(
            f"a measurement is running ({real[0].title}), and {what} would take CPU time from it",
            hint="wait until it ends, then load this page again",
        )


def pinned_cpus(pid: int) -> frozenset[int]:
    """Return the CPUs to which threads of a process are pinned alone; none if the process has ended."""
    cpus = []
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            cpus.append(os.sched_getaffinity(thread))
    return frozenset(cpu for own in cpus if len(own) == 1 for cpu in own)


def _lower(thread: int) -> None:
    with contextlib.suppress(OSError):  # the thread has ended
        if os.getpriority(os.PRIO_PROCESS, thread) < NICE:
            os.setpriority(os.PRIO_PROCESS, thread, NICE)


def _own_threads() -> list[int]:
    return [thread for thread in _threads(os.getpid()) if thread not in _kept]


def _threads(pid: int) -> Iterable[int]:
    try:
        return [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []


def _descendants() -> list[int]:
    """Return the processes below this one that have its session."""
    children: dict[int, list[int]] = {}
    session = os.getsid(0)
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # the process has ended
                # After the name, which can have any characters: state, parent, process group, session.
                parent, _, own_session = (entry / "stat").read_bytes().rpartition(b")")[2].split()[1:4]
                if int(own_session) == session:
                    children.setdefault(int(parent), []).append(int(entry.name))
    below = list(children.get(os.getpid(), ()))
    for pid in below:  # it grows: children of children follow
        below += children.get(pid, ())
    return below
