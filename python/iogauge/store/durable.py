"""Files and directories that are there whole or not at all, whatever kills the process or the power.

Why: a review is trusted after a SIGKILL only if nothing half-written can be taken for a result. Two operations are
enough for that: replace one file, and make one prepared directory visible. Both end in one ``rename(2)``, after
everything beneath was synced, and sync the parent directory afterwards.

This module does not know what the files hold, and retries nothing: an error of the operating system becomes an
``IogaugeError`` that names the place and the remedy.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iogauge.errors import IogaugeError

_HINTS = {
    errno.ENOSPC: "the file system is full: free some space, then go on with --resume",
    errno.EDQUOT: "the quota is used up: free some space, then go on with --resume",
    errno.EROFS: "the file system is read-only: choose another place with --output",
    errno.EACCES: "permission denied: choose another place with --output, or change the permissions",
    errno.EPERM: "not permitted: choose another place with --output, or change the permissions",
    errno.ENOENT: "the directory has vanished: was it moved or deleted meanwhile?",
    errno.EIO: "the disk that holds the review reports an I/O error: choose another one with --output",
}


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn an error of the operating system into an ``IogaugeError`` saying what failed, where, and the remedy."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise IogaugeError(
            f"{path}: cannot {doing}: {reason}",
            hint=_HINTS.get(
                error.errno or 0, "completed steps are intact; mend the cause and go on with --resume"
            ),
        ) from error


def sync_directory(path: Path) -> None:
    """Make the entries of a directory survive a power cut."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """Make the contents of a file survive a power cut."""
    _sync(path, os.O_RDONLY)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old contents or the new ones, never a mixture."""
    temporary = path.with_name(f".{path.name}.tmp")
    with explained("write", path):
        try:
            temporary.write_bytes(data)
            sync_file(temporary)
            temporary.rename(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def publish_directory(temporary: Path, final: Path) -> None:
    """Sync every file of a prepared directory, then make it visible under its final name in one step.

    Both lie on one file system. The prepared directory holds files only; ``final`` must not exist.
    """
    with explained("save", final):
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
