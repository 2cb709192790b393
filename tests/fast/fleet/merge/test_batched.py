"""Batches that were added up in the Rust core, beside those that are read interval by interval."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.fleet.merge.batched import batches_of
from iogauge.schema import Direction, FleetHost, Interval, Kind
from iogauge.stats.fleet.batches import Batch, batches
from iogauge.store import Review
from tests import builders
from tests.fast.fleet.merge.made_up import SECOND_NS, fleet, host

LATENCIES = st.lists(st.integers(1, 10**9), max_size=4)
SLICES = st.tuples(LATENCIES, st.sampled_from((SECOND_NS, SECOND_NS, 400_000_000, 1_000_000)), st.booleans())


def both(
    path: Path, own: FleetHost, intervals: list[Interval], kind: Kind
) -> tuple[list[Batch], list[Batch]]:
    """Save one host; return the batches of its reads as they are added up, and as they are read one by one."""
    opened = fleet(path, [(own, intervals)], kind=kind)
    (step,) = opened.host_steps
    review = Review.open(path / "hosts" / own.name)
    record, read = review.record(step.id), review.intervals(step.id)
    expected = batches(record, read, job=step.measured_job, direction=Direction.READ, kind=kind)
    by_direction = batches_of(review, step)
    assert set(by_direction) == {Direction.READ}
    return by_direction[Direction.READ], expected


@given(
    slices=st.lists(SLICES, min_size=1, max_size=40),
    ramp=st.integers(0, 3),
    kind=st.sampled_from((Kind.LAT, Kind.CLAT)),
)
@settings(deadline=None, max_examples=30)
def test_they_equal_those_read_one_by_one(
    tmp_path_factory: pytest.TempPathFactory,
    slices: list[tuple[list[int], int, bool]],
    ramp: int,
    kind: Kind,
) -> None:
    intervals, now_ns = [], 0
    for index, (values, length_ns, exact) in enumerate(slices):
        tally = builders.tally(values)
        if not exact and values:
            tally = tally.model_copy(update={"exact": {}})
        made = builders.interval(index, {Direction.READ: tally}, row=1)
        times = {"start_ns": now_ns, "end_ns": now_ns + length_ns, "ramp": index < ramp}
        intervals.append(made.model_copy(update=times))
        now_ns += length_ns
    added_up, expected = both(tmp_path_factory.mktemp("fleet") / "fleet", host("h0"), intervals, kind)
    assert repr(added_up) == repr(expected), "also where a tail is NaN"


def test_a_tail_is_that_of_all_requests_of_a_batch(tmp_path: Path) -> None:
    intervals = [
        builders.interval(index, {Direction.READ: builders.tally(range(1, 1001))}, row=1)
        for index in range(20)
    ]
    added_up, expected = both(tmp_path / "fleet", host("h0"), intervals, Kind.LAT)
    assert added_up == expected
    assert [batch.number for batch in added_up] == list(range(10))
    assert {batch.tail_ns for batch in added_up} == {990.0}
