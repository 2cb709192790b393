"""Replaces files and publishes directories atomically, even if the process is killed or the power fails.

A saved review can be trusted only if no half-written file can pass for a result. Two operations are enough: replace
one file, and make one prepared directory visible. Both sync the content, rename it by one ``rename(2)``, and sync the
parent directory. ``outputs`` decides whether a file that a user names may be replaced.

Nothing is retried: an error of the operating system becomes an ``IogaugeError`` that names the path and the remedy.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from iogauge.errors import IogaugeError
from iogauge.text.option import option

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Explain = Callable[[], AbstractContextManager[None]]
"""``explained`` of one file."""

_HINTS = {
    errno.ENOSPC: "free some space, or choose another place",
    errno.EDQUOT: "free some space within the quota, or choose another place",
    errno.EROFS: "choose another place: that file system can only be read",
    errno.EACCES: "choose another place, or change the permissions",
    errno.EPERM: "choose another place, or change the permissions",
    errno.ENOENT: "the directory is missing: make it, or choose another place",
    errno.ENOTDIR: "choose another place: a part of that path is a file",
    errno.EEXIST: "choose another place: a file has that name",
    errno.EISDIR: "choose another name: a directory has that one",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "choose another disk: that one reports an I/O error",
}
_READ_HINTS = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EISDIR: "name a file: that is a directory",
    errno.EACCES: "change the permissions, or run it as a user who may read it",
    errno.EPERM: "change the permissions, or run it as a user who may read it",
    errno.EIO: "restore it from a copy: the disk reports an I/O error",
}

_LONGEST_LINE = 1 << 20
"""More bytes than any line has that ``append_lines`` writes."""


def goes_on() -> str:
    """Return how to continue a review that could not be written, after the cause is removed."""
    return (
        f"complete steps are intact: continue with {option('resume')} or, if it was an import, import again"
    )


@contextmanager
def explained(doing: str, path: Path, *, then: str = "") -> Iterator[None]:
    """Turn an error of the operating system into an ``IogaugeError`` that names the operation, the path and the remedy.

    ``then`` says what to do after the cause is removed.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hints = _READ_HINTS if doing == "read" else _HINTS
        hint = hints.get(error.errno or 0, "remove the cause, or choose another place")
        raise IogaugeError(
            f"{path}: cannot {doing}: {reason}", hint=f"{hint}; {then}" if then else hint
        ) from error


def sync_directory(path: Path) -> None:
    """Make the entries of a directory survive a power cut."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Make the contents of a file survive a power cut."""
    _sync(path, os.O_RDONLY)


def replace_file(path: Path, data: bytes, *, then: str = "") -> None:
    """Replace a file of a review atomically. The caller holds the review's lock.

    Raises IogaugeError if it cannot be written; for ``then`` see ``explained``.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    explain = partial(explained, "write", path, then=then)
    with _taking_place(path, temporary, how=os.O_TRUNC, explain=explain) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, explain: Explain) -> Iterator[IO[bytes]]:
    """Yield a temporary file that replaces ``path`` when the context ends, and is removed on an error.

    Its name is random, since other programs may write into that directory. ``explain`` converts errors of this file;
    other errors of the caller pass through.
    """
    temporary = path.with_name(f".iogauge-{secrets.token_hex(8)}")
    with _taking_place(path, temporary, how=os.O_EXCL, explain=explain) as file:
        yield file


def explained_file(descriptor: int, explain: Explain) -> IO[bytes]:
    """Return a file that writes to a descriptor and closes it. ``explain`` converts its errors."""
    return io.BufferedWriter(_ExplainedFile(descriptor, explain))


class _ExplainedFile(io.FileIO):
    def __init__(self, descriptor: int, explain: Explain) -> None:
        self._explain = explain
        super().__init__(descriptor, "wb")

    def write(self, data: ReadableBuffer, /) -> int:
        with self._explain():
            return super().write(data)

    def close(self) -> None:
        with self._explain():
            super().close()


@contextmanager
def _taking_place(path: Path, temporary: Path, *, how: int, explain: Explain) -> Iterator[IO[bytes]]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | how
    with explain():
        descriptor = os.open(temporary, flags, 0o666)
    try:
        with explained_file(descriptor, explain) as file:
            with explain():
                if path.exists():
                    os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            with explain():
                os.fsync(descriptor)
        with explain():
            temporary.rename(path)
    except BaseException:  # Also on Ctrl-C.
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with explain():
        sync_directory(path.parent)


def create_file(path: Path) -> IO[bytes]:
    """Open a new file in a directory that is being prepared. Raises OSError."""
    return path.open("xb")


def append_lines(path: Path, data: bytes) -> None:
    """Append whole lines to a file, which is created if it is missing; a line that a kill left torn is removed first.

    One writer at a time. It survives a kill, but not a power failure. Raises IogaugeError if it cannot be written.
    """
    with explained("write", path), path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        if file.read() not in (b"", b"\n"):
            file.seek(max(0, end - _LONGEST_LINE))
            tail = file.read()
            file.truncate(end - len(tail) + tail.rfind(b"\n") + 1)
        file.write(data)


def open_lock(path: Path) -> int:
    """Open a lock file, which is created if it is missing; return its descriptor. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


@contextmanager
def locked(path: Path, *, busy: str) -> Iterator[None]:
    """Hold a lock file against other processes; the kernel releases it when this one ends.

    Raises IogaugeError: another process holds it, which ``busy`` says, or it cannot be locked.
    """
    with explained("lock", path):
        descriptor = open_lock(path)
    try:
        with explained("lock", path):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IogaugeError(busy, hint="wait until it has ended, or stop it") from None
        yield
    finally:
        os.close(descriptor)


def new_file(directory: Path, *, prefix: str, suffix: str) -> tuple[Path, IO[bytes]]:
    """Create a file with a new name, and return its path and the open file. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=directory, prefix=prefix, suffix=suffix)
    return Path(name), os.fdopen(descriptor, "wb")


def copy_file(source: Path, to: Path) -> None:
    """Copy a file to a new name, sharing its blocks where the file system can. Raises OSError."""
    with source.open("rb") as original, to.open("xb") as copy:
        left = os.fstat(original.fileno()).st_size
        with contextlib.suppress(OSError):  # Some file systems cannot; then the rest is read and written.
            while left > 0 and (copied := os.copy_file_range(original.fileno(), copy.fileno(), left)):
                left -= copied
        shutil.copyfileobj(original, copy)


def publish_directory(temporary: Path, final: Path) -> None:
    """Sync every file of a prepared directory, then rename it to its final name.

    Both names are on one file system. The prepared directory has files only; ``final`` must not exist.
    """
    with explained("save", final, then=goes_on()):
        for file in sorted(temporary.iterdir()):
            sync_file(file)
        sync_directory(temporary)
        temporary.rename(final)
        sync_directory(final.parent)


def withdraw_directory(path: Path) -> None:
    """Remove a published directory. It is first renamed to a hidden name, so that a kill leaves no visible part."""
    hidden = path.with_name(f".{path.name}.old")
    with explained("remove", path):
        remove_tree(hidden)
        path.rename(hidden)
        sync_directory(path.parent)
        remove_tree(hidden)


def remove_tree(path: Path) -> None:
    """Remove a directory that nothing refers to; do nothing if it is missing."""
    if path.exists():
        shutil.rmtree(path)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
