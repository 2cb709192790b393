"""Reads what a drive says of itself, whatever it is attached by. Nothing is changed, and no data are read.

NVMe drives answer admin commands (``nvme``). Of SATA drives Linux has the identity, and they answer ATA commands
(``ata``), also behind a bridge that says that it translates them. Of any other device there is only what sysfs has,
with the reason why there is no more.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from iogauge.machine.ata.command import AtaDevice
from iogauge.machine.ata.port import Ata, is_ata, read_ata
from iogauge.machine.ata.read import read_answers
from iogauge.machine.nvme.admin import NvmeDevice
from iogauge.machine.nvme.read import Nvme, read_nvme
from iogauge.machine.samples.temperature import warmest_C
from iogauge.machine.unread import Unread
from iogauge.schema import TargetFacts
from iogauge.target import TargetRefused
from iogauge.target.facts import drive_below, facts_of_disk
from iogauge.target.refusal import refused_by_kernel
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, names_in, number_of
from iogauge.target.users.usage import mount_of_fd
from iogauge.text.numbers import listed


@dataclass(frozen=True)
class Drive:
    """What a drive says of itself, and what Linux has of it."""

    facts: TargetFacts
    """What sysfs has of the drive."""
    temperature_C: float | None
    """The kernel's sensor of the drive; None: it has none."""
    nvme: Nvme | None = None
    """None: it is no NVMe drive, or nothing of it could be read."""
    ata: Ata | None = None
    unread: tuple[Unread, ...] = ()
    """What could not be read, and why."""
    restriction: str | None = None
    """The reason why a device that is neither NVMe nor SATA says nothing more."""


def read_drive(path: str, host: Host = HOST) -> Drive:
    """Read the drive that ``path`` is, or that a file or directory lies on. Blocks if the file system hangs.

    Raises TargetRefused if there is no drive, or if Linux does not name it.
    """
    return read_disk(_drive_of(path, host), host)


def read_disk(disk: BlockDevice, host: Host = HOST) -> Drive:
    """Read a drive that is known by its directory in sysfs."""
    facts = facts_of_disk(disk)
    drive = Drive(facts, warmest_C([disk.name], host))
    if re.fullmatch(r"nvme\d+n\d+", disk.name):
        return _with_nvme(drive, disk)
    if is_ata(disk):
        return _with_ata(drive, disk, read_ata(disk))
    if _translates_ata(disk):
        return _with_ata(drive, disk, Ata(None, None, None, None))
    return Drive(facts, drive.temperature_C, restriction=_restriction(disk))


def _drive_of(path: str, host: Host) -> BlockDevice:
    try:
        node = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        failure = error if isinstance(error, OSError) else OSError(str(error))
        raise refused_by_kernel(path, "opening it", failure) from None
    try:
        status = os.fstat(node)
        if stat.S_ISBLK(status.st_mode):
            device = BlockDevice.by_number(number_of(status.st_rdev), host)
        elif stat.S_ISCHR(status.st_mode):
            device = _namespace_of(path, number_of(status.st_rdev), host)
        else:
            device = BlockDevice.by_number(number_of(status.st_dev), host) or _source_of(node, host)
    finally:
        os.close(node)
    if device is None:
        raise TargetRefused(
            f"{path}: Linux does not say which drive it is on", hint="name the drive itself: lsblk lists them"
        )
    return drive_below(device)


def _namespace_of(path: str, number: str, host: Host) -> BlockDevice:
    """Return the first namespace of an NVMe controller, as /dev/nvme0."""
    controller = (host.sys / "dev" / "char" / number).resolve()
    # Below a controller with several paths, a namespace has the number of its path in its name.
    names = (re.sub(r"c\d+(?=n)", "", name) for name in names_in(controller))
    devices = (BlockDevice.by_name(name, host) for name in names if re.fullmatch(r"nvme\d+n\d+", name))
    if device := next(filter(None, devices), None):
        return device
    raise TargetRefused(
        f"{path}: it is a character device without a drive",
        hint="name the block device (/dev/nvme0n1) or the NVMe controller (/dev/nvme0)",
    )


def _source_of(node: int, host: Host) -> BlockDevice | None:
    """Return the device that a file's mount names as its source: btrfs has a device number that is no device's."""
    mount = mount_of_fd(node, host)
    number = host.device_number(mount.source) if mount else None
    return BlockDevice.by_number(number, host) if number else None


def _with_nvme(drive: Drive, disk: BlockDevice) -> Drive:
    everything = ("power states", "features", "SMART", "the error log", "the firmware slots")
    with _opened(drive, disk, everything) as (fd, unread):
        if fd is None:
            return replace(drive, unread=unread)
        nvme, missing = read_nvme(NvmeDevice(fd))
        return replace(drive, nvme=nvme, unread=tuple(missing))


def _with_ata(drive: Drive, disk: BlockDevice, ata: Ata) -> Drive:
    with _opened(drive, disk, ("SMART", "the statistics", "the power mode")) as (fd, unread):
        if fd is None:
            return replace(drive, ata=ata, unread=unread)
        answers, missing = read_answers(AtaDevice(fd))
        return replace(drive, ata=replace(ata, answers=answers), unread=tuple(missing))


def _translates_ata(disk: BlockDevice) -> bool:
    """Return whether a SCSI disk has the page with which a bridge or an adapter says that ATA is behind it."""
    return (disk.directory / "device" / "vpd_pg89").exists()


@contextmanager
def _opened(
    drive: Drive, disk: BlockDevice, everything: tuple[str, ...]
) -> Iterator[tuple[int | None, tuple[Unread, ...]]]:
    """Open a drive to ask it; None for the descriptor if it cannot be, and why ``everything`` is unread then."""

    def unread(why: str, hint: str | None) -> tuple[Unread, ...]:
        return tuple(Unread(name, why, hint) for name in everything)

    path = drive.facts.path
    try:
        # Without O_NONBLOCK, a disk drive in standby would be woken.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        refusal = refused_by_kernel(path, "opening it", error)
        root = isinstance(error, PermissionError)
        yield None, unread(str(refusal), "run as root" if root else refusal.hint)
        return
    try:
        if number_of(os.fstat(fd).st_rdev) == disk.number:
            yield fd, ()
        else:
            yield None, unread(f"{path} is another device here", "make /dev visible here")
    finally:
        os.close(fd)


def _restriction(disk: BlockDevice) -> str:
    """Return why a device says nothing of the drive behind it, as a clause."""
    if members := [member.name for member in disk.slaves]:
        return f"it is made of {listed(members)}; name one of them to see what it says"
    if backing := disk.backing_path:
        return f"it is a loop device over {backing}; name that file to see the drive below it"
    for pattern, restriction in _RESTRICTIONS.items():
        if re.fullmatch(pattern, disk.name):
            return restriction
    return "it is neither NVMe nor SATA, and iogauge reads the logs of no other drives"


_RESTRICTIONS = {
    r"vd[a-z]+|xvd[a-z]+": "it is virtual, and its hypervisor says nothing more of the drive behind it",
    r"(zram|ram|pmem|nullb)\d+": "Linux made it, and there is no drive behind it",
    r"nbd\d+": "it is a network connection, and its server says nothing more of the drive behind it",
    r"mmcblk\d+(boot\d+)?": "it is a memory card, which has no log that iogauge reads",
}
