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
    begin = [
        "drive.bin",
        "--size",
        "8m",
        "--suite",
        "write-pressure",
        "--runtime",
        RUNTIME,
        "--output",
        "saved",
        "--seed",
        str(SEED),
    ]
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
        (plan,) = review.manifest.plans
        assert review.manifest.seed == SEED
        if self.plan is not None:
            assert plan == self.plan
        elif plan.steps:
            self.plan = plan
        assert visible(self.folder) <= {"write-pressure.search", *(step.id for step in plan.steps)}
        assert set(self.digests) <= visible(self.folder)
        for step_id in visible(self.folder):
            record = review.record(step_id)
            assert record.result.stopped_by is None
            assert list(review.intervals(step_id))
            fingerprint = digest(review.step_path(step_id))
            assert self.digests.setdefault(step_id, fingerprint) == fingerprint


def seconds_to_next(folder: Path) -> float:
    """How long a process takes until another run is whole; it is killed then."""
    before = visible(folder)
    begin = time.monotonic()
    with started(folder) as process:
        while visible(folder) == before and process.poll() is None:
            time.sleep(0.01)
        took_s = time.monotonic() - begin
        process.kill()
    assert visible(folder) > before, said(folder)
    return took_s


def live(process: subprocess.Popen[bytes], seconds: float, *, last_step: Path | None) -> None:
    """Let a process live so long; but where its last step begins, only until then, so that it has no end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        if last_step is not None and last_step.exists():
            return
        time.sleep(0.005)


@pytest.mark.timeout(900)
def test_a_review_killed_fifty_times_completes_with_the_same_plan_and_seeds(tmp_path: Path) -> None:
    (tmp_path / "calibration").mkdir()
    search_s, step_s = (seconds_to_next(tmp_path / "calibration") for _ in range(2))
    folder = tmp_path / "review"
    folder.mkdir()
    witness, chance = Witness(folder), random.Random(SEED)
    horizon_s = search_s
    completing = 0
    for _ in range(KILLS):
        last = folder / "saved" / "steps" / f".{witness.plan.steps[-1].id}.tmp" if witness.plan else None
        before = len(visible(folder))
        process = started(folder)
        live(process, chance.uniform(0, horizon_s), last_step=last)
        process.kill()
        assert process.wait() == -9, f"the review ended by itself: {said(folder)}"
        planned = witness.plan is not None
        witness.look()
        # About one process in eight shall complete something, on a machine whose load changes meanwhile.
        completed = len(visible(folder)) > before
        completing += completed
        horizon_s *= 0.7 if completed else 1.05
        if witness.plan is not None and not planned:
            horizon_s = step_s
    assert witness.plan is not None, said(folder)
    assert completing >= 3
    done = subprocess.run(command(folder), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    witness.look()
    review = Review.open(folder / "saved")
    assert review.completed() == tuple(step.id for step in witness.plan.steps)
    for step in witness.plan.steps:
        assert review.record(step.id).plan.seed == step.seed
    assert f"{len(witness.plan.steps)} of {len(witness.plan.steps)} steps" in done.stdout
    assert [entry.name for entry in os.scandir(folder / "saved" / "steps") if entry.name[0] == "."] == []
