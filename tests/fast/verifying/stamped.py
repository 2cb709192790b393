"""Stamps and their log, as crates/stamp lays them out: written here once more, so that the layouts are checked."""

from __future__ import annotations

import struct
from collections.abc import Iterable

SECTOR = 512
BLOCK = 4096
RUN = 0x1234


def crc32c(data: bytes) -> int:
    """The CRC-32C of RFC 3720, bit by bit.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sector(address: int, sequence: int, *, run: int = RUN, generation: int = 1) -> bytes:
    """A stamped sector."""
    head = struct.pack("<8sQQQII", b"iogSTAMP", run, address, sequence, generation, 0)
    rest = bytes(4) + bytes([sequence & 0xFF]) * (SECTOR - 48)
    return head + struct.pack("<I", crc32c(head + rest)) + rest


def block(address: int, sequence: int) -> bytes:
    """A stamped block."""
    return b"".join(sector(address + at, sequence) for at in range(0, BLOCK, SECTOR))


def log(records: Iterable[bytes]) -> bytes:
    """A log with these records."""
    header = struct.pack("<BBHIQQI", ord("i"), 1, 0, BLOCK, RUN, 0, 1)
    return _sealed(header) + b"".join(records)


def write(sequence: int, offset: int, *, length: int = BLOCK, fua: bool = False) -> bytes:
    """The record of a write that begins."""
    return _sealed(struct.pack("<BBHIQQI", 1, fua, 0, length, sequence, offset, 0))


def written(sequence: int) -> bytes:
    """The record of a write that has completed."""
    return _sealed(struct.pack("<BBHIQQI", 2, 0, 0, 0, sequence, 0, 0))


def flush(sequence: int) -> bytes:
    """The record of a flush that begins."""
    return _sealed(struct.pack("<BBHIQQI", 4, 0, 0, 0, sequence, 0, 0))


def flushed(sequence: int) -> bytes:
    """The record of a flush that has completed."""
    return _sealed(struct.pack("<BBHIQQI", 5, 0, 0, 0, sequence, 0, 0))


def _sealed(record: bytes) -> bytes:
    return record + struct.pack("<I", crc32c(record))
