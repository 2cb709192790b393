"""Preparation of drives: its steps by state and media, and that everything else waits for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import run_review
from iogauge.schema import JobFile, RunRecord, State, StepPlan, TargetFacts
from iogauge.store import Review
from iogauge.suites import SUITES, SuiteRequest, suite_of
from iogauge.target.media import media_of
from tests import builders
from tests.suite_runs import Quiet

FLASH = builders.target(
    "/dev/nvme0n1", kind="block", size_bytes=10**9, model="INTEL SSDPE2MD800G4", rotational=False
)


def prepared(state: State, **facts: object) -> tuple[tuple[StepPlan, ...], tuple[str, ...]]:
    """Return the steps and notes of a drive's preparation."""
    target = FLASH.model_copy(update=facts)
    plan = suite_of("precondition").plan(SuiteRequest(targets=(target,), pace="full", state=state))
    assert plan.prepares
    return plan.steps, plan.notes


def test_flash_is_purged_filled_twice_and_written_at_random() -> None:
    steps, _ = prepared("preconditioned")
    assert [step.label for step in steps] == ["filling it twice", *(f"round {n}" for n in range(1, 6))]
    assert [step.purge for step in steps] == [True] + [False] * 5
    # All of the drive at every pace, since other suites use all of it.
    assert not any("size=" in step.job_file for step in steps)
    assert "rw=randwrite" in steps[1].job_file


def test_fresh_is_a_purge_without_writes() -> None:
    (step,), _ = prepared("fresh")
    assert step.purge
    assert not step.judged
    assert "rw=read\n" in step.job_file
    assert "number_ios=1" in step.job_file


def test_only_flash_and_unknown_media_are_written() -> None:
    steps, notes = prepared("preconditioned", model="INTEL SSDPED1K375GA")
    assert steps == ()
    assert any("for three hours before a test" in note and "cannot tell" in note for note in notes)
    steps, notes = prepared("preconditioned", model="ST4000NM0035", rotational=True)
    assert steps == ()
    assert any("a disk has no state" in note for note in notes)
    steps, notes = prepared("preconditioned", model=None)
    assert len(steps) == 6
    assert any("treated as flash" in note for note in notes)


@pytest.mark.parametrize(
    ("facts", "media"),
    [
        ({"model": "INTEL SSDPE21K375GA", "rotational": False}, "3D XPoint"),
        ({"model": "INTEL SSDPF21Q400GB", "rotational": False}, "3D XPoint"),
        ({"model": "INTEL MEMPEK1W016GA", "rotational": False}, "3D XPoint"),
        ({"model": "INTEL SSDPEKNW512G8", "rotational": False}, "flash"),
        ({"model": "Samsung SSD 960 EVO 250GB", "rotational": False}, "flash"),
        ({"model": "WDC WD40EFRX", "rotational": True}, "disk"),
        # A virtual disk: its rotational flag is only a setting.
        ({"model": None, "rotational": True}, None),
        ({"model": None, "rotational": False, "device": "zram0"}, "memory"),
        ({"model": "Something", "rotational": None}, None),
    ],
)
def test_media_are_known_by_the_drive_s_name(facts: dict[str, Any], media: str | None) -> None:
    assert media_of(FLASH.model_copy(update=facts)) == media


def begun(path: Path, *targets: TargetFacts) -> Review:
    manifest = new_manifest(
        [SUITES["write-pressure"]],
        targets,
        seed=1,
        repeats=2,
        state="fresh",
        command=(),
        machine=builders.machine(),
        ceiling=None,
    )
    return Review.create(path, manifest)


def test_preparation_comes_before_searches_and_before_each_block(tmp_path: Path) -> None:
    review, order, purged = begun(tmp_path / "r", FLASH), [], []

    def run(job_file: JobFile, **options: Any) -> RunRecord:
        order.append(job_file.source)
        if job_file.source.startswith("precondition"):
            return builders.record([builders.row("look", {})], jobs=job_file)
        record, intervals = builders.pressed_run(job_file, seed=options["seed"])
        for interval in intervals:
            options["on_interval"](interval)
        return record

    failed = run_review(
        review,
        suite_of,
        execute=run,
        watcher=Quiet(),
        purge=lambda path, **_: purged.append((path, list(order))),
    )
    assert failed == ()
    assert order[:2] == ["precondition.purge", "write-pressure.search"]
    again = order.index("precondition.purge.r2")
    assert all(name.endswith(".r2") == (place >= again) for place, name in enumerate(order))
    assert purged == [(FLASH.path, []), (FLASH.path, order[:again])]


def test_a_drive_whose_preparation_failed_is_not_measured(tmp_path: Path) -> None:
    other = FLASH.model_copy(update={"path": "/dev/nvme1n1"})
    review, ran = begun(tmp_path / "r", FLASH, other), []

    def run(job_file: JobFile, **options: Any) -> RunRecord:
        ran.append(job_file.source)
        if job_file.source == "precondition.t1.purge":
            raise IogaugeError("it broke")
        if job_file.source.startswith("precondition"):
            return builders.record([builders.row("look", {})], jobs=job_file)
        record, intervals = builders.pressed_run(job_file, seed=options["seed"])
        for interval in intervals:
            options["on_interval"](interval)
        return record

    failed = run_review(review, suite_of, execute=run, watcher=Quiet(), purge=lambda _path, **_: None)
    assert [failure.step_id for failure in failed] == ["precondition.t1.purge"]
    assert ran.count("precondition.t1.purge") == 1
    # Without its search there are no steps, not even in the second block, which was prepared.
    assert "precondition.t1.purge.r2" in ran
    assert not any(name.startswith("write-pressure.t1") for name in ran)
    assert any(name.startswith("write-pressure.t2.pressure") for name in ran)


def test_a_file_is_preconditioned_before_it_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = tmp_path / "f.bin", tmp_path / "r"
    arguments = ["--suite=pts-cross-stimulus", "--size=8m", "--runtime=10ms", "--seed=1", f"--output={saved}"]
    assert main(["review", str(file), *arguments, "--state=preconditioned", "-v"]) == 0
    manifest = Review.open(saved).manifest
    assert manifest.state == "preconditioned"
    first, second = manifest.plans
    assert (first.suite, second.suite) == ("precondition", "pts-cross-stimulus")
    assert first.steps[-1].label == "left alone for 5 s"
    assert first.steps[-1].follows
    out = capsys.readouterr().out
    assert out.startswith("Preparation (quick): ")
    assert f"{file} before: unknown (first use)" in out


@pytest.mark.parametrize(
    ("model", "media"),
    [
        ("Amazon Elastic Block Store", None),
        ("Amazon EC2 NVMe Instance Storage", "flash"),
        ("QEMU HARDDISK", None),
        ("VBOX HARDDISK", None),
        ("VMware Virtual disk", None),
        ("Msft Virtual Disk", None),
        ("Google PersistentDisk", None),
        ("nvme_card-pd", None),
        ("LSI MR9361-8i", None),
        ("AVAGO MegaRAID", None),
        ("DELL PERC H730P Mini", None),
        ("HP LOGICAL VOLUME", None),
        ("SAMSUNG MZVLB512HAJQ-00000", "flash"),
        ("SuperCorp MRX", "flash"),
    ],
)
def test_a_layer_between_hides_the_media(model: str, media: str | None) -> None:
    facts = builders.target("/dev/sda", kind="block", rotational=False, model=model)
    assert media_of(facts) == media
