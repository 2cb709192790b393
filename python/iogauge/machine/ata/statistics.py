"""Parses the Device Statistics log: counters whose meaning the standard defines, unlike SMART's attributes.

Each statistic has 8 bytes, of which the last says whether it is supported and valid. Source: ACS-5, "Device Statistics
log (Log Address 04h)".
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.machine.ata.command import SECTOR_BYTES, AtaError

LOG = 0x04
GENERAL, TEMPERATURE, SOLID_STATE = 1, 5, 7
"""Pages of the log; page 0 lists the others."""
_SUPPORTED_AND_VALID = 0xC0


@dataclass(frozen=True)
class Statistics:
    """Counters of a drive's life. None: the drive does not keep it. Temperatures are in degrees Celsius."""

    power_cycles: int | None = None
    power_on_h: int | None = None
    written_bytes: int | None = None
    write_commands: int | None = None
    read_bytes: int | None = None
    read_commands: int | None = None
    temperature_C: int | None = None
    highest_C: int | None = None
    lowest_C: int | None = None
    over_min: int | None = None
    """Minutes above the highest temperature that the maker specifies."""
    limit_C: int | None = None
    """That temperature."""
    used_percent: int | None = None
    """Part of the media's specified life that is used; it may exceed 100."""


def parse_pages(data: bytes) -> frozenset[int]:
    """Parse page 0: the numbers of the pages that the drive has. Raises AtaError if it is damaged."""
    _check(data, 0)
    return frozenset(data[9 : 9 + min(data[8], SECTOR_BYTES - 9)])


def parse_statistics(pages: dict[int, bytes], *, sector_bytes: int) -> Statistics:
    """Parse the pages that were read, by number. ``sector_bytes`` is the size of a logical sector.

    Raises AtaError if a page is damaged.
    """
    for number, data in pages.items():
        _check(data, number)

    def value(page: int, at: int, size: int, *, signed: bool = False) -> int | None:
        data = pages.get(page)
        if data is None or data[at + 7] & _SUPPORTED_AND_VALID != _SUPPORTED_AND_VALID:
            return None
        return int.from_bytes(data[at : at + size], "little", signed=signed)

    def sectors(at: int) -> int | None:
        count = value(GENERAL, at, 6)
        return None if count is None else count * sector_bytes

    return Statistics(
        power_cycles=value(GENERAL, 8, 4),
        power_on_h=value(GENERAL, 16, 4),
        written_bytes=sectors(24),
        write_commands=value(GENERAL, 32, 6),
        read_bytes=sectors(40),
        read_commands=value(GENERAL, 48, 6),
        temperature_C=value(TEMPERATURE, 8, 1, signed=True),
        highest_C=value(TEMPERATURE, 32, 1, signed=True),
        lowest_C=value(TEMPERATURE, 40, 1, signed=True),
        over_min=value(TEMPERATURE, 80, 4),
        limit_C=value(TEMPERATURE, 88, 1, signed=True),
        used_percent=value(SOLID_STATE, 8, 1),
    )


def _check(data: bytes, page: int) -> None:
    """Raise AtaError unless the data are a whole page of this number."""
    if len(data) != SECTOR_BYTES:
        raise AtaError(f"the statistics' page {page} has {len(data)} bytes, not {SECTOR_BYTES}")
    if data[2] != page:
        raise AtaError(f"the statistics' page {page} says that it is page {data[2]}")
