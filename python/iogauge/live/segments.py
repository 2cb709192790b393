"""Writes the lines of a feed into files of bounded size, of which the last two are kept.

A segment that is full is followed by another. The new one begins with the lines that a reader needs to understand the
others: they keep their numbers and are marked, so that nobody reads them twice. One line is one ``write``, so a reader
sees a line in part only while it is written.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from iogauge.live.places import AGAIN, Writer, make_directory, segments_in
from iogauge.store.durable import create_file

SEGMENT_BYTES = 8 << 20

Event = dict[str, Any]


class Segments:
    """The files of one feed. Raises OSError and IogaugeError if they cannot be written.

    ``directory``: where they lie; None: the first of ``places.directories`` that can be used. If it is removed, as the
    runtime directory is when its user logs out, they go on in it made again, or in the next one.

    ``most_bytes``: the size of a segment. ``clock`` returns Unix seconds.
    """

    def __init__(
        self,
        *,
        directory: Path | None = None,
        most_bytes: int = SEGMENT_BYTES,
        clock: Callable[[], float],
    ) -> None:
        self._given = directory
        self._directory = self._made()
        self._most_bytes = most_bytes
        self._clock = clock
        self._writer = Writer.of_this_process()
        self._number = -1
        self._bytes = 0
        self._seq = 0
        self._file: IO[bytes] | None = None
        self._heads: dict[str, Event] = {}
        remove_stale(self._directory)
        self._next()

    def write(self, event: str, fields: Event, *, heads: tuple[str, ...] | None = None) -> None:
        """Append an event.

        ``heads``: it is repeated at the beginning of later segments, in place of an earlier one of its kind and of the
        kinds named here. None: it is not repeated.
        """
        self._seq += 1
        record = {"seq": self._seq, "at": round(self._clock(), 3), "event": event, **fields}
        if self._file is not None and os.fstat(self._file.fileno()).st_nlink == 0:
            self._directory = self._made()
            self._next()
        elif self._bytes >= self._most_bytes:
            self._next()
        if heads is not None:
            for kind in (event, *heads):
                self._heads.pop(kind, None)
            self._heads[event] = record
        self._append(record)

    def close(self) -> None:
        """Close the file, which stays for readers until another measurement begins."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _made(self) -> Path:
        if self._given is None:
            return make_directory()
        self._given.mkdir(mode=0o700, exist_ok=True)
        return self._given

    def _next(self) -> None:
        self.close()
        self._number += 1
        if self._number >= 2:
            self._writer.segment(self._directory, self._number - 2).unlink(missing_ok=True)
        path = self._writer.segment(self._directory, self._number)
        path.unlink(missing_ok=True)  # of an earlier feed of this process
        self._file = create_file(path)
        self._bytes = 0
        for record in self._heads.values():
            self._append({**record, AGAIN: True})

    def _append(self, record: Event) -> None:
        assert self._file is not None
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        self._file.write(line)
        self._file.flush()
        self._bytes += len(line)


def remove_stale(directory: Path) -> None:
    """Remove the feeds of processes that have ended, and what an earlier feed of this process left."""
    own = Writer.of_this_process()
    for writer, number in segments_in(directory):
        if writer == own or not writer.is_running:
            with contextlib.suppress(OSError):
                writer.segment(directory, number).unlink()
