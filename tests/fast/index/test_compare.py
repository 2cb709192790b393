"""Figures of reviews stand beside those of a baseline where they have the same position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.index import Index
from tests.fast.index.saved import STEPS, saved


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """``fast`` answers in half the time of ``base``; ``part`` has the second step alone; ``none`` has none."""
    directory = tmp_path_factory.mktemp("compared")
    saved(directory / "base", run=STEPS, latency_ns=100_000)
    saved(directory / "fast", run=STEPS, latency_ns=50_000)
    saved(directory / "part", run=("p100",), latency_ns=100_000)
    saved(directory / "none")
    with Index.open(directory) as index:
        index.refresh()
        yield index


def cells(index: Index, ids: list[str], **options: Any) -> dict[tuple[str, float], dict[str, Any]]:
    table = index.compare(ids, "base", metrics=["mean_ns"], **options)
    return {(row["review"], row["position"]): row for row in table.to_pylist()}


def test_ratios_are_to_the_baseline(index: Index) -> None:
    rows = cells(index, ["base", "fast", "part"])
    assert sorted(rows) == [("base", 0), ("base", 100), ("fast", 0), ("fast", 100), ("part", 100)]
    assert rows["base", 0]["ratio"] == 1
    assert rows["fast", 0]["ratio"] == pytest.approx(0.5, rel=1e-3)
    assert rows["fast", 0]["baseline"] == rows["base", 0]["value"]
    assert rows["part", 100]["ratio"] == 1


def test_overlap_is_that_of_the_intervals(index: Index) -> None:
    for row in cells(index, ["base", "fast", "part"]).values():
        known = row["low"] is not None and row["high"] is not None
        assert row["overlaps"] is ((row["review"] != "fast") if known else None)


def test_every_metric_of_a_position_follows_the_other(index: Index) -> None:
    table = index.compare(["fast", "base"], "base", metrics=["mean_ns", "iops"]).to_pylist()
    assert [(row["position"], row["metric"], row["review"]) for row in table] == [
        (position, metric, review)
        for position in (0, 100)
        for metric in ("mean_ns", "iops")
        for review in ("fast", "base")
    ]


def test_a_position_that_the_baseline_lacks_has_no_ratio(index: Index) -> None:
    table = index.compare(["part", "fast"], "part", metrics=["iops"]).to_pylist()
    by_place = {(row["review"], row["position"]): row for row in table}
    assert by_place["fast", 0]["ratio"] is None
    assert by_place["fast", 0]["value"] > 0
    assert by_place["fast", 100]["ratio"] is not None


def test_what_cannot_be_compared_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="1 reviews"):
        index.compare(["base", "base"], "base")
    with pytest.raises(UsageError, match="51 reviews"):
        index.compare([str(number) for number in range(51)], "1")
    with pytest.raises(UsageError, match="is not among"):
        index.compare(["base", "fast"], "part")
    with pytest.raises(UsageError, match="no figure"):
        index.compare(["base", "fast"], "base", metrics=['iops" FROM listed --'])
    with pytest.raises(IogaugeError, match="has no figures"):
        index.compare(["base", "none"], "none")


def test_figures_have_the_bounds_of_their_metrics(index: Index) -> None:
    table = index.figures(["base", "fast"], metrics=["iops", "p99_ns"])
    assert table.num_rows == 4
    assert {"iops", "iops_low", "p99_ns", "p99_high_ns", "supported"} <= set(table.column_names)
    assert "mean_ns" not in table.column_names
