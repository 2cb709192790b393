"""Files and directories that are there whole or not at all, whatever kills the process or the power.

Why: a review is trusted after a SIGKILL only if nothing half-written can be taken for a result. Two operations are
enough for that: replace one file, and make one prepared directory visible. Both end in one ``rename(2)``, after
everything beneath was synced, and sync the parent directory afterwards. What a user asked for by name is replaced in
the same way; whether it may be is ``outputs``' to say.

This module does not know what the files hold, and retries nothing: an error of the operating system becomes an
``IogaugeError`` that names the place and the remedy.
"""

from __future__ import annotations

import contextlib
import errno
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
    errno.ENOENT: "the directory is not there, or has vanished: make it, or choose another place",
    errno.ENOTDIR: "choose another place: a part of that path is a file",
    errno.EEXIST: "choose another place: there is a file of that name",
    errno.EISDIR: "choose another name: there is a directory of that one",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "choose another disk: that one reports an I/O error",
}

GOES_ON = "what is complete is intact: go on with --resume, or where it was an import, import again"
"""How a review that could not be written goes on once the cause is mended."""


@contextmanager
def explained(doing: str, path: Path, *, then: str = "") -> Iterator[None]:
    """Turn an error of the operating system into an ``IogaugeError`` saying what failed, where, and the remedy.

    ``then`` says what to do once the cause is mended.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        hint = _HINTS.get(error.errno or 0, "mend the cause, or choose another place")
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
    """Write a file of a review so that readers see the old contents or the new ones, never a mixture.

    Whoever does holds the review's lock. Raises IogaugeError where it cannot be written; for ``then`` see
    ``explained``.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    explain = partial(explained, "write", path, then=then)
    with _taking_place(path, temporary, how=os.O_TRUNC, explain=explain) as file:
        file.write(data)


@contextmanager
def replacing(path: Path, *, explain: Explain) -> Iterator[IO[bytes]]:
    """Enter a file that takes the place of ``path`` as the context is left, and vanishes on an error.

    Others may write into that directory too: the name of what is not finished is new, and cannot be foreseen. Raises
    what ``explain`` makes of an error of this file; errors of the caller's own pass through.
    """
    temporary = path.with_name(f".iogauge-{secrets.token_hex(8)}")
    with _taking_place(path, temporary, how=os.O_EXCL, explain=explain) as file:
        yield file


def explained_file(descriptor: int, explain: Explain) -> IO[bytes]:
    """Return a file that writes to a descriptor and closes it; its errors are explained, whoever writes to it."""
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
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with explain():
        sync_directory(path.parent)


def create_file(path: Path) -> IO[bytes]:
    """Open a new file of what is being prepared, and is published or removed as one. Raises OSError."""
    return path.open("xb")


def open_lock(path: Path) -> int:
    """Open a file that is there to be locked, made where it is missing; return its descriptor. Raises OSError."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def new_file(directory: Path, *, prefix: str, suffix: str) -> tuple[Path, IO[bytes]]:
    """Open a file of a new name, which stays if the process is killed; return its path too. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=directory, prefix=prefix, suffix=suffix)
    return Path(name), os.fdopen(descriptor, "wb")


def publish_directory(temporary: Path, final: Path) -> None:
    """Sync every file of a prepared directory, then make it visible under its final name in one step.

    Both lie on one file system. The prepared directory holds files only; ``final`` must not exist.
    """
    with explained("save", final, then=GOES_ON):
        for file in sorted(temporary.iterdir()):
            sync_file(file)
        sync_directory(temporary)
        temporary.rename(final)
        sync_directory(final.parent)


def withdraw_directory(path: Path) -> None:
    """Remove a published directory: hidden in one step first, so that a kill never leaves a part of it visible."""
    hidden = path.with_name(f".{path.name}.old")
    with explained("remove", path):
        remove_tree(hidden)
        path.rename(hidden)
        sync_directory(path.parent)
        remove_tree(hidden)


def remove_tree(path: Path) -> None:
    """Remove a directory that nothing relies on, where it is there at all."""
    if path.exists():
        shutil.rmtree(path)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
