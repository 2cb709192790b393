"""Parses SMART's attributes. What their raw values mean is each maker's own; the names here are the usual ones.

Source: SFF-8035i revision 2 (the structure, which ACS left to the makers); smartmontools' drivedb for the names.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.machine.ata.command import SECTOR_BYTES, AtaError

_ATTRIBUTES = 30
_ENTRY_BYTES = 12
_NAMES = {
    1: "raw read error rate", 3: "spin-up time", 4: "start/stop count", 5: "reallocated sectors", 7: "seek error rate",
    9: "power-on hours", 10: "spin retries", 12: "power cycles", 170: "spare blocks", 171: "program failures",
    172: "erase failures", 173: "wear leveling", 174: "unexpected power losses", 177: "wear leveling",
    179: "used spare blocks", 181: "program failures", 182: "erase failures", 183: "downshifts of the link",
    184: "end-to-end errors", 187: "uncorrectable errors", 188: "command timeouts", 190: "airflow temperature",
    192: "unsafe shutdowns", 193: "load cycles", 194: "temperature", 195: "corrected errors", 196: "reallocations",
    197: "pending sectors", 198: "uncorrectable sectors", 199: "CRC errors of the link", 202: "life used or left",
    231: "life left", 233: "media wear", 235: "power losses", 241: "blocks written", 242: "blocks read",
}  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """One SMART attribute."""

    id: int
    name: str
    """The usual meaning; empty: there is none."""
    value: int
    """Normalised by the drive: higher is better. 1 to 253."""
    worst: int
    threshold: int | None
    """A value at or below it means failure; None: not read, or the drive has none."""
    raw: int
    """48 bits, in the maker's own units."""
    prefail: bool
    """Whether crossing the threshold predicts a failure, not only age."""

    @property
    def failing(self) -> bool:
        """Whether the value has reached its threshold. A threshold of 0 is never reached."""
        return self.threshold is not None and 0 < self.value <= self.threshold


def parse_attributes(data: bytes, thresholds: bytes | None = None) -> tuple[Attribute, ...]:
    """Parse SMART READ DATA, and SMART READ THRESHOLDS if there are any. Raises AtaError if they are damaged."""
    _check(data, "SMART READ DATA")
    limits = {} if thresholds is None else _thresholds(thresholds)
    attributes = []
    for at in range(2, 2 + _ATTRIBUTES * _ENTRY_BYTES, _ENTRY_BYTES):
        number = data[at]
        if number:
            attributes.append(
                Attribute(
                    id=number,
                    name=_NAMES.get(number, ""),
                    value=data[at + 3],
                    worst=data[at + 4],
                    threshold=limits.get(number),
                    raw=int.from_bytes(data[at + 5 : at + 11], "little"),
                    prefail=bool(data[at + 1] & 1),
                )
            )
    return tuple(attributes)


def _thresholds(data: bytes) -> dict[int, int]:
    _check(data, "SMART READ THRESHOLDS")
    entries = range(2, 2 + _ATTRIBUTES * _ENTRY_BYTES, _ENTRY_BYTES)
    return {data[at]: data[at + 1] for at in entries if data[at]}


def _check(data: bytes, name: str) -> None:
    """Raise AtaError unless the data are a whole sector whose bytes add up to 0."""
    if len(data) != SECTOR_BYTES:
        raise AtaError(f"{name} returned {len(data)} bytes, not {SECTOR_BYTES}")
    if sum(data) & 0xFF:
        raise AtaError(f"{name} returned data with a wrong checksum")
