"""Samples whether a target's data is zeros or compresses well: drives that compress answer such data faster.

A few blocks spread over the region are read through the page cache, dropped from it again, and compressed with zlib at
its fastest level. The drive sees a few reads before the run, and no writes.
"""

from __future__ import annotations

import contextlib
import os
import random
import zlib
from dataclasses import dataclass

_BLOCK_BYTES = 4096


@dataclass(frozen=True)
class Sample:
    """Properties of a few blocks of a region. Shares are fractions in [0, 1]."""

    blocks: int
    zero_share: float
    """Share of blocks that hold only zeros."""
    saved_share: float
    """Share of the bytes that zlib saves, zeros included; about 0 for random data."""
    repeated_share: float
    """Share of blocks that equal another block of the sample."""


def sample_data(
    fd: int, *, offset_bytes: int = 0, length_bytes: int, blocks: int = 64, seed: int = 0
) -> Sample | None:
    """Sample ``blocks`` blocks of 4 KiB: one at a random offset in each of ``blocks`` equal parts of the region.

    Returns None if nothing can be read. The same seed samples the same offsets.
    """
    places = _places(offset_bytes, length_bytes, blocks, random.Random(seed))
    # Without readahead: its pages would stay in the page cache.
    _advise(fd, os.POSIX_FADV_RANDOM)
    contents = [block for place in places if (block := _read(fd, place))]
    _advise(fd, os.POSIX_FADV_NORMAL)
    if not contents:
        return None
    zeros = sum(block == bytes(len(block)) for block in contents)
    packed = sum(min(len(zlib.compress(block, 1)), len(block)) for block in contents)
    return Sample(
        blocks=len(contents),
        zero_share=zeros / len(contents),
        saved_share=1 - packed / sum(map(len, contents)),
        repeated_share=1 - len(set(contents)) / len(contents),
    )


def _places(start: int, length: int, blocks: int, draw: random.Random) -> list[int]:
    total = length // _BLOCK_BYTES
    if total == 0:
        return [start] if length > 0 else []
    count = min(blocks, total)
    edges = [index * total // count for index in range(count + 1)]
    return [start + _BLOCK_BYTES * draw.randrange(edges[index], edges[index + 1]) for index in range(count)]


def _read(fd: int, place: int) -> bytes:
    """Return one block; empty if it cannot be read, and the sample goes without it."""
    try:
        block = os.pread(fd, _BLOCK_BYTES, place)
    except OSError:
        return b""
    _advise(fd, os.POSIX_FADV_DONTNEED, place, _BLOCK_BYTES)
    return block


def _advise(fd: int, advice: int, start: int = 0, length: int = 0) -> None:
    with contextlib.suppress(OSError):
        os.posix_fadvise(fd, start, length, advice)
