"""Reads pages of a ring buffer as ``trace_pipe_raw`` hands them out: when each event was, and where its fields begin.

All pages are read at once, an event of every page in each step, so a window of many thousand events takes milliseconds.

Source: the kernel's include/linux/ring_buffer.h (``enum ring_buffer_type``) and kernel/trace/ring_buffer.c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HEADER_BYTES = 16
_LENGTH_MASK = (1 << 20) - 1  # the bits above say that events are missing before the page
_PADDING, _EXTEND, _STAMP = 29, 30, 31
_DELTA_BITS = 27
_STAMP_BITS = 59  # an absolute time lacks the uppermost five bits


class Records(NamedTuple):
    """Events, in no order: when each was, in ns by the buffer's clock, and at which byte its fields begin."""

    time_ns: NDArray[np.int64]
    offset: NDArray[np.int64]


def parse_pages(pages: NDArray[np.uint32], *, page_bytes: int) -> Records:
    """Return the events of whole pages, which follow each other in an array of 32-bit words.

    What is no page (a length beyond it, an event beyond the length) ends the reading of that page, without an error.
    """
    width = page_bytes // 4
    count = len(pages) // width
    start = np.arange(count, dtype=np.int64) * width
    time = _long(pages, start)
    length = np.minimum(pages[start + 2].astype(np.int64) & _LENGTH_MASK, page_bytes - HEADER_BYTES)
    at = start + HEADER_BYTES // 4
    end = at + length // 4
    times: list[NDArray[np.int64]] = []
    offsets: list[NDArray[np.int64]] = []
    going = np.flatnonzero(at < end)
    while len(going):
        place = at[going]
        word = pages[place].astype(np.int64)
        kind, delta = word & 31, word >> 5
        # The last word of a page stands in for one beyond it: such an event is cut off below.
        extra = pages[np.minimum(place + 1, end[going] - 1)].astype(np.int64)
        long_delta = (extra << _DELTA_BITS) + delta
        now = time[going] + np.where(kind == _EXTEND, long_delta, delta)
        absolute = long_delta | ((time[going] >> _STAMP_BITS) << _STAMP_BITS)
        now = np.where(kind == _STAMP, absolute, now)
        sized = (kind == 0) | (kind == _PADDING)
        words = np.where(sized, 1 + (extra + 3) // 4, np.where(kind >= _EXTEND, 2, 1 + kind))
        following = place + words
        # A padding without a time fills the rest of its page.
        fits = (following <= end[going]) & ~((kind == _PADDING) & (delta == 0))
        is_event = fits & (kind < _PADDING)
        times.append(now[is_event])
        offsets.append((place + np.where(kind == 0, 2, 1))[is_event] * 4)
        time[going] = now
        at[going] = following
        going = going[fits & (following < end[going])]
    if not times:
        nothing = np.empty(0, dtype=np.int64)
        return Records(nothing, nothing)
    return Records(np.concatenate(times), np.concatenate(offsets))


def _long(pages: NDArray[np.uint32], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the 64-bit integers that begin at these words."""
    return pages[at].astype(np.int64) | (pages[at + 1].astype(np.int64) << 32)
