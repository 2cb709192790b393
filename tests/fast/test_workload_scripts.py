"""Scripts that run steps with fio and DiskSpd: in order, resumable, and quoted so that a name stays a name."""

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
from iogauge.workload.scripts import _single, diskspd_script, fio_files

STEP = "[a]\nfilename=t.dat\nrw=randread\nnorandommap\nruntime=60\ntime_based\n"
STUB = """#!/bin/sh
for last; do :; done
echo "$last" >>ran
for argument; do
    case $argument in --output=*) echo '{}' >"${argument#--output=}" ;; esac
done
if [ -e "fail-$last" ]; then exit 1; fi
"""
"""Stands for fio: notes what it ran, writes its output, and fails where it is told to."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "a b"
    place.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "fio").write_text(STUB)
    (programs / "fio").chmod(0o755)
    for name, text in fio_files([("one", STEP), ("two.2", STEP), ("three", STEP)]).items():
        (place / name).write_text(text)
    return place


def run(folder: Path, *, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"PATH": path or f"{folder.parent / 'bin'}:{os.environ['PATH']}"}
    asked = ["/bin/sh", str(folder / "run.sh")]
    return subprocess.run(
        asked, check=False, env=environ, cwd="/", capture_output=True, text=True, timeout=60
    )


def test_fio_runs_every_step_in_order_and_keeps_its_results(folder: Path) -> None:
    assert run(folder).returncode == 0
    assert (folder / "ran").read_text().split() == ["one.fio", "two.2.fio", "three.fio"]
    assert sorted(path.name for path in folder.glob("*.json*")) == ["one.json", "three.json", "two.2.json"]


def test_a_step_that_failed_is_run_again_and_those_before_it_are_not(folder: Path) -> None:
    (folder / "fail-two.2.fio").touch()
    assert run(folder).returncode != 0
    assert not (folder / "two.2.json").exists()
    assert not (folder / "three.json").exists()
    (folder / "fail-two.2.fio").unlink()
    (folder / "ran").unlink()
    again = run(folder)
    assert again.returncode == 0
    assert again.stderr.startswith("one: done before\n")
    assert (folder / "ran").read_text().split() == ["two.2.fio", "three.fio"]


def test_fio_that_is_not_there_is_said(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "dirname").symlink_to("/usr/bin/dirname")
    done = run(folder, path=str(tmp_path / "empty"))
    assert done.returncode == 127
    assert done.stderr == "fio was not found: install it, or put it in PATH\n"


def test_fios_job_file_is_the_step_with_what_its_json_would_leave_out() -> None:
    text = fio_files([("one", STEP)])["one.fio"]
    (ours,), (theirs,) = parse(STEP, source="step").jobs, parse(text, source="fio").jobs
    assert theirs == ours.model_copy(update={"lat_percentiles": True})
    assert "\ntime_based=1\n" in text
    assert "\nnorandommap=1\n" in text


def test_the_steps_of_diskspd() -> None:
    script = diskspd_script([("one", STEP), ("two", STEP.replace("norandommap", "norandommap\nbs=64k"))])[
        "run.ps1"
    ]
    assert "[string]$Target = 't.dat',\n" in script
    lines = re.findall(r"^    @\{ Id = '(\w+)'; Arguments = @\((.*)\) \}$", script, re.MULTILINE)
    assert [name for name, _ in lines] == ["one", "two"]
    assert lines[0][1] == (
        "'-b4k', '-d60', '-W0', '-o1', '-t1', '-w0', '-r', '-L', '-D1000', '-Rxml', $Target"
    )
    assert script.index("was not found") < script.index("foreach")
    assert "Test-Whole $result" in script


def test_a_path_of_linux_has_to_be_replaced() -> None:
    script = diskspd_script([("one", STEP.replace("t.dat", "/dev/nvme0n1"))])["run.ps1"]
    assert "[Parameter(Mandatory = $true)][string]$Target,\n" in script
    assert "/dev/nvme0n1" not in script


def test_several_targets_are_written_as_they_are() -> None:
    script = diskspd_script([("one", STEP), ("two", STEP.replace("t.dat", "it's $x.dat"))])["run.ps1"]
    assert "$Target" not in script
    assert "'-Rxml', 't.dat')" in script
    assert "'-Rxml', 'it''s $x.dat')" in script


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
    ],
)
def test_what_cannot_be_run_is_refused(steps: list[tuple[str, str]], reason: str) -> None:
    for files in (fio_files, diskspd_script):
        with pytest.raises(IogaugeError, match=re.escape(reason)):
            files(steps)


def test_fio_has_no_models_and_diskspd_no_stages() -> None:
    with pytest.raises(IogaugeError, match="drives a model"):
        fio_files([("one", STEP.replace("t.dat", "model:ram"))])
    with pytest.raises(IogaugeError, match="one command a step"):
        diskspd_script([("one", STEP + "[b]\nstonewall\nfilename=t.dat\nruntime=1\ntime_based\n")])


QUOTES = "'\u2018\u2019\u201a\u201b"


@given(
    st.text(
        alphabet=st.sampled_from(["'", "\u2019", "\u201b", "$", "`", '"', "a", " ", ")", "\n"]), max_size=20
    )
)
def test_between_quotes_of_powershell_a_text_is_itself(text: str) -> None:
    quoted = _single(text)
    assert quoted[0] == quoted[-1] == "'"
    # As PowerShell reads it: any two quotes in a row are the first of them, and a single one would be the end.
    inner, read, at = quoted[1:-1], "", 0
    while at < len(inner):
        if inner[at] in QUOTES:
            assert inner[at + 1] in QUOTES
            at += 1
        read += inner[at]
        at += 1
    assert read == text
