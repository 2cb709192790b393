"""State groups and steps that follow from others: an interrupted group starts again, and nothing complete is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.reviews.runner import Interrupted, remaining, run_review
from iogauge.schema import (
    StepPlan,
)
from iogauge.store import Review
from iogauge.suites import SUITES, suite_of
from tests import builders
from tests.runner_doubles import Rounds, Runs, Watching, contents, planned, stopped


def test_an_interrupted_repeat_plans_the_same_following_steps_again(tmp_path: Path) -> None:
    def rounds(path: Path) -> Review:
        return Review.create(path, planned(Rounds(), repeats=2))

    def run(review: Review, runs: Runs) -> None:
        run_review(review, lambda _: Rounds(), execute=runs, watcher=Watching())

    complete, runs = rounds(tmp_path / "complete"), Runs()
    run(complete, runs)
    assert [step.at for step in complete.manifest.steps if step.repeat == 0] == [1, 1, 2, 2, 3, 3]
    assert len(set(runs.seeds)) == 12
    # The first, one between and the last step of each repeat.
    for bad in (0, 3, 5, 6, 8, 11):
        review = rounds(tmp_path / f"ended-{bad}")
        with pytest.raises(Interrupted):
            run(review, Runs(bad=bad, ends=stopped("interrupt")))
        again, rest = Review.open(review.path), Runs()
        run(again, rest)
        assert len(rest.seeds) == (12 if bad < 6 else 6)  # all of the interrupted repeat
        assert set(again.manifest.steps) == set(complete.manifest.steps)
        assert contents(again) == contents(complete)


def test_a_kill_between_a_search_and_its_plan_loses_nothing(tmp_path: Path) -> None:
    review = Review.create(tmp_path / "searched", planned(SUITES["write-pressure"]))
    with pytest.raises(Interrupted):
        run_review(review, suite_of, execute=Runs(bad=1, ends=stopped("interrupt")), watcher=Watching())
    # As if the kill came before the plan was saved.
    (plan,) = review.manifest.plans
    bare = plan.model_copy(update={"steps": ()})
    review.save_manifest(review.manifest.model_copy(update={"plans": (bare,)}))
    assert remaining(review, suite_of) == 1
    run_review(review, suite_of, execute=Runs(), watcher=Watching())
    assert len(review.completed()) == 8


def test_a_kill_between_a_round_and_the_next_ones_plan_loses_nothing(tmp_path: Path) -> None:
    rounds = Review.create(tmp_path / "rounds", planned(Rounds()))
    with pytest.raises(Interrupted):
        run_review(
            rounds,
            lambda _: Rounds(),
            execute=Runs(bad=2, ends=stopped("interrupt")),
            watcher=Watching(),
        )
    (plan,) = rounds.manifest.plans
    first = plan.model_copy(update={"steps": plan.steps[:2]})
    rounds.save_manifest(rounds.manifest.model_copy(update={"plans": (first,)}))
    assert len(rounds.completed()) == 2
    assert remaining(rounds, lambda _: Rounds()) == 1


def grouped(path: Path) -> Review:
    """Return a review of two state groups of three steps; the first step of a group prepares the drive."""
    job_file = "[reader]\nrw=randread\nruntime=1\ntime_based\nfilename=/tmp/drive.bin\n"
    steps = [
        StepPlan(id=f"{group}{n}", at=n, job_file=job_file, seed=n + 1, state_group=group)
        for group in ("fresh", "steady")
        for n in range(3)
    ]
    return Review.create(path, builders.manifest(steps))


@pytest.mark.parametrize(
    ("bad", "kept"),
    [
        (0, []),
        (1, []),
        (2, []),
        (3, ["fresh0", "fresh1", "fresh2"]),
        (4, ["fresh0", "fresh1", "fresh2"]),
        (5, ["fresh0", "fresh1", "fresh2"]),
    ],
)
def test_an_interrupted_state_group_starts_again(tmp_path: Path, bad: int, kept: list[str]) -> None:
    review = grouped(tmp_path / "r")
    with pytest.raises(Interrupted):
        run_review(review, suite_of, execute=Runs(bad=bad, ends=stopped("interrupt")), watcher=Watching())
    again, runs, watching = Review.open(review.path), Runs(), Watching()
    assert remaining(again, suite_of) == 6 - len(kept)
    run_review(again, suite_of, execute=runs, watcher=watching)
    assert len(runs.seeds) == 6 - len(kept)
    assert len(again.completed()) == 6
    assert len(watching.messages) == (bad % 3 != 0)
