"""Generates the random data that fills files, and checks whether a file's content may be iogauge's.

The data of a layout follows from its seed and the offset, so a killed layout is recognised exactly. Jobs write random
bytes, in sectors that may end in zeros, and trimmed blocks read as zeros. A file that holds anything else was written
by another program. The check reads only samples. It cannot recognise foreign content that is random itself, such as an
encrypted archive without a header.
Source: crates/engine/src/engines/content.rs (what jobs write).
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from iogauge.target.signatures import Read, reader_of, signatures
from iogauge.workload.numbers import MIB

_CHUNK_BYTES = 4 << 20
_BLOCK_BYTES = 4096
_SECTOR_BYTES = 512
_SAMPLES = 64
_SPREAD = 256
_COPIES = (8 * MIB, 64 * MIB, 128 * MIB)
"""Offsets of superblock copies of ext4 (with small and with usual blocks) and btrfs."""

_FEWEST_BYTES = 32
"""Fewer bytes among zeros are too few to test, and count as foreign."""
_CHI_SQUARE = 120.0
"""Of 16 equally likely values. A random sector is beyond it less than once in 10^17; text is beyond 1000."""

_PACKED = (
    b"PK\3\4",
    b"\x1f\x8b\x08\x00",
    b"\x1f\x8b\x08\x08",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf",
    b"BZh9",
    b"\x89PNG",
    b"\xff\xd8\xff\xe0",
    b"\xff\xd8\xff\xe1",
)
"""First bytes of files whose content looks random: zip, gzip, zstd, xz, 7z, bzip2, PNG, JPEG."""


def noise(seed: int, at: int, end: int) -> memoryview:
    """Return the data of a layout from offset ``at``: up to ``end``, or a few MiB at most."""
    import numpy  # Slow to load, and most invocations lay nothing out.

    chunk, inside = divmod(at, _CHUNK_BYTES)
    random = numpy.random.Generator(numpy.random.SFC64([seed, chunk]))
    return memoryview(random.bytes(min(_CHUNK_BYTES, end - at + inside)))[inside:]


def holds_noise(fd: int, *, seed: int, start: int, end: int) -> bool:
    """Return whether the range begins and ends with the data of that layout, or with zeros.

    A power failure leaves zeros in blocks that had not reached the drive.
    """
    last = (end - 1) // _BLOCK_BYTES * _BLOCK_BYTES
    for at in {start, max(start, last - _BLOCK_BYTES), max(start, last)}:
        expected = bytes(noise(seed, at, min(at + _BLOCK_BYTES, end)))
        data = os.pread(fd, len(expected), at)
        if len(data) < len(expected) or any(a and a != b for a, b in zip(data, expected, strict=True)):
            return False
    return True


def may_be_ours(fd: int) -> bool:
    """Return whether samples of the open file, with its first and last block, hold only random bytes and zeros."""
    size_bytes = os.fstat(fd).st_size
    # A part of a sector at the end may be too short to tell.
    end = size_bytes // _SECTOR_BYTES * _SECTOR_BYTES or size_bytes
    last = max(end - 1, 0) // _BLOCK_BYTES
    read = reader_of(fd)
    try:
        if signatures(read, size_bytes):
            return False
        places = {last * index // (_SAMPLES - 1) * _BLOCK_BYTES for index in range(_SAMPLES)}
        return foreign_at(read, ((at, min(_BLOCK_BYTES, end - at)) for at in sorted(places))) is None
    finally:
        # In the page cache, the samples would serve measured reads.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def foreign_content(read: Read, size_bytes: int) -> int | None:
    """Return the offset of the first sample that iogauge cannot have written; None if there is none.

    The samples are the device's beginning and end, the offsets of superblock copies, and blocks spread evenly over the
    device. A sector of all ones counts as erased. Raises OSError.
    """
    block, run = _BLOCK_BYTES, 16 * _BLOCK_BYTES
    places = [(0, MIB), (max(0, size_bytes - MIB), MIB)]
    places += [(copy, run) for copy in _COPIES]
    # XFS divides a device into four, NTFS has its copy in the middle.
    places += [(size_bytes * quarter // 4 // block * block - run // 2, run) for quarter in (1, 2, 3)]
    places += [(size_bytes * index // _SPREAD // block * block, block) for index in range(_SPREAD)]
    return foreign_at(read, ((at, length) for at, length in sorted(places) if 0 <= at < size_bytes))


def foreign_at(read: Read, places: Iterable[tuple[int, int]]) -> int | None:
    """Return the offset of the first sector in these ranges that iogauge cannot have written; None if there is none."""
    if read(0, 8).startswith(_PACKED):
        return 0
    for offset, length in places:
        data = read(offset, length)
        if not data.strip(b"\0"):
            continue
        if (sector := _first_foreign(data)) is not None:
            return offset + sector * _SECTOR_BYTES
    return None


def _first_foreign(data: bytes) -> int | None:
    """Return the number of the first sector that is neither random nor zero nor erased; None if there is none.

    Each is tested alone, since a job's buffers may repeat: the bytes of a random sector that are not zero have each of
    16 values about equally often in their upper and in their lower halves.
    """
    import numpy as np  # Slow to load, and most invocations write to nothing.

    padded = data.ljust(-(-len(data) // _SECTOR_BYTES) * _SECTOR_BYTES, b"\0")
    sectors = np.frombuffer(padded, np.uint8).reshape(-1, _SECTOR_BYTES)
    filled = sectors != 0
    sizes = filled.sum(axis=1)
    firsts = np.arange(len(sectors))[:, None] * 16
    random = sizes >= _FEWEST_BYTES
    for halves in (sectors >> 4, sectors & 15):
        counts = np.bincount((firsts + halves)[filled], minlength=16 * len(sectors)).reshape(-1, 16)
        random &= (counts**2).sum(axis=1) * 16 / np.maximum(sizes, 1) - sizes <= _CHI_SQUARE
    foreign = ~(random | (sizes == 0) | (sectors == 0xFF).all(axis=1))
    return int(foreign.argmax()) if foreign.any() else None
