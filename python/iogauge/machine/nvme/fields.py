"""Numbers, texts and bits in NVMe's data structures: little-endian, and zero where a drive does not report."""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.errors import IogaugeError

_ZERO_C_K = 273
"""NVMe counts whole kelvins, and so do its tools."""


class MalformedError(IogaugeError):
    """The drive's answer contradicts the specification."""


def check_size(data: bytes, size: int, name: str) -> None:
    """Raise MalformedError unless the data structure has its size in bytes."""
    if len(data) != size:
        raise MalformedError(f"the {name} has {len(data)} bytes, not {size}")


def number(data: bytes, at: int, size: int) -> int:
    """Return the number of ``size`` bytes at an offset.

    >>> number(bytes([0, 1, 2]), 1, 2)
    513
    """
    return int.from_bytes(data[at : at + size], "little")


def reported(value: int) -> int | None:
    """Return a number; None for zero, which means that the drive does not report it."""
    return value or None


def celsius(kelvins: int) -> int | None:
    """Return a temperature in degrees Celsius; None for zero, which means that the drive does not report it.

    >>> celsius(323), celsius(0)
    (50, None)
    """
    return kelvins - _ZERO_C_K if kelvins else None


def text(data: bytes, at: int, size: int) -> str | None:
    r"""Return ASCII without the blanks around it; None if nothing is left. Other characters become question marks.

    >>> text(b"QEMU NVMe\x1b Ctrl    ", 0, 20), text(bytes(8), 0, 8)
    ('QEMU NVMe? Ctrl', None)
    """
    characters = data[at : at + size].strip(b" \0")
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "?" for byte in characters) or None


def bits(value: int, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return the names of the bits that are set. Bits without a name are reserved.

    >>> bits(0b101, {0: "compare", 1: "verify"})
    ('compare',)
    """
    return tuple(name for bit, name in names.items() if value >> bit & 1)
