"""Results of saved reviews: steps are read once, and figures do not depend on the order of reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.results.position import name_of
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Direction, Interval, StepPlan
from iogauge.stats.figures import StepFigures
from iogauge.store import Review
from tests import builders, reviews

FEW, MORE = (0.5, 0.99), (0.9999, 0.5, 0.999, 0.99)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save reviews of two made-up drives, each step with two repeats."""
    place = tmp_path_factory.mktemp("reviews")
    for name in ("one", "two"):
        drive = reviews.Drive(model=name, seconds=12, reads_a_second=200)
        reviews.save(place / name, drive, pressures_MBps=(0, 300), repeats=2, seed=len(name))
    return place


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """Count how often the intervals of each step are read."""
    reads: Counter[tuple[str, str]] = Counter()
    intervals = Review.intervals

    def counted(review: Review, step_id: str) -> Iterator[Interval]:
        reads[review.path.name, step_id] += 1
        return intervals(review, step_id)

    monkeypatch.setattr(Review, "intervals", counted)
    return reads


def shown(figures: StepFigures, quantiles: Iterable[float]) -> dict[str, Any]:
    """Return all values of figures for a comparison."""
    lazy = ("latencies", "course", "mean", "iops_figure", "pressure_figure", "_quantiles")
    plain = {name: value for name, value in vars(figures).items() if name not in lazy}
    rates = {"iops": figures.iops_figure, "pressure": figures.pressure_figure, "moments": figures.moments}
    return {**plain, **rates, "mean": figures.mean, **{str(q): figures.quantile(q) for q in quantiles}}


@pytest.mark.parametrize(
    "command",
    [
        ("report", "one"),
        ("report", "one", "two", "--format=md"),
        ("compare", "one", "two", "--format=html"),
        ("compare", "one", "two"),
        ("show", "one"),
    ],
    ids=" ".join,
)
def test_a_command_reads_the_intervals_of_a_step_once(
    saved: Path,
    read: Counter[tuple[str, str]],
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for kept in saved.glob("*/computed.json"):
        kept.unlink()
    name, *rest = command
    named = [f"{saved}/{word}" for word in rest if not word.startswith("-")]
    options = [word for word in rest if word.startswith("-")]
    assert main([name, *named, *options]) == 0
    assert set(read.values()) == {1}
    assert len(read) == 4 * len(named)


def test_figures_do_not_depend_on_the_order_of_reading(saved: Path, read: Counter[tuple[str, str]]) -> None:
    few, more = (
        {position.at: shown(position.figures, quantiles) for position in result}
        for quantiles in (FEW, MORE)
        for result in load([saved / "one"])
    )
    read.clear()
    (result,) = load([saved / "one"])
    for quantiles, expected in ((MORE, more), (FEW, few), (MORE, more)):
        for position in reversed(result.positions):
            assert shown(position.figures, quantiles) == expected[position.at]
    assert set(read.values()) == {1}


def test_figures_of_one_direction_count_only_that_direction(saved: Path) -> None:
    (result,) = load([saved / "one"])
    run = next(run for run in result.runs if run.plan.at > 0)
    assert run.figures_of(None) is run.figures
    assert run.figures_of(Direction.READ).ios == run.figures.ios
    assert run.figures_of(Direction.WRITE).ios == 0


def test_a_position_pools_complete_repeats_and_lists_missing_ones(saved: Path, tmp_path: Path) -> None:
    review = reviews.save(
        tmp_path / "r", reviews.Drive(seconds=2, reads_a_second=100), pressures_MBps=(0, 300), repeats=3
    )
    review.discard(next(step.id for step in review.manifest.steps if step.at == 300 and step.repeat == 1))
    alone, pressed = load([tmp_path / "r"])[0].planned
    assert (alone.incomplete, pressed.incomplete) == (0, 1)
    assert pressed.figures.ios == sum(run.figures.ios for run in pressed.runs)
    assert [(step.repeat, run is None) for step, run in pressed.by_repeat] == [
        (0, False),
        (1, True),
        (2, False),
    ]
    assert pressed.name == name_of(pressed.plan, pressed.suite.axis) == "300 MB/s"


def test_a_position_without_a_run_has_no_figures(tmp_path: Path) -> None:
    drive = reviews.Drive(seconds=2, reads_a_second=100)
    reviews.save(tmp_path / "r", drive, pressures_MBps=(0, 300), missing=(300,))
    (result,) = load([tmp_path / "r"])
    assert [position.at for position in result] == [0]
    with pytest.raises(IogaugeError, match="300 MB/s: not measured yet"):
        _ = result.planned[1].figures


def test_positions_that_a_search_added_stand_along_the_axis_of_their_series(tmp_path: Path) -> None:
    def planned(series: str, *places: float) -> list[StepPlan]:
        return [
            builders.step(f"{series}-{at:g}-{repeat}", series=series, at=at, repeat=repeat)
            for repeat in (1, 0)
            for at in places
        ]

    manifest = builders.manifest([*planned("up", 1, 4, 3), *planned("down", 100, 0, 50)])
    saved = Review.create(tmp_path / "r", manifest)
    positions = SuiteResult(saved, manifest.plans[0]).planned
    assert [(position.series, position.at) for position in positions] == [
        ("up", 1),
        ("up", 3),
        ("up", 4),
        ("down", 100),
        ("down", 50),
        ("down", 0),
    ]
    assert all([step.repeat for step in position.planned] == [0, 1] for position in positions)
