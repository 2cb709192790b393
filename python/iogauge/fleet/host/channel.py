"""The end of the pipes to a host that the process of a review holds: lines of JSON in, lines of JSON out.

Sending never waits, since nobody may read: the host's process can be stopped or gone, and the review must still end in
time. A thread writes, and of the progress that it has not written only the latest is kept.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque

from iogauge.fleet.host.messages import HostEvent


class Channel:
    """Reads lines from one descriptor, and writes events to another."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self.is_closed = False
        """Whether the host has closed its end, or is gone, and all its lines were read."""
        self._incoming = incoming
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._outgoing = outgoing
        self._waiting: deque[HostEvent] = deque()
        self._changed = threading.Condition()
        self._writing = False
        self._broken = False
        threading.Thread(target=self._write, name="iogauge-events", daemon=True).start()

    def line(self, timeout_s: float | None = None) -> bytes | None:
        """Return the next line, or None if none comes in ``timeout_s`` (None: wait for ever)."""
        while not self._lines and not self.is_closed:
            if not select.select([self._incoming], [], [], timeout_s)[0]:
                return None
            try:
                data = os.read(self._incoming, 1 << 16)
            except OSError:
                data = b""
            self.is_closed = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft() if self._lines else None

    def send(self, event: HostEvent) -> None:
        """Send an event, or forget it if nobody is left to read it."""
        with self._changed:
            if self._broken:
                return
            if event.kind == "progress" and self._waiting and self._waiting[-1].kind == "progress":
                self._waiting.pop()
            self._waiting.append(event)
            self._changed.notify_all()

    def flush(self, timeout_s: float) -> None:
        """Wait until all events are sent or cannot be, at most this long."""
        with self._changed:
            self._changed.wait_for(lambda: self._broken or not (self._waiting or self._writing), timeout_s)

    def _write(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting)
                data = self._waiting.popleft().model_dump_json(exclude_defaults=True).encode() + b"\n"
                self._writing = True
            try:
                while data:
                    data = data[os.write(self._outgoing, data) :]
            except OSError:
                with self._changed:
                    self._broken, self._writing = True, False
                    self._waiting.clear()
                    self._changed.notify_all()
                return
