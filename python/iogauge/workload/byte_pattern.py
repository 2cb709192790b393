"""Reads and writes fio's patterns of bytes: strings in double quotes, hexadecimal and decimal numbers, side by side.

A decimal number is stored like an int of C, without its leading zero bytes, the lowest byte first. A file in single
quotes, whose bytes fio reads, is refused: a job file would then depend on a second file that no record holds.

Source: fio lib/pattern.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from iogauge.workload.options.kinds import Kind
from iogauge.workload.problem import BadValue

LONGEST = 512
"""The most bytes of a pattern in fio 3.33."""

_PART = re.compile(
    r"""
    "(?P<text>[^"]*)"
    | 0[xX](?P<hex>[0-9a-fA-F]+?)(?=0[xX]|[^0-9a-fA-F]|$)
    | (?P<decimal>[+-]?\d+?)(?=0[xX]|\D|$)
    """,
    re.VERBOSE | re.ASCII,
)


def _read(text: str, _: int) -> bytes:
    pattern, at = b"", 0
    while at < len(text):
        part = _PART.match(text, at)
        if not part:
            raise _not_a_pattern(text[at:])
        pattern += _bytes_of(part)
        at = part.end()
    if not pattern:
        raise BadValue("has no bytes", hint='write a pattern such as 0xdeadbeef, 66 or "text"')
    if len(pattern) > LONGEST:
        raise BadValue(f"has more than {LONGEST} bytes", hint="shorten it, as for fio 3.33")
    return pattern


def _bytes_of(part: re.Match[str]) -> bytes:
    if part["text"] is not None:
        return part["text"].encode()
    if part["hex"] is not None:
        return bytes.fromhex(part["hex"].zfill(len(part["hex"]) + len(part["hex"]) % 2))
    number = int(part["decimal"])
    if not -(2**31) <= number < 2**31:
        raise BadValue(f"'{part['decimal'][:32]}' does not fit into 32 bits", hint="write it as 0x...")
    return (number % 2**32).to_bytes(4, "little").rstrip(b"\0") or b"\0"


def _not_a_pattern(rest: str) -> BadValue:
    if rest.startswith("'"):
        return BadValue(
            "takes its bytes from a file, which is not supported", hint="write the bytes as 0x..."
        )
    return BadValue(
        f"'{rest[:32]}' is not a pattern", hint="write a string in double quotes, 0x and digits, or a number"
    )


BYTES = Kind(
    syntax='"text"|0xdigits|number, side by side',
    read=_read,
    write=lambda pattern: f"0x{pattern.hex()}",
)
"""Bytes that are repeated."""


@dataclass(frozen=True, slots=True)
class BytesWithOffsets:
    """A pattern, and where in it the offset of an I/O is inserted."""

    pattern: bytes
    offsets: tuple[int, ...]


OFFSET = "%o"
"""Stands for the offset of an I/O."""
OFFSET_BYTES = 8


def _read_with_offsets(text: str, kb_base: int) -> BytesWithOffsets:
    pattern, offsets = b"", []
    for number, part in enumerate(text.split(OFFSET)):
        if number:
            offsets.append(len(pattern))
            pattern += bytes(OFFSET_BYTES)
        if part:
            pattern += _read(part, kb_base)
    if not pattern:
        _read("", kb_base)
    if len(pattern) > LONGEST:
        raise BadValue(f"has more than {LONGEST} bytes", hint="shorten it, as for fio 3.33")
    return BytesWithOffsets(pattern, tuple(offsets))


def _write_with_offsets(value: BytesWithOffsets) -> str:
    parts, at = [], 0
    for offset in value.offsets:
        parts += [value.pattern[at:offset], None]
        at = offset + OFFSET_BYTES
    parts.append(value.pattern[at:])
    return "".join(OFFSET if part is None else f"0x{part.hex()}" for part in parts if part != b"")


BYTES_WITH_OFFSETS = Kind(
    syntax='"text"|0xdigits|number|%o, side by side',
    read=_read_with_offsets,
    write=_write_with_offsets,
)
"""Bytes that are repeated, with the offset of the I/O among them."""
