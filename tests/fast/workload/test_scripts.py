"""Scripts that run steps with fio and DiskSpd: in order, resumable, and with every name quoted."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.workload import parse
from iogauge.workload.diskspd.powershell import _single, diskspd_script, results
from iogauge.workload.scripts import Step, fio_files
from tests.offline_programs import runs_of

STEP = "[a]\nfilename=t.dat\nrw=randread\nnorandommap\nruntime=60\ntime_based\n"
STUB = """#!/bin/sh
for last; do :; done
echo "$last" >>ran
for argument; do
    case $argument in --output=*) echo '{}' >"${argument#--output=}" ;; esac
done
if [ -e "fail-$last" ]; then exit 1; fi
"""
"""A stand-in for fio: logs the job files that it ran, writes its output, and fails if a file fail-JOBFILE exists."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    steps_folder = tmp_path / "a b"
    steps_folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "fio").write_text(STUB)
    (programs / "fio").chmod(0o755)
    for name, text in fio_files([Step(name, STEP) for name in ("one", "two.2", "three")]).files.items():
        (steps_folder / name).write_text(text)
    return steps_folder


def run(folder: Path, *options: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PATH": path or f"{folder.parent / 'bin'}:{os.environ['PATH']}"}
    arguments = ["/bin/sh", str(folder / "run.sh"), *options]
    return subprocess.run(
        arguments, check=False, env=environ, cwd="/", capture_output=True, text=True, timeout=600
    )


def test_fio_runs_every_step_in_order_and_saves_its_results(folder: Path) -> None:
    assert run(folder).returncode == 0
    assert (folder / "ran").read_text().split() == ["one.fio", "two.2.fio", "three.fio"]
    assert sorted(path.name for path in folder.glob("*.json*")) == ["one.json", "three.json", "two.2.json"]


def test_a_failed_step_is_listed_and_runs_again_but_no_other_does(folder: Path) -> None:
    (folder / "fail-two.2.fio").touch()
    failed = run(folder)
    assert failed.returncode == 1
    assert failed.stderr.splitlines() == [
        "one",
        "two.2",
        "two.2: failed",
        "three",
        "failed: two.2",
    ]
    assert not (folder / "two.2.json").exists()
    assert (folder / "three.json").exists()
    (folder / "fail-two.2.fio").unlink()
    (folder / "ran").unlink()
    again = run(folder)
    assert again.returncode == 0
    assert again.stderr == "one: done before\ntwo.2\nthree: done before\n"
    assert (folder / "ran").read_text().split() == ["two.2.fio"]


def write(folder: Path, steps: list[Step]) -> None:
    for name, text in fio_files(steps).files.items():
        (folder / name).write_text(text)


@pytest.fixture
def grouped(folder: Path) -> Path:
    """Three steps of one state group, the last of which follows from results, and one step of its own."""
    steps = [Step(name, STEP, state_group="state of one") for name in ("one", "two")]
    steps += [Step("last", STEP, state_group="state of one", follows=True), Step("other", STEP)]
    write(folder, steps)
    return folder


ALL = ["one.fio", "two.fio", "last.fio", "other.fio"]


@pytest.mark.parametrize(
    ("gone", "again"),
    [
        (["one"], ALL[:3]),
        (["two"], ALL[:3]),
        (["two", "last"], ALL[:3]),
        (["last"], ["last.fio"]),
        (["other"], ["other.fio"]),
        ([], []),
    ],
)
def test_steps_of_a_state_group_run_again_together(gone: list[str], again: list[str], grouped: Path) -> None:
    assert run(grouped).returncode == 0
    assert (grouped / "ran").read_text().split() == ALL
    (grouped / "ran").write_text("")
    for name in gone:
        (grouped / f"{name}.json").unlink()
    done = run(grouped)
    assert done.returncode == 0, done.stderr
    assert (grouped / "ran").read_text().split() == again
    assert ("runs again, because" in done.stderr) == (len(again) > len(gone))


def test_a_failed_step_ends_only_its_state_group(grouped: Path) -> None:
    (grouped / "fail-two.fio").touch()
    failed = run(grouped)
    assert failed.returncode == 1
    assert (grouped / "ran").read_text().split() == ["one.fio", "two.fio", "other.fio"]
    assert "last: skipped, because an earlier step of its state group failed\n" in failed.stderr
    assert failed.stderr.endswith("failed: two\n")
    (grouped / "fail-two.fio").unlink()
    (grouped / "ran").unlink()
    assert run(grouped).returncode == 0
    assert (grouped / "ran").read_text().split() == ALL[:3]


def test_a_directory_is_no_result(folder: Path) -> None:
    (folder / "one.json").mkdir()
    failed = run(folder)
    assert failed.returncode == 1
    assert "one.json: is a directory\n" in failed.stderr
    assert (folder / "ran").read_text().split() == ["two.2.fio", "three.fio"]
    assert list((folder / "one.json").iterdir()) == []


WRITES = STEP.replace("randread", "randwrite")


@pytest.mark.parametrize("step", [Step("one", WRITES), Step("one", STEP, purge=("t.dat",))])
def test_existing_content_is_destroyed_only_with_consent_which_is_stored(step: Step, folder: Path) -> None:
    write(folder, [Step("zero", STEP), step])
    (folder / "t.dat").write_bytes(b"")  # empty, so that there is nothing to purge
    refused = run(folder)
    assert refused.returncode == 2
    assert refused.stderr.startswith("t.dat: exists, and these steps destroy its content; add --destroy")
    assert not (folder / "ran").exists()
    assert run(folder, "--force").returncode == 2
    assert run(folder).returncode == 2, "a refused call gives no consent"
    (folder / "fail-one.fio").touch()
    assert run(folder, "--destroy").returncode == 1
    (folder / "fail-one.fio").unlink()
    assert run(folder).returncode == 0
    assert (folder / "ran").read_text().split() == ["zero.fio", "one.fio", "one.fio"]


def test_targets_that_did_not_exist_need_no_consent(folder: Path) -> None:
    write(folder, [Step("zero", STEP)])
    assert run(folder).returncode == 0
    (folder / "t.dat").write_bytes(b"fio made it, to be read")
    write(folder, [Step("zero", STEP), Step("one", WRITES)])
    assert run(folder).returncode == 0
    (folder / "t.dat").unlink()
    write(folder, [Step("two", WRITES.replace("t.dat", "it's here"))])
    (folder / "it's here").touch()
    assert "it's here: exists" in run(folder).stderr


def test_targets_that_are_only_read_need_no_consent(folder: Path) -> None:
    (folder / "t.dat").write_bytes(b"x")
    assert run(folder).returncode == 0
    assert not (folder / "destroy.allowed").exists()


def test_a_missing_device_does_not_count_as_new(folder: Path) -> None:
    write(folder, [Step("one", WRITES.replace("t.dat", "/dev/no-such-drive"))])
    assert run(folder).returncode == 0
    assert not (folder / "destroy.allowed").exists()
    write(folder, [Step("one", WRITES.replace("t.dat", "/dev/null"))])
    assert run(folder).returncode == 2


def test_missing_fio_is_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "dirname").symlink_to("/usr/bin/dirname")
    done = run(folder, path=str(tmp_path / "empty"))
    assert done.returncode == 127
    assert done.stderr == "fio was not found: install it, or put it in PATH\n"


def test_the_job_file_is_that_of_the_step_and_the_script_adds_percentiles_of_lat() -> None:
    files = fio_files([Step("one", STEP)]).files
    text = files["one.fio"]
    assert parse(text, source="fio").jobs == parse(STEP, source="step").jobs
    assert "--name=global --lat_percentiles=1" in files["run.sh"]
    assert "\ntime_based=1\n" in text
    assert "\nnorandommap=1\n" in text


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Step("one", STEP), "1000ms"),
        (Step("one", STEP, 150_000_000), "150ms"),
        (Step("one", STEP, 10_000_000), "100ms"),
        (Step("one", STEP.replace("runtime=60", "runtime=24h"), 10**9), "36061ms"),
        (Step("one", STEP + "numjobs=64\n"), "1622ms"),
        (Step("one", STEP + "numjobs=64\ngroup_reporting\n"), "1000ms"),
    ],
)
def test_the_interval_of_reports_keeps_the_result_small(step: Step, expected: str) -> None:
    assert f"\nrun one one {expected}\n" in fio_files([step]).files["run.sh"]


def test_a_purge_comes_only_before_its_step(tmp_path: Path, folder: Path) -> None:
    target = tmp_path / "it's.bin"
    target.write_bytes(b"x" * (1 << 20))
    steps = [Step("one", STEP, state_group="g"), Step("two", STEP, purge=(str(target),), state_group="g")]
    files = fio_files(steps).files
    (folder / "run.sh").write_text(files["run.sh"])
    (folder / "two.fio").write_text(files["two.fio"])
    (folder / "fail-one.fio").touch()
    assert run(folder, "--destroy").returncode == 1
    assert target.read_bytes() == b"x" * (1 << 20)
    (folder / "fail-one.fio").unlink()
    done = run(folder)
    if "fallocate" in done.stderr:
        pytest.skip("this file system gives no blocks back")
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == bytes(1 << 20)
    target.write_bytes(b"y")
    assert run(folder).returncode == 0
    assert target.read_bytes() == b"y", "a step that was done purged again"


def test_the_steps_of_diskspd() -> None:
    other = STEP.replace("norandommap", "norandommap\nbs=64k")
    script = diskspd_script([Step("one", STEP), Step("two", other, 250_000_000)]).files["run.ps1"]
    assert "[string]$Target = 't.dat',\n" in script
    lines = re.findall(r"^    @\{ Step = '(\w+)'; .*Arguments = @\((.*)\) \}$", script, re.MULTILINE)
    assert [name for name, _ in lines] == ["one", "two"]
    assert lines[0][1] == (
        "'-b4k', '-d60', '-W0', '-o1', '-t1', '-w0', '-r', '-L', '-D1000', '-Rxml', $Target"
    )
    assert "'-D250'" in lines[1][1]
    assert script.index("was not found") < script.index("foreach")
    assert "Get-Bytes (Join-Path $Output $_.Result)" in script


def test_concurrent_loads_are_processes_and_stages_run_in_order() -> None:
    text = (
        "[global]\nfilename=t.dat\nsize=1g\nnorandommap\nruntime=1500ms\ntime_based\ngroup_reporting\n"
        "[alone]\nrw=randread\n"
        "[press]\nstonewall\nrw=randwrite\nbs=8k\nrate=,1m\n"
        "[read]\nnew_group\nrw=randread\n"
    )
    step = Step("a", text)
    written = diskspd_script([step, Step("b", STEP)])
    script = written.files["run.ps1"]
    runs = runs_of(script)
    assert [name for name, _ in runs] == ["a+1.xml", "a+2.xml", "a+3.xml", "b.xml"]
    assert [(process.duration_s, process.warmup_s, process.cooldown_s) for _, process in runs] == [
        (2, 0, 0), (2, 1, 1), (2, 1, 1), (60, 0, 0),
    ]  # fmt: skip
    assert re.findall(r"Together = (\d+)", script) == ["1", "2", "2", "3"]
    assert "@{ Path = $Target; Bytes = 1073741824 }" in script
    assert all("-c" not in word for _, process in runs for word in process.arguments())
    notes = written.notes["a"]
    assert "runs for 2 s instead of 1.5 s" in notes
    (ramped,) = diskspd_script([Step("c", STEP + "ramp_time=500ms\n")]).notes.values()
    assert ramped == ("warms up for 1 s instead of 0.5 s",)
    assert "is limited to 1049000 bytes a second instead of 1048576" in notes
    assert f"# DiskSpd {notes[0]}: a\n" in script
    stages = results("a", parse(text, source="a"))
    assert [[(name, process.jobs) for name, process in stage] for stage in stages] == [
        [("a+1.xml", (0,))],
        [("a+2.xml", (1,)), ("a+3.xml", (2,))],
    ]


def test_a_job_that_ends_with_its_bytes_runs_in_passes_and_a_purge_gets_a_note() -> None:
    fill = (
        "[fill]\nfilename=C\\:\nrw=write\nbs=128k\nsize=1g\noffset=1m\nloops=2\nioengine=libaio\niodepth=32\n"
    )
    written = diskspd_script([Step("fill", fill, purge=("C:",))])
    script = written.files["run.ps1"]
    assert "; Purge = 'C:'; Loops = 2; Begin = 1048576; End = 1074790400; Block = 131072 }" in script
    assert "-cnotlike '-B*'" in script, "-b is another option than -B"
    assert written.notes["fill"][0].startswith("does not purge C: before")
    assert "Path = " not in script.split("$files = @(")[1].split(")")[0], "a drive is not made"


def test_the_script_of_diskspd_has_destroyed_targets_and_state_groups() -> None:
    steps = [Step("one", STEP, state_group="state of one"), Step("two", STEP + "size=1g\n")]
    steps.append(Step("last", WRITES.replace("t.dat", "u.dat"), state_group="state of one", follows=True))
    script = diskspd_script(steps).files["run.ps1"]
    assert "    @{ Path = 't.dat'; Lost = $false }\n    @{ Path = 'u.dat'; Lost = $true }\n)" in script
    assert re.findall(r"Step = '(\w+)'.*; Group = '(\w+)'; Follows = \$(\w+);", script) == [
        ("one", "one", "false"),
        ("two", "two", "false"),
        ("last", "one", "true"),
    ]
    # The script creates and runs nothing before it knows what may be destroyed, and a refusal ends it.
    assert (
        script.index("exit 2") < script.index("': is created'") < script.index("try { Invoke-Stage $stage }")
    )
    purged = diskspd_script([Step("one", STEP, purge=("t.dat",))]).files["run.ps1"]
    assert "Lost = $false" in purged, "DiskSpd purges nothing"


def test_commands_to_a_character_device_are_fios() -> None:
    step = f"{STEP.replace('t.dat', '/dev/ng0n1')}ioengine=io_uring_cmd\n"
    assert fio_files([Step("one", step)]).impossible == {}
    with pytest.raises(IogaugeError, match="/dev/nvme0n1 is not the character device"):
        fio_files([Step("one", step.replace("/dev/ng0n1", "/dev/nvme0n1"))])


def test_an_impossible_step_is_left_out() -> None:
    written = diskspd_script([Step("one", STEP), Step("two", STEP + "fsync=1\n")])
    assert [name for name, _ in runs_of(written.files["run.ps1"])] == ["one.xml"]
    assert list(written.impossible) == ["two"]
    assert "fsync=1 has no counterpart" in str(written.impossible["two"])
    assert "# Left out: two: [a] fsync=1" in written.files["run.ps1"]


def test_a_path_of_linux_makes_target_mandatory() -> None:
    script = diskspd_script([Step("one", STEP.replace("t.dat", "/dev/nvme0n1"))]).files["run.ps1"]
    assert "[Parameter(Mandatory = $true)][string]$Target,\n" in script
    assert "/dev/nvme0n1" not in script


def test_several_targets_keep_their_names() -> None:
    steps = [Step("one", STEP), Step("two", STEP.replace("t.dat", "it's $x.dat"))]
    script = diskspd_script(steps).files["run.ps1"]
    assert "$Target" not in script
    assert "'-Rxml', 't.dat')" in script
    assert "'-Rxml', 'it''s $x.dat')" in script


def test_the_id_of_a_step_does_not_replace_a_part_of_the_script() -> None:
    script = diskspd_script([Step("RUNS", STEP.replace("t.dat", "FILES"))]).files["run.ps1"]
    assert script.count("Step = 'RUNS'") == 1
    assert "[string]$Target = 'FILES'" in script


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([], "no step"),
        ([("a/b", STEP)], "'a/b' cannot name a file"),
        ([("-x", STEP)], "cannot name a file"),
        ([("..", STEP)], "cannot name a file"),
        ([("a b", STEP)], "cannot name a file"),
        ([("one", STEP), ("ONE", STEP)], "'ONE' cannot name a file"),
        ([("one", "[a]\nnonsense=1\n")], "nonsense"),
        ([("one", STEP.replace("t.dat", "model:ram"))], "drives a model"),
    ],
)
def test_steps_that_no_program_can_run_are_refused(steps: list[tuple[str, str]], reason: str) -> None:
    for files in (fio_files, diskspd_script):
        with pytest.raises(IogaugeError, match=re.escape(reason)):
            files([Step(name, text) for name, text in steps])


QUOTES = "'\u2018\u2019\u201a\u201b"


@given(
    st.text(
        alphabet=st.sampled_from(["'", "\u2019", "\u201b", "$", "`", '"', "a", " ", ")", "\n"]), max_size=20
    )
)
def test_powershell_reads_a_quoted_text_unchanged(text: str) -> None:
    quoted = _single(text)
    assert quoted[0] == quoted[-1] == "'"
    # PowerShell reads two quotes in a row as the first of them, and a single one as the end.
    inner, read, at = quoted[1:-1], "", 0
    while at < len(inner):
        if inner[at] in QUOTES:
            assert inner[at + 1] in QUOTES
            at += 1
        read += inner[at]
        at += 1
    assert read == text
