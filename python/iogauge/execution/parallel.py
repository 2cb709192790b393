"""Begins runs on drive models before their turn, on all CPUs.

A run on drive models depends on its job file and seed alone: the drives begin in the state of their files, and time is
virtual. So threads run what comes next, without the GIL for most of the time, while the caller still executes one run
after the other. In its turn a run hands on its plan, messages and intervals, and returns its record or raises its
error, as if it began only then: what the caller saves does not depend on the number of CPUs.

Never for real targets, which would disturb each other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import islice
from queue import Empty, Full, Queue
from typing import Any

from iogauge.execution.interrupts import STOP_REQUESTS, Interrupts, StopRequests
from iogauge.schema import RunRecord

Execute = Callable[..., RunRecord]
Options = Mapping[str, Any]
"""The arguments of a run, with its ``seed`` and without its listeners."""

_LISTENERS = ("on_interval", "on_message", "on_start")
_WAITING = 1000
"""The most that a run holds before its turn, most of it intervals. Then its thread waits."""
_POLL_S = 0.2


class Parallel(contextlib.AbstractContextManager["Parallel"]):
    """An ``execute`` whose runs can begin before their turn. Leaving the context stops runs that nobody waits for."""

    def __init__(self, execute: Execute, *, cpus: int) -> None:
        self._execute = execute
        # As many again wait for their turn, so that no CPU is idle while a long run has its turn.
        self._most = 2 * cpus if cpus > 1 else 0
        self._begun: dict[int, _Begun] = {}
        self._threads = ThreadPoolExecutor(max_workers=cpus, thread_name_prefix="iogauge-step")

    def begin(self, runs: Iterable[Options]) -> None:
        """Begin the first of ``runs``, which are in the order of their turns, as far as CPUs and memory allow.

        Those of them that have begun may come again. No two may have the same seed.
        """
        for options in islice(runs, self._most):
            if len(self._begun) >= self._most:
                break
            if options["seed"] not in self._begun:
                begun = self._begun[options["seed"]] = _Begun(options)
                begun.begin(self._threads, self._execute)

    def __call__(self, **arguments: Any) -> RunRecord:
        """Execute a run in its turn. Its arguments are those of ``execute``."""
        listeners = {name: arguments[name] for name in _LISTENERS}
        options = {name: value for name, value in arguments.items() if name not in listeners}
        # It stays among those begun until it has ended, so that an interrupt at any instant leaves no thread waiting.
        begun = self._begun.get(options["seed"])
        try:
            if begun and begun.options == options and not begun.cancelled():
                return begun.record(listeners)
        finally:
            if begun:
                begun.abandon()
                del self._begun[options["seed"]]
        return self._execute(**arguments)

    def __exit__(self, *_: object) -> None:
        for begun in self._begun.values():
            begun.abandon()
        self._threads.shutdown()


class _Begun:
    """A run that began before its turn, or waits for a thread."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._news: Queue[tuple[str, tuple[object, ...]] | None] = Queue(_WAITING)
        """Calls of listeners; ``None`` is the end of the run."""
        self._stop = StopRequests()
        self._abandoned = False
        self._ended: Future[RunRecord] = Future()

    def begin(self, threads: ThreadPoolExecutor, execute: Execute) -> None:
        """Begin the run. If an interrupt ends this call, the run may have begun, and is to be abandoned."""
        self._ended = threads.submit(self._run, execute)

    def cancelled(self) -> bool:
        """Return whether no thread was free for the run, which now has none at all."""
        return self._ended.cancel()

    def abandon(self) -> None:
        """Stop the run, whose results nobody needs."""
        self._abandoned = True
        self._stop.request()
        self._ended.cancel()

    def record(self, listeners: Mapping[str, Callable[..., None]]) -> RunRecord:
        """Pass on what the run has to say until it ends, and return its record."""
        failure: Exception | None = None
        with Interrupts() as interrupts:
            while True:
                while self._stop.count < interrupts.count:
                    self._stop.request()
                try:
                    news = self._news.get(timeout=_POLL_S)
                except Empty:
                    continue
                if news is None:
                    break
                if failure is None:
                    name, arguments = news
                    try:
                        listeners[name](*arguments)
                    except Exception as error:
                        failure = error
                        self._stop.request()
            record = self._ended.result()
            if failure is not None:
                raise failure
            if interrupts.count and record.result.stopped_by is None:
                # The run had ended before Ctrl-C came: the next must not have its turn.
                result = record.result.model_copy(update={"stopped_by": "interrupt"})
                record = record.model_copy(update={"result": result})
            return record

    def _run(self, execute: Execute) -> RunRecord:
        STOP_REQUESTS.set(self._stop)
        try:
            return execute(**self.options, **{name: partial(self._say, name) for name in _LISTENERS})
        finally:
            self._put(None)

    def _say(self, listener: str, *arguments: object) -> None:
        self._put((listener, arguments))

    def _put(self, news: tuple[str, tuple[object, ...]] | None) -> None:
        while not self._abandoned:
            with contextlib.suppress(Full):
                self._news.put(news, timeout=_POLL_S)
                return
