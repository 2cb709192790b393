"""The drives of this computer, for whoever chooses a target. Nothing is opened: sysfs has all of it."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from iogauge.target.block import identities
from iogauge.target.facts import facts_of_disk
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of
from iogauge.target.users.usage import Usage


@dataclass(frozen=True)
class ListedDrive:
    """A disk, or a device that stands for one, such as a volume of LVM."""

    path: str
    model: str | None
    size_bytes: int
    uses: tuple[str, ...]
    """What uses it, worded to follow "in use:"; none: it is free."""


def list_drives(host: Host = HOST) -> list[ListedDrive]:
    """Return the disks of this computer that have a size, in the order of their names."""
    usage = Usage(host)
    disks = (device for device in BlockDevice.all(host) if not device.is_partition and device.size_bytes)
    return [
        ListedDrive(
            f"/dev/{disk.name}",
            facts_of_disk(disk).model,
            disk.size_bytes,
            tuple(use.what for use in usage.of_device(disk)),
        )
        for disk in disks
    ]


def confirmations(path: str, host: Host = HOST) -> tuple[str, ...]:
    """Return the words by which a user may say that the content of a block device may be lost.

    These are the identities that no other disk shares, the plain serial number first; of a disk that has none, its
    path. None if ``path`` is no block device.
    """
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return ()
    device = BlockDevice.by_number(number_of(status.st_rdev), host) if stat.S_ISBLK(status.st_mode) else None
    return () if device is None else tuple(identities(device, host)) or (path,)
