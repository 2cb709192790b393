"""Filling a file with random data, so that reads meet blocks that were written and that no drive can compress.

The file's size is the record of progress: it grows only by what was written, so an interrupted layout goes on
where it stopped. A layout that fails gives its space back. Never fills a filesystem over 80 % of what is free.
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
    """Raise TargetRefused where the file at its full ``size_bytes`` would take over 80 % of the free space.

    What it occupies already counts as free. Holes count as growth: writing into them takes space too.
    """
    occupied = os.fstat(fd).st_blocks * 512
    if size_bytes <= occupied:
        return
    filesystem = os.fstatvfs(fd)
    free = filesystem.f_bavail * filesystem.f_frsize + occupied
    allowed = int(free * FREE_SHARE)
    if size_bytes > allowed:
        size = f"{allowed >> 20}m" if allowed >> 20 else f"{allowed >> 10}k"
        raise TargetRefused(
            f"{path}: {gib(size_bytes)} would be over {FREE_SHARE:.0%} of the {gib(free)} free on its filesystem",
            hint=f"ask for at most {gib(allowed, down=True)} (size={size}), or free some space",
        )


def lay_out(fd: int, path: str, *, size_bytes: int, seed: int, say: Say) -> None:
    """Extend the open file to ``size_bytes`` with the random data of ``seed``, flushed to the device.

    Raises TargetRefused when it does not fit or the drive fails; the file is then as long as before. An interrupt
    (KeyboardInterrupt) passes through and leaves what was written.
    """
    before = os.fstat(fd).st_size
    # A block cut in half by an interrupt is written again whole.
    start = before - before % _BLOCK_BYTES
    if before >= size_bytes:
        return
    check_space(fd, path, size_bytes=size_bytes)
    try:
        say(f"{path}: writing {gib(size_bytes - start)} of random data, so that reads meet written blocks")
        _fill(fd, path, start, size_bytes, seed, say)
    except OSError as error:
        os.ftruncate(fd, before)
        raise refused_by_kernel(path, f"writing its {gib(size_bytes)}", error) from None
    except KeyboardInterrupt:
        say(
            f"{path}: stopped at {gib(os.fstat(fd).st_size)} of {gib(size_bytes)}; the next run goes on there"
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
            # Left in the page cache, it would serve buffered reads and slow the first direct ones.
            os.posix_fadvise(fd, flushed, at - flushed, os.POSIX_FADV_DONTNEED)
            flushed = at
        if at < end and time.monotonic() - reported_s >= _MESSAGE_EVERY_S:
            reported_s = time.monotonic()
            say(f"{path}: {gib(at)} of {gib(end)} written ({100 * at // end} %)")
    os.fsync(fd)


def gib(size_bytes: int, *, down: bool = False) -> str:
    """Return a size in words, to three figures.

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
