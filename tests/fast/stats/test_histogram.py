"""Histograms against the hdrhistogram package and against exact sorting."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.stats.histogram import Histogram, all_but_one, needed
from tests import builders

HOUR_NS = 3_600_000_000_000
HIGHEST = 4_398_046_511_103
latencies = st.integers(0, HOUR_NS)
samples = st.lists(latencies, min_size=1, max_size=300)


def recorded(values: list[int]) -> HdrHistogram:
    histogram = HdrHistogram(1, HIGHEST, 3)
    for value in values:
        assert histogram.record_value(value)
    return histogram


def encoded(values: list[int]) -> bytes:
    return builders.histogram(values)


@settings(max_examples=20)  # the package takes its time
@given(samples)
def test_decoding_agrees_with_the_package_on_every_bucket(values: list[int]) -> None:
    package, ours = recorded(values), Histogram.decode(encoded(values))
    theirs = [
        (item.value_iterated_to, item.count_at_value_iterated_to) for item in package.get_recorded_iterator()
    ]
    assert list(zip(ours.values.tolist(), ours.counts.tolist(), strict=True)) == theirs
    assert ours.count == len(values)
    assert ours.max == package.get_highest_equivalent_value(package.get_max_value())


@given(samples)
def test_raw_samples_fall_into_the_recorders_buckets(values: list[int]) -> None:
    decoded, direct = Histogram.decode(encoded(values)), Histogram.of(values)
    for ours, theirs in (
        (direct.lowest, decoded.lowest),
        (direct.values, decoded.values),
        (direct.counts, decoded.counts),
    ):
        assert ours.tolist() == theirs.tolist()


@given(samples, st.sampled_from([0.0, 0.01, 0.07, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0]))
def test_a_quantile_errs_by_less_than_a_thousandth(values: list[int], q: float) -> None:
    exact = sorted(values)[max(math.ceil(round(q * len(values), 9)), 1) - 1]
    result = Histogram.decode(encoded(values)).quantile(q)
    assert exact <= result <= exact * 1.001 + 1


@given(samples)
def test_mean_and_deviation_are_within_a_bucket(values: list[int]) -> None:
    ours = Histogram.of(values)
    assert ours.mean == pytest.approx(np.mean(values), rel=5e-4, abs=1)
    if len(values) > 1:
        spread = np.std(values, ddof=1)
        assert ours.stddev == pytest.approx(spread, rel=1e-2, abs=1e-3 * max(values) + 1)
    assert ours.min <= min(values)
    assert ours.max >= max(values)


@given(st.lists(samples, min_size=1, max_size=5))
def test_merging_equals_recording_together(parts: list[list[int]]) -> None:
    merged = Histogram.merge(Histogram.decode(encoded(part)) for part in parts)
    union = Histogram.of([value for part in parts for value in part])
    assert merged.values.tolist() == union.values.tolist()
    assert merged.counts.tolist() == union.counts.tolist()
    assert merged.lowest.tolist() == union.lowest.tolist()


@given(st.lists(st.lists(latencies, max_size=40), min_size=1, max_size=5))
def test_all_but_one_and_the_one_are_the_whole(parts: list[list[int]]) -> None:
    histograms = [Histogram.of(part) for part in parts]
    union = Histogram.merge(histograms)
    rest = all_but_one(histograms)
    assert len(rest) == len(parts)
    for one, others in zip(histograms, rest, strict=True):
        both = Histogram.merge([one, others])
        assert both.values.tolist() == union.values.tolist()
        assert both.counts.tolist() == union.counts.tolist()
        assert one.count + others.count == union.count


def test_an_empty_histogram_has_a_count_and_no_figures() -> None:
    empty = Histogram.merge([Histogram.empty(), Histogram.decode(encoded([]))])
    assert (empty.count, empty.min, empty.max) == (0, 0, 0)
    assert math.isnan(empty.mean)
    assert math.isnan(empty.stddev)
    assert not empty.supports(0.5)
    with pytest.raises(ValueError, match="empty"):
        empty.quantile(0.5)


@pytest.mark.parametrize("q", [-0.1, 1.1, 99.0])
def test_a_percentage_is_not_a_quantile(q: float) -> None:
    with pytest.raises(ValueError, match="outside"):
        Histogram.of([1]).quantile(q)


@pytest.mark.parametrize(
    ("q", "count"),
    [(0.5, 20), (0.9, 100), (0.99, 1_000), (0.9999, 100_000), (0.99999, 1_000_000), (0.9999999, 10**8)],
)
def test_ten_samples_beyond_a_quantile_support_it(q: float, count: int) -> None:
    assert needed(q) == count


def test_a_million_samples_at_one_latency_are_one_bucket() -> None:
    package = HdrHistogram(1, HIGHEST, 3)
    package.record_value(84_000, 2**40)
    ours = Histogram.decode(base64.b64decode(package.encode()))
    assert ours.count == 2**40
    assert len(ours.counts) == 1


def test_other_precisions_and_units_decode_too() -> None:
    package = HdrHistogram(1000, HOUR_NS, 2)
    for value in (1_500, 84_000, 12_345_678, HOUR_NS):
        package.record_value(value)
    ours = Histogram.decode(base64.b64decode(package.encode()))
    assert ours.values.tolist() == [item.value_iterated_to for item in package.get_recorded_iterator()]


@given(st.lists(samples, min_size=1, max_size=4))
def test_what_is_exactly_known_stays_so_through_merging(parts: list[list[int]]) -> None:
    together = [value for part in parts for value in part]
    union = Histogram.merge(Histogram.decode(encoded(part), builders.exact(part)) for part in parts)
    assert (union.min, union.max) == (min(together), max(together))
    assert union.mean == sum(together) / len(together)
    assert union.quantile(1.0) == max(together)
    assert union.quantile(0.0) >= min(together)


def test_a_part_of_which_little_is_known_leaves_the_whole_to_its_buckets() -> None:
    known, unknown = (
        Histogram.decode(encoded([5_000_001]), builders.exact([5_000_001])),
        Histogram.of([4_000_001]),
    )
    assert Histogram.merge([known, unknown]).exact is None
    assert known.max == 5_000_001
    assert Histogram.merge([known, unknown]).max > 5_000_001


def broken() -> list[bytes]:
    good = encoded(list(range(1, 100_000, 77)))
    digits = bytearray(good)
    digits[15] = 77
    plain = [b"", good[:6], good[:20], good[: len(good) // 2], b"\x00" * 8 + good[8:], bytes(digits)]
    stream = builders.compressed(good)
    compressed = [stream[: len(stream) // 2], stream[:8] + b"not zlib"]
    return [*plain, *compressed, *map(builders.compressed, plain)]


@pytest.mark.parametrize("data", broken())
def test_damaged_bytes_are_refused_with_a_hint(data: bytes) -> None:
    with pytest.raises(IogaugeError, match="stored histogram") as caught:
        Histogram.decode(data)
    assert caught.value.hint
