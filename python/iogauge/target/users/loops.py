"""Lists loop devices and the files behind them.

The driver knows the inode that it holds, even if its path has changed. If the driver cannot be queried (no permission,
no node in /dev), there is only the path that the kernel remembers. That path may lead to another file here, or nowhere,
so the loop device may be over any file of that name that is large enough. Source: loop(4).
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from iogauge.target.users.locks import foreign_lock
from iogauge.target.users.mounts import FileId
from iogauge.target.users.openers import open_files, program_name
from iogauge.target.users.overlays import Overlays
from iogauge.target.users.sysfs import BlockDevice, Host, number_of

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_STATUS = struct.Struct("=QQQ")  # lo_device, lo_inode, lo_rdevice: the head of struct loop_info64
_LOOP_STATUS_BYTES = 232


@dataclass(frozen=True)
class Loop:
    """A bound loop device and what is behind it: a file, or a block device."""

    device: BlockDevice
    path: str
    """The path of what is behind it, as the kernel remembers it."""
    files: frozenset[FileId] = frozenset()
    """The file behind it, and the same file in the layers of an overlay."""
    number: str | None = None
    """The block device behind it."""
    is_certain: bool = True
    """True if the driver named what is behind it, false if only the path did."""

    def may_be_over(self, path: str, size_bytes: int) -> bool:
        """Return whether the file at ``path`` may be behind it, where the driver could not be queried."""
        offset_bytes = int(self.device.text("loop/offset") or 0)
        return (
            not self.is_certain
            and self.number is None
            and PurePath(self.path).name == PurePath(path).name
            and size_bytes >= offset_bytes + self.device.size_bytes
        )

    def other_user(self, host: Host) -> str | None:
        """Return who has locked the file behind it or can write to it; None if we can see nobody."""
        writers = dict.fromkeys(
            file.process
            for file in open_files(host, answered={number_of(device) for device, _ in self.files})
            if (file.status.st_dev, file.status.st_ino) in self.files and file.is_writable
        )
        if writers:
            names = ", ".join(program_name(process, host) for process in writers)
            return f"open for writing in {names}"
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(fd)
            return foreign_lock(fd) if (status.st_dev, status.st_ino) in self.files else None
        finally:
            os.close(fd)


def bound_loops(host: Host, overlays: Overlays) -> Iterator[Loop]:
    """Yield the loop devices that are attached to a file or a device."""
    for device in BlockDevice.all(host):
        if (path := device.backing_path) is None:
            continue
        path = path.removesuffix(" (deleted)")
        try:
            file, number = _status(device)
        except OSError:
            yield _by_path(device, path, host, overlays)
        else:
            yield Loop(device, path, _files(path, file, overlays), number)


def _status(device: BlockDevice) -> tuple[FileId | None, str | None]:
    """Query the driver for the file or the block device that it holds. Raises OSError."""
    path = f"/dev/{device.name}"
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if number_of(os.fstat(fd).st_rdev) != device.number:
            raise FileNotFoundError(path)
        status = fcntl.ioctl(fd, _LOOP_GET_STATUS64, bytes(_LOOP_STATUS_BYTES))
    finally:
        os.close(fd)
    on_device, inode, block_device = _LOOP_STATUS.unpack_from(status)
    if block_device:
        return None, number_of(block_device)
    return (on_device, inode), None


def _by_path(device: BlockDevice, path: str, host: Host, overlays: Overlays) -> Loop:
    """Return a loop device with what the kernel's path for it leads to."""
    number, file = host.device_number(path), None
    if number is None and path.startswith("/dev/"):
        # The kernel's name of a device may have no node here.
        behind = BlockDevice.by_name(path.removeprefix("/dev/"), host)
        number = behind.number if behind else None
    if number is None:
        try:
            status = host.stat(path)
        except (OSError, ValueError):
            status = None
        file = (status.st_dev, status.st_ino) if status and stat.S_ISREG(status.st_mode) else None
    return Loop(device, path, _files(path, file, overlays), number, is_certain=False)


def _files(path: str, file: FileId | None, overlays: Overlays) -> frozenset[FileId]:
    return frozenset({file}) | overlays.files_below(path, file[0]) if file else frozenset()
