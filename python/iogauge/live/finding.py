"""Finds the measurements of this user that are running."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.live.places import Writer, directories, segments_in, why_not_private
from iogauge.live.reader import Event, Reader, parsed

_TAIL_BYTES = 32 << 10
"""More than the last event of a feed takes: its text has 2000 characters, of up to 12 bytes in JSON."""


@dataclass(frozen=True)
class FeedInfo:
    """A running measurement, and where its feed is."""

    pid: int
    start_ticks: int
    title: str
    review: Path | None
    """The directory of the review; None: it is a run."""
    targets: tuple[str, ...]
    command: tuple[str, ...]
    virtual: bool
    at: float
    """When it began, Unix seconds."""
    path: Path
    """The earliest segment of its feed."""

    @property
    def writer(self) -> Writer:
        """The process that measures."""
        return Writer(self.pid, self.start_ticks)

    def reader(self) -> Reader:
        """Return a new reader of the feed, at its beginning."""
        return Reader(self.path.parent, self.writer)

    def interrupt(self) -> None:
        """Ask the process to end gracefully, as Ctrl-C does.

        Raises IogaugeError if it has ended, or belongs to another user.
        """
        try:
            # The descriptor stays that of this process, even if it ends and its number is used again.
            descriptor = os.pidfd_open(self.pid)
        except OSError as error:
            raise IogaugeError(f"process {self.pid}: {error.strerror}", hint="it has ended") from None
        try:
            if not self.writer.is_running:
                raise IogaugeError(
                    f"process {self.pid} has ended", hint="its results are on its own terminal"
                )
            signal.pidfd_send_signal(descriptor, _ending(self.pid))
        except OSError as error:
            raise IogaugeError(
                f"process {self.pid}: {error.strerror}", hint="end it as the user who began it"
            ) from None
        finally:
            os.close(descriptor)


def feeds() -> list[FeedInfo]:
    """Return the running measurements of this user, newest first. Those that have written their end are not among them.

    >>> isinstance(feeds(), list)
    True
    """
    running: list[FeedInfo] = []
    for directory in directories():
        if why_not_private(directory) is not None:
            continue
        for writer in {writer for writer, _ in segments_in(directory)}:
            if writer.is_running and (info := _info(directory, writer)):
                running.append(info)
    return sorted(running, key=lambda info: (-info.at, info.pid))


def _info(directory: Path, writer: Writer) -> FeedInfo | None:
    """Return what a feed says of itself; None if it says nothing, or that it has ended."""
    segments = [writer.segment(directory, number) for number in writer.segments(directory)]
    if not segments or _ended(segments[-1]):
        return None
    with contextlib.suppress(OSError, KeyError, TypeError):  # It was removed, or another version wrote it.
        with segments[0].open("rb") as file:
            begin = parsed(file.readline())
        if begin is not None and begin["event"] == "begin":
            return _described(begin, segments[0])
    return None


def _described(begin: Event, path: Path) -> FeedInfo:
    review = begin["review"]
    return FeedInfo(
        pid=begin["pid"],
        start_ticks=begin["start_ticks"],
        title=begin["title"],
        review=None if review is None else Path(review),
        targets=tuple(begin["targets"]),
        command=tuple(begin["command"]),
        virtual=begin["virtual"],
        at=begin["at"],
        path=path,
    )


def _ended(segment: Path) -> bool:
    """Return whether the last line of a segment is the end of the feed."""
    with contextlib.suppress(OSError), segment.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - _TAIL_BYTES, 0))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
        return b'"event":"end"' in last
    return False


def _ending(pid: int) -> signal.Signals:
    """Return the signal that ends a process gracefully: SIGINT, or SIGTERM where a shell made it ignore SIGINT."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines():
            name, _, mask = line.partition(":")
            if name == "SigIgn" and int(mask, 16) >> (signal.SIGINT - 1) & 1:
                return signal.SIGTERM
    return signal.SIGINT
