"""Resuming a review: a target is preconditioned again if anything wrote to it, or if a block changed it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.machine.fingerprint import fingerprint_of
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import Interrupted, _Run, remaining, run_review
from iogauge.schema import (
    Axis,
    Code,
    JobFile,
    RunRecord,
    State,
    StepPlan,
    SuitePlan,
    TargetFacts,
    WriteFingerprint,
)
from iogauge.store import Review
from iogauge.store.review import StepWriter
from iogauge.suites import suite_of
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.target.users.sysfs import Host
from tests import builders
from tests.suite_runs import Quiet, cut_down

FLASH = builders.target(
    "/dev/nvme0n1", kind="block", size_bytes=10**9, model="INTEL SSDPE2MD800G4", rotational=False
)


class Two(Suite):
    """A suite of two equal steps."""

    NAME = "two"
    TITLE = "Two"
    SOURCE = "made up"
    AXIS = Axis(name="step", unit="step")
    MEASURED_JOB = "job"

    def __init__(self, rw: str) -> None:
        self.rw = rw

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Both."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        steps = tuple(load.step(f"at-{at}", at, {"job": {"rw": self.rw}}) for at in (1, 2))
        return empty.model_copy(update={"steps": steps})


class Drive(Quiet):
    """A double for a drive and its writers: records the steps, and is interrupted at one of them."""

    def __init__(self, *, interrupted_at: str = "") -> None:
        super().__init__()
        self.ran: list[str] = []
        self.written_bytes = 0
        self.others: dict[str, Any] = {}
        self._interrupted_at = interrupted_at

    def execute(self, job_file: JobFile, **_: Any) -> RunRecord:
        """Run."""
        self.ran.append(job_file.source)
        self.written_bytes += 4096
        stopped = "interrupt" if job_file.source == self._interrupted_at else None
        rows = [builders.row(job.name, {}) for job in job_file.jobs]
        return builders.record(rows, jobs=job_file, stopped_by=stopped)

    def fingerprint(self, _: TargetFacts) -> WriteFingerprint:
        """Return the bytes written so far."""
        seen = WriteFingerprint(boot="one", written_bytes=self.written_bytes, trims=0)
        return seen.model_copy(update=self.others)

    def purge(self, path: str, **_: Any) -> None:
        """Forget everything."""
        self.ran.append(f"purge of {path}")


def begun(path: Path, suite: Suite, *, state: State = "fresh", repeats: int = 2) -> Review:
    manifest = new_manifest(
        [suite],
        [FLASH],
        seed=1,
        repeats=repeats,
        state=state,
        command=(),
        machine=builders.machine(),
        ceiling=None,
    )
    return Review.create(path, manifest)


def go(review: Review, suite: Suite, drive: Drive) -> None:
    def suites(name: str) -> Suite:
        return suite if name == suite.NAME else suite_of(name)

    assert remaining(review, suites)
    failed = run_review(
        review, suites, execute=drive.execute, watcher=drive, purge=drive.purge, fingerprint=drive.fingerprint
    )
    assert failed == ()


PURGE = "purge of /dev/nvme0n1"
FIRST = [PURGE, "precondition.purge", "two.at-1", "two.at-2"]
SECOND = [PURGE, "precondition.purge.r2", "two.at-1.r2", "two.at-2.r2"]


@pytest.mark.parametrize(
    ("rw", "again"), [("randread", ["two.at-1.r2", "two.at-2.r2"]), ("randrw", SECOND), ("randtrim", SECOND)]
)
def test_a_block_is_preconditioned_if_the_block_before_changed_the_drive(
    tmp_path: Path, rw: str, again: list[str]
) -> None:
    review, drive = begun(tmp_path / "r", Two(rw)), Drive()
    go(review, Two(rw), drive)
    assert drive.ran == [*FIRST, *again]


@pytest.mark.parametrize(
    ("written_bytes", "expected"),
    [
        (0, ["two.at-2.r2"]),
        (10**6, [PURGE, "precondition.purge.r2", "two.at-2.r2"]),
    ],
)
def test_a_target_that_others_wrote_to_is_preconditioned_again(
    tmp_path: Path, written_bytes: int, expected: list[str]
) -> None:
    suite = Two("randwrite")
    review, drive = begun(tmp_path / "r", suite), Drive(interrupted_at="two.at-2.r2")
    with pytest.raises(Interrupted):
        go(review, suite, drive)
    kept = review.record("two.at-1.r2")
    later = Drive()
    later.written_bytes = drive.written_bytes + written_bytes
    go(Review.open(review.path), suite, later)
    assert later.ran == expected
    said = f"{FLASH.path}: since the review was last saved, 1.000 MB were written to it: it is preconditioned again"
    assert later.said == ([said] if written_bytes else [])
    complete = Review.open(review.path)
    assert set(complete.completed()) == {step.id for step in complete.manifest.steps}
    assert complete.record("two.at-1.r2") == kept
    assert complete.manifest.warnings == ()


def test_without_preconditioning_the_review_keeps_a_warning(tmp_path: Path) -> None:
    suite = Two("randwrite")
    review, drive = begun(tmp_path / "r", suite, state="as-is"), Drive(interrupted_at="two.at-2")
    with pytest.raises(Interrupted):
        go(review, suite, drive)
    go(Review.open(review.path), suite, Drive())
    (warning,) = Review.open(review.path).manifest.warnings
    assert warning.code is Code.WRITTEN_MEANWHILE
    assert "8.192 kB were written to it" in warning.message


class Killed(BaseException):
    """A double for SIGKILL: nothing is saved after it."""


def test_writes_of_a_killed_step_are_assigned_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, drive = Two("randwrite"), Drive()
    review = begun(tmp_path / "r", suite, state="as-is", repeats=1)

    def killed_at(place: str) -> None:
        """Kill the review while it saves a step, or the fingerprints after it."""

        def kill(self: Any, *_: Any) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(place, kill)
            if not place.endswith("_leave"):
                patch.setattr("iogauge.reviews.runner._Run._leave", kill)
            with pytest.raises(Killed):
                go(Review.open(review.path), suite, drive)

    for step, place in (
        ("two.at-1", "iogauge.store.review.StepWriter.finish"),
        ("two.at-1", "iogauge.reviews.runner._Run._leave"),
    ):
        killed_at(place)
        assert Review.open(review.path).manifest.running_step == step
    go(Review.open(review.path), suite, drive)
    manifest = Review.open(review.path).manifest
    assert manifest.running_step is None
    assert manifest.warnings == ()  # it had left nothing before
    Review.open(review.path).discard("two.at-2")
    killed_at("iogauge.store.review.StepWriter.finish")
    drive.said.clear()
    killed_at("iogauge.store.review.StepWriter.finish")
    go(Review.open(review.path), suite, drive)
    own = (
        "/dev/nvme0n1: between two parts of this review 4.096 kB were written to it (two.at-2, which was running "
        "when this review was killed, may have done it): the drive's state may differ "
        "between them"
    )
    # The second message covers only the writes since the first.
    assert drive.said == [own, own]
    (warning,) = Review.open(review.path).manifest.warnings
    assert warning.message == own


class Growing(Two):
    """A third step follows from the two, in the same state group."""

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Both, in one group."""
        plan = super().plan(request)
        return plan.model_copy(
            update={"steps": tuple(step.model_copy(update={"state_group": "all"}) for step in plan.steps)}
        )

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """The third."""
        if len(plan.steps) > 2:
            return ()
        return (StepTemplate.of(plan).step("at-3", 3, {"job": {"rw": self.rw}}, state_group="all"),)


MAY_HAVE = "two.at-3, which was running when this review was killed, may have done it"


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, f"4.096 kB were written to it ({MAY_HAVE})"),
        # A killed step enters nothing in the ledger, and writes before a restart cannot be assigned to it.
        ({"entries": 1, "entered_bytes": 10**6}, "1 run of iogauge wrote 1.000 MB to it"),
        (
            {"boot": "two"},
            "the machine was restarted, and earlier writes to it are not known",
        ),
        ({"boot": "two", "modified_ns": 5}, f"the file was written to ({MAY_HAVE})"),
    ],
)
def test_a_killed_step_is_named_if_it_may_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: dict[str, Any], expected: str
) -> None:
    suite, drive = Growing("randwrite"), Drive()
    review = begun(tmp_path / "r", suite, state="as-is", repeats=1)
    finish, leave = StepWriter.finish, _Run._leave

    def unless_killed(goes_on: Callable[..., None]) -> Callable[..., None]:
        def either(*arguments: Any) -> None:
            if drive.ran[-1] == "two.at-3":
                raise Killed
            goes_on(*arguments)

        return either

    with monkeypatch.context() as patch:
        patch.setattr(StepWriter, "finish", unless_killed(finish))
        patch.setattr(_Run, "_leave", unless_killed(leave))
        with pytest.raises(Killed):
            go(Review.open(review.path), suite, drive)
    assert Review.open(review.path).manifest.running_step == "two.at-3"
    drive.others = others
    drive.said.clear()
    go(Review.open(review.path), suite, drive)
    assert any(
        f"between two parts of this review {expected}: the drive's state may" in message
        for message in drive.said
    )


def test_an_interrupted_preconditioning_runs_once_more(tmp_path: Path) -> None:
    suite = Two("randwrite")
    review, drive = begun(tmp_path / "r", suite), Drive(interrupted_at="precondition.purge")
    with pytest.raises(Interrupted):
        go(review, suite, drive)
    later = Drive()
    go(Review.open(review.path), suite, later)
    assert later.ran == [*FIRST, *SECOND]


# --- On a real file ------------------------------------------------------------------------------------------


def resumed(review: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """Discard the last step of a review and resume it; return its JSON and its messages."""
    saved = Review.open(review)
    saved.discard(saved.manifest.plans[-1].steps[-1].id)
    capsys.readouterr()
    assert main(["review", "--resume", str(review), "--json"]) == 0
    out, said = capsys.readouterr()
    return json.loads(out), said


def codes(shown: dict[str, Any]) -> Sequence[str]:
    return [warning["code"] for warning in shown["warnings"]]


def test_a_review_of_a_file_knows_whether_anything_wrote_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_down(monkeypatch)
    file = tmp_path / "f.bin"
    arguments = ["--suite=mixed", "--size=8m", "--runtime=20ms", "--seed=1"]
    for state in ("as-is", "fresh"):
        assert (
            main(["review", str(file), *arguments, f"--state={state}", f"--output={tmp_path / state}"]) == 0
        )
    # The second review wrote to the file of the first; nothing wrote after the second.
    shown, said = resumed(tmp_path / "as-is", capsys)
    assert "written_meanwhile" in codes(shown)
    assert "runs of iogauge wrote" in said
    assert main(["show", str(tmp_path / "as-is"), "-v"]) == 0
    assert "between two parts of this review" in capsys.readouterr().err
    shown, said = resumed(tmp_path / "as-is", capsys)
    assert said.count("between two parts") == 1  # the warning stays, and none is added
    shown, said = resumed(tmp_path / "fresh", capsys)
    assert "it is preconditioned again" in said
    assert "purged: " in said
    assert "written_meanwhile" not in codes(shown)
    shown, said = resumed(tmp_path / "fresh", capsys)
    assert "preconditioned again" not in said
    with file.open("r+b") as opened:
        opened.write(b"x")
    assert main(["review", "--resume", str(tmp_path / "fresh")]) == 0  # no step is missing


# --- Fingerprints --------------------------------------------------------------------------------------------------


def test_a_device_s_fingerprint_has_its_counters_and_its_boot(tmp_path: Path) -> None:
    device = tmp_path / "sys" / "class" / "block" / "sda"
    device.mkdir(parents=True)
    (device / "stat").write_text("100 1 2000 30 200 2 4000 60 0 70 90 5 0 500 6 7 8\n")
    boot = tmp_path / "proc" / "sys" / "kernel" / "random" / "boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("c0ffee\n")
    host = Host(tmp_path / "sys", tmp_path / "proc")
    facts = builders.target("/dev/sda", kind="block", device="sda")
    assert fingerprint_of(facts, host) == WriteFingerprint(boot="c0ffee", written_bytes=4000 * 512, trims=5)
    gone = fingerprint_of(facts.model_copy(update={"device": "sdb"}), host)
    assert gone == WriteFingerprint(boot="c0ffee")
    assert fingerprint_of(builders.target("model:p4800x", kind="model"), host) is None
    assert fingerprint_of(builders.target(str(tmp_path / "missing.bin")), host) is None
