"""Ends a review when its lease ends, whatever its main thread does.

There are two ways. A thread interrupts the main thread, as Ctrl-C would: it stops issuing requests, saves, and ends. In
case the whole interpreter hangs, a timer of the kernel sends SIGALRM ``GRACE_S`` later, whose default action ends the
process. Neither needs a parent: it may hang, be stopped, or be gone.

The thread also obeys the host's commands, and no lease ends before all commands that came are obeyed. On a busy
computer a process may begin, or go on, so late that the lease that it knows has ended, while renewals of it wait to be
read.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

from iogauge.fleet.host.clock import boot_ns
from iogauge.fleet.host.messages import GRACE_S

_LOOK_S = 1.0
"""How long a wait is at most: a computer that was suspended has passed instants that its waits do not count."""


class Watchdog:
    """The end of a lease, as ``boot_ns`` counts it.

    ``obey`` waits at most so many seconds for the host's next command (None: for ever), obeys it by the methods here,
    and returns whether one came. ``on_end`` is called when the lease has ended, and returns whether the review goes on
    without one. ``begin`` calls both, and then a thread does.
    """

    def __init__(
        self, until_boot_ns: int, on_end: Callable[[], bool], *, obey: Callable[[float | None], bool]
    ) -> None:
        self.reason = ""
        """Why the review was stopped; empty: it was not."""
        self._until_boot_ns = until_boot_ns
        self._is_over = False
        self._on_end = on_end
        self._obey = obey
        self._changing = threading.Lock()
        self._main = threading.main_thread().ident

    def begin(self) -> None:
        """Obey the commands that have come, and watch from now on. Stop the review if the lease has ended by then."""
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.signal(signal.SIGURG, lambda *_: None)  # With a handler it ends a system call that waits.
        while self._obey(0):
            pass
        self._arm()
        if self._until_boot_ns <= boot_ns():
            self._end()
        threading.Thread(target=self._watch, name="iogauge-lease", daemon=True).start()

    def renew(self, until_boot_ns: int) -> None:
        """Move the end of the lease, unless it was found to have ended, or the review was stopped."""
        with self._changing:
            if not (self._is_over or self.reason):
                self._until_boot_ns = until_boot_ns
                self._arm()

    def end_lease(self) -> None:
        """End the lease now."""
        with self._changing:
            self._until_boot_ns = min(self._until_boot_ns, boot_ns())

    def stop(self, reason: str) -> None:
        """Interrupt the main thread, as Ctrl-C does; after ``GRACE_S``, the kernel ends the process."""
        with self._changing:
            if self.reason:
                return
            self.reason = reason
            signal.setitimer(signal.ITIMER_REAL, GRACE_S)
        if self._main is not None:
            signal.pthread_kill(self._main, signal.SIGINT)
            threading.Thread(target=self._wake, name="iogauge-wake", daemon=True).start()

    def _wake(self) -> None:
        """Wake the main thread until the process ends.

        A signal that comes right before a system call does not end the call: Python handles it once the call returns.
        """
        assert self._main is not None
        while True:
            time.sleep(_LOOK_S)
            signal.pthread_kill(self._main, signal.SIGURG)

    def _arm(self) -> None:
        left_s = max(0, self._until_boot_ns - boot_ns()) / 1e9
        signal.setitimer(signal.ITIMER_REAL, left_s + GRACE_S)

    def _watch(self) -> None:
        # The clock is read first: what came before the end is done before it.
        while (left_ns := self._until_boot_ns - boot_ns()) > 0 or self._obey(0):
            if left_ns > 0:
                self._obey(min(left_ns / 1e9, _LOOK_S))
        if not self._is_over:
            self._end()
        while self._obey(None):
            pass

    def _end(self) -> None:
        self._is_over = True
        if self._on_end():
            signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            self.stop("its lease ended: the controller did not renew it")
