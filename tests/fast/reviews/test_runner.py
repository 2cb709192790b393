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
from iogauge.reviews.manifest import check_same_target, differences, new_manifest
from iogauge.reviews.ordering import order
from iogauge.reviews.runner import Failed, Interrupted, remaining, run_review
from iogauge.schema import (
    Axis,
    Code,
    Direction,
    Interval,
    JobFile,
    Manifest,
    Notice,
    RunPlan,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review, tables
from iogauge.suites import SUITES, suite_of
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from tests import builders

SUITE = SUITES["write-pressure"]


class Watching:
    """Notes what a progress display is told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.ahead: list[int] = []
        self.messages: list[str] = []
        self.intervals = 0
        self.starts = 0
        self.ends = 0

    def step(self, label: str, *, expected_s: float | None, ahead: int, ahead_s: float) -> None:
        """A step begins."""
        assert expected_s is not None
        assert expected_s > 0
        assert (ahead_s > 0) == (ahead > 0)
        self.steps.append(label)
        self.ahead.append(ahead)

    def started(self, plan: RunPlan) -> None:
        """Workers begin."""
        assert plan.seed
        self.starts += 1

    def interval(self, interval: Interval) -> None:
        """An interval came."""
        assert interval.tallies
        self.intervals += 1

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """A step is saved."""
        assert record.result.stopped_by is None
        assert plan.title
        self.ends += 1

    def message(self, text: str) -> None:
        """A line came."""
        self.messages.append(text)


class Runs:
    """Stands in for ``execution.execute``: notes each call, and ends one of them badly where told to."""

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


def begun(path: Path, **options: Any) -> Review:
    """A review that has done nothing yet."""
    manifest = new_manifest(
        [SUITE],
        [builders.target()],
        command=("iogauge",),
        machine=builders.machine(),
        ceiling=builders.ceiling(),
        **{"seed": 3, **options},
    )
    return Review.create(path, manifest)


def go(review: Review, runs: Runs, watching: Watching | None = None) -> tuple[Failed, ...]:
    """Conduct a review as the command does."""
    with review.lock():
        return run_review(review, suite_of, execute=runs, watcher=watching or Watching())


def contents(review: Review) -> dict[str, tuple[RunRecord, list[Interval]]]:
    """All that a review measured."""
    return {step: (review.record(step), list(review.intervals(step))) for step in review.completed()}


def test_a_review_goes_from_its_search_to_its_last_step(tmp_path: Path) -> None:
    review, runs, watching = begun(tmp_path / "r"), Runs(), Watching()
    go(review, runs, watching)
    steps = review.manifest.steps
    assert review.completed() == tuple(step.id for step in steps)
    assert watching.steps == [
        "Write pressure: search for what the target takes",
        *(f"{step.at:g} MB/s" for step in steps),
    ]
    assert watching.ahead == [0, *range(len(steps) - 1, -1, -1)]
    assert watching.starts == watching.ends == len(steps) + 1
    assert watching.intervals == 2 * (len(steps) + 1) - 1  # the step without pressure has one row
    assert runs.interval_ns == {100_000_000, 150_000_000}  # twenty of the search, and of a step
    assert runs.seeds[1:] == [step.seed for step in steps]
    assert remaining(review, suite_of) == 0
    assert review.has("write-pressure.search")
    assert review.record("write-pressure.search").result.rows[0].name == "pressure"


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
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
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
    assert again.manifest.plans == whole.manifest.plans
    assert contents(again) == contents(whole)
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
def test_a_step_that_fails_is_said_and_the_rest_goes_on(
    tmp_path: Path, bad: int, ends: Callable[[RunRecord], RunRecord], says: str
) -> None:
    whole = begun(tmp_path / "whole")
    go(whole, Runs())
    review, watching = begun(tmp_path / "r"), Watching()
    (failed,) = go(review, Runs(bad=bad, ends=ends), watching)
    step = whole.manifest.steps[bad - 1].id
    assert failed.step_id == step
    assert says in failed.why
    assert any(step in line and says in line for line in watching.messages)
    assert set(review.completed()) == set(whole.completed()) - {step}
    again, runs = Review.open(review.path), Runs()
    assert go(again, runs) == ()
    assert len(runs.seeds) == 1
    assert again.manifest.plans == whole.manifest.plans
    assert contents(again) == contents(whole)


def test_a_search_that_fails_ends_its_suite_alone(tmp_path: Path) -> None:
    manifest = new_manifest(
        [SUITE, SUITES["queue-depth"]],
        [builders.target()],
        seed=3,
        command=(),
        machine=builders.machine(),
        ceiling=None,
    )
    review = Review.create(tmp_path / "r", manifest)
    failed = go(review, Runs(bad=0, ends=stopped("error", "EIO")))
    assert [each.step_id for each in failed] == ["write-pressure.search"]
    assert [plan.key for plan in review.manifest.plans if plan.steps] == ["queue-depth"]
    assert len(review.completed()) == 28
    assert go(review, Runs()) == ()
    assert remaining(review, suite_of) == 0
    assert len(review.completed()) == 28 + 8


def test_what_a_stopped_run_measured_is_kept_apart(tmp_path: Path) -> None:
    review = begun(tmp_path / "r")
    (failed,) = go(review, Runs(bad=1, ends=stopped("error", "EIO")))
    assert failed == Failed("write-pressure.pressure-0", "ended early: EIO")
    assert (review.path / "stopped" / "write-pressure.pressure-0" / "totals.parquet").is_file()
    assert "write-pressure.pressure-0" not in review.completed()


class Rounds(Suite):
    """A suite that goes on for three rounds of two steps, each round following from the one before."""

    NAME = "rounds"
    TITLE = "Rounds"
    SOURCE = "made up"
    AXIS = Axis(name="round", unit="round")
    MEASURED_JOB = "reader"

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """The first round."""
        empty = self.empty(request)
        return empty.model_copy(update={"steps": self._round(empty, 1)})

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """The next round."""
        done = max(step.at for step in plan.steps if step.repeat == repeat and review.has(step.id))
        return self._round(plan, int(done) + 1) if done < 3 else ()

    @staticmethod
    def _round(plan: SuitePlan, at: int) -> tuple[StepPlan, ...]:
        load = StepTemplate.of(plan)
        return tuple(
            load.step(f"{at}-{n}", at, {"reader": {"rw": "randread"}}, label=f"part {n}", state_group="all")
            for n in range(2)
        )


def test_steps_follow_from_steps_in_every_repeat_and_an_ending_begins_their_group_again(
    tmp_path: Path,
) -> None:
    def rounds(path: Path) -> Review:
        manifest = new_manifest(
            [Rounds()],
            [builders.target()],
            seed=3,
            repeats=2,
            command=(),
            machine=builders.machine(),
            ceiling=None,
        )
        return Review.create(path, manifest)

    def run(review: Review, runs: Runs) -> None:
        run_review(review, lambda _: Rounds(), execute=runs, watcher=Watching())

    whole, runs = rounds(tmp_path / "whole"), Runs()
    run(whole, runs)
    assert [step.at for step in whole.manifest.steps if step.repeat == 0] == [1, 1, 2, 2, 3, 3]
    assert len(set(runs.seeds)) == 12
    for bad in range(12):
        review = rounds(tmp_path / f"ended-{bad}")
        with pytest.raises(Interrupted):
            run(review, Runs(bad=bad, ends=stopped("interrupt")))
        again, rest = Review.open(review.path), Runs()
        run(again, rest)
        assert len(rest.seeds) == (12 if bad < 6 else 6)  # of the repeat that was interrupted, all
        assert set(again.manifest.steps) == set(whole.manifest.steps)
        assert contents(again) == contents(whole)


def test_a_kill_between_a_run_and_what_follows_from_it_loses_nothing(tmp_path: Path) -> None:
    review = begun(tmp_path / "searched")
    with pytest.raises(Interrupted):
        go(review, Runs(bad=1, ends=stopped("interrupt")))
    # As if the kill had come before the plan was saved.
    (plan,) = review.manifest.plans
    bare = plan.model_copy(update={"steps": ()})
    review.save_manifest(review.manifest.model_copy(update={"plans": (bare,)}))
    assert remaining(review, suite_of) == 1
    go(review, Runs())
    assert len(review.completed()) == 8

    manifest = new_manifest(
        [Rounds()], [builders.target()], seed=3, command=(), machine=builders.machine(), ceiling=None
    )
    rounds = Review.create(tmp_path / "rounds", manifest)
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


def test_repeats_are_blocks_in_an_order_of_their_own() -> None:
    manifest = new_manifest(
        [SUITES["mixed"], SUITES["queue-depth"]],
        [builders.target("/tmp/a.bin"), builders.target("/tmp/b.bin")],
        seed=3,
        repeats=12,
        command=(),
        machine=builders.machine(),
        ceiling=None,
    )
    keys = ["mixed.t1", "mixed.t2", "queue-depth.t1", "queue-depth.t2"]
    assert [plan.key for plan in manifest.plans] == keys
    runs = list(order(manifest))
    blocks = [[plan.key for at, plan in runs if at == repeat] for repeat in range(12)]
    assert all(sorted(block) == keys for block in blocks)
    assert len({tuple(block) for block in blocks}) > 6
    assert [repeat for repeat, _ in runs] == sorted(repeat for repeat, _ in runs)
    assert list(order(manifest)) == runs
    once = manifest.model_copy(update={"repeats": 1})
    assert [plan.key for _, plan in order(once)] == keys


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
        "write-pressure.pressure-0",
        "write-pressure.pressure-100",
        "write-pressure.search",
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
        run_review(review, suite_of, execute=Runs(bad=bad, ends=stopped("interrupt")), watcher=Watching())
    again, runs, watching = Review.open(review.path), Runs(), Watching()
    assert remaining(again, suite_of) == 6 - len(kept)
    run_review(again, suite_of, execute=runs, watcher=watching)
    assert len(runs.seeds) == 6 - len(kept)
    assert len(again.completed()) == 6
    assert len(watching.messages) == (bad % 3 != 0)


def test_warnings_that_all_steps_share_are_the_reviews(tmp_path: Path) -> None:
    shared = Notice(code=Code.VIRTUAL_MACHINE, message="this machine is virtual", hint="use a real one")
    own = Notice(code=Code.FEW_SAMPLES, message="7 samples", hint="run longer")
    review = grouped(tmp_path / "r")
    first = True

    def warned(job_file: JobFile, **given: Any) -> RunRecord:
        nonlocal first
        record = Runs()(job_file, **given)
        warnings = (shared, own) if first else (shared,)
        first = False
        return record.model_copy(update={"warnings": warnings})

    run_review(review, suite_of, execute=warned, watcher=Watching())
    assert Review.open(review.path).manifest.warnings == (shared,)


def test_a_review_does_not_go_on_with_another_target() -> None:
    manifest = builders.manifest(target=builders.target(kind="block", serial="A1", size_bytes=100))
    check_same_target(manifest, builders.target(kind="block", serial="A1", size_bytes=100))
    check_same_target(manifest, builders.target(kind="block", serial=None, size_bytes=100))
    for other in ({"serial": "B2"}, {"model": "Other"}, {"size_bytes": 99}, {"kind": "file"}):
        facts = {"kind": "block", "serial": "A1", "size_bytes": 100, **other}
        with pytest.raises(IogaugeError, match="another target") as caught:
            check_same_target(manifest, builders.target(**facts))
        assert caught.value.hint


def test_a_file_may_have_grown_beyond_what_is_used() -> None:
    (plan,) = builders.manifest().plans
    used = builders.manifest(plan=plan.model_copy(update={"size_bytes": 1 << 30}))
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


def plain(target: TargetFacts, **options: Any) -> Manifest:
    """The manifest of a review of one target."""
    return new_manifest(
        [SUITE], [target], seed=1, command=(), machine=builders.machine(), ceiling=None, **options
    )


def test_a_plan_that_cannot_be_parsed_is_refused_before_anything_is_made() -> None:
    with pytest.raises(IogaugeError, match="size=100"):
        plain(builders.target(), size_bytes=100)


@pytest.mark.parametrize("path", ["/tmp/$ncpus.bin", "/tmp/${HOME}.bin", "/tmp/a.bin ", "/tmp/a\nrw=write"])
def test_a_path_that_a_job_file_cannot_hold_is_refused(path: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        plain(builders.target(path))
    assert caught.value.hint


def test_the_jobs_that_run_are_those_of_the_plan(tmp_path: Path) -> None:
    review, runs = begun(tmp_path / "r"), Runs()
    go(review, runs)
    planned = [workload.parse(step.job_file, source=step.id) for step in review.manifest.steps]
    assert runs.jobs[1:] == planned
    assert Direction.WRITE in review.record("write-pressure.pressure-700").result.rows[0].tallies


@pytest.mark.parametrize(
    ("changed", "says"),
    [({"id": "one"}, "two steps are called one"), ({"id": "two"}, "have the same position")],
)
def test_steps_that_would_be_taken_for_one_are_refused(changed: dict[str, str], says: str) -> None:
    class Twice(Rounds):
        def plan(self, request: SuiteRequest) -> SuitePlan:
            """Plan two steps that differ in their load alone."""
            empty = self.empty(request)
            load = StepTemplate.of(empty)
            one = load.step("one", 1, {"reader": {"rw": "randread"}})
            other = load.step("two", 1, {"reader": {"rw": "randwrite"}})
            return empty.model_copy(update={"steps": (one, other.model_copy(update=changed))})

    with pytest.raises(IogaugeError, match=says) as caught:
        new_manifest(
            [Twice()], [builders.target()], seed=1, command=(), machine=builders.machine(), ceiling=None
        )
    assert caught.value.hint
