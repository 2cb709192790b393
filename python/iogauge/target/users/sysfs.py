"""Block devices in sysfs: their partitions, disks, holders and slaves.

A lookup starts from a device number (``st_rdev`` of an open descriptor, ``st_dev`` of a file) rather than a name: names
are reused, but the number of an open device is not. Only ``/sys`` is read.
Source: the kernel's Documentation/ABI/stable/sysfs-block.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Host:
    """The mount points of sysfs and proc. Tests use small trees of their own."""

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    stat: Callable[[str], os.stat_result] = field(default=os.stat, compare=False)

    def device_number(self, path: str) -> str | None:
        """Return ``major:minor`` of the block device at ``path``; None if there is none."""
        try:
            status = self.stat(path)
        except (OSError, ValueError):
            return None
        return number_of(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None


HOST = Host()


def number_of(device: int) -> str:
    """Return a device number as the kernel prints it.

    >>> number_of(os.makedev(254, 3))
    '254:3'
    """
    return f"{os.major(device)}:{os.minor(device)}"


def read_text(path: Path) -> str | None:
    """Return a small file's text without surrounding blanks and NULs; None if it is empty or cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8", "replace").strip(" \t\r\n\0")
    except OSError:
        return None
    return text or None


@dataclass(frozen=True)
class BlockDevice:
    """One block device, a disk or a partition, by its directory in sysfs."""

    directory: Path
    host: Host = HOST

    @classmethod
    def by_number(cls, number: str, host: Host = HOST) -> BlockDevice | None:
        """Return the device with this ``major:minor``; None if there is none, as for btrfs and overlays."""
        link = host.sys / "dev" / "block" / number
        return cls(link.resolve(), host) if link.exists() else None

    @classmethod
    def by_name(cls, name: str, host: Host = HOST) -> BlockDevice | None:
        """Return the device with this kernel name; None if there is none."""
        link = host.sys / "class" / "block" / name
        return cls(link.resolve(), host) if link.exists() else None

    @classmethod
    def all(cls, host: Host = HOST) -> Iterator[BlockDevice]:
        """Yield every block device, partitions included, in the order of their names."""
        for name in names_in(host.sys / "class" / "block"):
            if device := cls.by_name(name, host):
                yield device

    @property
    def name(self) -> str:
        """The kernel's name, as in ``/dev``."""
        return self.directory.name.replace("!", "/")

    @property
    def number(self) -> str:
        """``major:minor``."""
        return self.text("dev") or ""

    @property
    def size_bytes(self) -> int:
        """Capacity. Sysfs counts units of 512 bytes for any logical block size."""
        return 512 * int(self.text("size") or 0)

    @property
    def is_partition(self) -> bool:
        """Whether it is a partition of a disk."""
        return (self.directory / "partition").exists()

    @property
    def disk(self) -> BlockDevice:
        """The whole disk: the parent of a partition, or the device itself."""
        return BlockDevice(self.directory.parent, self.host) if self.is_partition else self

    @property
    def partitions(self) -> list[BlockDevice]:
        """The partitions of a whole disk."""
        return [
            BlockDevice(self.directory / name, self.host)
            for name in names_in(self.directory)
            if (self.directory / name / "partition").exists()
        ]

    @property
    def holders(self) -> list[BlockDevice]:
        """Devices built directly on this one: device-mapper, md, bcache."""
        return self._linked("holders")

    @property
    def slaves(self) -> list[BlockDevice]:
        """Devices directly below this one."""
        return self._linked("slaves")

    @property
    def backing_path(self) -> str | None:
        """The file or device behind a bound loop device, as the kernel remembers its path."""
        return read_text(self.directory / "loop" / "backing_file")

    @property
    def title(self) -> str:
        """The name, followed by device-mapper's name: ``dm-0 (vg-root)``."""
        label = self.text("dm/name")
        return f"{self.name} ({label})" if label else self.name

    def text(self, *paths: str) -> str | None:
        """Return the first of these attributes that exists and is not empty."""
        for path in paths:
            if value := read_text(self.directory / path):
                return value
        return None

    def _linked(self, folder: str) -> list[BlockDevice]:
        devices = (BlockDevice.by_name(name, self.host) for name in names_in(self.directory / folder))
        return [device for device in devices if device]


def names_in(folder: Path) -> list[str]:
    """Return the names in a directory, sorted; empty if it cannot be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []
