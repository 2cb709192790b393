"""Reads what a SATA drive says of itself from sysfs: no permission is needed, and no command is sent.

Linux keeps the IDENTIFY DEVICE data that it read when the drive came, and reads them again after it changes a setting.
Source: ATA Command Set 5 (ACS-5), "IDENTIFY DEVICE"; Linux, drivers/ata/libata-transport.c and libata-sata.c;
Documentation/ABI/testing/sysfs-ata and sysfs-class-scsi_host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.target.users.sysfs import BlockDevice, read_text

_WORDS = 256


@dataclass(frozen=True)
class AtaIdentity:
    """IDENTIFY DEVICE. None: the drive does not report it, or does not have it."""

    model: str | None
    serial: str | None
    firmware: str | None
    rotation_rpm: int | None
    """Rotations a minute; 0: no rotating media."""
    queue_depth: int | None
    """Commands that it queues (NCQ)."""
    write_cache: bool | None
    """Whether the volatile write cache is on."""
    power_level: int | None
    """Level of Advanced Power Management, 1 (least power) to 254 (fastest); None: it is off."""
    host_sleep: bool | None
    """Whether the drive lets the host put the link to sleep."""
    device_sleep: bool | None
    """Whether the drive may put the link to sleep by itself."""
    trim: bool
    smart: bool
    """Whether SMART is on."""


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


def parse_words(text: str) -> list[int]:
    """Return the 256 words of IDENTIFY DEVICE from the kernel's hexadecimal text. Raises IogaugeError.

    >>> parse_words("0040 3fff " + 254 * "0000 ")[1]
    16383
    """
    words = text.split()
    if len(words) != _WORDS or not all(re.fullmatch("[0-9a-fA-F]{4}", word) for word in words):
        raise IogaugeError("the kernel's IDENTIFY DEVICE data are not 256 words")
    return [int(word, 16) for word in words]


def parse_identity(words: list[int]) -> AtaIdentity:
    """Parse the 256 words of IDENTIFY DEVICE."""
    sata = words[76] not in (0, 0xFFFF)
    power_level = words[91] & 0xFF
    return AtaIdentity(
        serial=_text(words[10:20]),
        firmware=_text(words[23:27]),
        model=_text(words[27:47]),
        rotation_rpm=_rotation(words[217]),
        queue_depth=(words[75] & 31) + 1 if sata and words[76] >> 8 & 1 else None,
        write_cache=bool(words[85] >> 5 & 1) if words[82] >> 5 & 1 else None,
        power_level=power_level if words[86] >> 3 & 1 and 1 <= power_level <= 254 else None,
        host_sleep=bool(words[76] >> 9 & 1) if sata else None,
        device_sleep=bool(words[79] >> 3 & 1) if sata and words[78] >> 3 & 1 else None,
        trim=bool(words[169] & 1),
        smart=bool(words[82] & words[85] & 1),
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


def _text(words: list[int]) -> str | None:
    """Return text of two characters a word, the first in the upper byte."""
    characters = (byte for word in words for byte in divmod(word, 256))
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "?" for byte in characters if byte).strip() or None


def _rotation(word: int) -> int | None:
    """Return rotations a minute: 1 means that nothing rotates; other values below 401h are reserved."""
    return 0 if word == 1 else word if 0x401 <= word <= 0xFFFE else None
