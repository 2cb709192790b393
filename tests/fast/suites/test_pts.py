"""SNIA's performance tests: their plans, the criteria of steady state, and complete reviews."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from iogauge import workload
from iogauge.cli import main
from iogauge.schema import Job, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites import SUITES, Pace, SuiteRequest, SuiteResult
from iogauge.suites.snia.common import MOST_ROUNDS, TRACKED
from iogauge.suites.snia.window import window_of
from tests import builders
from tests.reviews import concluded

ROUNDS = ("pts-iops", "pts-throughput", "pts-latency", "pts-composite", "pts-host-idle-recovery")
MINUTE = 60 * 10**9
KIB = 1 << 10

SMALL_FRESH = """
title = "A small flash drive that was never written"
version = 1
base = "p3700-800g"

[parameters]
capacity_bytes = { value = 268435456, kind = "assumed", source = "a test" }

[parameters.media]
initial = "fresh"
dies = { value = 8, kind = "assumed", source = "a test" }
channels = { value = 4, kind = "assumed", source = "a test" }
planes = { value = 2, kind = "assumed", source = "a test" }
program_ns = { value = 1112606, kind = "assumed", source = "a test" }
over_provisioning = { value = 0.19544, kind = "assumed", source = "a test" }
pages_per_block = { value = 64, kind = "assumed", source = "a test" }
"""


def planned(suite: str, pace: Pace = "full", **facts: object) -> SuitePlan:
    target = builders.target("/dev/nvme0n1", kind="block", size_bytes=400 * 10**9, **facts)
    return SUITES[suite].plan(SuiteRequest(targets=(target,), pace=pace))


def jobs(step: StepPlan) -> list[Job]:
    return list(workload.parse(step.job_file, source=step.id).jobs)


def reviewed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Run a review and return its last plan's JSON."""
    capsys.readouterr()
    assert main(["review", *arguments, "--seed=1", "--json"]) == 0
    plan: dict[str, Any] = json.loads(capsys.readouterr().out)["plans"][-1]
    return plan


@pytest.mark.parametrize("suite", ROUNDS)
def test_a_test_starts_with_a_purge_and_two_sequential_fills(suite: str) -> None:
    plan = planned(suite)
    fill, *rounds = plan.steps
    assert fill.purge
    assert not fill.judged
    (job,) = jobs(fill)
    assert (job.rw, job.loops, job.bs.write.minimum_bytes) == ("write", 2, 128 * KIB)
    assert job.size is None  # all of the drive
    assert not job.time_based
    assert len(rounds) == 5
    assert not any(step.purge for step in rounds)
    assert len({step.state_group for step in plan.steps}) == 1
    assert MOST_ROUNDS["full"] == 25


def test_iops_has_56_cells_of_a_minute_in_the_order_of_the_specification() -> None:
    cells = jobs(planned("pts-iops").steps[1])
    assert [job.rwmix_read_percent for job in cells[::8]] == [100, 95, 65, 50, 35, 5, 0]
    sizes = [job.bs.read.minimum_bytes for job in cells[:8]]
    assert sizes == [1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512]
    assert len(cells) == 56
    assert all((job.numjobs, job.iodepth, job.stonewall) == (4, 32, True) for job in cells)
    assert sum(job.runtime_ns for job in cells) == 56 * MINUTE
    (tracked,) = [job for job in cells if job.name == TRACKED]
    assert (tracked.rwmix_read_percent, tracked.bs.write.minimum_bytes) == (0, 4 * KIB)


def test_latency_is_one_request_at_a_time_and_throughput_sequential() -> None:
    cells = jobs(planned("pts-latency").steps[1])
    assert len(cells) == 9
    assert all((job.numjobs, job.iodepth) == (1, 1) for job in cells)
    first, *_ = rounds = [jobs(step) for step in planned("pts-throughput").steps[1:]]
    assert [(job.rw, job.bs.read.minimum_bytes, job.iodepth) for job in first] == [
        ("read", 128 * KIB, 32),
        ("write", 128 * KIB, 32),
    ]
    assert len(rounds) == 5


def test_the_composite_load_has_the_published_sizes_and_places() -> None:
    prewrite, *cells = jobs(planned("pts-composite").steps[1])
    assert len(cells) == 49
    assert {(job.numjobs, job.iodepth) for job in cells} == {
        (threads, depth) for threads in (32, 16, 8, 6, 4, 2, 1) for depth in (32, 16, 8, 6, 4, 2, 1)
    }
    assert prewrite.runtime_ns == 5 * MINUTE
    split = {share.size_bytes: share.percent for share in _split(prewrite)}
    assert sum(split.values()) == 100
    assert (split[512], split[4 * KIB], split[64 * KIB]) == (4, 67, 3)
    zones = prewrite.random_distribution.read.zones
    assert [(zone.access_percent, zone.size_percent) for zone in zones] == [(50, 5), (30, 15), (20, 80)]
    assert prewrite.rwmix_read_percent == 40


def _split(job: Job) -> Any:
    return job.bs.read.split


def test_long_tests_are_one_run() -> None:
    (saturation,) = planned("pts-write-saturation").steps
    tracked, latency = jobs(saturation)
    # Four threads each write the drive's capacity once.
    assert (tracked.numjobs, tracked.time_based, tracked.io_size) == (4, False, None)
    assert (tracked.runtime_ns, latency.runtime_ns) == (24 * 60 * MINUTE, 20 * MINUTE)
    (parts,) = planned("pts-cross-stimulus").steps
    assert [(job.rw, job.bs.write.minimum_bytes, job.runtime_ns) for job in jobs(parts)] == [
        ("write", 1024 * KIB, 8 * 60 * MINUTE),
        ("randwrite", 8 * KIB, 6 * 60 * MINUTE),
        ("write", 1024 * KIB, 8 * 60 * MINUTE),
    ]
    assert saturation.purge
    assert parts.purge


def test_sizes_that_a_drive_s_blocks_do_not_allow_are_left_out_with_a_note() -> None:
    for suite in ("pts-iops", "pts-latency", "pts-composite"):
        plan = planned(suite, logical_block_bytes=4096)
        cells = jobs(plan.steps[1])
        assert all(share.size_bytes % 4096 == 0 for job in cells for share in _split(job))
        assert all(job.bs.read.minimum_bytes % 4096 == 0 for job in cells)
        assert any("left out" in note for note in plan.notes)
    split = {share.size_bytes: share.percent for share in _split(jobs(plan.steps[1])[0])}
    assert (split[4 * KIB], sum(split.values())) == (77, 100)


@pytest.mark.parametrize("suite", [name for name in SUITES if name.startswith("pts-")])
def test_a_shortened_test_has_notes_and_uses_a_part_of_the_drive(suite: str) -> None:
    assert not any("Shortened" in note or "Only" in note for note in planned(suite).notes)
    quick = planned(suite, "quick")
    assert any("Shortened" in note for note in quick.notes)
    assert any(note.startswith("Only 1.074 GB") for note in quick.notes)


def test_steady_is_the_first_window_that_meets_both_criteria() -> None:
    # Rising by a tenth at most over the window, apart by a fifth at most.
    rising = [100 * 1.03**place for place in range(5)]
    (window,) = filter(None, [window_of(rising)])
    assert window.rounds.range_share < 0.2
    assert not window.rounds.steady
    late = window_of([10, 60, 95, 100, 101, 99, 100, 100, 100])
    assert late is not None
    assert (late.first, late.last, late.rounds.steady) == (2, 6, True)
    nothing = window_of([0.0] * 9)
    assert nothing is None


def test_a_quick_review_of_a_model_is_steady_in_its_fifth_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "r")
    plan = reviewed(capsys, "model:p4800x", "--suite=pts-iops", "--runtime=20ms", f"--output={saved}")
    assert [step["label"] for step in plan["steps"]] == [f"round {number}" for number in range(1, 6)]
    assert re.match(r"steady in round 5: [\d,]+ IOPS \(4 KiB random writes\); ", plan["findings"][0])
    cells = {(column, row): value for column, row, value in plan["matrices"][0]["cells"]}
    assert len(cells) == 9
    # Published: 550,000 reads and 500,000 writes a second; the model is near them.
    assert cells["100/0", "4 KiB"] == pytest.approx(580_000, rel=0.05)
    assert cells["0/100", "4 KiB"] == pytest.approx(545_000, rel=0.05)
    (course,) = plan["convergences"]
    assert course["mean"] == pytest.approx(cells["0/100", "4 KiB"])
    assert (course["first"], course["last"], len(course["values"])) == (0, 4, 5)
    assert main(["review", "--resume", saved, "-v"]) == 0
    shown = capsys.readouterr().out
    assert "IOPS, mean of rounds 1 to 5:\n" in shown
    assert "neither purged nor filled" in shown


def test_groups_follow_each_other_in_every_repeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = reviewed(
        capsys,
        "model:p4800x",
        "--suite=pts-throughput",
        "--runtime=10ms",
        "--repeats=2",
        f"--output={tmp_path}/r",
    )
    titles = [course["title"] for course in plan["convergences"]]
    assert sorted(titles) == ["1024 KiB", "1024 KiB, repeat 2", "128 KiB", "128 KiB, repeat 2"]
    steps = Review.open(tmp_path / "r").manifest.steps
    assert len(steps) == 20
    assert len({step.state_group for step in steps}) == 4
    assert len({step.seed for step in steps}) == 20


def test_writes_fall_from_fresh_to_steady_in_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "fresh.toml"
    model.write_text(SMALL_FRESH)
    plan = reviewed(
        capsys, f"model:{model}", "--suite=pts-write-saturation", "--runtime=30", f"--output={tmp_path}/r"
    )
    (course,) = plan["convergences"]
    assert course["steady"]
    assert course["mean"] < 0.5 * course["values"][0]
    assert plan["findings"][0].startswith("1.074 GB written in ")
    assert plan["findings"][1].startswith("steady after ")


@pytest.mark.slow
def test_composite_measures_latencies_once_steady(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = reviewed(
        capsys, "model:p4800x", "--suite=pts-composite", "--runtime=10ms", f"--output={tmp_path}/r"
    )
    labels = [step["label"] for step in plan["steps"] if step["series"] == "latency"]
    assert [label.split(":")[0] for label in labels] == ["MAX", "MID", "MIN"]
    assert labels[-1] == "MIN: 1 thread at depth 1"
    assert [len(matrix["cells"]) for matrix in plan["matrices"]] == [9, 9]


def test_recovery_and_cross_stimulus_conclude_from_their_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = reviewed(
        capsys, "model:p4800x", "--suite=pts-host-idle-recovery", "--runtime=10ms", f"--output={tmp_path}/h"
    )
    assert [row[0] for row in plan["tables"][-1]["rows"]] == [
        "pauses of 0.5 s",
        "pauses of 1 s",
        "pauses of 2.5 s",
    ]
    plan = reviewed(
        capsys, "model:p4800x", "--suite=pts-cross-stimulus", "--runtime=100ms", f"--output={tmp_path}/x"
    )
    assert len(plan["matrices"][0]["cells"]) == 9
    assert plan["findings"][0].startswith("after random writes, sequential writes start at ")


@pytest.fixture(scope="module")
def on_a_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete quick review of a small file."""
    folder = tmp_path_factory.mktemp("file")
    arguments = [str(folder / "f.bin"), "--size=16m", "--suite=pts-latency", "--runtime=20ms", "--seed=1"]
    assert main(["review", *arguments, f"--output={folder}/r"]) == 0
    return folder / "r"


def judged(path: Path) -> tuple[Review, SuiteResult]:
    review = Review.open(path)
    return review, concluded(review)


def test_a_file_is_purged_filled_and_measured_until_steady(on_a_file: Path) -> None:
    review, result = judged(on_a_file)
    fill, *rounds = review.manifest.steps
    written = sum(tally.bytes for row in review.record(fill.id).result.rows for tally in row.tallies.values())
    assert written == 2 * 16 << 20
    assert 5 <= len(rounds) <= MOST_ROUNDS["quick"]
    assert [step.follows for step in rounds] == [False] * 5 + [True] * (len(rounds) - 5)
    (course,) = result.conclusions.convergences
    assert len(course.values) == len(rounds)
    assert course.steady or len(rounds) == MOST_ROUNDS["quick"]
    assert course.range[0] < course.mean < course.range[1]
    (_, low), (_, high) = course.fit
    assert (low + high) / 2 == pytest.approx(course.mean)


def test_an_interrupted_test_starts_again_with_its_purge(on_a_file: Path) -> None:
    review, _ = judged(on_a_file)
    with review.lock():
        review.discard(review.manifest.steps[3].id)
    began = {step.id: review.record(step.id).started_at for step in review.manifest.steps[:3]}
    assert main(["review", "--resume", str(on_a_file)]) == 0
    again, _ = judged(on_a_file)
    assert all(again.record(step).started_at > at for step, at in began.items())


def test_judging_needs_only_the_complete_steps(on_a_file: Path) -> None:
    review, _ = judged(on_a_file)
    with review.lock():
        for step in review.manifest.steps[3:]:
            review.discard(step.id)
    _, result = judged(on_a_file)
    assert result.conclusions.convergences == ()
    assert result.conclusions.tables == ()
    assert result.conclusions.findings == ()
