"""The host's end of the process that runs its review."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pydantic

from iogauge.fleet.host.messages import Command, HostEvent, Order
from iogauge.schema import HostOutcome

_COMMAND = "iogauge.fleet.host.child"
_READ_ON_S = 5.0
"""How long the output of a process that has ended is still read; another process may hold it open."""
_LAST_LINES = 5


class ReviewProcess:
    """A process that runs a review, in a session of its own. ``on_event`` is called by threads with what it sends.

    The last event is ``end``, also where the process was killed.
    """

    def __init__(self, order: Order, on_event: Callable[[HostEvent], None]) -> None:
        self._on_event = on_event
        self._errors: list[str] = []
        self._has_ended = False
        self._done = threading.Event()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._telling = threading.Lock()
        threads = [
            threading.Thread(target=read, name="iogauge-child", daemon=True)
            for read in (self._read_events, self._read_errors)
        ]
        for thread in threads:
            thread.start()
        threading.Thread(target=self._wait, args=(threads,), name="iogauge-child", daemon=True).start()
        self._write(order.model_dump_json())
        # A process that does not read must not make the host wait, too.
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended, or its last event is still to come."""
        return not self._done.is_set()

    def tell(self, command: Command) -> None:
        """Send it a command. One that has ended, or does not read, does not get it."""
        self._write(command.model_dump_json(exclude_defaults=True))

    def wait(self, timeout_s: float) -> bool:
        """Wait until it has ended, at most this long; return whether it has."""
        return self._done.wait(timeout_s)

    def kill(self) -> None:
        """End it at once, by SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        data = f"{line}\n".encode()
        with self._telling, contextlib.suppress(OSError, ValueError):
            while data:
                data = data[os.write(self._process.stdin.fileno(), data) :]

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = HostEvent.model_validate_json(line)
            except pydantic.ValidationError:  # torn: the process was killed
                continue
            self._has_ended |= event.kind == "end"
            self._on_event(event)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line.decode(errors="replace").rstrip()
            self._errors = [*self._errors, text][-_LAST_LINES:]
            self._on_event(HostEvent(kind="notice", at_ns=_now_ns(), text=text))

    def _wait(self, threads: list[threading.Thread]) -> None:
        assert self._process.stdin is not None
        status = self._process.wait()
        for thread in threads:
            thread.join(_READ_ON_S)
        if not self._has_ended:
            self._on_event(
                HostEvent(
                    kind="end", at_ns=_now_ns(), outcome=HostOutcome.INTERRUPTED, text=self._reason(status)
                )
            )
        with self._telling, contextlib.suppress(OSError):
            self._process.stdin.close()
        self._done.set()

    def _reason(self, status: int) -> str:
        """Return why it ended without saying so."""
        if status == -signal.SIGALRM:
            return "its lease ended or it was stopped, and it did not end in time: the kernel killed it"
        if status < 0:
            return f"its process was killed by {signal.Signals(-status).name}"
        last = f": {self._errors[-1]}" if self._errors else ""
        return f"its process ended with status {status}{last}"


def _now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
