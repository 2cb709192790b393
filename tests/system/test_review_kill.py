"""A review that is killed by SIGKILL many times at random moments ends with the results of an undisturbed one.

After every kill, all complete steps are read and compared byte by byte with their first version. Nothing else may be
visible, and the plan with its seeds may not change.
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


def last_output(folder: Path) -> str:
    """What the processes said, for the message of a failing test."""
    return (folder / "stderr.txt").read_text(errors="replace")[-2000:]


def digest(folder: Path) -> str:
    """A fingerprint of every file of a step."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


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


def begun_since(folder: Path, since: float) -> set[str]:
    """The runs begun after a Unix time and not whole yet; what a killed process has left is older."""
    steps = folder / "saved" / "steps"
    if not steps.exists():
        return set()
    return {
        entry.name[1:-4] for entry in os.scandir(steps) if entry.name[0] == "." and changed(entry) > since
    }


def changed(entry: os.DirEntry[str]) -> float:
    """When a folder was last changed, as a Unix time; zero if it has just got its last name."""
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def pace(folder: Path) -> tuple[float, float]:
    """How long, in seconds, a process takes until its first run begins, and from there until it is whole."""
    before, since = visible(folder), time.time()
    start, begun = time.monotonic(), None
    with started(folder) as process:
        while visible(folder) == before and process.poll() is None:
            if begun is None and begun_since(folder, since):
                begun = time.monotonic()
            time.sleep(0.002)
        done = time.monotonic()
        process.kill()
    assert begun is not None, last_output(folder)
    assert visible(folder) > before, last_output(folder)
    return begun - start, done - begun


def last_step(folder: Path) -> str | None:
    """The last step of the plan; ``None`` before there is a plan with steps."""
    if not (folder / "saved" / "manifest.json").exists():
        return None
    (plan,) = Review.open(folder / "saved").manifest.plans
    return plan.steps[-1].id if plan.steps else None


def live(folder: Path, seconds: float, *, from_a_run: bool) -> int:
    """A process that lives so long, counted from its start or from its first run's; how it ended.

    It ends sooner where the search gives the plan its steps, so that they are left to lives of their own; and where
    the last of them begins, so that no life completes the review.
    """
    since, until = time.time(), None if from_a_run else time.monotonic() + seconds
    last = last_step(folder)
    process = started(folder)
    while process.poll() is None:
        begun = begun_since(folder, since)
        if until is None and begun:
            until = time.monotonic() + seconds
        if until is not None and time.monotonic() >= until:
            break
        if last in begun if last else last_step(folder):
            break
        time.sleep(0.005)
    process.kill()
    return process.wait()


@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.release)])
def test_a_killed_review_completes_with_the_same_plan_and_seeds(kills: int, tmp_path: Path) -> None:
    (tmp_path / "calibration").mkdir()
    _, search_s = pace(tmp_path / "calibration")
    begins_s, step_s = pace(tmp_path / "calibration")
    folder = tmp_path / "review"
    folder.mkdir()
    witness, chance = Witness(folder), random.Random(SEED)
    horizon_s = 1.2 * search_s
    lives = completing = 0
    while lives < kills or completing < 3:
        lives += 1
        assert lives < 4 * kills, last_output(folder)
        before = len(visible(folder))
        # Half of the kills fall anywhere before a run begins, the others within one or between two.
        from_a_run = chance.random() < 0.5
        life_s = chance.uniform(0, horizon_s if from_a_run else begins_s)
        assert live(folder, life_s, from_a_run=from_a_run) == -9, (
            f"the review ended by itself: {last_output(folder)}"
        )
        planned = witness.plan is not None
        witness.look()
        completed = len(visible(folder)) > before
        completing += completed
        # About every third life that reaches a run shall complete it, on a machine whose load changes meanwhile.
        if from_a_run:
            horizon_s *= 0.9 if completed else 1.1
        if witness.plan is not None and not planned:
            horizon_s = 1.2 * step_s
    assert witness.plan is not None, last_output(folder)
    done = subprocess.run(command(folder), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    witness.look()
    review = Review.open(folder / "saved")
    assert review.completed() == tuple(step.id for step in witness.plan.steps)
    for step in witness.plan.steps:
        assert review.record(step.id).plan.seed == step.seed
    assert f"{len(witness.plan.steps)} of {len(witness.plan.steps)} steps" in done.stdout
    assert [entry.name for entry in os.scandir(folder / "saved" / "steps") if entry.name[0] == "."] == []
