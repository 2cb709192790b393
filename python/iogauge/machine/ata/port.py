"""Reads what Linux has of a SATA drive from sysfs: no permission is needed, and no command is sent.

Linux keeps the IDENTIFY DEVICE data that it read when the drive came, and reads them again after it changes a setting.
Source: Linux, drivers/ata/libata-transport.c and libata-sata.c; Documentation/ABI/testing/sysfs-ata and
sysfs-class-scsi_host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from iogauge.machine.ata.identity import AtaIdentity, parse_identity, parse_words
from iogauge.machine.ata.read import AtaAnswers
from iogauge.target.users.sysfs import BlockDevice, read_text


@dataclass(frozen=True)
class Ata:
    """What a SATA drive and its port say. None: Linux does not know it."""

    link_speed: str | None
    """The speed that the link negotiated, in the kernel's words."""
    link_limit: str | None
    """The highest speed that the port allows."""
    link_policy: str | None
    """Power management of the link: anything but max_performance lets it sleep."""
    identity: AtaIdentity | None
    """As Linux keeps it."""
    answers: AtaAnswers | None = None
    """What the drive itself answers; None: it could not be asked."""


def is_ata(disk: BlockDevice) -> bool:
    """Return whether a disk is behind an ATA port."""
    return _port(disk) is not None


def read_ata(disk: BlockDevice) -> Ata:
    """Read a disk that is behind an ATA port. Raises IogaugeError if the kernel's IDENTIFY data are damaged."""
    port = _port(disk)
    assert port is not None
    return Ata(
        link_speed=_first(port, "link*/ata_link/link*/sata_spd"),
        link_limit=_first(port, "link*/ata_link/link*/hw_sata_spd_limit"),
        link_policy=_first(port, "host*/scsi_host/host*/link_power_management_policy"),
        identity=_identity(port, disk.text("device/model")),
    )


def _port(disk: BlockDevice) -> Path | None:
    ports: list[Path] = [parent for parent in disk.directory.parents if re.fullmatch(r"ata\d+", parent.name)]
    return ports[0] if ports else None


def _first(port: Path, pattern: str) -> str | None:
    texts = (read_text(path) for path in sorted(port.glob(pattern)))
    return next((text for text in texts if text and text != "<unknown>"), None)


def _identity(port: Path, model: str | None) -> AtaIdentity | None:
    """Return the identity of the drive at a port that has this model; a port multiplier has several drives."""
    for path in sorted(port.glob("link*/dev*/ata_device/dev*/id")):
        if text := read_text(path):
            identity = parse_identity(parse_words(text))
            # SCSI cuts the model off after 16 characters.
            if model is None or (identity.model or "").startswith(model):
                return identity
    return None
