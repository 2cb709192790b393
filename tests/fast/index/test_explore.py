"""A metric of a load over positions, dates and drives, against the table of figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from iogauge.errors import UsageError
from iogauge.index import Index
from iogauge.index.explore import Load
from iogauge.results.tables import figures_table
from tests import reviews
from tests.reviews import Drive

SMALL = {"seconds": 3, "reads_a_second": 400}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reviews of one drive, one of which ran each position twice, and one review of another."""
    path = tmp_path_factory.mktemp("explored")
    reviews.save(path / "a1", Drive("Flash", **SMALL), pressures_MBps=(100, 400), repeats=2)
    reviews.save(path / "a2", Drive("Flash", **SMALL), pressures_MBps=(100, 400), seed=2)
    reviews.save(path / "b", Drive("Crosspoint", base_us=9, **SMALL), pressures_MBps=(100, 700))
    return path


@pytest.fixture(scope="module")
def index(directory: Path) -> Iterator[Index]:
    with Index.open(directory) as opened:
        opened.refresh()
        yield opened


@pytest.fixture(scope="module")
def load(index: Index) -> Load:
    (only,) = index.loads()
    return only


def values(directory: Path, position: float, *names: str) -> list[float]:
    """The p99 of the runs at a position, of these reviews."""
    rows = figures_table([directory / name for name in names]).to_pylist()
    return [row["p99_ns"] for row in rows if row["position"] == position]


def test_loads_have_their_positions(load: Load, index: Index) -> None:
    assert (load.suite, load.direction, load.reviews) == ("write-pressure", "read", 3)
    assert [at for at, _ in load.positions] == [100, 400, 700]
    assert [at for at, _ in index.loads(["b"])[0].positions] == [100, 700]
    assert index.loads(["none"]) == []


def test_a_group_at_a_position_is_the_median_of_its_runs_and_their_range(
    index: Index, load: Load, directory: Path
) -> None:
    points = index.explore(load, "p99_ns").points
    (flash,) = [point for point in points if point.group == "Flash" and point.place == 400]
    runs = values(directory, 400, "a1", "a2")
    assert (flash.runs, flash.reviews, flash.review) == (3, 2, "")
    assert (flash.value, flash.low, flash.high) == (median(runs), min(runs), max(runs))


def test_a_single_run_keeps_its_interval(index: Index, load: Load, directory: Path) -> None:
    (point,) = [point for point in index.explore(load, "p99_ns", ids=["b"]).points if point.place == 700]
    (row,) = [row for row in figures_table([directory / "b"]).to_pylist() if row["position"] == 700]
    assert (point.runs, point.review, point.group) == (1, "b", "Crosspoint")
    assert (point.value, point.low, point.high) == (row["p99_ns"], row["p99_low_ns"], row["p99_high_ns"])


def test_a_quantile_that_a_sample_does_not_support_is_marked(index: Index, load: Load) -> None:
    assert all(point.supported for point in index.explore(load, "p50_ns").points)
    assert not any(point.supported for point in index.explore(load, "p99.999_ns").points)
    assert all(point.supported for point in index.explore(load, "iops").points)


def test_over_dates_there_is_a_point_for_each_review(index: Index, load: Load) -> None:
    points = index.explore(load, "p99_ns", over="date", at=100, group="review").points
    assert sorted(point.group for point in points) == ["a1", "a2", "b"]
    assert [point.place for point in points] == sorted((point.place for point in points), reverse=True)


def test_over_drives_there_is_a_point_for_each_drive(index: Index, load: Load) -> None:
    explored = index.explore(load, "p99_ns", over="drive", at=100)
    assert [(point.place, point.reviews) for point in explored.points] == [("Flash", 2), ("Crosspoint", 1)]
    assert (explored.reviews, explored.groups) == (3, 1)


def test_the_groups_with_most_reviews_are_shown(
    index: Index, load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iogauge.index.explore.MOST_GROUPS", 1)
    explored = index.explore(load, "p99_ns")
    assert {point.group for point in explored.points} == {"Flash"}
    assert (explored.reviews, explored.groups) == (3, 2)


@pytest.mark.parametrize(
    "wrong", [{"metric": "seed"}, {"over": "review"}, {"group": "target; DROP TABLE figures"}]
)
def test_other_names_are_refused(index: Index, load: Load, wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="is unknown"):
        index.explore(load, **{"metric": "iops", **wrong})  # type: ignore[arg-type]
    assert index.explore(load, "iops").points
