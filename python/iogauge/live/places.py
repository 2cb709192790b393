"""Where feeds lie: in a directory that only their user can enter, under names that say which process writes them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.machine.tuning.owner import start_of, state_of

_NAME = re.compile(r"(\d{1,10})-(\d{1,20})(?:\.(\d{1,10}))?\.feed")

AGAIN = "again"
"""The field that marks a line which an earlier segment has, too."""


@dataclass(frozen=True, order=True)
class Writer:
    """The process that writes a feed. Linux uses numbers again, so its start tells it from later processes."""

    pid: int
    start_ticks: int
    """When it started, in clock ticks since boot."""

    @classmethod
    def of_this_process(cls) -> Writer:
        """Return the process that asks."""
        return cls(os.getpid(), start_of(os.getpid()) or 0)

    @property
    def is_running(self) -> bool:
        """Whether it still runs. A zombie has ended."""
        return start_of(self.pid) == self.start_ticks and state_of(self.pid) not in ("Z", "X")

    def segment(self, directory: Path, number: int) -> Path:
        """Return the path of a segment of its feed, counted from 0."""
        middle = f".{number}" if number else ""
        return directory / f"{self.pid}-{self.start_ticks}{middle}.feed"

    def segments(self, directory: Path) -> list[int]:
        """Return the numbers of the segments that are there, ascending."""
        return sorted(number for writer, number in segments_in(directory) if writer == self)


def directories() -> list[Path]:
    """Return the directories in which feeds of this user may lie, the preferred one first.

    A measurement that cron or sudo began has no $XDG_RUNTIME_DIR, though whoever watches it has one.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return [
        *([Path(runtime) / "iogauge"] if runtime else []),
        Path(f"/tmp/iogauge-{os.geteuid()}"),
    ]


def make_directory() -> Path:
    """Return the first of the directories that is private, and make it if it is missing.

    Raises IogaugeError if none can be used.
    """
    reasons: list[str] = []
    for directory in directories():
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            reasons.append(f"{directory}: {error.strerror}")
            continue
        if (reason := why_not_private(directory)) is None:
            return directory
        reasons.append(f"{directory}: {reason}")
    raise IogaugeError("; ".join(reasons), hint="set XDG_RUNTIME_DIR to a directory of your own")


def why_not_private(directory: Path) -> str | None:
    """Return why others could have put files into a directory; None: they could not."""
    try:
        status = directory.lstat()
    except OSError as error:
        return error.strerror or str(error)
    if not stat.S_ISDIR(status.st_mode):
        return "it is not a directory"
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    return "other users may enter it" if stat.S_IMODE(status.st_mode) & 0o077 else None


def segments_in(directory: Path) -> Iterator[tuple[Writer, int]]:
    """Yield each segment in a directory: its writer and its number. None, if the directory cannot be read."""
    try:
        names = [path.name for path in directory.iterdir()]
    except OSError:
        return
    for name in names:
        if match := _NAME.fullmatch(name):
            yield Writer(int(match[1]), int(match[2])), int(match[3] or 0)
