"""How rates vary over intervals: zeros count, groups add up slice by slice, memory is bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.report.run.interval_stats import IntervalStats, Spread
from iogauge.schema import Direction, Interval, Tally
from tests import builders

READ = Direction.READ
SECOND_NS = builders.SECOND_NS


def interval(
    index: int, ios: int, *, start_ns: int | None = None, end_ns: int | None = None, **fields
) -> Interval:
    """One slice, or a part of one, with so many 4 KiB reads."""
    defaults = {
        "stage": 0,
        "row": 0,
        "index": index,
        "start_ns": index * SECOND_NS if start_ns is None else start_ns,
        "end_ns": (index + 1) * SECOND_NS if end_ns is None else end_ns,
        "ramp": False,
        "tallies": {READ: Tally(ios=ios, bytes=ios * 4096)} if ios else {},
    }
    return Interval.model_validate(defaults | fields)


def spread(*intervals: Interval) -> Spread:
    stats = IntervalStats.over(intervals, interval_ns=SECOND_NS)
    return stats.iops(stage=0, row=0, direction=READ)


def test_an_empty_interval_is_a_sample_of_zero() -> None:
    rate = spread(interval(0, 100), interval(1, 0), interval(2, 200))
    assert (rate.minimum, rate.maximum, rate.mean, rate.samples) == (0, 200, 100, 3)
    assert rate.stddev == pytest.approx(100)


def test_bandwidth_is_in_bytes_a_second() -> None:
    stats = IntervalStats.over([interval(0, 100)], interval_ns=SECOND_NS)
    assert stats.bandwidth_Bps(stage=0, row=0, direction=READ).mean == 409_600


def test_parts_of_one_slice_add_up_even_when_they_come_late() -> None:
    half = SECOND_NS // 2
    parts = [
        interval(0, 30, end_ns=half),
        interval(1, 10),
        interval(0, 70, start_ns=half),
        interval(2, 10),
    ]
    assert spread(*parts).maximum == 100


def test_overlapping_parts_of_a_group_share_their_time() -> None:
    # Two workers of a group end at different times in the same slice: it lasts as long as the longer one.
    rate = spread(interval(0, 50, end_ns=SECOND_NS // 2), interval(0, 50, end_ns=SECOND_NS))
    assert (rate.mean, rate.samples) == (100, 1)


def test_the_slice_in_which_a_job_ends_is_no_minimum_nor_maximum() -> None:
    # 2 I/Os within a microsecond would be two million IOPS.
    rate = spread(interval(0, 100), interval(1, 110), interval(2, 2, end_ns=2 * SECOND_NS + 1_000))
    assert (rate.minimum, rate.maximum, rate.samples) == (100, 110, 2)
    assert rate.stddev == pytest.approx(10 / math.sqrt(2))
    assert rate.mean == pytest.approx(212 / 2.000001)


def test_without_a_full_interval_the_partial_one_counts() -> None:
    rate = spread(interval(0, 10, end_ns=SECOND_NS // 2))
    assert (rate.minimum, rate.maximum, rate.mean) == (20, 20, 20)


def test_the_ramp_is_left_out_and_rows_are_apart() -> None:
    stats = IntervalStats.over(
        [interval(0, 999, ramp=True), interval(1, 5), interval(1, 7, row=1)], interval_ns=SECOND_NS
    )
    assert stats.iops(stage=0, row=0, direction=READ).maximum == 5
    assert stats.iops(stage=0, row=1, direction=READ).maximum == 7
    assert stats.iops(stage=0, row=2, direction=READ) == Spread()


@given(st.lists(st.integers(0, 10_000_000), min_size=2, max_size=60))
def test_it_agrees_with_all_samples_at_hand(ios: list[int]) -> None:
    rate = spread(*(interval(index, count) for index, count in enumerate(ios)))
    assert (rate.minimum, rate.maximum, rate.samples) == (min(ios), max(ios), len(ios))
    assert rate.mean == pytest.approx(np.mean(ios), rel=1e-9, abs=1e-9)
    assert rate.stddev == pytest.approx(np.std(ios, ddof=1), rel=1e-6, abs=1e-6)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, SECOND_NS)), min_size=1, max_size=40))
def test_the_mean_is_the_total_over_the_time(slices: list[tuple[int, int]]) -> None:
    at = [
        interval(i, n, start_ns=i * SECOND_NS, end_ns=i * SECOND_NS + length)
        for i, (n, length) in enumerate(slices)
    ]
    total_s = sum(length for _, length in slices) / 1e9
    assert math.isclose(spread(*at).mean, sum(n for n, _ in slices) / total_s, rel_tol=1e-9, abs_tol=1e-9)


def test_memory_does_not_grow_with_the_run() -> None:
    stats = IntervalStats(interval_ns=SECOND_NS)
    for index in range(1_000):
        stats.add(interval(index, 1))
    assert sum(len(row.open) for row in stats._rows.values()) <= 3
