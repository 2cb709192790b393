"""Applies a function to many reviews, in processes of low priority: a measurement on this machine comes first.

A few reviews are read in this process, since others would take longer to start.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from threading import Event, Thread
from typing import TypeVar

from iogauge.errors import IogaugeError

FEW = 24
"""So many reviews are read here."""
_CHUNK = 8
_AHEAD = 4
"""Chunks begun for each process before the first is taken."""

S = TypeVar("S")
T = TypeVar("T")


def results_of(function: Callable[[S], T], items: Sequence[S], *, stop: Event) -> Iterator[tuple[S, T]]:
    """Yield the items with their results, in order, until ``stop`` is set.

    Raises IogaugeError if a process ends early, killed for its memory perhaps.
    """
    if len(items) <= FEW:
        for item in items:
            if stop.is_set():
                return
            yield item, function(item)
        return
    chunks = iter([items[first : first + _CHUNK] for first in range(0, len(items), _CHUNK)])
    processes = len(os.sched_getaffinity(0))
    # A fork would copy the locks of this process's other threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin) as pool:
        running: deque[tuple[Sequence[S], Future[list[T]]]] = deque()
        try:
            while not stop.is_set():
                while len(running) < _AHEAD * processes and (chunk := next(chunks, None)):
                    running.append((chunk, pool.submit(_apply, function, chunk)))
                if not running:
                    return
                chunk, results = running.popleft()
                yield from zip(chunk, results.result(), strict=True)
        except BrokenProcessPool as error:
            raise IogaugeError(
                "a process that read reviews ended early",
                hint="free some memory; the reviews that were read until then are kept",
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _apply(function: Callable[[S], T], items: Sequence[S]) -> list[T]:
    return [function(item) for item in items]


def _begin() -> None:
    """Prepare a process: it yields to all others, leaves Ctrl-C to its parent, and ends with it."""
    import pyarrow as pa

    os.nice(19)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_cpu_count(1)
    parent = multiprocessing.parent_process()
    assert parent is not None
    Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
