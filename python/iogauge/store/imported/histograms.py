"""Counts by latency, encoded as HdrHistogram V2, and fio's buckets, which they may come from.

The ``hdrhistogram`` package encodes. fio's buckets are exact below 128 ns and then 64 to the octave, so that a value
is known to 1/64 of itself; ours, of three digits, lie within them. A bucket is put where fio's own reports put it, at
its middle, and quantiles come out as fio prints them, to under 0.1 %.

Source: fio stat.c (plat_idx_to_val, plat_val_to_idx), hdrhistogram's documentation.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from iogauge.schema import Encoded

BUCKETS = 29 * 64
"""fio's buckets, and numbers in a line of its histogram logs."""
HIGHEST_NS = 2**42 - 1
"""As in the recorder: over an hour."""
_LINEAR = 128
_BITS = 6


def encoded(counts: Mapping[int, int]) -> Encoded:
    """Return the encoding of counts by latency in nanoseconds; above ``HIGHEST_NS`` they count there."""
    histogram = HdrHistogram(1, HIGHEST_NS, 3)
    for value_ns, count in counts.items():
        histogram.record_value(min(value_ns, HIGHEST_NS), count)
    return base64.b64decode(histogram.encode())


def fio_bounds(value_ns: int) -> tuple[int, int]:
    """Return the first and last nanosecond of fio's bucket that a value lies in.

    >>> fio_bounds(100), fio_bounds(612), fio_bounds(37632)
    ((100, 100), (608, 615), (37376, 37887))
    """
    shift = max(value_ns.bit_length() - _BITS - 1, 0) if value_ns >= _LINEAR else 0
    low = value_ns >> shift << shift
    return low, low + (1 << shift) - 1


def fio_middle(bucket: int) -> int:
    """Return the latency that stands for a bucket of fio's in its reports, by the bucket's number.

    >>> fio_middle(100), fio_middle(fio_bucket(612))
    (100, 612)
    """
    if bucket < _LINEAR:
        return bucket
    shift = (bucket >> _BITS) - 1
    return ((bucket & 63) + 64 << shift) + (1 << shift >> 1)


def fio_bucket(value_ns: int) -> int:
    """Return the number of fio's bucket that a value lies in.

    >>> fio_bucket(127), fio_bucket(128), fio_bucket(10**12)
    (127, 128, 1855)
    """
    shift = max(value_ns.bit_length() - _BITS - 1, 0)
    return min((shift << _BITS) + (value_ns >> shift), BUCKETS - 1)
