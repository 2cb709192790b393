"""Conducting a review: whatever ends it, conducting it again completes the same plan, and keeps what was complete."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Code, Direction, Interval, JobFile, RunPlan, RunRecord, StepPlan
from iogauge.schema import Warning as Caution
from iogauge.store import Review, tables
from iogauge.suites import SUITES, Asked
from iogauge.suites.begin import check_same_target, differences, new_manifest
from iogauge.suites.conduct import Interrupted, conduct, remaining, search
from tests import builders

SUITE = SUITES["write-pressure"]


class Watching:
    """Notes what a progress display is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.messages: list[str] = []
        self.intervals = 0
        self.starts = 0

    def step(self, label: str, *, expected_s: float | None) -> None:
        """A step begins."""
        assert expected_s is not None
        assert expected_s > 0
        self.steps.append(label)

    def started(self, plan: RunPlan) -> None:
        """Workers begin."""
        assert plan.seed
        self.starts += 1

    def interval(self, interval: Interval) -> None:
        """An interval came."""
        assert interval.tallies
        self.intervals += 1

    def message(self, text: str) -> None:
        """A line came."""
        self.messages.append(text)


class Runs:
    """Stands in for ``run.execute``: notes each call, and ends one of them badly where told to."""

    def __init__(self, *, bad: int = -1, ends: Callable[[RunRecord], RunRecord] | None = None) -> None:
        self.seeds: list[int] = []
        self.jobs: list[JobFile] = []
        self.interval_ns: set[int] = set()
        self._bad = bad
        self._ends = ends

    def __call__(
        self,
        job_file: JobFile,
        *,
        seed: int,
        interval_ns: int,
        on_interval: Callable[[Interval], None],
        on_start: Callable[..., None],
        **_: Any,
    ) -> RunRecord:
        """Run."""
        self.seeds.append(seed)
        self.jobs.append(job_file)
        self.interval_ns.add(interval_ns)
        record, intervals = builders.pressed_run(job_file, seed=seed)
        on_start(record.plan, record.targets)
        for interval in intervals:
            on_interval(interval)
        if len(self.seeds) - 1 == self._bad and self._ends is not None:
            return self._ends(record)
        return record


def stopped(by: str, error: str | None = None) -> Callable[[RunRecord], RunRecord]:
    """End a run early."""

    def end(record: RunRecord) -> RunRecord:
        result = record.result.model_copy(update={"stopped_by": by, "error": error})
        return record.model_copy(update={"result": result})

    return end


def worker_failed(record: RunRecord) -> RunRecord:
    """Let one worker fail where the run itself knows of no error."""
    first, *others = record.result.workers
    failed = first.model_copy(update={"error": "EIO"})
    result = record.result.model_copy(update={"workers": (failed, *others)})
    return record.model_copy(update={"result": result})


def raising(error: BaseException) -> Callable[[RunRecord], RunRecord]:
    """Fail instead of returning."""

    def end(_: RunRecord) -> RunRecord:
        raise error

    return end


def begun(path: Path, **asked: Any) -> Review:
    """A review that has done nothing yet."""
    given = {"target": builders.target(), "pace": "quick", "seed": 3, **asked}
    manifest = new_manifest(
        SUITE, Asked(**given), command=("iogauge",), machine=builders.machine(), ceiling=builders.ceiling()
    )
    return Review.create(path, manifest)


def go(review: Review, runs: Runs, watching: Watching | None = None) -> None:
    """Conduct a review as the command does."""
    watcher = watching or Watching()
    with review.lock():
        search(review, SUITE, execute=runs, watcher=watcher)
        conduct(review, execute=runs, watcher=watcher)


def contents(review: Review) -> dict[str, tuple[RunRecord, list[Interval]]]:
    """All that a review measured."""
    return {step: (review.record(step), list(review.intervals(step))) for step in review.completed()}


def test_a_review_goes_from_its_search_to_its_last_step(tmp_path: Path) -> None:
    review, runs, watching = begun(tmp_path / "r"), Runs(), Watching()
    go(review, runs, watching)
    steps = review.manifest.plan.steps
    assert review.completed() == tuple(step.id for step in steps)
    assert watching.steps == ["search for what the target takes", *(f"{step.at:g} MB/s" for step in steps)]
    assert watching.starts == len(steps) + 1
    assert watching.intervals == 2 * (len(steps) + 1) - 1  # the step without pressure has one row
    assert runs.interval_ns == {500_000_000}
    assert runs.seeds[1:] == [step.seed for step in steps]
    assert remaining(review) == 0
    assert review.has("search")
    assert review.record("search").result.rows[0].name == "pressure"


def test_conducting_a_complete_review_again_runs_nothing(tmp_path: Path) -> None:
    review = begun(tmp_path / "r")
    go(review, Runs())
    again, runs = Review.open(review.path), Runs()
    before = again.manifest
    go(again, runs)
    assert runs.seeds == []
    assert Review.open(review.path).manifest == before


@pytest.mark.parametrize("bad", [0, 1, 4, 8])
@pytest.mark.parametrize(
    ("ends", "raises"),
    [
        (stopped("interrupt"), Interrupted),
        (stopped("error", "write: Input/output error"), IogaugeError),
        (stopped("rate_min"), IogaugeError),
        (worker_failed, IogaugeError),
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
        (raising(IogaugeError("the file vanished")), IogaugeError),
    ],
)
def test_a_review_that_was_ended_anywhere_completes_as_if_it_had_not(
    tmp_path: Path, bad: int, ends: Callable[[RunRecord], RunRecord], raises: type[BaseException]
) -> None:
    whole = begun(tmp_path / "whole")
    go(whole, Runs())
    review = begun(tmp_path / "r")
    with pytest.raises(raises):
        go(review, Runs(bad=bad, ends=ends))
    kept = contents(review)
    assert len(kept) == max(bad - 1, 0)
    again, runs = Review.open(review.path), Runs()
    go(again, runs)
    assert again.manifest.plan == whole.manifest.plan
    assert contents(again) == contents(whole)
    assert len(runs.seeds) == 9 - bad
    assert {step: again.record(step) for step in kept} == {step: record for step, (record, _) in kept.items()}


def test_what_a_stopped_run_measured_is_kept_apart(tmp_path: Path) -> None:
    review = begun(tmp_path / "r")
    with pytest.raises(IogaugeError, match=r"pressure-0 ended early: EIO") as caught:
        go(review, Runs(bad=1, ends=stopped("error", "EIO")))
    assert "--resume" in str(caught.value.hint)
    assert (review.path / "stopped" / "pressure-0" / "totals.parquet").is_file()
    assert review.completed() == ()


def test_a_disk_that_fills_up_keeps_the_steps_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    review = begun(tmp_path / "r")

    def filling(_: RunRecord) -> RunRecord:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(tables.pq.ParquetWriter, "write_table", full)
        return _

    with pytest.raises(IogaugeError, match="No space left") as caught:
        go(review, Runs(bad=3, ends=filling))
    assert "free some space" in str(caught.value.hint)
    monkeypatch.undo()
    assert sorted(entry.name for entry in (review.path / "steps").iterdir()) == [
        "pressure-0",
        "pressure-100",
        "search",
    ]
    go(Review.open(review.path), Runs())
    assert len(Review.open(review.path).completed()) == 8


def grouped(path: Path) -> Review:
    """A review of two state groups of three steps, the first of each preparing the drive for the others."""
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
        conduct(review, execute=Runs(bad=bad, ends=stopped("interrupt")), watcher=Watching())
    again, runs, watching = Review.open(review.path), Runs(), Watching()
    assert remaining(again) == 6 - len(kept)
    conduct(again, execute=runs, watcher=watching)
    assert len(runs.seeds) == 6 - len(kept)
    assert len(again.completed()) == 6
    assert len(watching.messages) == (bad % 3 != 0)


def test_warnings_that_all_steps_share_are_the_reviews(tmp_path: Path) -> None:
    shared = Caution(code=Code.VIRTUAL_MACHINE, message="this machine is virtual", hint="use a real one")
    own = Caution(code=Code.FEW_SAMPLES, message="7 samples", hint="run longer")
    review = grouped(tmp_path / "r")
    first = True

    def warned(job_file: JobFile, **given: Any) -> RunRecord:
        nonlocal first
        record = Runs()(job_file, **given)
        warnings = (shared, own) if first else (shared,)
        first = False
        return record.model_copy(update={"warnings": warnings})

    conduct(review, execute=warned, watcher=Watching())
    assert Review.open(review.path).manifest.warnings == (shared,)


def test_a_review_does_not_go_on_with_another_target() -> None:
    manifest = builders.manifest().model_copy(
        update={"target": builders.target(kind="block", serial="A1", size_bytes=100)}
    )
    check_same_target(manifest, builders.target(kind="block", serial="A1", size_bytes=100))
    check_same_target(manifest, builders.target(kind="block", serial=None, size_bytes=100))
    for other in ({"serial": "B2"}, {"model": "Other"}, {"size_bytes": 99}, {"kind": "file"}):
        facts = {"kind": "block", "serial": "A1", "size_bytes": 100, **other}
        with pytest.raises(IogaugeError, match="another target") as caught:
            check_same_target(manifest, builders.target(**facts))
        assert caught.value.hint


def test_a_file_may_have_grown_beyond_what_is_used() -> None:
    manifest = builders.manifest()
    used = manifest.model_copy(update={"plan": manifest.plan.model_copy(update={"size_bytes": 1 << 30})})
    check_same_target(used, builders.target(size_bytes=2 << 30))
    with pytest.raises(IogaugeError, match="another target"):
        check_same_target(used, builders.target(size_bytes=1 << 29))


def test_what_changed_about_the_machine_is_said() -> None:
    manifest = builders.manifest()
    same = [text for text in differences(manifest, builders.machine()) if "iogauge" not in text]
    assert same == []
    other = builders.machine().model_copy(update={"kernel": "6.2.0", "hostname": "bench-2"})
    changed = [text for text in differences(manifest, other) if "iogauge" not in text]
    assert len(changed) == 2
    assert any("6.1.0" in text and "6.2.0" in text for text in changed)


def test_a_plan_that_cannot_be_parsed_is_refused_before_anything_is_made() -> None:
    asked = Asked(target=builders.target(), pace="quick", seed=1, size_bytes=100)
    with pytest.raises(IogaugeError, match="size=100"):
        new_manifest(SUITE, asked, command=(), machine=builders.machine(), ceiling=None)


@pytest.mark.parametrize("path", ["/tmp/$ncpus.bin", "/tmp/${HOME}.bin", "/tmp/a.bin ", "/tmp/a\nrw=write"])
def test_a_path_that_a_job_file_cannot_hold_is_refused(path: str) -> None:
    asked = Asked(target=builders.target(path), pace="quick", seed=1)
    with pytest.raises(IogaugeError) as caught:
        new_manifest(SUITE, asked, command=(), machine=builders.machine(), ceiling=None)
    assert caught.value.hint


def test_the_jobs_that_run_are_those_of_the_plan(tmp_path: Path) -> None:
    review, runs = begun(tmp_path / "r"), Runs()
    go(review, runs)
    planned = [workload.parse(step.job_file, source=step.id) for step in review.manifest.plan.steps]
    assert runs.jobs[1:] == planned
    assert Direction.WRITE in review.record("pressure-700").result.rows[0].tallies
