"""Stores a review on many hosts in one directory, which stays readable after a kill at any instant.

Layout::

    DIR/fleet.json       the fleet: its hosts, options and seed; carries its own checksum
    DIR/hosts/HOST/      the review of a host, byte for byte as the host saved it
    DIR/before/HOST-N/   what was fetched of a host before it lost its review and began anew
    DIR/clock.jsonl      one ClockBatch a line
    DIR/starts.jsonl     one Start a line
    DIR/events.jsonl     one FleetEvent a line

The last line of a file may be torn by a kill; readers leave it out. A host that was lost has what was fetched of it.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self, TypeVar

import pydantic

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION, ClockBatch, FleetEvent, FleetManifest, Model, Start
from iogauge.store import durable
from iogauge.store.checksums import damaged
from iogauge.store.durable import explained
from iogauge.store.names import FLEET, LOCK
from iogauge.store.objects import read_checked, write_checked

Line = ClockBatch | Start | FleetEvent

L = TypeVar("L", bound=Model)

_HOSTS = "hosts"
_BEFORE = "before"
_FILES: dict[type[Model], str] = {
    ClockBatch: "clock.jsonl",
    Start: "starts.jsonl",
    FleetEvent: "events.jsonl",
}


class FleetStore:
    """A saved review on many hosts. Readers need no lock; a writer holds ``lock()``. Its threads may share it."""

    def __init__(self, path: Path, manifest: FleetManifest) -> None:
        self.path = path
        self.manifest = manifest
        self._writing = threading.Lock()

    @classmethod
    def create(cls, path: Path, manifest: FleetManifest) -> Self:
        """Make the directory of a new fleet.

        Args:
            path: a directory that does not exist yet, or is empty.
            manifest: saved at once.

        Raises:
            IogaugeError: there is something at ``path`` already, or it cannot be written.
        """
        path = Path(path)
        with explained("create", path):
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise IogaugeError(f"{path}: the directory is not empty", hint="name a new directory")
            (path / _HOSTS).mkdir()
            durable.sync_directory(path.absolute().parent)
        fleet = cls(path, manifest)
        fleet.save_manifest(manifest)
        return fleet

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a saved fleet for reading, or to go on with it.

        Raises:
            IogaugeError: there is none at ``path``, or it is damaged, or a newer iogauge wrote it.
        """
        path = Path(path)
        if not (path / FLEET).is_file():
            raise IogaugeError(
                f"{path}: no {FLEET} here: not a saved review of a fleet, or it was killed before it began",
                hint="name the directory of a fleet that iogauge saved",
            )
        return cls(path, read_checked(path / FLEET, FleetManifest))

    def lock(self) -> AbstractContextManager[None]:
        """Lock the fleet against other writers. The kernel releases the lock when this process ends.

        Raises:
            IogaugeError: another process holds it.
        """
        return durable.locked(self.path / LOCK, busy=f"{self.path}: another iogauge is writing this fleet")

    def save_manifest(self, manifest: FleetManifest) -> None:
        """Replace the manifest atomically, in the current version of the schema. Raises IogaugeError."""
        with self._writing:
            self.manifest = manifest.model_copy(update={"schema_version": SCHEMA_VERSION})
            write_checked(self.path / FLEET, self.manifest)

    def append(self, *lines: Line) -> None:
        """Add what was measured or happened, each to the file of its kind.

        Raises:
            IogaugeError: the disk is full, or the directory has vanished.
        """
        with self._writing:
            for kind, name in _FILES.items():
                text = "".join(f"{line.model_dump_json()}\n" for line in lines if isinstance(line, kind))
                if text:
                    durable.append_lines(self.path / name, text.encode())

    def host_directory(self, name: str) -> Path:
        """Return the directory of a host's review, which may not exist yet.

        Raises:
            IogaugeError: the fleet has no host of this name.
        """
        if all(name != host.name for host in self.manifest.hosts):
            raise IogaugeError(
                f"{self.path}: has no host {name!r}",
                hint=f"its hosts: {', '.join(host.name for host in self.manifest.hosts)}",
            )
        return self.path / _HOSTS / name

    def set_aside(self, name: str) -> Path | None:
        """Move the review of a host to ``before/HOST-N``; return where it is now, None if there is none.

        Raises:
            IogaugeError: it cannot be moved.
        """
        review, before = self.host_directory(name), self.path / _BEFORE
        if not review.exists():
            return None
        with explained("move", review):
            before.mkdir(exist_ok=True)
            number = 1
            while (kept := before / f"{name}-{number}").exists():
                number += 1
            review.rename(kept)
            durable.sync_directory(before)
            durable.sync_directory(review.parent)
        return kept

    def clock(self) -> tuple[ClockBatch, ...]:
        """Return the measurements of the hosts' clocks. Raises IogaugeError if they are damaged."""
        return self._lines(ClockBatch)

    def starts(self) -> tuple[Start, ...]:
        """Return the starts of all steps. Raises IogaugeError if they are damaged."""
        return self._lines(Start)

    def events(self) -> tuple[FleetEvent, ...]:
        """Return what happened. Raises IogaugeError if it is damaged."""
        return self._lines(FleetEvent)

    def _lines(self, kind: type[L]) -> tuple[L, ...]:
        path = self.path / _FILES[kind]
        if not path.exists():
            return ()
        with explained("read", path):
            data = path.read_bytes()
        lines: list[L] = []
        for number, line in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
            try:
                lines.append(kind.model_validate_json(line))
            except pydantic.ValidationError as error:
                reason = error.errors(include_url=False)[0]["msg"]
                raise damaged(path, f"line {number}: {reason}") from error
        return tuple(lines)
