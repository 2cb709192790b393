"""Where the steps of a host wait until its controller says when they start."""

from __future__ import annotations

import threading
from collections.abc import Callable

from iogauge.schema import StepPlan


class Starts:
    """The instants at which steps start, as they arrive. ``waits``: whether steps wait for them.

    ``on_waiting`` is called with a step that begins to wait.
    """

    def __init__(self, *, waits: bool, on_waiting: Callable[[StepPlan], None]) -> None:
        self._waits = waits
        self._on_waiting = on_waiting
        self._instants: dict[str, int] = {}
        self._stopped = False
        self._changed = threading.Condition()

    def start_at(self, step: StepPlan) -> int | None:
        """Wait until the start of a step is known, and return it by the system's CLOCK_MONOTONIC; None: at once.

        Raises KeyboardInterrupt if the review is stopped.
        """
        if self._waits:
            self._on_waiting(step)
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or not self._waits or step.id in self._instants)
            if self._stopped:
                raise KeyboardInterrupt
            return self._instants.pop(step.id, None)

    def start(self, step: str, at_ns: int) -> None:
        """Set when a step starts, which may not wait yet."""
        with self._changed:
            self._instants[step] = at_ns
            self._changed.notify_all()

    def release(self) -> None:
        """Let all steps start at once from now on."""
        with self._changed:
            self._waits = False
            self._changed.notify_all()

    def stop(self) -> None:
        """Let no step start any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
