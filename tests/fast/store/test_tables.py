"""Streaming intervals to Parquet takes the same memory however long a run lasts, and loses no field of the schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.schema import (
    Direction,
    Exact,
    Interval,
    Kind,
    PriorityTally,
    RowResult,
    SteadyResult,
    SteadySample,
    Tally,
)
from iogauge.store import tables
from iogauge.store.checksums import write_checksums
from iogauge.store.tables import IntervalFile, read_intervals, read_totals, write_totals
from tests import builders

counts = st.integers(min_value=0, max_value=2**62)
kinds = st.sampled_from([kind for kind in Kind if kind is not Kind.LOOP_GAP])
tallies = st.dictionaries(
    st.sampled_from(Direction),
    st.builds(
        Tally,
        ios=counts,
        bytes=counts,
        errors=st.dictionaries(st.integers(1, 4095), counts, max_size=3),
        short=counts,
        flagged=counts,
        late=counts,
        histograms=st.dictionaries(kinds, st.binary(max_size=30)),
        exact=st.dictionaries(
            kinds, st.builds(Exact, count=counts, sum_ns=counts, min_ns=counts, max_ns=counts)
        ),
    ),
)
intervals = st.builds(
    Interval,
    stage=st.integers(0, 2**31 - 1),
    row=st.integers(0, 2**31 - 1),
    index=counts,
    start_ns=counts,
    end_ns=counts,
    ramp=st.booleans(),
    tallies=tallies,
    loop_gap=st.none() | st.binary(max_size=30),
)
finite = st.floats(allow_nan=False, allow_infinity=False)
steadies = st.builds(
    SteadyResult,
    attained=st.booleans(),
    criterion=finite,
    deviation=finite,
    slope=finite,
    samples=st.tuples(st.builds(SteadySample, iops=finite, bw_Bps=finite, lat_ns=finite)),
)
priorities = st.builds(
    PriorityTally,
    direction=st.sampled_from(Direction),
    priority=st.integers(0, 2**16 - 1),
    histogram=st.binary(max_size=30),
    exact=st.builds(Exact, count=counts, sum_ns=counts, min_ns=counts, max_ns=counts),
)
rows = st.builds(
    RowResult,
    row=st.integers(0, 2**31 - 1),
    stage=st.integers(0, 2**31 - 1),
    name=st.text(st.characters(codec="utf-8")),
    start_ns=counts,
    end_ns=counts,
    tallies=tallies,
    loop_gap=st.binary(max_size=30),
    steady=st.none() | steadies,
    priorities=st.lists(priorities, max_size=3).map(tuple),
)


@given(st.lists(intervals, max_size=6), st.integers(1, 4))
def test_any_intervals_come_back(
    tmp_path_factory: pytest.TempPathFactory, written: list[Interval], group: int
) -> None:
    path = tmp_path_factory.mktemp("intervals") / "intervals.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP_ROWS", group)
        with IntervalFile(path) as file:
            for interval in written:
                file.write(interval)
    write_checksums(path.parent)
    assert list(read_intervals(path)) == written


@given(st.lists(rows, max_size=5))
def test_any_totals_come_back(tmp_path_factory: pytest.TempPathFactory, written: list[RowResult]) -> None:
    path = tmp_path_factory.mktemp("totals") / "totals.parquet"
    write_totals(path, written)
    write_checksums(path.parent)
    assert read_totals(path) == tuple(written)


def test_no_field_of_the_schema_is_left_out() -> None:
    """A field added to a stored noun must be stored too: the strategies above then need it as well."""
    assert set(Tally.model_fields) == {
        "ios", "bytes", "errors", "short", "flagged", "late", "histograms", "exact",
    }  # fmt: skip
    assert set(Interval.model_fields) == {
        "stage", "row", "index", "start_ns", "end_ns", "ramp", "tallies", "loop_gap",
    }  # fmt: skip
    assert set(RowResult.model_fields) == {
        "row", "stage", "name", "start_ns", "end_ns", "tallies", "loop_gap", "steady", "priorities",
    }  # fmt: skip


def test_memory_does_not_grow_with_the_length_of_a_run(tmp_path: Path) -> None:
    read = builders.tally({100_000 + 37 * step: 3 for step in range(200)})
    slices = [builders.interval(index, {Direction.READ: read, Direction.WRITE: read}) for index in range(50)]
    path = tmp_path / "intervals.parquet"
    with IntervalFile(path) as file:
        held = []
        for _ in range(4):  # a run of more than an hour each
            for _ in range(80):
                for interval in slices:
                    file.write(interval)
            held.append(pa.total_allocated_bytes())
            assert len(file._waiting) < tables.ROW_GROUP_ROWS
    assert held[-1] - held[0] < 512 * 1024
    assert pq.read_metadata(path).num_row_groups >= 4 * 80 * 50 * 3 // tables.ROW_GROUP_ROWS


def test_a_group_of_rows_is_written_once_it_is_large(tmp_path: Path) -> None:
    large = builders.tally(histograms={Kind.LAT: bytes(tables.ROW_GROUP_BYTES // 2)})
    with IntervalFile(tmp_path / "intervals.parquet") as file:
        for index in range(4):
            file.write(builders.interval(index, {Direction.READ: large}))
            assert file._waiting_bytes <= tables.ROW_GROUP_BYTES // 2 + 4096
