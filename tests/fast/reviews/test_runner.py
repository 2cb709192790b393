"""Running a review: after any end, running it again completes the same plan and keeps the complete steps."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.runner import Failed, Interrupted, remaining, run_review
from iogauge.schema import (
    Code,
    Direction,
    JobFile,
    Notice,
    RunRecord,
)
from iogauge.store import Review, tables
from iogauge.suites import SUITES, suite_of
from tests import builders
from tests.runner_doubles import Runs, Watching, contents, planned, raising, stopped, worker_failed

SUITE = SUITES["write-pressure"]


def new_review(path: Path) -> Review:
    """Return a review without complete steps."""
    return Review.create(path, planned(SUITE, command=("iogauge",), ceiling=builders.ceiling()))


def run(review: Review, runs: Runs, watching: Watching | None = None) -> tuple[Failed, ...]:
    """Run a review as the command does."""
    with review.lock():
        return run_review(review, suite_of, execute=runs, watcher=watching or Watching())


def test_a_review_goes_from_its_search_to_its_last_step(tmp_path: Path) -> None:
    review, runs, watching = new_review(tmp_path / "r"), Runs(), Watching()
    run(review, runs, watching)
    steps = review.manifest.steps
    assert review.completed() == tuple(step.id for step in steps)
    assert watching.steps == [
        "Write pressure: search for what the target takes",
        *(f"{step.at:g} MB/s" for step in steps),
    ]
    assert watching.ahead == [0, *range(len(steps) - 1, -1, -1)]
    assert watching.searches == [True, *[False] * len(steps)]
    assert watching.more == [True, *[False] * len(steps)], "what follows from the search is then known"
    assert watching.starts == watching.ends == len(steps) + 1
    assert watching.intervals == 2 * (len(steps) + 1) - 1  # the step without pressure has one row
    assert runs.interval_ns == {100_000_000, 150_000_000}  # twenty of the search, and of a step
    assert runs.seeds[1:] == [step.seed for step in steps]
    assert remaining(review, suite_of) == 0
    assert review.has("write-pressure.search")
    assert review.record("write-pressure.search").result.rows[0].name == "pressure"


def test_a_complete_review_runs_nothing_again(tmp_path: Path) -> None:
    review = new_review(tmp_path / "r")
    run(review, Runs())
    again, runs = Review.open(review.path), Runs()
    before = again.manifest
    run(again, runs)
    assert runs.seeds == []
    assert Review.open(review.path).manifest == before


@pytest.mark.parametrize("bad", [0, 1, 4, 8])
@pytest.mark.parametrize(
    ("ends", "raises"),
    [
        (stopped("interrupt"), Interrupted),
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
    ],
)
def test_a_resumed_review_equals_an_uninterrupted_one(
    tmp_path: Path, bad: int, ends: Callable[[RunRecord], RunRecord], raises: type[BaseException]
) -> None:
    complete = new_review(tmp_path / "complete")
    run(complete, Runs())
    review = new_review(tmp_path / "r")
    with pytest.raises(raises):
        run(review, Runs(bad=bad, ends=ends))
    kept = contents(review)
    assert len(kept) == max(bad - 1, 0)
    again, runs = Review.open(review.path), Runs()
    run(again, runs)
    assert again.manifest.plans == complete.manifest.plans
    assert contents(again) == contents(complete)
    assert len(runs.seeds) == 9 - bad
    assert {step: again.record(step) for step in kept} == {step: record for step, (record, _) in kept.items()}


@pytest.mark.parametrize("bad", [1, 4, 8])
@pytest.mark.parametrize(
    ("ends", "says"),
    [
        (stopped("error", "write: Input/output error"), "Input/output error"),
        (stopped("rate_min"), "rate_min"),
        (worker_failed, "EIO"),
        (raising(IogaugeError("the file vanished")), "the file vanished"),
    ],
)
def test_a_failed_step_is_reported_and_the_others_run(
    tmp_path: Path, bad: int, ends: Callable[[RunRecord], RunRecord], says: str
) -> None:
    complete = new_review(tmp_path / "complete")
    run(complete, Runs())
    review, watching = new_review(tmp_path / "r"), Watching()
    (failed,) = run(review, Runs(bad=bad, ends=ends), watching)
    step = complete.manifest.steps[bad - 1].id
    assert failed.step_id == step
    assert says in failed.why
    assert any(step in line and says in line for line in watching.messages)
    assert set(review.completed()) == set(complete.completed()) - {step}
    again, runs = Review.open(review.path), Runs()
    assert run(again, runs) == ()
    assert len(runs.seeds) == 1
    assert again.manifest.plans == complete.manifest.plans
    assert contents(again) == contents(complete)


def test_a_failed_search_ends_its_suite_alone(tmp_path: Path) -> None:
    review = Review.create(tmp_path / "r", planned(SUITE, SUITES["queue-depth"]))
    failed = run(review, Runs(bad=0, ends=stopped("error", "EIO")))
    assert [failure.step_id for failure in failed] == ["write-pressure.search"]
    assert [plan.key for plan in review.manifest.plans if plan.steps] == ["queue-depth"]
    assert len(review.completed()) == 28
    assert run(review, Runs()) == ()
    assert remaining(review, suite_of) == 0
    assert len(review.completed()) == 28 + 8


def test_the_results_of_a_stopped_run_are_kept_apart(tmp_path: Path) -> None:
    review = new_review(tmp_path / "r")
    (failed,) = run(review, Runs(bad=1, ends=stopped("error", "EIO")))
    assert failed == Failed("write-pressure.pressure-0", "ended early: EIO")
    assert (review.path / "stopped" / "write-pressure.pressure-0" / "totals.parquet").is_file()
    assert "write-pressure.pressure-0" not in review.completed()


def test_a_full_disk_keeps_the_steps_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = new_review(tmp_path / "r")

    def filling(record: RunRecord) -> RunRecord:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(tables.pq.ParquetWriter, "write_table", full)
        return record

    with pytest.raises(IogaugeError, match="No space left") as caught:
        run(review, Runs(bad=3, ends=filling))
    assert "free some space" in str(caught.value.hint)
    monkeypatch.undo()
    assert sorted(entry.name for entry in (review.path / "steps").iterdir()) == [
        "write-pressure.pressure-0",
        "write-pressure.pressure-100",
        "write-pressure.search",
    ]
    run(Review.open(review.path), Runs())
    assert len(Review.open(review.path).completed()) == 8


def test_warnings_that_all_steps_share_become_warnings_of_the_review(tmp_path: Path) -> None:
    shared = Notice(code=Code.VIRTUAL_MACHINE, message="this machine is virtual", hint="use a real one")
    own = Notice(code=Code.FEW_SAMPLES, message="7 samples", hint="run longer")
    review = Review.create(tmp_path / "r", planned(SUITES["queue-depth"]))
    first = True

    def warned(job_file: JobFile, **options: Any) -> RunRecord:
        nonlocal first
        record = Runs()(job_file, **options)
        warnings = (shared, own) if first else (shared,)
        first = False
        return record.model_copy(update={"warnings": warnings})

    run_review(review, suite_of, execute=warned, watcher=Watching())
    assert Review.open(review.path).manifest.warnings == (shared,)


def test_the_jobs_that_run_are_those_of_the_plan(tmp_path: Path) -> None:
    review, runs = new_review(tmp_path / "r"), Runs()
    run(review, runs)
    planned = [workload.parse(step.job_file, source=step.id) for step in review.manifest.steps]
    assert runs.jobs[1:] == planned
    assert Direction.WRITE in review.record("write-pressure.pressure-700").result.rows[0].tallies
