"""The exported directory: missing, damaged and foreign results in it are named, and the others are imported."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.reviews.offline import PLAN, export_steps, import_results
from iogauge.store import Review
from iogauge.store.review import load_manifest
from iogauge.suites import suite_of
from tests.offline_programs import limited_iops, run_as_diskspd, run_as_fio
from tests.suite_runs import cut_down


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the results of all steps of a short suite."""
    cut_down(monkeypatch)
    place = tmp_path / "jobs"
    arguments = ["plan", "/tmp/offline.bin", "--suite=mixed", "--size=16m", "--runtime=60ms", "--seed=1"]
    assert main([*arguments, "--as=fio", f"--output={place}"]) == 0
    run_as_fio(place, "/tmp/offline.bin", intervals=False)
    return place


def test_a_step_without_a_result_is_missing_and_imported_later(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_, last = sorted(jobs.glob("*.json"), key=lambda path: path.name)[:-1]
    kept = last.read_bytes()
    last.unlink()
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    assert "1 step to run: run " in capsys.readouterr().err
    assert main(["report", f"{tmp_path}/saved"]) == 0
    assert f"hint: complete it: iogauge import DIRECTORY --output {tmp_path}/saved" in capsys.readouterr().err
    last.write_bytes(kept)
    first.unlink()  # it was imported before
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    assert "imported; none is missing" in capsys.readouterr().err


def test_an_edited_file_is_replaced_with_a_message(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = load_manifest(jobs / PLAN).steps
    (jobs / f"{steps[-1].id}.json").unlink()
    job = jobs / f"{steps[-1].id}.fio"
    text = job.read_text()
    job.write_text(f"{text}# mine\n")
    os.removexattr(jobs / f"{steps[0].id}.fio", "user.iogauge.output")  # as if it was copied there and back
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "replaced" in line]
    assert said == [
        f"{job}: exists and was not written by iogauge, or was changed since: it will be replaced"
    ]
    assert job.read_text() == text


def test_a_plan_does_not_replace_a_target(jobs: Path, tmp_path: Path) -> None:
    drive = tmp_path / "drive.bin"
    manifest = load_manifest(jobs / PLAN)
    target = manifest.targets[0].model_copy(update={"path": str(drive)})
    drive.write_bytes(b"content")
    other = tmp_path / "other"
    other.mkdir()
    (other / PLAN).symlink_to(drive)
    drive.rename(tmp_path / "moved")  # so that the link dangles when the plan is looked up
    with pytest.raises(IogaugeError, match=r"plan.json: is the target"):
        export_steps(other, manifest.model_copy(update={"targets": (target,)}), "fio", suite_of)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (r"\}\s*$", "", "is not valid JSON"),
        (r"(?s).*", "nothing", "not a result of fio or DiskSpd"),
        ('"rw": "randrw"', '"rw": "randread"', "it ran with another rw"),
        ('"size": "16m"', '"size": "8m"', "it ran with another size"),
        ('"direct": "1"', '"direct": "0"', "it ran with another direct"),
        ('"size": "16m"', '"size": "16m", "offset": "4k"', "it ran with another offset"),
        ('"size": "16m"', '"size": "16m", "fsync": "1"', "it ran with another fsync"),
        ('"size": "16m"', '"size": "16m", "random_distribution": "zipf:1.2"', "another random_distribution"),
        ('"jobname": "mix"', '"jobname": "other"', "reports other, but the step's rows are mix"),
    ],
)
def test_a_bad_result_is_named_and_the_others_are_saved(
    before: str, after: str, message: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = load_manifest(jobs / PLAN).steps
    bad = jobs / f"{steps[1].id}.json"
    changed = re.sub(before, after, bad.read_text())
    assert changed != bad.read_text()
    bad.write_text(changed)
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 1
    err = capsys.readouterr().err
    assert f"error: {bad}: " in err
    assert message in err
    assert "hint: " in err
    assert f"1 result is damaged: remove it as the hints say, run {jobs}/run.sh, then: iogauge import" in err
    assert "none is missing" not in err
    assert len(Review.open(tmp_path / "saved").completed()) == len(steps) - 1


def test_a_directory_with_another_plan_or_none_is_refused(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = tmp_path / "saved"
    assert main(["import", str(jobs), f"--output={saved}"]) == 0
    other = [*("plan", "/tmp/offline.bin", "--suite=mixed", "--size=16m", "--as=fio")]
    capsys.readouterr()
    assert main([*other, f"--output={jobs}"]) == 1
    assert "has a plan already" in capsys.readouterr().err
    assert main([*other, "--seed=2", f"--output={tmp_path}/other"]) == 0
    assert main(["import", f"{tmp_path}/other", f"--output={saved}"]) == 1
    assert "is not the review that is planned" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["import", f"{tmp_path}/empty", f"--output={tmp_path}/new"]) == 1
    assert "has no plan.json" in capsys.readouterr().err
    assert main(["import", str(jobs), str(jobs), f"--output={tmp_path}/new"]) == 2
    (jobs / "run.sh").unlink()
    assert main(["import", str(jobs), f"--output={tmp_path}/new"]) == 1
    assert "has no script (run.sh or run.ps1)" in capsys.readouterr().err
    assert main(["review", "--resume", str(saved)]) == 2
    assert "its steps are run by fio" in capsys.readouterr().err


def test_a_result_of_another_target_is_imported_with_a_warning(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for result in jobs.glob("*.json"):
        result.write_text(re.sub(r'"filename": "[^"]*"', '"filename": "/dev/sdx"', result.read_text()))
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={tmp_path}/saved"]) == 0
    said = "it ran on /dev/sdx instead of /tmp/offline.bin"
    assert capsys.readouterr().err.count(f"warning: {said}\n") == 1
    assert any(said in note for note in Review.open(tmp_path / "saved").manifest.plans[0].notes)


@pytest.mark.parametrize(
    ("before", "after", "option"),
    [
        (r"<MaxFileSize>\d+<", "<MaxFileSize>4096000<", "size"),
        (
            r"<BaseFileOffset>0<",
            "<BaseFileOffset>4096<",
            "size",
        ),  # from there to the same end, so the size differs
        (r"<WriteThrough>false<", "<WriteThrough>true<", "sync"),
        (r"<DisableOSCache>true<", "<DisableOSCache>false<", "direct"),
        (r"<Random>4096<", "<Random>8192<", "ba"),
    ],
)
def test_a_result_of_diskspd_with_another_load_is_refused(
    before: str, after: str, option: str, tmp_path: Path
) -> None:
    jobs = tmp_path / "jobs"
    arguments = ["plan", "C:\\drive.bin", "--suite=mixed", "--size=1g", "--runtime=1", "--seed=1"]
    assert main([*arguments, "--as=diskspd", f"--output={jobs}"]) == 0
    run_as_diskspd(jobs, iops=limited_iops)
    bad = jobs / "mixed.reads-70.xml"
    changed = re.sub(before, after, bad.read_text())
    assert changed != bad.read_text()
    bad.write_text(changed)
    (error,) = import_results(jobs, tmp_path / "saved", suite_of).damaged
    assert str(bad) in str(error)
    assert re.search(rf"it ran with another {option}\b", str(error))


def test_a_result_that_is_older_than_the_state_it_needs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = ["plan", "/tmp/offline.bin", "--suite=pts-iops", "--size=16m", "--runtime=60ms", "--seed=1"]
    assert main([*arguments, "--as=fio", f"--output={jobs}"]) == 0
    run_as_fio(jobs, "/tmp/offline.bin", intervals=False)
    first, second, third, *_ = load_manifest(jobs / PLAN).steps
    late = jobs / f"{second.id}.json"
    late.write_text(re.sub(r'"timestamp_ms": \d+', '"timestamp_ms": 4102444800000', late.read_text()))
    capsys.readouterr()
    assert main(["import", str(jobs), f"--output={saved}"]) == 1
    err = capsys.readouterr().err
    assert (
        f"{third.id}.json: ran before {second.id}, but needs the drive in the state that this step leaves"
        in err
    )
    assert f"hint: remove {jobs}/{first.id}.json, and run the script" in err
    assert Review.open(saved).completed() == (first.id, second.id)
