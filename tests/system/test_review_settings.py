"""Reviews of a loop device: settings are stored when a review begins, compared, and looked at again when it resumes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.store import Review

COMMAND = [sys.executable, "-m", "iogauge"]
USUAL = {"scheduler": "none", "nomerges": "0"}


def iogauge(*arguments: str | Path) -> str:
    """Run a command to its end; return what it said on stderr, then what it printed."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stderr + done.stdout


class Loop:
    """A loop device whose queue can be set."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._queue = Path(f"/sys/block/{Path(device).name}/queue")

    def set(self, name: str, value: str) -> None:
        """Set an attribute of the queue; it stays when the device is detached."""
        (self._queue / name).write_text(value)

    def review(self, output: Path) -> Review:
        """Review it for a moment."""
        iogauge(
            "review", self.device, "--suite=mixed", "--runtime=20ms", "--seed=3", f"--output={output}",
            f"--destroy={self.device}",
        )  # fmt: skip
        return Review.open(output)


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    image = tmp_path / "loop.img"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    made = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=True
    )
    loop = Loop(made.stdout.strip())
    try:
        for name, value in USUAL.items():
            loop.set(name, value)
        yield loop
    finally:
        for name, value in USUAL.items():
            loop.set(name, value)
        subprocess.run(["losetup", "--detach", loop.device], check=True)


def test_a_setting_that_changed_between_two_reviews_is_named(loop: Loop, tmp_path: Path) -> None:
    first = loop.review(tmp_path / "first")
    machine, drive = first.audits()
    assert (machine.target, drive.target) == (None, loop.device)
    assert {fact.id: fact.value for fact in drive.facts}["block.nomerges"] == "0"
    assert {fact.id: fact.verdict for fact in drive.facts}["block.nomerges"] == "differs"
    for step in first.manifest.steps:
        record = first.record(step.id)
        assert record.audits == ()
        assert record.audit_changes == ()
        assert record.interrupts == (), "a loop device has no interrupts"
    loop.set("nomerges", "2")
    loop.review(tmp_path / "second")
    text = " ".join(iogauge("compare", tmp_path / "first", tmp_path / "second", "-v").split())
    assert re.search(
        r"the machines differ in 1 setting that changes latency: merging of requests 0 / 2", text
    )
    compared = json.loads(iogauge("compare", tmp_path / "first", tmp_path / "second", "--json"))
    assert [row["id"] for row in compared[0]["settings"]["differing"]] == ["block.nomerges"]
    report = tmp_path / "report.md"
    iogauge("report", tmp_path / "first", tmp_path / "second", "--output", report)
    assert "| merging of requests | 0 | 2 |" in report.read_text()


def test_a_resumed_review_says_what_changed_and_goes_on(loop: Loop, tmp_path: Path) -> None:
    saved = loop.review(tmp_path / "r")
    last = saved.manifest.steps[-1]
    saved.discard(last.id)
    loop.set("nomerges", "2")
    text = iogauge("review", "--resume", saved.path, "--destroy", loop.device)
    assert text.startswith(
        "warning: 1 setting changed since this review began, so its steps may not be comparable: merging of requests "
        "was 0, and is 2\n"
    )
    resumed = Review.open(saved.path)
    assert resumed.completed() == tuple(step.id for step in resumed.manifest.steps)
    (change,) = resumed.record(last.id).audit_changes
    assert (change.target, change.id, change.old, change.new) == (loop.device, "block.nomerges", "0", "2")
    assert {fact.id: fact.value for fact in resumed.audits()[1].facts}["block.nomerges"] == "0"
    iogauge("report", saved.path, "--output", tmp_path / "r.md")
    assert f"| merging of requests ({loop.device}) | 0 | 2 |" in (tmp_path / "r.md").read_text()
