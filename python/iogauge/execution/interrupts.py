"""Counts Ctrl-C during a run, instead of a KeyboardInterrupt between any two instructions.

An exception that can come anywhere could come between the arrival of an interval and its storage, and lose it.

The program's own handlers are still called. A signal that is ignored or has its default action is left alone. So
SIGTERM stops a run like Ctrl-C if the program turns it into KeyboardInterrupt, as the command line does.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts(contextlib.AbstractContextManager["Interrupts"]):
    """Counts the KeyboardInterrupts of the program's handlers while it is entered.

    Signals reach only the main thread: in another thread it changes nothing.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

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
            self.count += 1
