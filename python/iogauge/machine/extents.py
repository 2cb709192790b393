"""Measures how much of a region was never written: reads of it are answered without the drive.

FIEMAP finds holes and preallocated extents of a file, or SEEK_DATA where the filesystem has no FIEMAP. For a block
device only its driver knows: zram and loop tell, others do not. The work is bounded: of a region with too many extents
only the first part is examined, and stands for the rest.
Source: fio #719, diskspd #228; Documentation/filesystems/fiemap.rst; lseek(2).
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from dataclasses import dataclass

from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of

_FS_IOC_FIEMAP = 0xC020660B
_HEADER = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQQQLLLL")
_LAST = 0x1
_UNWRITTEN = 0x800
_BATCH = 256
_MOST_EXTENTS = 64 * _BATCH


@dataclass
class _Seen:
    """The end of the part that was examined, and how many of its bytes are written."""

    until: int
    written: int = 0


def unwritten_share(fd: int, *, offset_bytes: int = 0, length_bytes: int, host: Host = HOST) -> float | None:
    """Return the share of the region in [0, 1] that was never written; None if it is unknown."""
    status = os.fstat(fd)
    if length_bytes <= 0:
        return None
    if stat.S_ISBLK(status.st_mode):
        device = BlockDevice.by_number(number_of(status.st_rdev), host)
        return _of_device(device, offset_bytes, length_bytes, host) if device else None
    return _of_file(fd, offset_bytes, length_bytes)


def _of_file(fd: int, start: int, length: int) -> float | None:
    end = start + length
    try:
        seen = _by_fiemap(fd, start, end)
    except OSError:
        try:
            seen = _by_seeking(fd, start, end)
        except OSError:
            return None
    covered = min(seen.until, end) - start
    return 1 - seen.written / covered if covered > 0 else None


def _by_fiemap(fd: int, start: int, end: int) -> _Seen:
    seen = _Seen(until=start)
    for _ in range(_MOST_EXTENTS // _BATCH):
        request = bytearray(_HEADER.size + _BATCH * _EXTENT.size)
        _HEADER.pack_into(request, 0, seen.until, end - seen.until, 0, 0, _BATCH, 0)
        fcntl.ioctl(fd, _FS_IOC_FIEMAP, request)
        mapped = _HEADER.unpack_from(request)[3]
        last = mapped == 0
        for index in range(mapped):
            logical, _physical, length, *_reserved, flags, _r1, _r2, _r3 = _EXTENT.unpack_from(
                request, _HEADER.size + index * _EXTENT.size
            )
            if not flags & _UNWRITTEN:
                seen.written += max(0, min(logical + length, end) - max(logical, seen.until))
            seen.until = max(seen.until, min(logical + length, end))
            last = last or bool(flags & _LAST)
        # After the last extent there is only a hole.
        if last or seen.until >= end:
            return _Seen(until=end, written=seen.written)
    return seen


def _by_seeking(fd: int, start: int, end: int) -> _Seen:
    seen = _Seen(until=start)
    here = os.lseek(fd, 0, os.SEEK_CUR)
    try:
        for _ in range(_MOST_EXTENTS):
            try:
                data = os.lseek(fd, seen.until, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return _Seen(until=end, written=seen.written)
            if data >= end:
                return _Seen(until=end, written=seen.written)
            hole = min(os.lseek(fd, data, os.SEEK_HOLE), end)
            seen = _Seen(until=hole, written=seen.written + hole - data)
            if hole >= end:
                return seen
    finally:
        os.lseek(fd, here, os.SEEK_SET)
    return seen


def _of_device(device: BlockDevice, start: int, length: int, host: Host) -> float | None:
    disk = device.disk
    if (pages := disk.text("mm_stat")) and disk.size_bytes:
        # zram counts the bytes that it stores but does not tell where, so the device stands for the region.
        return max(0.0, 1 - int(pages.split()[0]) / disk.size_bytes)
    path = disk.backing_path
    if path is None:
        return None
    start += int(disk.text("loop/offset") or 0)
    start += 512 * int(device.text("start") or 0) if device.is_partition else 0
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        # The file behind a loop device may be a loop device, too; the kernel allows no circle.
        return unwritten_share(fd, offset_bytes=start, length_bytes=length, host=host)
    finally:
        os.close(fd)
