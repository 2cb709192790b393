"""Makes arrays of the block layer's events out of what a ring buffer recorded.

Source: the kernel's include/trace/events/block.h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iogauge.machine.trace.formats import Format
from iogauge.machine.trace.ring import parse_pages


class Kind(IntEnum):
    """What an event says of a request."""

    QUEUE = 0
    ISSUE = 1
    COMPLETE = 2
    MERGE = 3
    ENTER = 4


KINDS = {
    "block_bio_queue": Kind.QUEUE,
    "block_rq_issue": Kind.ISSUE,
    "block_rq_complete": Kind.COMPLETE,
    "block_bio_complete": Kind.COMPLETE,
    "block_bio_backmerge": Kind.MERGE,
    "block_bio_frontmerge": Kind.MERGE,
    "block_rq_merge": Kind.MERGE,
}
"""The events of the system ``block`` that are traced; older kernels lack the last."""

CALLS = ("pread64", "pwrite64", "preadv2", "pwritev2", "io_submit", "io_uring_enter")
"""The system calls with which engines submit requests."""

_SIZES = {"common_pid": 4, "sector": 8, "nr_sector": 4}


class Events(NamedTuple):
    """Events of one device; every array is of the same length."""

    time_ns: NDArray[np.int64]
    kind: NDArray[np.int64]
    sector: NDArray[np.int64]
    sectors: NDArray[np.int64]
    direction: NDArray[np.int64]
    """The letter of the direction, ``R``, ``W`` or ``D`` (a trim), as its character code; 0: none of them."""
    thread: NDArray[np.int64]
    """The thread in which the event happened: for ``QUEUE`` the one that submitted the request."""


_NOTHING = np.empty(0, dtype=np.int64)


def usable(layout: Format, kind: Kind) -> bool:
    """Return whether an event has the fields that are read here, in the sizes that are read."""
    fields = layout.fields
    names = ("common_pid",) if kind is Kind.ENTER else tuple(_SIZES)
    sized = all(
        name in fields and fields[name].size == _SIZES[name] and fields[name].offset % 4 == 0
        for name in names
    )
    return sized and (kind is Kind.ENTER or "rwbs" in fields)


def parse_events(data: bytes, formats: Mapping[Kind, Sequence[Format]], *, page_bytes: int) -> Events:
    """Return the events of whole pages, sorted by their time. Events of other formats are left out."""
    data = data[: len(data) // page_bytes * page_bytes]
    words = np.frombuffer(data, dtype="<u4")
    octets = np.frombuffer(data, dtype=np.uint8)
    times, offsets = parse_pages(words, page_bytes=page_bytes)
    ids = words[offsets // 4] & 0xFFFF if len(offsets) else offsets
    parts = [Events(*([_NOTHING] * len(Events._fields)))]
    for kind, layouts in formats.items():
        for layout in layouts:
            size = max(field.offset + field.size for field in layout.fields.values())
            mine = (ids == layout.id) & (offsets + size <= len(data))
            parts.append(_fields(words, octets, times[mine], offsets[mine], kind, layout))
    joined = Events(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    order = np.argsort(joined.time_ns, kind="stable")
    return Events(*(column[order] for column in joined))


def _fields(
    words: NDArray[np.uint32],
    octets: NDArray[np.uint8],
    times: NDArray[np.int64],
    at: NDArray[np.int64],
    kind: Kind,
    layout: Format,
) -> Events:
    """Return the events of one format, which begin at these bytes."""

    def word(name: str, further: int = 0) -> NDArray[np.int64]:
        return words[(at + layout.fields[name].offset) // 4 + further].astype(np.int64)

    kinds, zeros = np.full(len(at), kind, dtype=np.int64), np.zeros(len(at), dtype=np.int64)
    if kind is Kind.ENTER:
        return Events(times, kinds, zeros, zeros, zeros, word("common_pid"))
    return Events(
        time_ns=times,
        kind=kinds,
        sector=word("sector") | (word("sector", 1) << 32),
        sectors=word("nr_sector"),
        direction=_direction(octets, at + layout.fields["rwbs"].offset),
        thread=word("common_pid"),
    )


def _direction(octets: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the letter of the direction: the first of ``rwbs``, or the second behind the F of a flush."""
    first, second = octets[at].astype(np.int64), octets[np.minimum(at + 1, len(octets) - 1)].astype(np.int64)
    letter = np.where(first == ord("F"), second, first)
    return np.where(np.isin(letter, [ord("R"), ord("W"), ord("D")]), letter, 0)
