"""Detects locks that another program holds on a target: qemu and qemu-nbd lock the images that they serve.

Locks of an open file description (OFD) and of a process (POSIX) both count. Locks are advisory: only this check
prevents writing to a locked target. Source: fcntl(2).
"""

from __future__ import annotations

import fcntl
import os
import struct

_F_OFD_GETLK = 36
_FLOCK = struct.Struct("hhqqi4x")  # l_type, l_whence, l_start, l_len, l_pid


def foreign_lock(fd: int) -> str | None:
    """Return who holds a lock on any byte of the open target; None if nobody does or locks are not supported."""
    all_bytes = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        kind, _, _, _, process = _FLOCK.unpack(fcntl.fcntl(fd, _F_OFD_GETLK, all_bytes))
    except OSError:
        return None
    if kind == fcntl.F_UNLCK:
        return None
    # A lock of an open file description belongs to no process.
    return (
        f"locked by process {process}"
        if process > 0
        else "locked by another program, as qemu locks its images"
    )
