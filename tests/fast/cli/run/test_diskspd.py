"""``iogauge run --diskspd``: a command line of DiskSpd's, run on a drive model, and its tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge import cli
from iogauge.cli.terminal import status

LINE = "-d1 -W1 -b4k -w30 -r -o4 -t2 -g4000 -h -L model:ram@ideal"


def run(*arguments: str) -> int:
    return cli.main(["run", "--no-ceiling", *arguments])


def test_diskspds_tables_on_stdout_and_the_rest_on_stderr(capsys) -> None:
    assert run("--diskspd", LINE) == status.OK
    out, err = capsys.readouterr()
    assert out.startswith(f"\nCommand Line: {LINE}\n")
    assert "actual test time:\t1.00s\nthread count:\t\t2\n" in out
    for title in ("Total IO", "Read IO", "Write IO", "Total latency distribution:"):
        assert f"\n{title}\n" in out
    assert "\nvirtual time: no worker used a CPU\n" in out
    assert "moved between CPUs" not in out
    assert "the written data is random" in err
    assert "the written data is random" not in out


def test_json_as_for_any_run(capsys) -> None:
    assert run(f"--diskspd={LINE}", "--output-format=json") == status.OK
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert [job["jobname"] for job in jobs] == ["diskspd", "diskspd"]
    assert jobs[0]["job options"]["iodepth"] == "4"


def test_the_jobs_can_be_shown(capsys) -> None:
    assert run("--diskspd", "-b8k -o1 'my file'", "--parse-only") == status.OK
    out = capsys.readouterr().out
    assert out.startswith("[diskspd]\n")
    assert "\nfilename=my file\n" in out
    assert "\nbs=8k\n" in out


def test_its_interval_is_that_of_the_run(capsys) -> None:
    line = LINE.replace("-L", "-L -D250")
    assert run("--diskspd", line, "--output-format=json") == status.OK
    assert json.loads(capsys.readouterr().out)["iogauge"]["interval_ns"] == 250_000_000
    assert run("--diskspd", line, "--interval=500ms", "--output-format=json") == status.OK
    assert json.loads(capsys.readouterr().out)["iogauge"]["interval_ns"] == 500_000_000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--diskspd", LINE, "job.fio"], status.USAGE, "--diskspd excludes other jobs: job.fio"),
        (["--diskspd", LINE, "--section=x"], status.USAGE, "--section=x needs a job file"),
        (["--diskspd", "-b4k 'x"], status.USAGE, "--diskspd: no closing quotation"),
        (["--diskspd", "-D1 t.dat"], status.USAGE, "shorter than 10 ms"),
        (["--diskspd", ""], status.USAGE, "names no target"),
        (["--diskspd", "-Sm t.dat"], status.USAGE, "mapped memory"),
        (["--diskspd", "-o2 -t1 #1"], status.USAGE, "is a Windows name of a drive"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    capsys, tmp_path: Path, monkeypatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "\nhint: " in err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_created_by_diskspds_own_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, empty = tmp_path / "missing.dat", tmp_path / "empty.dat"
    empty.touch()
    for path, reason in ((missing, "no such file"), (empty, "the file is empty")):
        assert cli.main(["run", "--diskspd", f"-b4k -d1 {path}"]) == 1
        assert capsys.readouterr().err == (
            f"error: {path}: {reason}, and no -c says how large to make it\n"
            "hint: check the path, or add the size to create: -c1G\n"
        )
        with pytest.raises(iogauge.IogaugeError, match="and no -c says"):
            iogauge.run(diskspd=f"-b4k -d1 {path}")
    assert not missing.exists()
