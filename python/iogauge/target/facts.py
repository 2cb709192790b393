"""Describes a target from sysfs: model, serial number, sizes, scheduler, and the device below a file.

Unknown facts are None; nothing is guessed.
Source: Documentation/ABI/stable/sysfs-block, sysfs-class-nvme and the SCSI VPD pages (SPC-5, 7.7).
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from iogauge.schema import TargetFacts
from iogauge.target.link import link_Bps
from iogauge.target.namespace import real_path
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of, read_text
from iogauge.target.users.usage import mount_of_fd


def facts_of(fd: int, path: str, *, size_bytes: int, host: Host = HOST) -> TargetFacts:
    """Describe the open block device or file ``fd``. ``path`` is the name that the user gave."""
    status = os.fstat(fd)
    is_block = stat.S_ISBLK(status.st_mode)
    device = BlockDevice.by_number(number_of(status.st_rdev if is_block else status.st_dev), host)
    mount = None if is_block else mount_of_fd(fd, host)
    facts = TargetFacts(
        path=path,
        kind="block" if is_block else "file",
        size_bytes=size_bytes,
        real_path=real_path(path, host),
        filesystem=mount.kind if mount else None,
    )
    return facts if device is None else _of_device(facts, device)


def facts_of_disk(disk: BlockDevice) -> TargetFacts:
    """Describe a disk that is not open."""
    path = f"/dev/{disk.name}"
    facts = TargetFacts(path=path, kind="block", size_bytes=disk.size_bytes, real_path=path)
    return _of_device(facts, disk)


def _of_device(facts: TargetFacts, device: BlockDevice) -> TargetFacts:
    """Return the facts with what sysfs has of the block device, and of the drive below it."""
    disk = device.disk
    hardware = drive_below(disk)
    return facts.model_copy(
        update={
            "device": device.name,
            "model": _model(hardware),
            "serial": next(iter(serials(hardware)), None),
            "firmware": hardware.text("device/firmware_rev", "device/rev", "device/fwrev"),
            "logical_block_bytes": _number(disk, "queue/logical_block_size"),
            "physical_block_bytes": _number(disk, "queue/physical_block_size"),
            "rotational": {"0": False, "1": True}.get(disk.text("queue/rotational") or ""),
            "scheduler": _chosen(disk.text("queue/scheduler")),
            "write_cache": disk.text("queue/write_cache"),
            "polls": {"0": False, "1": True}.get(disk.text("queue/io_poll") or ""),
            "link_Bps": link_Bps(hardware),
        }
    )


def serials(device: BlockDevice) -> list[str]:
    """Return every identity of the disk that ``--destroy`` may name, the plain serial number first.

    A partition has the identities of its disk.
    """
    disk = device.disk
    candidates = [
        disk.text("serial", "device/serial"),
        _vpd_serial(disk.directory / "device" / "vpd_pg80"),
        disk.text("wwid", "device/wwid"),
        disk.text("dm/uuid", "md/uuid"),
    ]
    return list(dict.fromkeys(text for text in candidates if text))


def drive_below(device: BlockDevice) -> BlockDevice:
    """Return the drive below a partition, or below a chain of single slaves, such as LVM on LUKS on one drive."""
    disk = device.disk
    while len(slaves := disk.slaves) == 1:
        disk = slaves[0].disk
    return disk


def _model(disk: BlockDevice) -> str | None:
    model = disk.text("device/model", "device/name")
    vendor = disk.text("device/vendor")
    # SCSI gives the vendor as text ("ATA" is only the kind of link); PCI gives a number.
    if model and vendor and vendor != "ATA" and not vendor.startswith("0x"):
        return f"{vendor} {model}"
    return model


def _vpd_serial(path: Path) -> str | None:
    """Return the unit serial number. Page 80h has a 4-byte header with the length of the ASCII text after it."""
    try:
        page = path.read_bytes()
    except OSError:
        return None
    if len(page) < 4 or page[1] != 0x80:
        return None
    return page[4 : 4 + int.from_bytes(page[2:4], "big")].decode("ascii", "replace").strip(" \0") or None


def _chosen(text: str | None) -> str | None:
    """Return the bracketed word of ``none [mq-deadline] kyber``."""
    if text is None:
        return None
    match = re.search(r"\[([^]]+)\]", text)
    return match.group(1) if match else text


def _number(device: BlockDevice, path: str) -> int | None:
    text = read_text(device.directory / path)
    return int(text) if text and text.isdecimal() and int(text) else None
