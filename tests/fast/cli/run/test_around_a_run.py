"""What a run does to files and runs as commands before and after it: unlink, create_only, exec_prerun, exec_postrun."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge import cli
from iogauge.cli.terminal import status

JOB = ["--name=j", "--rw=randwrite", "--size=64k", "--number_ios=4", "--no-ceiling"]
NULL = ["--name=j", "--ioengine=null", "--size=1m", "--number_ios=4", "--no-ceiling"]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["run", *arguments])


@pytest.mark.parametrize("option", ["--unlink=1", "--unlink_each_loop=1"])
def test_files_and_their_marks_are_removed(option: str, folder: Path) -> None:
    assert run(*JOB, "--nrfiles=3") == status.OK
    assert len(list(folder.glob("j.*"))) == 3
    assert run(*JOB, "--nrfiles=3", option) == status.OK
    assert list(folder.iterdir()) == []


def test_a_file_of_somebody_else_is_not_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = folder / "theirs"
    theirs.write_bytes(b"precious" * 8192)
    reads = ["--name=j", "--rw=read", "--filename=theirs", "--no-ceiling", "--unlink=1"]
    assert run(*reads) != status.OK
    assert "iogauge did not make it" in capsys.readouterr().err
    assert theirs.exists()
    assert run(*reads, "--destroy=theirs") == status.OK
    assert not theirs.exists()


@pytest.mark.parametrize("option", ["--unlink=1", "--unlink_each_loop=1"])
def test_readonly_keeps_files(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*JOB) == status.OK
    reads = ["--name=j", "--rw=read", "--size=64k", "--no-ceiling", "--readonly", option]
    assert run(*reads) != status.OK
    assert "unlink removes the job's files, which --readonly refuses" in capsys.readouterr().err
    assert (folder / "j.0.0").exists()


def test_create_only_lays_files_out_and_issues_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*JOB, "--create_only=1", "--end_fsync=1", "--output-format=json") == status.OK
    assert (folder / "j.0.0").stat().st_size == 65536
    assert '"total_ios": 4' not in capsys.readouterr().out


def test_a_range_of_sizes_gives_each_file_its_own(folder: Path) -> None:
    several = [
        "--name=j",
        "--rw=randwrite",
        "--nrfiles=8",
        "--filesize=16k-256k",
        "--number_ios=8",
        "--no-ceiling",
    ]
    assert run(*several) == status.OK
    sizes = {path.name: path.stat().st_size for path in folder.glob("j.*")}
    assert len(set(sizes.values())) > 4
    assert all(16384 <= size <= 262144 and size % 4096 == 0 for size in sizes.values())
    assert run(*several, "--seed=9") == status.OK
    assert sizes == {path.name: path.stat().st_size for path in folder.glob("j.*")}


def test_commands_need_leave(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*NULL, "--exec_prerun=touch made") != status.OK
    assert "--allow-exec" in capsys.readouterr().err
    assert not (folder / "made").exists()


def test_commands_run_before_and_after_for_each_clone(folder: Path) -> None:
    commands = ["--exec_prerun=echo before >> order; echo said", "--exec_postrun=echo after >> order; exit 3"]
    assert run(*NULL, "--numjobs=2", *commands, "--allow-exec") == status.OK
    assert (folder / "order").read_text().split() == ["before", "before", "after", "after"]
    assert (folder / "j.prerun.txt").read_text() == "said\n"
    assert (folder / "j.postrun.txt").read_text() == ""


def test_a_command_that_fails_ends_the_run_before_it_begins(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = ["--exec_prerun=echo no; exit 4", "--exec_postrun=touch after", "--allow-exec"]
    assert run(*JOB, *commands) != status.OK
    assert "ended with status 4" in capsys.readouterr().err
    assert (folder / "j.prerun.txt").read_text() == "no\n"
    assert not (folder / "after").exists()


STAGES = [
    *(f"--exec_{when}=echo {when} >> order" for when in ("prerun", "postrun")),
    "--rw=read", "--size=64k", "--filename=data", "--allow-exec", "--no-ceiling", "--output-format=json",
    "--name=a", "--name=b", "--stonewall", "--write_lat_log=b", "--name=c", "--stonewall",
]  # fmt: skip


@pytest.mark.parametrize("target", ["data", "model:ram"])
def test_commands_run_between_the_stages_of_their_jobs(target: str, folder: Path) -> None:
    alone = [option.replace("filename=data", f"filename={target}") for option in STAGES]
    assert run(*alone) == status.OK
    assert (folder / "order").read_text().split() == ["prerun", "postrun"] * 3
    assert {path.name for path in folder.glob("*.txt")} == {
        f"{job}.{when}.txt" for job in "abc" for when in ("prerun", "postrun")
    }


@pytest.mark.parametrize("target", ["data", "model:ram"])
def test_a_command_that_fails_between_stages_keeps_what_was_measured(
    target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = [option.replace("filename=data", f"filename={target}") for option in STAGES]
    assert run(*alone, "--exec_prerun=exit 4") == status.ERROR
    out, err = capsys.readouterr()
    assert [job["jobname"] for job in json.loads(out)["jobs"]] == ["a", "b"]
    assert "c: exec_prerun ended with status 4" in err
    # The job that did not begin runs no command after it.
    assert (folder / "order").read_text().split() == ["prerun", "postrun", "prerun", "postrun"]


def test_exit_what_all_leaves_later_stages_out(capsys: pytest.CaptureFixture[str]) -> None:
    later = ["--name=later", "--ioengine=null", "--size=1m", "--stonewall", "--output-format=json"]
    assert run(*NULL, "--exitall", "--exit_what=all", *later) == status.OK
    assert '"jobname": "later"' not in capsys.readouterr().out
    assert run(*NULL, "--exitall", "--exit_what=stonewall", *later) == status.OK
    assert '"jobname": "later"' in capsys.readouterr().out


def test_a_job_ends_when_it_is_steady(capsys: pytest.CaptureFixture[str]) -> None:
    endless = [
        "--name=j",
        "--ioengine=null",
        "--size=1g",
        "--time_based",
        "--runtime=600",
        "--rate_iops=1000",
    ]
    steady = ["--ss=iops:90%", "--ss_dur=2", "--output-format=normal,json", "--no-ceiling", "-v"]
    assert run(*endless, *steady) == status.OK
    out = capsys.readouterr().out
    assert "steady state attained: iops" in out
    assert '"attained": 1' in out


@pytest.mark.parametrize(
    ("options", "iops"),
    [
        (("--ss=iops:0.1%", "--ss_dur=5"), [1000, 1000, 1000, 0, 0]),
        (("--ss=iops:0.1%", "--ss_dur=8", "--ss_interval=2"), [1000, 0, 0, 0]),
        (("--ss=iops:0.1%", "--ss_dur=2", "--ss_ramp=500"), [0, 0]),
        (("--ss=lat:0.1%", "--ss_dur=5"), [1000, 1000, 1000, 0, 0]),
    ],
)
def test_zeros_stand_for_the_samples_of_a_steady_state_that_a_run_was_too_short_for(
    options: tuple[str, ...], iops: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    job = [
        "--name=a",
        "--filename=model:p4800x",
        "--bs=4k",
        "--rate_iops=1000",
        "--time_based",
        "--runtime=3",
    ]
    assert run(*job, *options, "--output-format=json") == status.OK
    (result,) = json.loads(capsys.readouterr().out)["jobs"]
    assert result["steadystate"]["attained"] == 0
    data = result["steadystate"]["data"]
    assert (data["iops"], data["iops_mean"]) == (iops, sum(iops) // len(iops))
    assert data["bw"] == [4096 * value for value in iops]
    assert data["bw_mean"] == sum(data["bw"]) // len(iops)
    if "lat" in options[0]:
        assert [bool(value) for value in data["lat_ns"]] == [bool(value) for value in iops]
        assert data["lat_mean"] == sum(data["lat_ns"]) // len(iops)
