"""The figures of a saved review's steps: made once by whoever reads it, and the same whoever asked before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.results.saved import saved_figures
from iogauge.schema import Direction, Interval, Kind
from iogauge.stats.figures import QUANTILES, StepFigures
from iogauge.store import Reading, Review
from tests import reviews

FEW, MORE = (0.5, 0.99), (0.9999, 0.5, 0.999, 0.99)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up drives, each step of which was run twice."""
    place = tmp_path_factory.mktemp("reviews")
    for name in ("one", "two"):
        drive = reviews.Drive(model=name, seconds=12, reads_a_second=200)
        reviews.save(place / name, drive, pressures_MBps=(0, 300), repeats=2, seed=len(name))
    return place


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, str]]:
    """How often the intervals of each step were read."""
    found: Counter[tuple[str, str]] = Counter()
    intervals = Review.intervals

    def counted(review: Review, step_id: str) -> Iterator[Interval]:
        found[review.path.name, step_id] += 1
        return intervals(review, step_id)

    monkeypatch.setattr(Review, "intervals", counted)
    return found


def figures(review: Review, quantiles: tuple[float, ...] = QUANTILES) -> StepFigures:
    """Return those of a review's first step."""
    (plan,) = review.manifest.plans
    step = plan.steps[0]
    return saved_figures(review, plan, step, review.record(step.id), direction=None, quantiles=quantiles)


def told(figures: StepFigures) -> dict[str, Any]:
    """Return all that figures say, to be compared: arrays as lists."""
    return {**vars(figures), "whole": (figures.whole.values.tolist(), figures.whole.counts.tolist())}


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
    name, *rest = command
    named = [f"{saved}/{word}" for word in rest if not word.startswith("-")]
    options = [word for word in rest if word.startswith("-")]
    assert main([name, *named, *options]) == 0
    assert set(read.values()) == {1}
    assert len(read) == 4 * len(named)


def test_figures_are_the_same_whoever_asked_before(saved: Path, read: Counter[tuple[str, str]]) -> None:
    alone = {q: told(figures(Review.open(saved / "one"), q)) for q in (FEW, MORE)}
    read.clear()
    for order, times in (((MORE, FEW), 1), ((FEW, MORE, FEW), 2), ((FEW, FEW), 1)):
        reading = Reading.open(saved / "one")
        for quantiles in order:
            found = told(figures(reading, quantiles))
            assert found == alone[quantiles]
            assert tuple(found["quantiles"]) == quantiles
        assert read.total() == times
        read.clear()


def test_what_differs_in_what_it_is_of_is_made_anew(saved: Path) -> None:
    reading = Reading.open(saved / "one")
    (plan,) = reading.manifest.plans
    step = plan.steps[0]
    pressed = saved_figures(reading, plan, step, reading.record(step.id), direction=None)
    plain = plan.model_copy(update={"pressure": None})
    assert pressed.pressure_Bps == figures(reading).pressure_Bps
    other = plan.steps[-1]
    assert saved_figures(reading, plan, other, reading.record(other.id), direction=None).pressure_Bps > 0
    assert saved_figures(reading, plain, other, reading.record(other.id), direction=None).pressure_Bps == 0


def test_whatever_figures_are_of_is_in_their_key(saved: Path) -> None:
    review = Review.open(saved / "one")
    (plan,) = review.manifest.plans
    step, other = plan.steps[0], plan.steps[-1]
    made = figures(review)
    keys: list[Hashable] = []

    class Keys:
        """Notes what it is asked for, and gives the same."""

        def intervals(self, _: str) -> tuple[Interval, ...]:
            return ()

        def once(self, key: Hashable, *_: object) -> StepFigures:
            keys.append(key)
            return made

    record = review.record(step.id)
    for plans, steps, direction in (
        (plan, step, None),
        (plan, other, None),
        (plan.model_copy(update={"reader": "another"}), step, None),
        (plan.model_copy(update={"pressure": "another"}), step, None),
        (plan.model_copy(update={"kind": next(each for each in Kind if each != plan.kind)}), step, None),
        (plan, step, Direction.READ),
    ):
        saved_figures(Keys(), plans, steps, record, direction=direction)  # type: ignore[arg-type]
    assert len(set(keys)) == len(keys) == 6


def test_a_review_that_may_change_keeps_nothing(saved: Path, read: Counter[tuple[str, str]]) -> None:
    review, reading = Review.open(saved / "one"), Reading.open(saved / "one")
    for each in (review, reading):
        figures(each)
        figures(each)
    assert read == {("one", review.manifest.steps[0].id): 3}
    step_id = review.manifest.steps[0].id
    assert reading.record(step_id) is reading.record(step_id)
    assert review.record(step_id) is not review.record(step_id)
    assert review.record(step_id) == reading.record(step_id)
