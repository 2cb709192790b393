"""A review of drive models is the same to the byte, on however many CPUs its steps run, and however it ends."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.store import Review
from iogauge.store.review import StepWriter


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)


def on_cpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(count)))


def contents(review: str) -> dict[str, bytes]:
    """Return the files of a review's steps by name, without times of day, and its plans."""
    files = {
        str(path.relative_to(review)): re.sub(rb'"started_at":"[^"]*"', b"", path.read_bytes())
        for path in sorted(Path(review, "steps").rglob("*"))
        if path.is_file() and path.name != "SHA256SUMS"
    }
    plans = json.loads(Path(review, "manifest.json").read_text())["plans"]
    return {**files, "plans": json.dumps(plans).encode()}


REVIEWS = {
    "a search, and what follows from it": ["model:p4800x", "--suite=write-pressure"],
    "several drives and suites": [
        "model:p4800x",
        "model:p3700",
        "--suite=mixed",
        "--suite=commit-latency",
    ],
    "steps that follow from others": ["model:p4800x", "--suite=latency-throughput"],
    "rounds": ["model:p4800x", "--suite=pts-throughput", "--size=64m"],
    "steps that are lengthened": ["model:p4800x", "--suite=mixed", "--until-supported=0.999"],
    "a preconditioned drive": ["model:p3700", "--suite=mixed", "--state=preconditioned", "--size=200m"],
}


@pytest.mark.parametrize("arguments", REVIEWS.values(), ids=REVIEWS)
def test_the_number_of_cpus_changes_no_byte(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    for cpus in (1, 3):
        on_cpus(monkeypatch, cpus)
        assert main(["review", *arguments, "--runtime=10ms", "--seed=7", f"--output={cpus}"]) == 0
    assert contents("3") == contents("1")
    if any("--until-supported" in argument for argument in arguments):
        assert max(step.longer for step in Review.open(Path("3")).manifest.steps) > 1


@pytest.mark.parametrize("after", [0, 5, 40])
def test_an_interrupted_review_is_resumed_to_the_byte(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    on_cpus(monkeypatch, 3)
    command = ["review", "model:p4800x", "--suite=write-pressure", "--runtime=10ms", "--seed=7"]
    assert main([*command, "--output=complete"]) == 0
    interval, left = StepWriter.interval, [after]

    def interrupted(*arguments: object) -> None:
        interval(*arguments)  # type: ignore[arg-type]
        left[0] -= 1
        if left[0] == -1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(StepWriter, "interval", interrupted)
    assert main([*command, "--output=stopped"]) == 130
    review = Review.open(Path("stopped"))
    assert len(review.completed()) < 9
    assert main(["review", "--resume", "stopped"]) == 0
    assert contents("stopped") == contents("complete")


def test_a_full_disk_ends_a_review_at_the_step_that_does_not_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_cpus(monkeypatch, 3)
    finish, left = StepWriter.finish, [4]

    def full(*arguments: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise IogaugeError("no space left on device")
        finish(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(StepWriter, "finish", full)
    command = ["review", "model:p4800x", "--suite=write-pressure", "--runtime=10ms", "--seed=7"]
    assert main([*command, "--output=saved"]) == 1
    assert "error: no space left on device\n" in capsys.readouterr().err
    review = Review.open(Path("saved"))
    assert review.has("write-pressure.search")
    assert review.completed() == tuple(step.id for step in review.manifest.steps[:3])
