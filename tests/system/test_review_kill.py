"""One review, killed by SIGKILL fifty times at random moments, means in the end what an undisturbed one means.

After every kill each complete step is read in full and compared, byte by byte, with what it was when it was first
seen; nothing else is visible; and the plan with its seeds stays as it was made.
"""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iogauge.schema import SuitePlan
from iogauge.store import Review

KILLS = 50
SEED = 7
RUNTIME = "150ms"


def command(folder: Path) -> list[str]:
    """What begins the review, or goes on with it."""
    begin = ["drive.bin", "--size", "8m", "--runtime", RUNTIME, "--output", "saved", "--seed", str(SEED)]
    begun = (folder / "saved" / "manifest.json").exists()
    return [sys.executable, "-m", "iogauge", "review", *(["--resume", "saved"] if begun else begin)]


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A process of the command line in the review's directory."""
    log = (folder / "stderr.txt").open("ab")
    return subprocess.Popen(command(folder), cwd=folder, stdout=subprocess.DEVNULL, stderr=log)


def said(folder: Path) -> str:
    """What the processes said, for the message of a failing test."""
    return (folder / "stderr.txt").read_text(errors="replace")[-2000:]


def digest(folder: Path) -> str:
    """A fingerprint of every file of a step."""
    found = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


def visible(folder: Path) -> set[str]:
    """Every run that counts as whole: the search and the steps."""
    steps = folder / "saved" / "steps"
    return {entry.name for entry in os.scandir(steps) if entry.name[0] != "."} if steps.exists() else set()


class Witness:
    """Remembers what has been seen, and compares."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan: SuitePlan | None = None
        self.digests: dict[str, str] = {}

    def look(self) -> None:
        """Read all that counts as whole, as a report would."""
        if not (self.folder / "saved" / "manifest.json").exists():
            assert visible(self.folder) == set()
            return
        review = Review.open(self.folder / "saved")
        plan = review.manifest.plan
        assert review.manifest.seed == SEED
        if self.plan is not None:
            assert plan == self.plan
        elif plan.steps:
            self.plan = plan
        assert visible(self.folder) <= {"search", *(step.id for step in plan.steps)}
        assert set(self.digests) <= visible(self.folder)
        for step_id in visible(self.folder):
            record = review.record(step_id)
            assert record.result.stopped_by is None
            assert list(review.intervals(step_id))
            fingerprint = digest(review.step_path(step_id))
            assert self.digests.setdefault(step_id, fingerprint) == fingerprint


def seconds_to_first_step(folder: Path) -> float:
    """How long a process of a review under way takes until a step of it is whole."""
    with started(folder) as process:
        while len(visible(folder)) < 2 and process.poll() is None:
            time.sleep(0.01)
        process.kill()
    before = len(visible(folder))
    assert before, said(folder)
    begin = time.monotonic()
    with started(folder) as process:
        while len(visible(folder)) == before and process.poll() is None:
            time.sleep(0.01)
        took_s = time.monotonic() - begin
        process.kill()
    assert len(visible(folder)) > before, said(folder)
    return took_s


@pytest.mark.timeout(900)
def test_a_review_killed_fifty_times_completes_with_the_same_plan_and_seeds(tmp_path: Path) -> None:
    (tmp_path / "calibration").mkdir()
    cycle_s = seconds_to_first_step(tmp_path / "calibration")
    folder = tmp_path / "review"
    folder.mkdir()
    witness, chance = Witness(folder), random.Random(SEED)
    for _ in range(KILLS):
        # A process lives up to a little over one step, so that the review outlives all its kills; where a single
        # step is left, less.
        plan = witness.plan
        left = len(plan.steps) - len(visible(folder) - {"search"}) if plan else 9
        process = started(folder)
        try:
            process.wait(timeout=chance.uniform(0, (1.2 if left > 1 else 0.8) * cycle_s))
            pytest.fail(f"the review ended by itself: {process.returncode}: {said(folder)}")
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() == -9
        witness.look()
    assert witness.plan is not None, said(folder)
    done = subprocess.run(command(folder), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    witness.look()
    review = Review.open(folder / "saved")
    assert review.completed() == tuple(step.id for step in witness.plan.steps)
    for step in witness.plan.steps:
        assert review.record(step.id).plan.seed == step.seed
    assert f"{len(witness.plan.steps)} of {len(witness.plan.steps)} steps" in done.stdout
    assert [entry.name for entry in os.scandir(folder / "saved" / "steps") if entry.name[0] == "."] == []
