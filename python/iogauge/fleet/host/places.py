"""Where a host keeps its part of each fleet's review, and which lease it used last.

    DIRECTORY/FLEET/HOST/lease.json     the last lease: its id and generation
    DIRECTORY/FLEET/HOST/review/        the review, as any other
    DIRECTORY/FLEET/HOST/review.lock    is locked as long as a process runs the review

A lease is recorded before anything runs with it. So none is used twice, though the process that took it was killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iogauge.errors import InUseError, IogaugeError
from iogauge.fleet.host.clock import HostClock
from iogauge.fleet.host.messages import HostRequest, Lease, SavedFile
from iogauge.schema import SCHEMA_VERSION, Model
from iogauge.schema.base import NonNegative
from iogauge.store import durable
from iogauge.store.durable import explained
from iogauge.store.names import LOCK, MANIFEST
from iogauge.store.objects import read_checked, write_checked

_LEASE = "lease.json"
STILL_RUNNING = "its earlier review of this fleet still runs"
_READ_BYTES = 8 << 20
"""The most that one ``read`` returns."""


class UsedLease(Model):
    """The last lease of a fleet on a host."""

    schema_version: int = SCHEMA_VERSION
    id: str
    generation: NonNegative


class HostPlace:
    """The directory of one host in one fleet."""

    def __init__(self, directory: Path, request: HostRequest) -> None:
        self.directory = directory / request.fleet_id / request.host
        self.review = self.directory / "review"

    @property
    def has_review(self) -> bool:
        """Whether a review was begun here. Raises IogaugeError if that cannot be seen."""
        with explained("read", self.review):
            return (self.review / MANIFEST).exists()

    def use(self, lease: Lease, request: HostRequest, clock: HostClock) -> None:
        """Record that a lease is used now.

        Raises:
            IogaugeError: it is another fleet's or host's, was used before, is older than one that was, or its time has
                passed; or it cannot be recorded.
        """
        if (lease.fleet_id, lease.host) != (request.fleet_id, request.host):
            raise _refused(
                f"the lease is for host {lease.host} of fleet {lease.fleet_id}, not for {request.host} of "
                f"{request.fleet_id}"
            )
        with self._lock():
            path = self.directory / _LEASE
            last = read_checked(path, UsedLease) if path.exists() else None
            if last and last.id == lease.id:
                raise _refused("the lease has been used: a review began with it")
            if last and lease.generation <= last.generation:
                raise _refused(
                    f"the lease is of generation {lease.generation}, and one of generation {last.generation} was used"
                )
            if lease.begin_by_ns is not None and clock.now_ns() > lease.begin_by_ns:
                raise _refused("the lease has expired: it came too late to begin")
            write_checked(path, UsedLease(id=lease.id, generation=lease.generation))

    @property
    def is_running(self) -> bool:
        """Whether a process runs the review, perhaps for a controller that is gone."""
        try:
            descriptor = os.open(_lock_of(self.review), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return False

    def files(self) -> list[SavedFile]:
        """Return the regular files of the review, by path. Links are not followed; hidden files are unfinished."""
        saved: list[SavedFile] = []
        if not self.review.is_dir():
            return saved
        for folder, folders, names, descriptor in os.fwalk(self.review, follow_symlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                status = _status(name, descriptor)
                if name.startswith(".") or status is None or not stat.S_ISREG(status.st_mode):
                    continue
                path = (Path(folder) / name).relative_to(self.review).as_posix()
                saved.append(SavedFile(path=path, bytes=status.st_size, modified_ns=status.st_mtime_ns))
        return sorted(saved, key=lambda file: file.path)

    def read(self, path: str, offset: int, length: int) -> bytes:
        """Return bytes of a file of the review, fewer at its end, and at most 8 MiB.

        Raises:
            IogaugeError: it is no regular file below the review, or cannot be read.
        """
        if offset < 0 or length < 0:
            raise _no_file(path)
        with self._opened(path) as descriptor, explained("read", self.review / path):
            return os.pread(descriptor, min(length, _READ_BYTES), offset)

    def checksum(self, path: str) -> str:
        """Return the SHA-256 of a file of the review, in hexadecimal. Raises IogaugeError as ``read`` does."""
        with (
            self._opened(path) as descriptor,
            explained("read", self.review / path),
            open(descriptor, "rb", closefd=False) as file,
        ):
            return hashlib.file_digest(file, "sha256").hexdigest()

    @contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Open a file below the review, one directory after the other: no link leads out of it."""
        parts = path.split("/")
        if any(part in ("", ".", "..") or part.startswith(".") or "\0" in part for part in parts):
            raise _no_file(path)
        how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        opened: list[int] = []
        try:
            try:
                opened.append(os.open(self.review, how | os.O_DIRECTORY))
                for folder in parts[:-1]:
                    opened.append(os.open(folder, how | os.O_DIRECTORY, dir_fd=opened[-1]))
                opened.append(os.open(parts[-1], how, dir_fd=opened[-1]))
            except (OSError, ValueError):
                raise _no_file(path) from None
            if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
                raise _no_file(path)
            yield opened[-1]
        finally:
            for descriptor in opened:
                os.close(descriptor)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        with explained("create", self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            descriptor = durable.open_lock(self.directory / LOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def lock_running(directory: Path) -> None:
    """Lock the directory of a review for the process that runs it, until that ends.

    Raises InUseError if an earlier process still runs it.
    """
    path = _lock_of(directory)
    with explained("lock", path):
        descriptor = durable.open_lock(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InUseError(STILL_RUNNING, hint="wait until it has ended") from None


def _lock_of(review: Path) -> Path:
    return review.with_name(f"{review.name}.lock")


def _status(name: str, folder: int) -> os.stat_result | None:
    """Return the status of a file, which may vanish while it is looked at."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None


def _refused(text: str) -> IogaugeError:
    return IogaugeError(text, hint="resume the fleet's review, which makes new leases")


def _no_file(path: str) -> IogaugeError:
    return IogaugeError(f"{path!r}: no file of this host's review", hint="name one that it lists")
