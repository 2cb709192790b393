"""Reads and writes fio's patterns of bytes: strings in double quotes, hexadecimal and decimal numbers, side by side.

A decimal number is stored like an int of C, without its leading zero bytes, the lowest byte first. A file in single
quotes, whose bytes fio reads, is refused: a job file would then depend on a second file that no record holds.

Source: fio lib/pattern.c.
"""

from __future__ import annotations

import re

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
