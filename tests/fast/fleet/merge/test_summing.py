"""Sums of stored histograms in the Rust core, beside Python's reading of the same bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.fleet.merge.summing import SummedHistograms
from iogauge.schema.hdr_histogram import HIGHEST_NS, decode, encode
from iogauge.stats.histogram import Histogram
from tests import builders

HISTOGRAMS = st.lists(
    st.tuples(st.integers(1, HIGHEST_NS), st.integers(1, 2**40)), max_size=30, unique_by=lambda pair: pair[0]
)


def encoded(pairs: list[tuple[int, int]]) -> bytes:
    return encode([value for value, _ in pairs], [count for _, count in pairs])


FORMS = (bytes, builders.compressed)
"""How histograms are stored now, and how they were before version 6 of the schema."""
LAYOUT = slice(12, 32)
"""Where an encoding has its digits, its lowest and its highest value."""


def summed(slots: list[int], histograms: list[bytes | None], *, number: int = 3) -> SummedHistograms:
    sums = SummedHistograms(number)
    sums.add(np.array(slots, dtype=np.int32), pa.array(histograms, type=pa.binary()))
    return sums


@given(st.lists(st.tuples(st.integers(-1, 2), HISTOGRAMS, st.sampled_from(FORMS)), max_size=8))
@settings(deadline=None, max_examples=50)
def test_sums_are_those_of_decoded_histograms(
    columns: list[tuple[int, list[tuple[int, int]], Callable[[bytes], bytes]]],
) -> None:
    sums = summed([slot for slot, *_ in columns], [form(encoded(pairs)) for _, pairs, form in columns])
    by_slot = [
        Histogram.merge(Histogram.decode(encoded(pairs)) for slot, pairs, _ in columns if slot == wanted)
        for wanted in range(3)
    ]
    assert sums.counts().tolist() == [histogram.count for histogram in by_slot]
    quantiles = sums.quantiles((0.5, 0.99))
    for histogram, row in zip(by_slot, quantiles, strict=True):
        for q, value in zip((0.5, 0.99), row, strict=True):
            assert value == histogram.quantile(q) if histogram.supports(q) else np.isnan(value)
    expected = Histogram.merge(by_slot)
    total = sums.total(None)
    assert total.values.tolist() == expected.values.tolist()
    assert total.counts.tolist() == expected.counts.tolist()


def test_a_part_of_a_column_and_its_nulls() -> None:
    column = pa.array([encoded([(1, 1)]), encoded([(2, 2)]), None, encoded([(3, 3)])], type=pa.binary())
    sums = SummedHistograms(1)
    sums.add(np.array([0, -1, 0], dtype=np.int32), column.slice(1))
    assert sums.total(None).counts.tolist() == [2, 3]


def test_what_belongs_to_no_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs to no slot"):
        summed([3], [encoded([(1, 1)])])


def test_counts_too_large_are_refused() -> None:
    most = encode([5], [2**63 - 1])
    with pytest.raises(ValueError, match="too large"):
        summed([0, 1], [most, most])


@given(HISTOGRAMS, st.sampled_from(FORMS), st.data())
@settings(deadline=None, max_examples=200)
def test_damaged_bytes_are_refused_as_python_refuses_them(
    pairs: list[tuple[int, int]], form: Callable[[bytes], bytes], data: st.DataObject
) -> None:
    bytes_ = bytearray(form(encoded(pairs)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(bytes_) - 1))
        change = data.draw(st.sampled_from(("flip", "cut", "insert")))
        if change == "flip":
            bytes_[place] ^= 1 << data.draw(st.integers(0, 7))
        elif change == "cut":
            del bytes_[place : place + data.draw(st.integers(1, 4))]
        else:
            bytes_[place:place] = data.draw(st.binary(max_size=4))
        if not bytes_:
            break
    damaged = bytes(bytes_)
    try:
        _, _, counts = decode(damaged)
    except IogaugeError:
        with pytest.raises(ValueError, match="it"):
            summed([0], [damaged])
        return
    if form is bytes and damaged[LAYOUT] != encode([], [])[LAYOUT]:
        # Python reads other layouts, too.
        with pytest.raises(ValueError, match="not the recorder's"):
            summed([0], [damaged])
        return
    if sum(counts.tolist()) >= 2**63:
        with pytest.raises(ValueError, match="too large"):
            summed([0], [damaged])
        return
    assert summed([0], [damaged]).total(None).counts.tolist() == counts.tolist()
