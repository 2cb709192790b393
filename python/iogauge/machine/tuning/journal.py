"""The journal of a tuning: what was changed, from what and to what, on disk before it is changed.

A directory of the user's state holds ``lock`` (held by who tunes or undoes), ``journal.jsonl`` (a tuning that is not
undone) and ``last.jsonl`` (the last one, closed). A journal is JSON lines that are only appended:

* the head: who tunes, since when, in which boot, with which profile;
* ``intend``: changes that come next, synced before the first of them is made;
* ``done``: a change that was made and read back. It is not synced: it must survive a kill, and after a power cut the
  settings are gone as well;
* ``applied``: the tuning stays although its owner ends;
* ``closed``: everything is undone, and what was left.

Only the last line can be torn by a kill or a power cut; it is ignored, since nothing was changed after it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.machine.tuning.owner import Owner
from iogauge.text.option import either


@dataclass(frozen=True)
class Entry:
    """One change: of which setting, at which place of the door, from what and to what."""

    id: str
    place: str
    before: str
    wanted: str


@dataclass
class Record:
    """What a journal says."""

    owner: Owner
    token: str
    profile: str
    since: str
    target: str | None = None
    command: str = ""
    entries: list[Entry] = field(default_factory=list)
    done: set[str] = field(default_factory=set)
    """The places whose change was read back."""
    applied: bool = False
    closed: dict[str, Any] | None = None


_DAMAGED = "restart the machine, which puts its settings back, and remove the file"


class BusyError(IogaugeError):
    """Somebody else tunes this machine now."""


class State:
    """The directory of the lock and of the journals."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.journal = directory / "journal.jsonl"
        self.last = directory / "last.jsonl"

    @contextlib.contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Hold the lock. Without ``wait``, raise BusyError if another process has it. Raises OSError."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(
            self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                raise BusyError(
                    f"this machine is being tuned by process {pid or '(just begun)'}",
                    hint="wait until it ends; "
                    + either(command="iogauge tune --status", library="iogauge.tuning_status()")
                    + " shows it",
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def read(self) -> Record | None:
        """Return the tuning that is not undone; None: there is none. Raises IogaugeError."""
        return _read(self.journal)

    def read_last(self) -> Record | None:
        """Return the last tuning that was undone; None: there is none. Raises IogaugeError."""
        return _read(self.last)

    def begin(self, *, profile: str, target: str | None, command: str) -> Journal:
        """Begin a journal. The caller holds the lock, and there is no other. Raises OSError."""
        record = Record(
            Owner.of_this_process(),
            secrets.token_hex(8),
            profile,
            datetime.now(UTC).isoformat(timespec="seconds"),
            target,
            command,
        )
        descriptor = os.open(
            self.journal, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        head = {
            "owner": asdict(record.owner),
            "token": record.token,
            "profile": record.profile,
            "since": record.since,
            "target": record.target,
            "command": record.command,
        }
        journal = Journal(self, record, descriptor)
        journal._append(head, sync=True)
        _sync_directory(self.directory)
        return journal

    def reopen(self, record: Record) -> Journal:
        """Open the journal that was read, to close it. Raises OSError."""
        return Journal(self, record, os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC))

    def discard(self) -> None:
        """Remove a journal without a head, if there is one: its tuning ended before it changed anything.

        The caller holds the lock, so nobody is just writing it.
        """
        self.journal.unlink(missing_ok=True)
        _sync_directory(self.directory)


class Journal:
    """An open journal. Use it as a context manager, or call ``release``."""

    def __init__(self, state: State, record: Record, descriptor: int) -> None:
        self.record = record
        self._state = state
        self._descriptor = descriptor

    def intend(self, entries: Iterable[Entry]) -> None:
        """Write down the changes that come next, durably. Raises IogaugeError."""
        new = list(entries)
        self._append({"intend": [asdict(entry) for entry in new]}, sync=True)
        self.record.entries += new

    def done(self, place: str) -> None:
        """Write down that a change was made and read back."""
        self._append({"done": place}, sync=False)
        self.record.done.add(place)

    def applied(self) -> None:
        """Write down that the tuning stays after its owner."""
        self._append({"applied": True}, sync=True)
        self.record.applied = True

    def close(self, report: dict[str, Any]) -> None:
        """Write down that everything is undone, and put the journal away. A kill in between is repeated safely."""
        if self.record.closed is None:
            self._append({"closed": report}, sync=True)
            self.record.closed = report
        self._state.journal.rename(self._state.last)
        _sync_directory(self._state.directory)
        self.release()

    def release(self) -> None:
        """Close the file; the journal stays as it is."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, line: dict[str, Any], *, sync: bool) -> None:
        # The line begins with a newline: one before it that was torn must not take it along.
        left = memoryview(b"\n" + json.dumps(line).encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
            if sync:
                os.fsync(self._descriptor)
        except OSError as error:
            raise IogaugeError(
                f"{self._state.journal}: {error.strerror}",
                hint="free some space: iogauge changes no setting that it cannot journal",
            ) from None


def _read(path: Path) -> Record | None:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IogaugeError(f"{path}: {error.strerror}", hint=_DAMAGED) from None
    try:
        return _parsed(lines)
    except (KeyError, TypeError, AttributeError):
        raise IogaugeError(f"{path}: it is not a journal of this version of iogauge", hint=_DAMAGED) from None


def _parsed(lines: Iterable[str]) -> Record | None:
    """Return what the lines of a journal say. Raises KeyError, TypeError or AttributeError for other lines."""
    record: Record | None = None
    for line in lines:
        try:
            item = json.loads(line)
        except ValueError:
            continue  # torn, or empty
        if record is None:
            record = Record(
                Owner(**item["owner"]),
                item["token"],
                item["profile"],
                item["since"],
                item["target"],
                item["command"],
            )
        elif "intend" in item:
            record.entries += [Entry(**entry) for entry in item["intend"]]
        elif "done" in item:
            record.done.add(item["done"])
        elif "applied" in item:
            record.applied = True
        elif "closed" in item:
            record.closed = item["closed"]
    return record


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
