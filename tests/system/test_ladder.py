"""A ladder on a loop device: its rungs hold while their steps run and at no other time, also after SIGKILL."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import iogauge
from iogauge.store import Review
from tests.refusals import sh

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]

RUNGS = """
title = "merges"

[[rung]]
name = "nomerges 1"
settings = { block.nomerges = 1 }

[[rung]]
name = "nomerges 2"
settings = { block.nomerges = 2 }

[[rung]]
name = "as it is"
settings = { block.nomerges = 2 }
"""
HELD = {"stock": "0", "stock again": "0", "nomerges 1": "1", "nomerges 2": "2"}


@pytest.fixture
def rungs(tmp_path: Path) -> Path:
    path = tmp_path / "rungs.toml"
    path.write_text(RUNGS)
    return path


def nomerges(disk: str) -> str:
    return Path(f"/sys/block/{Path(disk).name}/queue/nomerges").read_text().strip()


def test_each_rung_holds_during_its_steps_and_is_undone(disk: str, rungs: Path, tmp_path: Path) -> None:
    held: dict[str, set[str]] = {name: set() for name in HELD}

    def look(news: iogauge.Progress) -> None:
        if news.event == "interval":
            (name,) = (name for name in HELD if news.step.partition(" (repeat")[0].endswith(f", {name}"))
            held[name].add(nomerges(disk))
        elif news.event in ("begin", "end"):
            assert nomerges(disk) == "0"

    review = iogauge.ladder(
        disk,
        rungs=rungs,
        blocks=2,
        runtime="200ms",
        seed=1,
        destroy=[disk],
        output=tmp_path / "saved",
        on_progress=look,
    )
    assert held == {name: {value} for name, value in HELD.items()}
    assert nomerges(disk) == "0"
    result = review.suite("ladder")
    assert "as it is was not measured: it changes nothing: the machine is so already" in result.plan.notes
    assert {row.name: row.against for row in result.conclusions.effects[0].rows} == {
        "nomerges 1": "stock",
        "nomerges 2": "nomerges 1",
    }


def test_a_ladder_that_reads_needs_no_leave_to_destroy(disk: str, rungs: Path, tmp_path: Path) -> None:
    sh("mkswap", disk)
    with pytest.raises(iogauge.IogaugeError, match=r"destroy|data|swap"):
        iogauge.ladder(disk, rungs=rungs, blocks=1, runtime="100ms", output=tmp_path / "writes")
    review = iogauge.ladder(
        disk, rungs=rungs, blocks=1, runtime="100ms", read_only=True, output=tmp_path / "reads"
    )
    assert len(review.suite("ladder").positions) == 4


def test_after_sigkill_the_rung_is_undone_and_the_ladder_goes_on(
    disk: str, rungs: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved"
    options = [
        f"--rungs={rungs}",
        "--read-only",
        "--blocks=1",
        "--runtime=300ms",
        "--seed=1",
        f"--output={saved}",
    ]
    process = subprocess.Popen([sys.executable, "-m", "iogauge", "ladder", disk, *options])
    # The rungs are tried before anything is saved; a step's rung is set after that.
    while not saved.exists() or nomerges(disk) == "0":
        assert process.poll() is None, "it ended before a rung was set"
        time.sleep(0.01)
    process.kill()
    process.wait()
    while nomerges(disk) != "0":
        time.sleep(0.01)  # the guardian undoes it
    before = Review.open(saved).completed()
    review = iogauge.review(resume=saved)
    assert len(before) < len(review.suite("ladder").positions) == 4
    assert nomerges(disk) == "0"
