"""fio's verify state: a file that says which writes of a job completed, so that a later run verifies only these.

iogauge writes it in the format of fio 3.33, by fio's name. fio finds what was written by its random numbers, which
iogauge's are not: one program continues from the other's file only where a pattern is sequential.

Source: fio 3.33's verify-state.h and verify.c (get_all_io_list, verify_load_state).
"""

from __future__ import annotations

import struct
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.schema import CompletedWrite, VerifyState

VERSION = 3
"""Newer versions of fio have others."""

_HEADER = struct.Struct("<QQQ")
"""Version, bytes after the header, and their CRC-32C."""
_STATE = struct.Struct("<QIIQQ56x64s")
"""Completed writes, depth, files, writes, the job's index, random numbers, and its name."""
_WRITE = struct.Struct("<QQ")
"""A completed write: the file's number, and the offset."""
_NAME_BYTES = 63


def path_of(job: str, index: int) -> Path:
    """Return the file of the ``index``-th worker of a run, from 0.

    >>> path_of("a/b", 0)
    PosixPath('local-a.b-0-verify.state')
    """
    return Path(f"local-{job.replace('/', '.')}-{index}-verify.state")


def encoded(state: VerifyState, *, job: str, index: int, files: int) -> bytes:
    """Return the file's content."""
    name = job.encode()[:_NAME_BYTES]
    writes = b"".join(_WRITE.pack(write.target, write.offset_bytes) for write in state.completed)
    body = _STATE.pack(len(state.completed), state.depth, files, state.writes, index, name)
    body += writes.ljust(_WRITE.size * state.depth * files, b"\0")
    return _HEADER.pack(VERSION, len(body), crc32c(body)) + body


def decoded(data: bytes) -> VerifyState:
    """Return what a file says. Raises ValueError, with the reason, if it is damaged or of another version."""
    if len(data) < _HEADER.size:
        raise ValueError("the file is cut off")
    version, size, crc = _HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"its version is {version}; only version {VERSION}, fio 3.33's, can be read")
    body = data[_HEADER.size :]
    if len(body) != size or size < _STATE.size:
        raise ValueError("the file is cut off")
    if crc32c(body) != crc:
        raise ValueError("its checksum is wrong")
    count, depth, files, writes, _, _ = _STATE.unpack_from(body)
    if count > depth * files or size != _STATE.size + _WRITE.size * depth * files:
        raise ValueError("its counts contradict each other")
    pairs = _WRITE.iter_unpack(body[_STATE.size : _STATE.size + _WRITE.size * count])
    completed = tuple(CompletedWrite(target=target, offset_bytes=offset) for target, offset in pairs)
    return VerifyState(writes=writes, depth=depth, completed=completed)


def load(job: str, index: int) -> VerifyState:
    """Read the file of the ``index``-th worker. Raises IogaugeError if that cannot be done."""
    path = path_of(job, index)
    try:
        return decoded(path.read_bytes())
    except FileNotFoundError:
        why = "there is no such file"
    except (OSError, ValueError) as error:
        why = str(error)
    raise IogaugeError(
        f"{path}: verify_state_load cannot read the state: {why}",
        hint="in this directory, first run the job that writes, with the same name and verify_state_save=1",
    )


def crc32c(data: bytes) -> int:
    """Return the Castagnoli CRC as fio computes it: without the last inversion.

    >>> hex(crc32c(b"123456789") ^ 0xFFFFFFFF)
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc


def _shifted(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(_shifted(byte) for byte in range(256))
