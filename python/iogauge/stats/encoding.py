"""The bytes of an HdrHistogram, read into counts by bucket.

The ``hdrhistogram`` package decodes (in C, thousands a second); numpy takes its counts and finds what range of
values each bucket stands for. Does not write: encoding is the recorder's, in Rust.

Source: HdrHistogram V2 compressed encoding, cookie 0x1c849304, as every HdrHistogram library reads and writes it.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import NamedTuple

import numpy as np
from hdrh.codec import (  # type: ignore[import-untyped]
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
)
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from numpy.typing import NDArray

from iogauge.errors import IogaugeError

_UNREADABLE = (
    HdrCookieException,
    HdrHistogramSettingsException,
    HdrLengthException,
    zlib.error,
    struct.error,
    ValueError,
    IndexError,
    OverflowError,
    MemoryError,
)


class Layout(NamedTuple):
    """How values map to buckets: ``half`` is half the number of sub-buckets, both as base-two logarithms."""

    unit_magnitude: int
    half_magnitude: int

    @classmethod
    def of(cls, *, lowest: int, digits: int) -> Layout:
        """Return the layout for a lowest discernible value and a number of significant digits.

        >>> Layout.of(lowest=1, digits=3)
        Layout(unit_magnitude=0, half_magnitude=10)
        """
        return cls(lowest.bit_length() - 1, (2 * 10**digits - 1).bit_length() - 1)

    def bounds(self, index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest value of each bucket, both inclusive, by the bucket's index.

        >>> Layout.of(lowest=1, digits=3).bounds(np.array([2047, 2048]))
        (array([2047, 2048]), array([2047, 2049]))
        """
        half = np.int64(1 << self.half_magnitude)
        bucket = np.maximum((index >> self.half_magnitude) - 1, 0)
        sub = np.where(index < 2 * half, index, (index & (half - 1)) + half)
        lowest = sub << (bucket + self.unit_magnitude)
        return lowest, lowest + self._width(bucket) - 1

    def bounds_of(self, value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the lowest and the highest value of the bucket that each value falls into, both inclusive."""
        magnitude = np.frexp(np.maximum(value, 1).astype(np.float64))[1].astype(np.int64)
        bucket = np.maximum(magnitude - (self.unit_magnitude + self.half_magnitude + 1), 0)
        width = self._width(bucket)
        lowest = value - value % width
        return lowest, lowest + width - 1

    def _width(self, bucket: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.left_shift(np.int64(1), bucket + self.unit_magnitude)


def decode(data: bytes) -> tuple[Layout, NDArray[np.int64], NDArray[np.int64]]:
    """Return the layout, the indices of the buckets that are not empty (ascending), and their counts.

    Raises IogaugeError where the bytes are not a V2 compressed histogram, or stop early.
    """
    try:
        decoded = HdrHistogram.decode(base64.b64encode(data))
        counts = np.frombuffer(decoded.counts, dtype=np.int64)
        layout = Layout.of(lowest=decoded.lowest_trackable_value, digits=decoded.significant_figures)
    except _UNREADABLE as error:
        raise IogaugeError(
            f"a stored histogram cannot be read: {error or type(error).__name__}",
            hint="the file is damaged or was not written by iogauge; measure the step again",
        ) from error
    # It and its encoder hold each other, and 130 KiB: a run of many intervals should not wait for the collector.
    decoded.encoder = None
    index = np.flatnonzero(counts)
    return layout, index, counts[index]
