"""The file that keeps the data of a served drive between two exports.

A swap file or the image of a virtual machine may have the size of an export. So iogauge marks a file that it creates by
an extended attribute, and refuses to write an unmarked file or one in use. Reading needs no mark.
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
from iogauge.text.option import option

_ATTRIBUTE = "user.iogauge.store"


@dataclass(frozen=True)
class KeptFile:
    """An open file that keeps the data of a served drive."""

    path: Path
    """As the user named it."""
    real: Path
    """With links resolved."""
    descriptor: int
    is_new: bool

    def close(self) -> None:
        """Close the descriptor; the file stays."""
        os.close(self.descriptor)

    def withdraw(self) -> None:
        """Remove a new file from which nothing was served."""
        if self.is_new:
            self.real.unlink(missing_ok=True)


def open_kept(path: Path, real: Path, *, size_bytes: int, say: Callable[[str], None]) -> KeptFile:
    """Open the file for writing; create it if it is missing. ``real``: the path with links resolved.

    Call it through ``Claims.kept``. Raises IogaugeError if the file must not be written, OSError if it cannot be.
    """
    try:
        status = real.lstat()
    except FileNotFoundError:
        return _made(path, real, size_bytes=size_bytes, say=say)
    # The kind is checked before opening: opening a pipe or a device may have effects.
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
    """Open any file of the export's size for reading. Raises IogaugeError if that fails."""
    if not path.exists():
        raise IogaugeError(f"{path}: no such file", hint="a read-only export needs an existing file")
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
        raise IogaugeError(f"{path}: exists, and is not a regular file", hint="name a new file")
    if status.st_size != size_bytes:
        raise IogaugeError(
            f"{path}: exists with {status.st_size} bytes, and the export has {size_bytes}",
            hint=f"name a new file, or one that held the data of an export of this size ({option('size')})",
        )


def _refuse_replaced(path: Path, seen: os.stat_result, descriptor: int) -> None:
    if not os.path.samestat(seen, os.fstat(descriptor)):
        raise IogaugeError(f"{path}: was replaced while iogauge opened it", hint="start again")


def _refuse_stranger(path: Path, descriptor: int, size_bytes: int) -> None:
    mark = None
    try:
        mark = os.getxattr(descriptor, _ATTRIBUTE)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            raise IogaugeError(
                f"{path}: exists, and its filesystem has no extended attributes, so it may not be iogauge's",
                hint="name a new file, on a filesystem with extended attributes (ext4, xfs, btrfs)",
            ) from None
    if mark != _mark(size_bytes):
        raise IogaugeError(
            f"{path}: exists, and is not marked as the data of a served drive",
            hint="name a new file; or, if this one may be overwritten: "
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
