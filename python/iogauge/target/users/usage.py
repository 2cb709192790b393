"""Finds the current uses of a block device or a file: mounts, swap, device-mapper, md, loop devices, btrfs members.

A use of a part is a use of the disk, and the reverse: a disk is in use if one of its partitions is mounted, and a loop
device if the file behind it is mounted through another loop device. Two searches cover that. *Below* a device is
everything stored on it: partitions, holders, loop devices attached to it. *Above* are the devices and files that it is
stored on: its disk, its slaves, its backing file. Any use below counts. Above, only uses of that device or file count,
not those of its other parts.

The result explains a refusal; the kernel decides by refusing O_EXCL. Source: sysfs-block, loop(4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.target.users.loops import Loop, bound_loops
from iogauge.target.users.mounts import Backing, FileId, Mount, mounted, mounts_of, swapped
from iogauge.target.users.openers import mount_id
from iogauge.target.users.overlays import Overlays
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, read_text


@dataclass(frozen=True)
class Use:
    """One use of a target, worded to follow "is in use:", and how to end it."""

    what: str
    remedy: str


class Usage:
    """A snapshot of everything on this machine that uses block devices or files."""

    def __init__(self, host: Host = HOST) -> None:
        self._host = host
        self._direct: list[Backing] = [
            *mounted(host),
            *swapped(host),
            *_btrfs_members(host),
            *_zram_backing(host),
        ]
        self._overlays = Overlays(host)
        self._loops = list(bound_loops(host, self._overlays))

    def of_device(self, device: BlockDevice) -> list[Use]:
        """Return every use of a block device, of everything on it, and of the storage below it."""
        uses = self._below(device, "it", set())
        uses += self._above(device, {device.number})
        return list(dict.fromkeys(uses))

    def of_file(self, file: FileId, *, path: str = "", size_bytes: int = 0) -> list[Use]:
        """Return every use of a regular file as a device: mounted, swapped to, behind a loop device.

        With its resolved ``path`` and ``size_bytes``, the result also has uses of the same file in the layers of an
        overlay, and loop devices that may be attached to it.
        """
        files = frozenset({file})
        if not path:
            return list(dict.fromkeys(self._file(files, seen=set())))
        files |= self._overlays.files_below(path, file[0])
        uses = self._file(files, seen=set())
        uses += [
            _perhaps_attached(loop)
            for loop in self._loops
            if not loop.files & files and loop.may_be_over(path, size_bytes)
        ]
        return list(dict.fromkeys(uses))

    def of_backing_files(self, device: BlockDevice) -> list[Use]:
        """Return the locks on, and the writers to, the files behind the loop devices that a device lies on."""
        return [
            Use(f"its backing file {loop.path} is {user}", "end that use")
            for loop in self._loops_under(device, set())
            if (user := loop.other_user(self._host))
        ]

    def _loops_under(self, device: BlockDevice, seen: set[str]) -> list[Loop]:
        """Return the loop devices at or below a device: itself, its disk, and what these lie on."""
        if device.number in seen:
            return []
        seen.add(device.number)
        loops = [loop for loop in self._loops if loop.device.number == device.number]
        behind = [BlockDevice.by_number(loop.number, self._host) for loop in loops if loop.number]
        for below in (device.disk, *device.slaves, *behind):
            loops += self._loops_under(below, seen) if below else []
        return loops

    def _below(self, device: BlockDevice, called: str, seen: set[str]) -> list[Use]:
        if device.number in seen:
            return []
        seen.add(device.number)
        uses = self._uses(device, called)
        for partition in device.partitions:
            uses += self._below(partition, f"its partition {partition.name}", seen)
        for holder in device.holders:
            if holder.number not in seen:
                uses.append(Use(f"{called} is held by {holder.title}", f"take {holder.title} down"))
                uses += self._below(holder, f"{holder.title} on it", seen)
        for loop in self._loops:
            if loop.number == device.number and loop.device.number not in seen:
                uses.append(_attached(loop, called))
                uses += self._below(loop.device, f"{loop.device.name} over it", seen)
        return uses

    def _above(self, device: BlockDevice, seen: set[str]) -> list[Use]:
        uses: list[Use] = []
        if device.is_partition and device.disk.number not in seen:
            disk = device.disk
            seen.add(disk.number)
            called = f"the whole disk {disk.name}"
            uses += self._uses(disk, called)
            uses += [
                Use(f"{called} is held by {held.title}", f"take {held.title} down") for held in disk.holders
            ]
            uses += [_attached(loop, called) for loop in self._loops if loop.number == disk.number]
            uses += self._above(disk, seen)
        for slave in device.slaves:
            if slave.number not in seen:
                seen.add(slave.number)
                uses += self._uses(slave, f"{slave.name} below it")
                uses += self._above(slave, seen)
        for loop in self._loops:
            if loop.device.number == device.number:
                uses += self._behind(loop, seen)
        return uses

    def _behind(self, loop: Loop, seen: set[str]) -> list[Use]:
        """Return the other uses of the file or device behind a loop device."""
        if loop.files:
            return self._file(loop.files, seen=seen, called="its backing file")
        behind = BlockDevice.by_number(loop.number, self._host) if loop.number else None
        if behind is None or behind.number in seen:
            return []
        return [*self._below(behind, f"{behind.name} behind it", seen), *self._above(behind, seen)]

    def _file(self, files: frozenset[FileId], *, seen: set[str], called: str = "it") -> list[Use]:
        uses = [Use(f"{called} is {use.what}", use.remedy) for use in self._direct if files & use.files]
        for loop in self._loops:
            if loop.files & files and loop.device.number not in seen:
                uses.append(_attached(loop, called))
                uses += self._below(loop.device, f"{loop.device.name} over it", seen)
        return uses

    def _uses(self, device: BlockDevice, called: str) -> list[Use]:
        return [
            Use(f"{called} is {use.what}", use.remedy) for use in self._direct if device.number in use.numbers
        ]


def mount_of_fd(fd: int, host: Host = HOST) -> Mount | None:
    """Return the mount through which a descriptor was opened; None if the kernel does not report it."""
    number = mount_id(host.proc / "self" / "fd" / str(fd))
    return next((mount for mount in mounts_of(host) if mount.id == number), None)


def _attached(loop: Loop, called: str) -> Use:
    name = loop.device.name
    return Use(f"loop device {name} is attached to {called}", f"losetup -d /dev/{name}")


def _perhaps_attached(loop: Loop) -> Use:
    name = loop.device.name
    return Use(
        f"loop device {name} may be attached to it: /dev/{name} cannot be queried, and its file has the same name: "
        f"{loop.path}",
        f"run as a user who may open /dev/{name}, or detach it (losetup -d /dev/{name})",
    )


def _btrfs_members(host: Host) -> Iterator[Backing]:
    """Yield the devices of every mounted btrfs: mountinfo names only one of them, under an anonymous number."""
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
    """Yield the devices to which zram devices write back cold pages."""
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
