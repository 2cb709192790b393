"""The file that keeps the data of a served drive: made once, and served again later.

Any file may have the size of an export: a swap file, an image of a virtual machine. So one that iogauge made says it by
an extended attribute, and any other is refused, as is one that is in use. To read one needs neither.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store.durable import explained
from iogauge.target.users.locks import foreign_lock
from iogauge.target.users.usage import Usage

_ATTRIBUTE = "user.iogauge.store"


@dataclass(frozen=True)
class KeptFile:
    """An open file that keeps the data of a served drive."""

    path: Path
    """As the user named it."""
    real: Path
    """With all links followed."""
    descriptor: int
    is_new: bool

    def close(self) -> None:
        """Close the descriptor; the file stays."""
        os.close(self.descriptor)

    def withdraw(self) -> None:
        """Remove a file that was only just made, because nothing was served from it."""
        if self.is_new:
            self.real.unlink(missing_ok=True)


def open_kept(path: Path, real: Path, *, size_bytes: int, say: Callable[[str], None]) -> KeptFile:
    """Open the file for writing, or make it where it is missing. ``real``: the path with all links followed.

    ``Claims.kept`` is the way here. Raises IogaugeError where it must not be written, OSError where it cannot.
    """
    try:
        status = real.lstat()
    except FileNotFoundError:
        return _made(path, real, size_bytes=size_bytes, say=say)
    # Looked at before it is opened: opening a pipe or a device may do something.
    _refuse_kind(path, status, size_bytes)
    descriptor = os.open(real, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _refuse_replaced(path, status, descriptor)
        _refuse_stranger(path, descriptor, size_bytes)
        _refuse_used(path, real, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return KeptFile(path, real, descriptor, is_new=False)


def read_kept(path: Path, *, size_bytes: int) -> KeptFile:
    """Open a file of the export's size for reading, whoever made it. Raises IogaugeError where that cannot be."""
    if not path.exists():
        raise IogaugeError(f"{path}: no such file", hint="a read-only export needs a file that is there")
    with explained("read", path):
        status = path.stat()
        _refuse_kind(path, status, size_bytes)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _refuse_replaced(path, status, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
    return KeptFile(path, path, descriptor, is_new=False)


def _made(path: Path, real: Path, *, size_bytes: int, say: Callable[[str], None]) -> KeptFile:
    descriptor = os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        os.ftruncate(descriptor, size_bytes)
    except BaseException:
        os.close(descriptor)
        real.unlink(missing_ok=True)
        raise
    try:
        os.setxattr(descriptor, _ATTRIBUTE, _mark(size_bytes))
    except OSError:
        say(
            f"{path}: its filesystem has no extended attributes, so this file cannot be served for writing again"
        )
    return KeptFile(path, real, descriptor, is_new=True)


def _refuse_kind(path: Path, status: os.stat_result, size_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise IogaugeError(f"{path}: exists, and is no regular file", hint="name a new file")
    if status.st_size != size_bytes:
        raise IogaugeError(
            f"{path}: exists, and has {status.st_size} bytes where the export has {size_bytes}",
            hint="name a new file, or one that held the data of an export of this size (--size)",
        )


def _refuse_replaced(path: Path, seen: os.stat_result, descriptor: int) -> None:
    if not os.path.samestat(seen, os.fstat(descriptor)):
        raise IogaugeError(f"{path}: was replaced while it was being opened", hint="start again")


def _refuse_stranger(path: Path, descriptor: int, size_bytes: int) -> None:
    mark = None
    try:
        mark = os.getxattr(descriptor, _ATTRIBUTE)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            raise IogaugeError(
                f"{path}: exists, and its filesystem has no extended attributes, so it may be anybody's",
                hint="name a new file, on a filesystem with extended attributes (ext4, xfs, btrfs)",
            ) from None
    if mark != _mark(size_bytes):
        raise IogaugeError(
            f"{path}: exists, and nothing says that it is the data of a served drive",
            hint="name a new file; or, if all of this one may be written over: "
            f"setfattr -n {_ATTRIBUTE} -v {size_bytes} {shlex.quote(str(path))}",
        )


def _refuse_used(path: Path, real: Path, descriptor: int) -> None:
    status = os.fstat(descriptor)
    uses = Usage().of_file((status.st_dev, status.st_ino), path=str(real), size_bytes=status.st_size)
    if uses:
        raise IogaugeError(
            f"{path}: it is in use: {uses[0].what}", hint=f"name another file, or {uses[0].remedy} first"
        )
    if lock := foreign_lock(descriptor):
        raise IogaugeError(f"{path}: it is in use: {lock}", hint="name another file, or end that use first")


def _mark(size_bytes: int) -> bytes:
    return str(size_bytes).encode()
