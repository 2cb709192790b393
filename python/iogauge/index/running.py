"""Tells which reviews a process writes now, by the kernel's list of locks.

Taking a review's lock would tell too, but a review that begins in that instant would be refused it.
"""

from __future__ import annotations

import os
from pathlib import Path

from iogauge.store.names import LOCK


def locked_files() -> frozenset[int]:
    """Return the inodes of the files that a process has locked for itself alone; none if the kernel has no list."""
    try:
        lines = [line.split() for line in Path("/proc/locks").read_text(errors="replace").splitlines()]
    except OSError:
        return frozenset()
    # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:131077 0 EOF. The device is left out: some file systems name another.
    return frozenset(
        int(inode)
        for _, kind, _, how, _, file_id, *_ in filter(lambda words: len(words) > 5, lines)
        if (kind, how) == ("FLOCK", "WRITE") and (inode := file_id.rpartition(":")[2]).isdecimal()
    )


def is_running(path: str, locked: frozenset[int]) -> bool:
    """Return whether a process holds the lock of the review at ``path``."""
    if not locked:
        return False
    try:
        return os.lstat(f"{path}/{LOCK}").st_ino in locked
    except OSError:
        return False
