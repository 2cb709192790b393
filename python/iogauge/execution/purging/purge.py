"""Purges a target: discards or erases all its content, as if nothing had ever been written to it.

A block device discards all its blocks. A file returns its blocks to the file system, by a hole as large as the file. A
drive model starts every run anew, so there is nothing to purge. ``target`` first decides whether the target may be
written.

A drive can accept a discard and keep its data, which cannot be seen from outside. A hole in a file reaches the drive
only if the file system is mounted with ``discard``. An NVMe drive can instead be formatted or sanitized (``erase``).
There is no secure erase of ATA.

Source: SNIA PTS 2.0.2 (purge); blkdiscard(8) and block/ioctl.c of Linux; fallocate(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.execution.bookkeeping import enter
from iogauge.execution.purging.erase import drop_cache, erasure_of, no_namespace
from iogauge.schema import LedgerEntry, PurgeBy
from iogauge.target import Target, is_model, open_target
from iogauge.target.answering import await_answers
from iogauge.target.refusal import refused_by_kernel
from iogauge.text import numbers
from iogauge.text.option import option

_BLKDISCARD = 0x1277
"""``_IO(0x12, 119)``, as the asm-generic ioctl numbers have it (x86, Arm, RISC-V)."""
_KEEP_SIZE, _PUNCH_HOLE = 0x01, 0x02
_CHUNK_BYTES = 16 << 30
"""Bytes of one discard: Ctrl-C works between two of them."""
_UNABLE = (errno.EOPNOTSUPP, errno.ENOTTY, errno.ENOSYS)


def purge(
    path: str,
    *,
    destroy: Collection[str] = (),
    by: PurgeBy = "discard",
    on_message: Callable[[str], None] | None = None,
) -> None:
    """Discard or erase all content of the device or file at ``path``. Does nothing to a drive model.

    ``destroy`` and ``on_message`` are those of ``execution.execute``. An NVMe namespace can be purged ``by`` a format
    or a sanitize if ``destroy`` names its drive by serial number.

    Raises IogaugeError if the target may not be written, does not exist, or cannot be purged so. A part of its content
    may then be lost.
    """
    say = on_message or (lambda _: None)
    if is_model(path):
        return
    await_answers((path,), say=say)
    with open_target(path, write=True, destroy=destroy, on_message=on_message) as target:
        if by == "discard":
            what = _given_back(target, path)
        else:
            what = erasure_of(target, by, destroy=destroy).run(say)
            drop_cache(target)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        entry = LedgerEntry(what="purge", at=at, capacity_bytes=target.size_bytes, purged_by=by)
        enter(target.facts, entry, say)
        say(f"{path}: purged: {numbers.size(target.size_bytes)} {what}")


def refuse_files(path: str, *, by: PurgeBy) -> None:
    """Raise TargetRefused if ``by`` erases NVMe namespaces and ``path`` is a file, or one that would first be made."""
    if by in ("format", "sanitize") and not is_model(path) and not Path(path).is_block_device():
        raise no_namespace(path, by)


def check_purge(path: str, *, destroy: Collection[str], by: PurgeBy) -> None:
    """Raise IogaugeError if the target at ``path`` may not be purged so. Whether it can discard is not tried."""
    if is_model(path) or by == "discard":
        return
    with open_target(path, write=True, destroy=destroy) as target:
        erasure_of(target, by, destroy=destroy)


def _given_back(target: Target, path: str) -> str:
    """Discard the content of a target, and return what was done as a clause."""
    block = target.facts.kind == "block"
    try:
        (_discard if block else _punch)(target)
    except OSError as error:
        if error.errno in _UNABLE:
            what = (
                f"the {'device does not support discard' if block else 'file system does not support holes'}"
            )
            raise IogaugeError(
                f"{path}: it cannot be purged: {what}",
                hint=f"choose a suite that does not purge, and {option('state', 'as-is')}",
            ) from None
        raise refused_by_kernel(path, "purging it", error) from None
    return "discarded" if block else "given back to the file system"


def _discard(target: Target) -> None:
    """Discard the whole device. Raises OSError."""
    for start in range(0, target.size_bytes, _CHUNK_BYTES):
        length = min(_CHUNK_BYTES, target.size_bytes - start)
        fcntl.ioctl(target.fd, _BLKDISCARD, struct.pack("=QQ", start, length))


def _punch(target: Target) -> None:
    """Punch a hole as large as the file, keep the file's size, and flush the change. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    fallocate = libc.fallocate
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
    if fallocate(target.fd, _PUNCH_HOLE | _KEEP_SIZE, 0, target.size_bytes) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    os.fsync(target.fd)
