"""Who uses a block device or a file right now: mounts, swap, device-mapper and md, loop devices, btrfs members.

Use of a part is use of the whole and the other way round: a disk is in use when one of its partitions is mounted,
a loop device when the file behind it is mounted through another loop device. Two searches cover that. *Down* from
a device lies everything stored on it: partitions, holders, loop devices attached to it. *Up* lies what it is
itself stored on: its whole disk, its slaves, its backing file. Anything in use below counts; above, only uses of
that very device or file do, not of its other parts.

This explains; the last word has the kernel, when it refuses O_EXCL. Source: issue "Safety"; sysfs-block, loop(4).
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.target.mounts import Backing, FileId, Mount, mounted, mounts_of, processes, swapped
from iogauge.target.sysfs import HOST, BlockDevice, Host, names_in, number_of, read_text

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_STATUS = struct.Struct("=QQQ")  # lo_device, lo_inode, lo_rdevice: the head of struct loop_info64
_LOOP_STATUS_BYTES = 232


@dataclass(frozen=True)
class Use:
    """One thing that uses a target, in words that follow "is in use:", and how to end it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Loop:
    """A bound loop device and what is behind it: a file, or a block device."""

    device: BlockDevice
    file: FileId | None
    number: str | None


class Usage:
    """One look at everything on this machine that uses block devices or files."""

    def __init__(self, host: Host = HOST) -> None:
        self._host = host
        self._direct: list[Backing] = [
            *mounted(host),
            *swapped(host),
            *_btrfs_members(host),
            *_zram_backing(host),
        ]
        self._loops = [loop for device in BlockDevice.all(host) if (loop := _bound_loop(device, host))]

    def of_device(self, device: BlockDevice) -> list[Use]:
        """Return every use of a block device, of anything on it, and of what it lies on."""
        found = self._below(device, "it", set())
        found += self._above(device, {device.number})
        return list(dict.fromkeys(found))

    def of_file(self, file: FileId) -> list[Use]:
        """Return every use of a regular file as if it were a device: mounted, swapped to, behind a loop device."""
        return list(dict.fromkeys(self._file(file, seen=set())))

    def _below(self, device: BlockDevice, called: str, seen: set[str]) -> list[Use]:
        if device.number in seen:
            return []
        seen.add(device.number)
        found = self._uses(device, called)
        for partition in device.partitions:
            found += self._below(partition, f"its partition {partition.name}", seen)
        for holder in device.holders:
            if holder.number not in seen:
                found.append(Use(f"{called} is held by {holder.title}", f"take {holder.title} down"))
                found += self._below(holder, f"{holder.title} on it", seen)
        for loop in self._loops:
            if loop.number == device.number and loop.device.number not in seen:
                found.append(_attached(loop, called))
                found += self._below(loop.device, f"{loop.device.name} over it", seen)
        return found

    def _above(self, device: BlockDevice, seen: set[str]) -> list[Use]:
        found: list[Use] = []
        if device.is_partition and device.disk.number not in seen:
            disk = device.disk
            seen.add(disk.number)
            called = f"the whole disk {disk.name}"
            found += self._uses(disk, called)
            found += [
                Use(f"{called} is held by {held.title}", f"take {held.title} down") for held in disk.holders
            ]
            found += [_attached(loop, called) for loop in self._loops if loop.number == disk.number]
            found += self._above(disk, seen)
        for slave in device.slaves:
            if slave.number not in seen:
                seen.add(slave.number)
                found += self._uses(slave, f"{slave.name} below it")
                found += self._above(slave, seen)
        for loop in self._loops:
            if loop.device.number == device.number:
                found += self._behind(loop, seen)
        return found

    def _behind(self, loop: Loop, seen: set[str]) -> list[Use]:
        """What else uses the file or device behind a loop device."""
        if loop.file is not None:
            return self._file(loop.file, seen=seen, called="its backing file")
        behind = BlockDevice.by_number(loop.number, self._host) if loop.number else None
        if behind is None or behind.number in seen:
            return []
        return [*self._below(behind, f"{behind.name} behind it", seen), *self._above(behind, seen)]

    def _file(self, file: FileId, *, seen: set[str], called: str = "it") -> list[Use]:
        found = [Use(f"{called} is {use.what}", use.remedy) for use in self._direct if file in use.files]
        for loop in self._loops:
            if loop.file == file and loop.device.number not in seen:
                found.append(_attached(loop, called))
                found += self._below(loop.device, f"{loop.device.name} over it", seen)
        return found

    def _uses(self, device: BlockDevice, called: str) -> list[Use]:
        return [
            Use(f"{called} is {use.what}", use.remedy) for use in self._direct if device.number in use.numbers
        ]


def mount_of_fd(fd: int, host: Host = HOST) -> Mount | None:
    """Return the mount through which a descriptor was opened, None where the kernel does not say."""
    info = read_text(host.proc / "self" / "fdinfo" / str(fd)) or ""
    ids = [line.split()[1] for line in info.splitlines() if line.startswith("mnt_id:")]
    return next((mount for mount in mounts_of(host) if ids and mount.id == int(ids[0])), None)


def processes_with_open(numbers: Collection[str], host: Host = HOST, *, write: bool = False) -> list[str]:
    """Name the other processes that have one of these block devices open, as ``name (pid 123)``; those we may look at.

    ``write``: only those that can write to it.
    """
    return [
        program_name(process, host)
        for process, descriptors in openers(host)
        if any(
            host.device_number(path) in numbers and (not write or _is_writable(path)) for path in descriptors
        )
    ]


def _is_writable(path: str) -> bool:
    """Whether a descriptor in proc was opened for writing."""
    folder, _, name = path.rpartition("/fd/")
    info = read_text(Path(folder, "fdinfo", name)) or ""
    flags = [line.split()[1] for line in info.splitlines() if line.startswith("flags:")]
    return bool(flags) and int(flags[0], 8) & os.O_ACCMODE != os.O_RDONLY


def program_name(process: str, host: Host = HOST) -> str:
    """Return how a process is called in messages."""
    return f"{read_text(host.proc / process / 'comm') or '?'} (pid {process})"


def openers(host: Host = HOST) -> Iterator[tuple[str, list[str]]]:
    """Yield every other process with the paths of its descriptors in proc, each of which can be given to stat."""
    for process in processes(host):
        if int(process) != os.getpid():
            folder = host.proc / process / "fd"
            yield process, [f"{folder}/{name}" for name in names_in(folder)]


def _attached(loop: Loop, called: str) -> Use:
    name = loop.device.name
    return Use(f"loop device {name} is attached to {called}", f"losetup -d /dev/{name}")


def _bound_loop(device: BlockDevice, host: Host) -> Loop | None:
    path = device.backing_path
    if path is None:
        return None
    try:
        file, number = _loop_status(device)
    except OSError:
        # Without permission to ask the driver, the path it remembers has to do.
        try:
            found = host.stat(path)
        except OSError:
            return Loop(device, None, None)
        number = host.device_number(path)
        file = None if number else (found.st_dev, found.st_ino)
    return Loop(device, file, number)


def _loop_status(device: BlockDevice) -> tuple[FileId | None, str | None]:
    """Ask the loop driver which inode it holds: exact, whatever became of the path since."""
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


def _btrfs_members(host: Host) -> Iterator[Backing]:
    """Every device of a mounted btrfs: mountinfo names only one of them, under an anonymous number."""
    for devices in sorted(Path(host.sys, "fs", "btrfs").glob("*/devices")):
        members = (BlockDevice.by_name(path.name, host) for path in devices.iterdir())
        label = read_text(devices.parent / "label") or devices.parent.name
        yield Backing(
            what=f"a member of the mounted btrfs {label}",
            remedy=f"unmount the btrfs {label}",
            numbers=frozenset(member.number for member in members if member),
            files=frozenset(),
        )


def _zram_backing(host: Host) -> Iterator[Backing]:
    """Devices that a zram writes its cold pages back to."""
    for device in BlockDevice.all(host):
        path = device.text("backing_dev")
        number = host.device_number(path) if path and path != "none" else None
        if number:
            yield Backing(
                what=f"the backing device of {device.name}",
                remedy=f"reset {device.name}",
                numbers=frozenset({number}),
                files=frozenset(),
            )
