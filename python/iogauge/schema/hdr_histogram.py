"""Encodes and decodes histograms as they are stored: HdrHistogram's buckets, in its V2 encoding.

The recorder counts and encodes in Rust. Python decodes that, and encodes what it counts itself: traced requests, and
results of other programs. A review holds thousands of small histograms, so both work on whole arrays. The code is ours
because the ``hdrhistogram`` package has no wheels for aarch64; the tests compare with that package.

An encoding is a header (cookie, length of what follows, index offset, digits, lowest and highest value, conversion
ratio) and the counts of all buckets up to the last that is not empty. Each count is a ZigZag LEB128 number; a negative
number stands for that many empty buckets. Numbers have at most nine bytes, and the ninth has eight bits of the number,
since none follows. Before version 6 of the schema it was compressed: a header (cookie, length), and a zlib stream of
the above. Both are read.

Source: HdrHistogram, V2 encoding (AbstractHistogram.java, ZigZagEncoding.java).
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iogauge.errors import IogaugeError
from iogauge.schema.base import Encoded

HIGHEST_NS = 2**42 - 1
"""The recorder's highest value, over an hour; longer latencies count as this one."""

_STREAM = struct.Struct(">II")
_COUNTS = struct.Struct(">IIIIQQd")
_COUNTS_COOKIE, _STREAM_COOKIE = 0x1C849303, 0x1C849304
"""How an encoding begins: as it is, or compressed."""
_WORD, _WORD_BITS = 0x10, 0xF0
"""What encoders add to both cookies, and the bits in which they do."""
_MOST_BYTES = 9
_LONGER = np.array([1 << 7 * length for length in range(1, _MOST_BYTES)], dtype=np.uint64)
"""The least numbers that need two bytes, three, and so on."""


class Layout(NamedTuple):
    """How values map to buckets: the base-two logarithms of the unit and of half the number of sub-buckets."""

    unit_magnitude: int
    half_magnitude: int

    @classmethod
    def of(cls, *, lowest: int, digits: int) -> Layout:
        """Return the layout for a lowest discernible value and a number of significant digits.

        >>> Layout.of(lowest=1, digits=3)
        Layout(unit_magnitude=0, half_magnitude=10)
        """
        return cls(lowest.bit_length() - 1, (2 * 10**digits - 1).bit_length() - 1)

    def index_of(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the index of the bucket that each value falls into. Values are zero or more.

        >>> Layout.of(lowest=1, digits=3).index_of(np.array([2047, 2048, 2049, 2050]))
        array([2047, 2048, 2048, 2049])
        """
        # The exponent of a float is the number of bits. Shifted first, no value is too long for a float to be exact.
        bits = np.frexp(value >> (self.unit_magnitude + self.half_magnitude))[1].astype(np.int64)
        bucket = np.maximum(bits - 1, 0)
        index: NDArray[np.int64] = (bucket << self.half_magnitude) + (value >> (bucket + self.unit_magnitude))
        return index

    def bounds(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest value of each bucket, both inclusive, by the bucket's index.

        >>> Layout.of(lowest=1, digits=3).bounds(np.array([2047, 2048]))
        (array([2047, 2048]), array([2047, 2049]))
        """
        half = np.int64(1 << self.half_magnitude)
        bucket = np.maximum((index >> self.half_magnitude) - 1, 0)
        sub = np.where(index < 2 * half, index, (index & (half - 1)) + half)
        shift = bucket + self.unit_magnitude
        lowest = sub << shift
        return lowest, lowest + np.left_shift(np.int64(1), shift) - 1

    def buckets(self, highest: int) -> int:
        """Return how many buckets values up to ``highest`` need; the last ones may go beyond it.

        >>> Layout.of(lowest=1, digits=3).buckets(HIGHEST_NS)
        33792
        """
        doublings = highest.bit_length() - (self.unit_magnitude + self.half_magnitude + 1)
        return (max(doublings, 0) + 2) << self.half_magnitude


_DIGITS = 3
RECORDER = Layout.of(lowest=1, digits=_DIGITS)
"""The recorder's layout, in nanoseconds."""


def encode(values_ns: ArrayLike, counts: ArrayLike) -> Encoded:
    """Return the encoding of counts by latency, in the recorder's layout.

    Both are integers of zero or more, as many of one as of the other, in any order; counts of one bucket add up.
    """
    values, times = np.asarray(values_ns, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    values, times = values[times > 0], times[times > 0]
    index, place = np.unique(RECORDER.index_of(np.minimum(values, HIGHEST_NS)), return_inverse=True)
    sums = np.zeros(len(index), dtype=np.int64)
    np.add.at(sums, place, times)
    empty_before = np.diff(index, prepend=-1) - 1
    numbers = np.column_stack((-empty_before, sums)).ravel()
    raw = _leb128(numbers[numbers != 0])
    return _COUNTS.pack(_COUNTS_COOKIE | _WORD, len(raw), 0, _DIGITS, 1, HIGHEST_NS, 1.0) + raw


def decode(data: Encoded) -> tuple[Layout, NDArray[np.int64], NDArray[np.int64]]:
    """Return the layout, the indices of the buckets that are not empty (ascending), and their counts.

    Raises IogaugeError where the bytes are not a complete histogram in V2 encoding. Reading damaged bytes takes no more
    memory than reading a full histogram of the layout that their header has.

    >>> layout, index, counts = decode(encode([1000, 3000, 1000], [1, 1, 1]))
    >>> index, counts
    (array([1000, 2524]), array([2, 1]))
    """
    if len(data) < _STREAM.size:
        raise _unreadable("it is too short")
    cookie, length = _STREAM.unpack_from(data)
    if cookie & ~_WORD_BITS == _COUNTS_COOKIE:
        layout, buckets, raw = _plain(data)
    elif cookie & ~_WORD_BITS != _STREAM_COOKIE:
        raise _unreadable("it does not begin as one")
    elif length != len(data) - _STREAM.size:
        raise _unreadable(f"it has {len(data) - _STREAM.size} bytes instead of {length}")
    else:
        try:
            layout, buckets, raw = _inflated(data[_STREAM.size :])
        except zlib.error as error:
            raise _unreadable(str(error)) from error
    numbers = _numbers(np.frombuffer(raw, dtype=np.uint8), most=buckets)
    # A run that goes beyond the buckets is cut, so that the sum of many cannot overflow.
    ends = np.cumsum(np.where(numbers < 0, -np.maximum(numbers, -buckets - 1), 1))
    if ends.max(initial=0) > buckets:
        raise _unreadable(f"it has more than {buckets} counts")
    occupied = numbers > 0
    return layout, ends[occupied] - 1, numbers[occupied]


def _plain(data: bytes) -> tuple[Layout, int, bytes]:
    """Return the layout, the number of buckets and the encoded counts."""
    layout, buckets, length = _header(data)
    if len(data) != _COUNTS.size + length:
        raise _unreadable(f"its counts do not have {length} bytes")
    return layout, buckets, data[_COUNTS.size :]


def _inflated(stream: bytes) -> tuple[Layout, int, bytes]:
    """Return the layout, the number of buckets and the encoded counts of a zlib stream."""
    inflate = zlib.decompressobj()
    layout, buckets, length = _header(inflate.decompress(stream, _COUNTS.size))
    raw = inflate.decompress(inflate.unconsumed_tail, length + 1)
    if len(raw) != length or not inflate.eof or inflate.unused_data:
        raise _unreadable(f"its counts do not have {length} bytes")
    return layout, buckets, raw


def _header(data: bytes) -> tuple[Layout, int, int]:
    """Return the layout, the number of buckets, and of the bytes of counts that follow the header."""
    if len(data) < _COUNTS.size:
        raise _unreadable("it ends within its header")
    cookie, length, offset, digits, lowest, highest, _ = _COUNTS.unpack_from(data)
    if cookie & ~_WORD_BITS != _COUNTS_COOKIE or offset:
        raise _unreadable("its counts are not encoded as in version 2")
    # The largest value of the last bucket must fit into 63 bits, whatever the header says.
    if not (1 <= digits <= 5 and 1 <= lowest <= highest // 2 and highest < 2**63):
        raise _unreadable(f"it cannot have {digits} digits from {lowest} to {highest}")
    layout = Layout.of(lowest=lowest, digits=digits)
    buckets = layout.buckets(highest)
    if sum(layout) > 61 or length > _MOST_BYTES * buckets:
        raise _unreadable(f"it cannot have {length} bytes of counts")
    return layout, buckets, length


def _leb128(numbers: NDArray[np.int64]) -> bytes:
    """Return numbers as ZigZag LEB128, one after the other."""
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    lengths = 1 + np.searchsorted(_LONGER, zigzag, side="right")
    starts = np.cumsum(lengths) - lengths
    raw = np.empty(lengths.sum(), dtype=np.uint8)
    for place in range(lengths.max(initial=0)):
        here = np.flatnonzero(lengths > place)
        bits = zigzag[here] >> np.uint64(7 * place)
        raw[starts[here] + place] = np.where(lengths[here] > place + 1, bits & 0x7F | 0x80, bits)
    return raw.tobytes()


def _numbers(raw: NDArray[np.uint8], *, most: int) -> NDArray[np.int64]:
    """Return the numbers of a string of ZigZag LEB128.

    Raises IogaugeError where the last one is cut off, and where there are more than ``most``, before it allocates them.
    """
    starts, ends = _places(raw, most=most)
    lengths = ends - starts + 1
    zigzag = (raw[starts] & 0x7F).astype(np.uint64)
    for place in range(1, lengths.max(initial=0)):
        here = np.flatnonzero(lengths > place)
        bits = raw[starts[here] + place].astype(np.uint64)
        zigzag[here] |= (bits if place == _MOST_BYTES - 1 else bits & 0x7F) << np.uint64(7 * place)
    return (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)


def _places(raw: NDArray[np.uint8], *, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the first and the last byte of each number. Raises as ``_numbers`` does."""
    below = raw < 0x80
    if np.count_nonzero(below) > most:
        raise _unreadable(f"it has more than {most} counts")
    # A byte below 128 ends a number. Between two of them are the bytes of one number, or of several of nine bytes.
    ends = np.flatnonzero(below)
    unfinished = len(raw) > 0 and not below[-1]
    if unfinished:
        ends = np.append(ends, len(raw) - 1)
    starts = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
    lengths = ends - starts + 1
    if unfinished and lengths[-1] % _MOST_BYTES:
        raise _unreadable("its last count is cut off")
    if lengths.max(initial=0) <= _MOST_BYTES:
        return starts, ends
    parts = -(-lengths // _MOST_BYTES)
    if parts.sum() > most:
        raise _unreadable(f"it has more than {most} counts")
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = np.repeat(starts, parts) + _MOST_BYTES * part
    return starts, np.minimum(starts + _MOST_BYTES - 1, np.repeat(ends, parts))


def _unreadable(why: str) -> IogaugeError:
    return IogaugeError(
        f"a stored histogram cannot be read: {why}",
        hint="the file is damaged or was not written by iogauge; measure the step again",
    )
