"""Fills a file with random data, so that reads go to written blocks that no drive can compress.

The file's size records the progress: it grows only by what was written, so an interrupted layout continues where it
stopped. A failed layout frees its space. A layout takes at most 80 % of a filesystem's free space.
Source: fio #719, diskspd #228: unwritten extents give fake figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from iogauge.target.noise import noise
from iogauge.target.refusal import TargetRefused, refused_by_kernel

Say = Callable[[str], None]

FREE_SHARE = 0.8
"""A file may take up to this share of the space that would be free without it."""

_FLUSH_BYTES = 128 << 20
_BLOCK_BYTES = 4096
_MESSAGE_EVERY_S = 1.0


def check_space(fd: int, path: str, *, size_bytes: int) -> None:
    """Raise TargetRefused if the file at ``size_bytes`` would take over 80 % of the free space.

    Space that the file occupies already counts as free. Holes count as growth, because writing to them takes space.
    """
    occupied = os.fstat(fd).st_blocks * 512
    if size_bytes <= occupied:
        return
    filesystem = os.fstatvfs(fd)
    if not filesystem.f_blocks:  # It has no space of its own, as that of nbdfuse.
        return
    free = filesystem.f_bavail * filesystem.f_frsize + occupied
    allowed = int(free * FREE_SHARE)
    if size_bytes > allowed:
        size = f"{allowed >> 20}m" if allowed >> 20 else f"{allowed >> 10}k"
        raise TargetRefused(
            f"{path}: {gib(size_bytes)} would be over {FREE_SHARE:.0%} of the {gib(free)} free on its filesystem",
            hint=f"ask for at most {gib(allowed, down=True)} (size={size}), or free some space",
        )


def lay_out(fd: int, path: str, *, size_bytes: int, seed: int, say: Say) -> None:
    """Extend the open file to ``size_bytes`` with the random data of ``seed``, and flush it to the device.

    Raises TargetRefused if it does not fit or the drive fails; the file then has its old length. A KeyboardInterrupt
    passes through, and the written part stays.
    """
    before = os.fstat(fd).st_size
    # An interrupt may have cut a block in half: that block is written again.
    start = before - before % _BLOCK_BYTES
    if before >= size_bytes:
        return
    check_space(fd, path, size_bytes=size_bytes)
    try:
        say(f"{path}: writing {gib(size_bytes - start)} of random data, so that reads go to written blocks")
        _fill(fd, path, start, size_bytes, seed, say)
    except OSError as error:
        os.ftruncate(fd, before)
        raise refused_by_kernel(path, f"writing its {gib(size_bytes)}", error) from None
    except KeyboardInterrupt:
        say(
            f"{path}: stopped at {gib(os.fstat(fd).st_size)} of {gib(size_bytes)}; the next run continues there"
        )
        raise


def _fill(fd: int, path: str, start: int, end: int, seed: int, say: Say) -> None:
    at, flushed, reported_s = start, start, time.monotonic()
    while at < end:
        chunk = noise(seed, at, end)
        while chunk:
            written = os.pwrite(fd, chunk, at)
            chunk, at = chunk[written:], at + written
        if at - flushed >= _FLUSH_BYTES or at == end:
            os.fdatasync(fd)
            # In the page cache, the data would serve buffered reads and slow the first direct ones.
            os.posix_fadvise(fd, flushed, at - flushed, os.POSIX_FADV_DONTNEED)
            flushed = at
        if at < end and time.monotonic() - reported_s >= _MESSAGE_EVERY_S:
            reported_s = time.monotonic()
            say(f"{path}: {gib(at)} of {gib(end)} written ({100 * at // end} %)")
    os.fsync(fd)


def gib(size_bytes: int, *, down: bool = False) -> str:
    """Return a size in binary units with three digits.

    >>> gib(3 << 29), gib(5 << 20), gib(700)
    ('1.50 GiB', '5.00 MiB', '700 B')
    """
    for shift, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size_bytes >= 1 << shift:
            amount = size_bytes / (1 << shift)
            places = 2 if amount < 10 else 1 if amount < 100 else 0
            if down:
                amount = int(amount * 10**places) / 10**places
            return f"{amount:.{places}f} {unit}"
    return f"{size_bytes} B"
