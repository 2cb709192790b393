"""The encoding of histograms, against the ``hdrhistogram`` package: what either encodes, both decode equally."""

from __future__ import annotations

import base64
import math
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema.hdr_histogram import HIGHEST_NS, RECORDER, Layout, decode, encode
from tests import builders

RECORDERS_BUCKETS = 33_792
values_ns = st.one_of(st.integers(0, 5_000), st.integers(0, HIGHEST_NS))
# The package's own numbers go wrong beyond 62 bits.
counts_ns = st.dictionaries(values_ns, st.one_of(st.integers(1, 300), st.integers(1, 2**40)), max_size=60)
layouts = st.sampled_from(
    [(1, HIGHEST_NS, 3), (1000, 3_600_000_000_000, 2), (1, 2**62, 1), (7, 10**6, 4), (1, 20, 3)]
)


def by_index(encoding: bytes) -> dict[int, int]:
    """Return the counts that our decoder reads, by bucket."""
    _, index, counts = decode(encoding)
    return dict(zip(index.tolist(), counts.tolist(), strict=True))


def by_index_of_the_package(encoding: bytes) -> dict[int, int]:
    return nonzero(builders.decoded(encoding))


def nonzero(package: HdrHistogram) -> dict[int, int]:
    counts = np.frombuffer(package.counts, dtype=np.int64)
    return {int(index): int(counts[index]) for index in np.flatnonzero(counts)}


def with_counts(
    raw: bytes, *, length: int | None = None, highest: int = HIGHEST_NS, digits: int = 3
) -> bytes:
    """Return an encoding with these bytes of counts."""
    said = len(raw) if length is None else length
    return struct.pack(">IIIIQQd", 0x1C849313, said, 0, digits, 1, highest, 1.0) + raw


def leb128(number: int) -> bytes:
    """Return one number of the encoding, by the definition."""
    left, raw = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F and len(raw) < 8:
        raw.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*raw, left])


# --- Against the package -----------------------------------------------------------------------------------


@given(counts_ns)
def test_what_we_encode_is_what_the_package_encodes(counts: dict[int, int]) -> None:
    ours = encode(list(counts), list(counts.values()))
    assert ours == builders.histogram(counts)
    assert by_index(ours) == by_index_of_the_package(ours)


@settings(max_examples=20)  # the package takes its time
@given(counts_ns, layouts)
def test_what_the_package_encodes_we_decode_as_it_does(
    counts: dict[int, int], bounds: tuple[int, int, int]
) -> None:
    lowest, highest, digits = bounds
    package = HdrHistogram(lowest, highest, digits)
    for value, count in counts.items():
        package.record_value(min(value, highest), count)
    encoding = base64.b64decode(package.encode())
    layout, index, times = decode(encoding)
    assert dict(zip(index.tolist(), times.tolist(), strict=True)) == nonzero(package)
    assert by_index(zlib.decompress(encoding[8:])) == by_index(encoding)
    assert layout == Layout(package.unit_magnitude, package.sub_bucket_half_count_magnitude)
    assert layout.buckets(highest) == package.counts_len
    lows, highs = layout.bounds(index)
    assert highs.tolist() == [item.value_iterated_to for item in package.get_recorded_iterator()]
    assert layout.index_of(lows).tolist() == layout.index_of(highs).tolist() == index.tolist()


@given(values_ns, layouts)
def test_a_value_has_the_bucket_that_the_package_gives_it(value: int, bounds: tuple[int, int, int]) -> None:
    lowest, highest, digits = bounds
    value = min(value, highest)
    index = Layout.of(lowest=lowest, digits=digits).index_of(np.array([value]))
    assert index.tolist() == [HdrHistogram(*bounds).get_counts_array_index(value)]


@given(counts_ns, st.integers(0, 400), st.integers(1, 255))
def test_damage_is_refused_or_read_as_the_package_reads_it(
    counts: dict[int, int], place: int, change: int
) -> None:
    inner = bytearray(builders.histogram(counts))
    inner[place % len(inner)] ^= change
    damaged = bytes(inner)
    try:
        ours = by_index(damaged)
    except IogaugeError:
        return
    assert ours == by_index_of_the_package(damaged)


# --- Numbers -----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 2**63 - 1), max_size=40))
def test_numbers_of_any_length_survive(counts: list[int]) -> None:
    encoding = encode(range(len(counts)), counts)
    assert encoding[40:] == b"".join(map(leb128, counts))
    assert list(by_index(encoding).values()) == counts


@pytest.mark.parametrize("length", range(1, 10))
def test_a_count_that_is_cut_off_is_refused(length: int) -> None:
    complete = leb128((1 << 7 * length - 2) - 1)
    assert len(complete) == length
    assert by_index(with_counts(b"\x02" + complete))[1] == (1 << 7 * length - 2) - 1
    if length > 1:
        with pytest.raises(IogaugeError, match="cut off"):
            decode(with_counts(b"\x02" + complete[:-1]))


def test_counts_of_one_bucket_add_up_and_long_latencies_count_as_the_longest() -> None:
    top = RECORDERS_BUCKETS - 1
    assert by_index(encode([2048, 2049, 7], [1, 2, 0])) == {2048: 3}
    assert by_index(encode([HIGHEST_NS, 2**62], [1, 2])) == {top: 3}
    assert RECORDER.bounds(np.array([top]))[1].tolist() == [HIGHEST_NS]


# --- Damage ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "numbers",
    [
        [-RECORDERS_BUCKETS, 1],
        [1, -RECORDERS_BUCKETS],
        [-(2**63), 5],
        [-(2**62), -(2**62), -(2**62), -(2**62), 1],
        [1] * (RECORDERS_BUCKETS + 1),
    ],
)
def test_more_counts_than_buckets_are_refused(numbers: list[int]) -> None:
    with pytest.raises(IogaugeError, match="more than 33792 counts"):
        decode(with_counts(b"".join(map(leb128, numbers))))


def test_as_many_counts_as_buckets_are_read() -> None:
    assert by_index(with_counts(leb128(1) * RECORDERS_BUCKETS)) == dict.fromkeys(range(RECORDERS_BUCKETS), 1)
    assert by_index(with_counts(leb128(-RECORDERS_BUCKETS))) == {}


@pytest.mark.parametrize(
    "encoding",
    [
        with_counts(b"\x02\x02", length=1),
        with_counts(b"\x02\x02", length=3),
        with_counts(b"\x02", length=2**32 - 1),
        with_counts(b"\x02", digits=0),
        with_counts(b"\x02", digits=6),
        with_counts(b"\x02", highest=1),
        with_counts(b"\x02", highest=2**63),
        encode([5], [1])[:-1],
        encode([5], [1]) + b"x",
        b"",
        encode([5], [1])[:20],
        b"\x1c\x84\x93\x12\x1c\x84\x93\x13",
        builders.compressed(b""),
        builders.compressed(b"\x1c\x84\x93\x13"),
        builders.compressed(encode([5], [1]))[:-1],
        builders.compressed(encode([5], [1])) + b"x",
        builders.compressed(with_counts(b"\x02\x02", length=1)),
        builders.compressed(with_counts(b"\x02\x02", length=3)),
    ],
)
def test_a_header_that_does_not_fit_is_refused(encoding: bytes) -> None:
    with pytest.raises(IogaugeError, match="a stored histogram cannot be read: ") as caught:
        decode(encoding)
    assert caught.value.hint


@pytest.mark.parametrize("as_stored", [bytes, builders.compressed], ids=["plain", "compressed"])
@pytest.mark.parametrize(
    "bomb",
    [
        with_counts(bytes(1 << 26)),
        with_counts(bytes(1 << 26), length=1000),
        with_counts(bytes(9 * RECORDERS_BUCKETS)),
        with_counts(b"\x80" * 9 * RECORDERS_BUCKETS),
        with_counts(b"\xff" * (9 * RECORDERS_BUCKETS - 1)),
    ],
    ids=["long", "longer than it says", "most counts", "nine bytes each", "nine bytes each, cut off"],
)
def test_damage_takes_no_more_memory_than_a_full_histogram(
    bomb: bytes, as_stored: Callable[[bytes], bytes]
) -> None:
    def peak_bytes(encoding: bytes) -> int:
        tracemalloc.start()
        try:
            decode(encoding)
        except IogaugeError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return peak

    full = encode(RECORDER.bounds(np.arange(RECORDERS_BUCKETS))[0], [2**62 - 1] * RECORDERS_BUCKETS)
    assert peak_bytes(as_stored(bomb)) < 1.5 * peak_bytes(as_stored(full)) < math.inf
