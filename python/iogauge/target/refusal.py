"""The error for a target that may not be used, and hints for errors of the kernel.

A user can correct the cause of an ``IogaugeError``. A ``TargetRefused`` is one that protects data, or reports a target
that cannot be used at all.
"""

from __future__ import annotations

import errno
import os

from iogauge.errors import IogaugeError


class TargetRefused(IogaugeError):  # noqa: N818
    """A target is refused. The message gives the reason, the hint a remedy."""


_HINTS = {
    errno.ENOENT: "check the path",
    errno.EEXIST: "another program has just created it: start again",
    errno.EACCES: "run as a user who may open it (block devices usually need root)",
    errno.EPERM: "the file may be immutable or append-only: see lsattr",
    errno.EROFS: "the filesystem is mounted read-only: choose another directory, or remount it read-write",
    errno.ENOSPC: "free some space, or ask for a smaller size",
    errno.EDQUOT: "the disk quota is used up: ask for a smaller size, or choose another directory",
    errno.EFBIG: "larger than this filesystem or the process's limit (ulimit -f) allows: ask for a smaller size",
    errno.EIO: "the drive reported an error: look at dmesg before you use it",
    errno.ENXIO: "nothing answers behind this device node: check that the drive is present",
    errno.ENOMEDIUM: "no medium in the drive: insert one, or attach a file (losetup) or a size (zram) first",
    errno.ETXTBSY: "it is a running program or an active swap file: choose another file",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its symbolic links lead in a circle: give the file itself",
    errno.ENOTDIR: "a part of the path is a file, not a directory: check the path",
    errno.EMFILE: "too many files are open: raise ulimit -n, or use fewer files",
}


def refused_by_kernel(path: str, doing: str, error: OSError) -> TargetRefused:
    """Return the error for an ``OSError``: the path, what was tried, and a remedy.

    >>> refused_by_kernel("x.bin", "opening it", OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))).render()
    'error: x.bin: opening it failed: No space left on device\\nhint: free some space, or ask for a smaller size'
    """
    number = error.errno
    if number == errno.ENOENT and not os.path.lexists("/proc/self"):
        return TargetRefused(
            f"{path}: {doing} needs /proc, which is not mounted", hint="mount it: mount -t proc proc /proc"
        )
    reason = os.strerror(number) if number else str(error)
    return TargetRefused(f"{path}: {doing} failed: {reason}", hint=_HINTS.get(number or 0))
