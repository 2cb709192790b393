"""Parses IDENTIFY DEVICE: which drive it is, and what it can do. Source: ATA Command Set 5 (ACS-5)."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from iogauge.errors import IogaugeError

_WORDS = 256
_SIGNED = 0xA5
"""Marks IDENTIFY DEVICE data that have a checksum."""


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
    deeper_sleep: bool | None
    """Whether host or drive may go on from Partial to Slumber without waking the link."""
    dev_sleep: bool | None
    """Whether Device Sleep is on, in which the drive's end of the link is off."""
    trim: bool
    smart: bool
    """Whether SMART is on."""
    logs: bool
    """Whether it has general purpose logs, such as the statistics."""
    sector_bytes: int
    """A logical sector."""


def parse_words(text: str) -> list[int]:
    """Return the 256 words of IDENTIFY DEVICE from the kernel's hexadecimal text. Raises IogaugeError.

    >>> parse_words("0040 3fff " + 254 * "0000 ")[1]
    16383
    """
    words = text.split()
    if len(words) != _WORDS or not all(re.fullmatch("[0-9a-fA-F]{4}", word) for word in words):
        raise IogaugeError("the kernel's IDENTIFY DEVICE data are not 256 words")
    return [int(word, 16) for word in words]


def words_of(data: bytes) -> list[int]:
    """Return the 256 words of IDENTIFY DEVICE from the drive's own answer. Raises IogaugeError.

    >>> words_of(bytes([0x40, 0x00, 0xFF, 0x3F]) + bytes(508))[1]
    16383
    """
    if len(data) != 2 * _WORDS:
        raise IogaugeError(f"IDENTIFY DEVICE returned {len(data)} bytes, not {2 * _WORDS}")
    if data[510] == _SIGNED and sum(data) & 0xFF:
        raise IogaugeError("IDENTIFY DEVICE returned data with a wrong checksum")
    return list(struct.unpack("<256H", data))


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
        deeper_sleep=bool(words[76] >> 13 & 0b11) if sata else None,
        dev_sleep=bool(words[79] >> 8 & 1) if sata and words[78] >> 8 & 1 else None,
        trim=bool(words[169] & 1),
        smart=bool(words[82] & words[85] & 1),
        logs=words[84] >> 14 == 1 and bool(words[84] >> 5 & 1),
        sector_bytes=_sector_bytes(words),
    )


def _text(words: list[int]) -> str | None:
    """Return text of two characters a word, the first in the upper byte."""
    characters = (byte for word in words for byte in divmod(word, 256))
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "?" for byte in characters if byte).strip() or None


def _sector_bytes(words: list[int]) -> int:
    """Return the size of a logical sector: 512 bytes, unless words 117 and 118 have another number of words."""
    longer = words[106] >> 14 == 1 and words[106] >> 12 & 1
    return 2 * (words[117] | words[118] << 16) if longer else 512


def _rotation(word: int) -> int | None:
    """Return rotations a minute: 1 means that nothing rotates; other values below 401h are reserved."""
    return 0 if word == 1 else word if 0x401 <= word <= 0xFFFE else None
