"""Follows a feed: returns each event once, in order, however the file is cut into reads and segments."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from iogauge.live.places import AGAIN, Writer

_READ_BYTES = 1 << 20
"""What one call reads at most, beyond a line that is longer."""

Event = dict[str, Any]


class Reader:
    """Reads the feed of ``writer`` in ``directory``. Not thread-safe: each thread or client has its own."""

    def __init__(self, directory: Path, writer: Writer) -> None:
        self._directory = directory
        self._writer = writer
        self._number = -1
        self._file: IO[bytes] | None = None
        self._rest = b""
        self._seq = 0
        self._repeated: list[Event] = []

    @property
    def is_running(self) -> bool:
        """Whether the process that writes the feed still runs."""
        return self._writer.is_running

    def read(self, after: int) -> list[Event]:
        """Return some of the events that follow number ``after``, in order; none: there are no more so far.

        Call it again with the number of the last event that it returned. Where events are lost because the reader came
        late, ``{"event": "gap", "from": ..., "to": ...}``, which has no number, stands for them; the current ``begin``,
        ``step`` and ``rows`` follow it nevertheless, with ``"again": true``: their numbers are within the gap.

        Never waits, and never raises: a feed that cannot be read has no events.
        """
        if after != self._seq:
            self.close()
            self._seq = after
        while self._file is not None or self._open_next():
            # Whether a later segment is there must be known before this one is read: only then has it all its lines.
            followed = self._later() is not None
            events, at_end = self._read_some()
            if events:
                return events
            if at_end and not (followed and self._open_next()):
                return []
        return []

    def close(self) -> None:
        """Close the file. The next ``read`` opens it again."""
        if self._file is not None:
            self._file.close()
        self._number, self._file, self._rest, self._repeated = -1, None, b"", []

    def _later(self) -> int | None:
        """Return the number of the earliest segment after the open one."""
        later = (number for number in self._writer.segments(self._directory) if number > self._number)
        return next(later, None)

    def _open_next(self) -> bool:
        """Open the next segment that is there; return whether there is one."""
        while (number := self._later()) is not None:
            if self._file is not None:
                self._file.close()
                self._file = None
            self._number, self._rest, self._repeated = number, b"", []
            try:
                self._file = self._writer.segment(self._directory, number).open("rb")
            except OSError:
                continue  # The writer has just removed it.
            return True
        return False

    def _read_some(self) -> tuple[list[Event], bool]:
        """Return the events of the next complete lines, and whether the file has no more bytes so far."""
        assert self._file is not None
        while data := self._file.read(_READ_BYTES):
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            if events := self._news(filter(None, map(parsed, lines))):
                return events, False
        return [], True

    def _news(self, records: Iterable[Event]) -> list[Event]:
        """Return the events that the caller does not know, with a gap where some are lost.

        The lines that a segment repeats are held back until the first other one says how much is lost.
        """
        events: list[Event] = []
        for record in records:
            seq = record["seq"]
            if seq <= self._seq:
                continue
            if AGAIN in record:
                self._repeated.append(record)
                continue
            if seq - self._seq - 1 > len(self._repeated):
                events.append({"event": "gap", "from": self._seq + 1, "to": seq - 1})
            else:
                for repeated in self._repeated:
                    del repeated[AGAIN]  # nothing else is lost, so these are simply the next ones
            events += [*self._repeated, record]
            self._repeated = []
            self._seq = seq
        return events


def parsed(line: bytes) -> Event | None:
    """Return the event of a line; None if it is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if (
        isinstance(record, dict)
        and isinstance(record.get("seq"), int)
        and isinstance(record.get("event"), str)
    ):
        return record
    return None
