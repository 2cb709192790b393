"""Applies a function to many reviews, in processes of low priority: a measurement on this machine comes first.

A review may come from a stranger, and be made to end the process that reads it. Then those that were being read are
read one by one, and only that one has no result.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from threading import Event, Thread
from types import ModuleType
from typing import Any, TypeVar

FEW = 24
"""So many reviews are read in this process where that is allowed: others would take longer to start."""
MEMORY_BYTES = 2 << 30
"""What the kernel allows a process."""
NICE = 19
"""Added to the priority of a process: on a machine that is always busy, reading takes minutes."""
CHUNK = 8
"""So many reviews a process reads at a time."""
_AHEAD = 4
"""Chunks begun for each process before the first is taken."""
_LOOK_S = 0.2
"""How often a wait for a result looks whether it is to stop."""

S = TypeVar("S")
T = TypeVar("T")


def results_of(
    function: Callable[[S], T],
    items: Sequence[S],
    *,
    ended_early: Callable[[S], T],
    stop: Event,
    few: int = FEW,
    chunk: int = CHUNK,
) -> Iterator[tuple[S, T]]:
    """Yield the items with their results, in order, until ``stop`` is set, which ends the processes.

    ``ended_early`` gives the result of an item that ended its process. Up to ``few`` items are read in this process; of
    more, each process reads ``chunk`` at a time.
    """
    if len(items) <= few:
        for item in items:
            if stop.is_set():
                return
            yield item, function(item)
        return
    processes = len(os.sched_getaffinity(0))
    done = 0
    while done < len(items) and not stop.is_set():
        try:
            for pair in _read(
                function, items[done:], processes=processes, chunk=chunk, ahead=_AHEAD, stop=stop
            ):
                yield pair
                done += 1
        except BrokenProcessPool:
            # It was one of those that had begun, and nothing says which.
            begun = items[done : done + chunk * _AHEAD * processes]
            for pair in _one_by_one(function, begun, ended_early=ended_early, stop=stop):
                yield pair
                done += 1


def _one_by_one(
    function: Callable[[S], T], items: Sequence[S], *, ended_early: Callable[[S], T], stop: Event
) -> Iterator[tuple[S, T]]:
    done = 0
    while done < len(items) and not stop.is_set():
        try:
            for pair in _read(function, items[done:], processes=1, chunk=1, ahead=1, stop=stop):
                yield pair
                done += 1
        except BrokenProcessPool:
            yield items[done], ended_early(items[done])
            done += 1


def _read(
    function: Callable[[S], T],
    items: Sequence[S],
    *,
    processes: int,
    chunk: int,
    ahead: int,
    stop: Event,
) -> Iterator[tuple[S, T]]:
    """Yield items with their results from processes. Raises BrokenProcessPool if one of these ends early."""
    chunks = iter([items[first : first + chunk] for first in range(0, len(items), chunk)])
    with ProcessPoolExecutor(processes, mp_context=_Context(), initializer=_begin, initargs=(NICE,)) as pool:
        running: deque[tuple[Sequence[S], Future[list[T]]]] = deque()
        try:
            while not stop.is_set():
                while len(running) < ahead * processes and (following := next(chunks, None)):
                    running.append((following, pool.submit(_apply, function, following)))
                if not running:
                    return
                these, results = running.popleft()
                while not wait([results], _LOOK_S).done:
                    if stop.is_set():
                        return
                yield from zip(these, results.result(), strict=True)
        finally:
            # Nobody wants what they still read, and the executor itself would wait for it.
            for process in list((pool._processes or {}).values()):
                process.kill()


class _Process(SpawnProcess):
    """A process that does not run the main module of this one again.

    Python's would, to find there what it is sent. A script of a user that has no ``if __name__ == "__main__"`` would
    begin anew in it.
    """

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = main


class _Context(SpawnContext):
    """Starts such processes. A fork would copy the locks of this process's other threads."""

    Process = _Process


def _apply(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    return [function(item) for item in items]


def _begin(nice: int) -> None:
    """Prepare a process: it yields to all others, has bounded memory, leaves Ctrl-C to its parent, and ends with it."""
    import pyarrow as pa

    os.nice(nice)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_cpu_count(1)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or most > MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent = multiprocessing.parent_process()
    assert parent is not None
    Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
