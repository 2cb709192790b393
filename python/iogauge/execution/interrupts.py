"""Ctrl-C during a run: counted, where it would otherwise raise KeyboardInterrupt between any two instructions.

An exception that can come anywhere would now and then come between an interval's arrival and its being kept.

The handlers that the program has set are still called. Only those are: a signal that is ignored, or has its default
action, is left alone. So SIGTERM stops a run like Ctrl-C where the program turned it into KeyboardInterrupt, as the
command line does.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts(contextlib.AbstractContextManager["Interrupts"]):
    """Counts, while it is entered, what would have been a KeyboardInterrupt.

    Signals reach the main thread only: in another one there is nothing to count, and nothing is changed.
    """

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if callable(handler := signal.getsignal(number)) and not isinstance(handler, signal.Handlers):
                    self._before[number] = handler
                    signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        try:
            self._before[number](number, frame)
        except KeyboardInterrupt:
            self.count += 1
