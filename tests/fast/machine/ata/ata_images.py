"""Builds ATA data structures from named fields, and answers ATA commands from images.

Offsets repeat ACS-5's and share nothing with the parsers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.machine.ata.command import AtaError, Command, Registers

IDENTITY = (Path(__file__).parents[1] / "qemu-sata.txt").read_text()
"""What Linux has of QEMU's SATA drive (7.2)."""
FIELDS = {
    1: {
        "power_cycles": (8, 4), "power_on_h": (16, 4), "written": (24, 6), "writes": (32, 6), "read": (40, 6),
        "reads": (48, 6),
    },
    5: {"temperature": (8, 1), "highest": (32, 1), "lowest": (40, 1), "over_min": (80, 4), "limit": (88, 1)},
    7: {"used_percent": (8, 1)},
}  # fmt: skip
HEALTHY, FAILING = 0xC24F00, 0xF42C00


def summed(data: bytearray) -> bytes:
    """Return a sector whose bytes add up to 0."""
    data[511] = -sum(data[:511]) & 0xFF
    return bytes(data)


def identity(words: Mapping[int, int] = {}) -> bytes:
    """Return IDENTIFY DEVICE data: QEMU's, with other words."""
    own = [int(word, 16) for word in IDENTITY.split()]
    for number, word in words.items():
        own[number] = word
    return b"".join(word.to_bytes(2, "little") for word in own)


def attributes(*rows: tuple[int, int, int, int]) -> bytes:
    """Return SMART READ DATA with attributes: id, value, worst, raw."""
    data = bytearray(512)
    for index, (number, value, worst, raw) in enumerate(rows):
        at = 2 + 12 * index
        data[at : at + 12] = bytes([number, 3, 0, value, worst]) + raw.to_bytes(6, "little") + b"\0"
    return summed(data)


def thresholds(**limits: int) -> bytes:
    """Return SMART READ THRESHOLDS: ``a5=10`` is attribute 5's."""
    data = bytearray(512)
    for index, (name, limit) in enumerate(limits.items()):
        data[2 + 12 * index : 4 + 12 * index] = bytes([int(name[1:]), limit])
    return summed(data)


def page(number: int, **values: int) -> bytes:
    """Return a page of the statistics, in which these are valid. Negative numbers are signed bytes."""
    data = bytearray(512)
    data[2] = number
    for name, value in values.items():
        at, size = FIELDS[number][name]
        data[at : at + size] = (value & 256**size - 1).to_bytes(size, "little")
        data[at + 7] = 0xC0
    return bytes(data)


def listed(*pages: int) -> bytes:
    """Return page 0 of the statistics."""
    return bytes([1, 0, 0, 0, 0, 0, 0, 0, len(pages), *pages]).ljust(512, b"\0")


@dataclass
class Images:
    """A drive that answers from images; what has none is refused."""

    answers: Mapping[tuple[Command, int], bytes]
    health: int | None = HEALTHY
    power: int | None = 0xFF
    sent: list[Command] = field(default_factory=list)

    def data(self, command: Command, *, block: int = 0) -> bytes:
        """Return an image."""
        self.sent.append(command)
        if (command, block) not in self.answers:
            raise AtaError(f"the drive refused {command.title}")
        return self.answers[command, block]

    def registers(self, command: Command) -> Registers:
        """Return the verdict or the power mode."""
        self.sent.append(command)
        value = self.power if command is Command.CHECK_POWER_MODE else self.health
        if value is None:
            raise AtaError(f"the drive refused {command.title}")
        return Registers(value, 0) if command is Command.CHECK_POWER_MODE else Registers(0, value)


def ssd(*, health: int = HEALTHY, **limits: int) -> Images:
    """Return an SSD with SMART, thresholds and statistics."""
    return Images(
        {
            (Command.IDENTIFY_DEVICE, 0): identity({84: 0x4020, 106: 0x5000, 117: 2048, 118: 0}),
            (Command.SMART_READ_DATA, 0): attributes(
                (5, 100, 100, 0), (9, 99, 99, 1234), (241, 99, 99, 2**47)
            ),
            (Command.SMART_READ_THRESHOLDS, 0): thresholds(**limits),
            (Command.READ_LOG_EXT, 0x004): listed(0, 1, 5, 7),
            (Command.READ_LOG_EXT, 0x104): page(
                1, power_cycles=321, power_on_h=1234, written=1_000_000, writes=44, read=2_000_000, reads=55
            ),
            (Command.READ_LOG_EXT, 0x504): page(
                5, temperature=41, highest=66, lowest=-5, over_min=0, limit=70
            ),
            (Command.READ_LOG_EXT, 0x704): page(7, used_percent=3),
        },
        health=health,
    )
