"""Counts Ctrl-C during a run, instead of a KeyboardInterrupt between any two instructions.

An exception that can come anywhere could come between the arrival of an interval and its storage, and lose it.

The program's own handlers are still called. A signal that is ignored or has its default action is left alone. So
SIGTERM stops a run like Ctrl-C if the program turns it into KeyboardInterrupt, as the command line does.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from contextvars import ContextVar
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequests:
    """Counts how many times another thread asked a task to stop, as Ctrl-C asks one of the main thread."""

    def __init__(self) -> None:
        self.count = 0

    def request(self) -> None:
        """Ask once more. A signal handler may call it."""
        self.count += 1


STOP_REQUESTS: ContextVar[StopRequests | None] = ContextVar("STOP_REQUESTS", default=None)
"""The requests that concern the current thread."""


class Interrupts(contextlib.AbstractContextManager["Interrupts"]):
    """Counts the KeyboardInterrupts of the program's handlers while it is entered.

    Signals reach only the main thread. In another thread it counts that thread's ``STOP_REQUESTS``.
    """

    def __init__(self) -> None:
        self._signals = 0
        self._requests = STOP_REQUESTS.get() or StopRequests()
        self._before: dict[int, Any] = {}

    @property
    def count(self) -> int:
        """Interrupts so far."""
        return self._signals + self._requests.count

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if callable(handler := signal.getsignal(number)) and not isinstance(handler, signal.Handlers):
                    self._before[number] = handler
                    signal.signal(number, self._count)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _count(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before[number](number, frame)
        except KeyboardInterrupt:
            self._signals += 1
