"""Encodes counts by latency, and converts fio's buckets.

fio's buckets are exact below 128 ns; above, there are 64 to the octave, so that a value is known to 1/64. iogauge's
histograms have three digits, which is finer. A bucket counts at its middle, as in fio's reports, so that quantiles
agree with those that fio prints to within 0.1 %.

Source: fio stat.c (plat_idx_to_val, plat_val_to_idx).
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.errors import IogaugeError
from iogauge.schema import Encoded
from iogauge.schema.hdr_histogram import HIGHEST_NS, encode

BUCKETS = 29 * 64
"""The number of fio's buckets, and of counts in a line of its histogram logs."""
MOST = 2**62
"""More samples than there can be; a sum of 64 bits holds any number up to this."""
_LINEAR = 128
_BITS = 6


def encoded(counts: Mapping[int, int]) -> Encoded:
    """Return the encoding of counts by latency in nanoseconds. Longer latencies than ``HIGHEST_NS`` count as that.

    Raises ``IogaugeError`` where there are more than ``MOST`` samples.
    """
    if sum(counts.values()) > MOST:
        raise IogaugeError(
            "a histogram holds more samples than there can be",
            hint="the result is damaged; import it without its logs, or run it again",
        )
    return encode([min(value_ns, HIGHEST_NS) for value_ns in counts], list(counts.values()))


def fio_bounds(value_ns: int) -> tuple[int, int]:
    """Return the first and last nanosecond of the bucket of fio that has a value.

    >>> fio_bounds(100), fio_bounds(612), fio_bounds(37632)
    ((100, 100), (608, 615), (37376, 37887))
    """
    shift = max(value_ns.bit_length() - _BITS - 1, 0) if value_ns >= _LINEAR else 0
    low = value_ns >> shift << shift
    return low, low + (1 << shift) - 1


def fio_middle(bucket: int) -> int:
    """Return the latency that fio's reports give for a bucket, by its number.

    >>> fio_middle(100), fio_middle(fio_bucket(612))
    (100, 612)
    """
    if bucket < _LINEAR:
        return bucket
    shift = (bucket >> _BITS) - 1
    return ((bucket & 63) + 64 << shift) + (1 << shift >> 1)


def fio_bucket(value_ns: int) -> int:
    """Return the number of the bucket of fio that has a value.

    >>> fio_bucket(127), fio_bucket(128), fio_bucket(10**12)
    (127, 128, 1855)
    """
    shift = max(value_ns.bit_length() - _BITS - 1, 0)
    return min((shift << _BITS) + (value_ns >> shift), BUCKETS - 1)
