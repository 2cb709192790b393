"""fio's own options on the command line of ``iogauge run``, around a run that is made up."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from iogauge import cli
from iogauge.cli.terminal import status
from iogauge.workload import from_arguments, load
from tests.fast.cli.run.test_run import JOB, Runner, runner  # noqa: F401 (a fixture)

TWO = "[global]\nsize=1g\nioengine=null\n[reader]\nrw=randread\n[writer]\nrw=randwrite\n"


def run(*arguments: str) -> int:
    return cli.main(["run", *arguments])


@pytest.fixture
def job_file(runner: Runner, tmp_path: Path) -> str:  # noqa: F811
    (tmp_path / "two.fio").write_text(TWO)
    return "two.fio"


def test_minimal_is_terse(runner: Runner, capsys) -> None:  # noqa: F811
    assert run(*JOB, "--minimal") == status.OK
    minimal = capsys.readouterr().out
    assert run(*JOB, "--output-format=terse") == status.OK
    assert capsys.readouterr().out == minimal
    assert minimal.startswith("3;iogauge-")
    assert minimal.count("\n") == 1
    assert run(*JOB, "--minimal", "--terse-version=5") == status.OK
    assert capsys.readouterr().out.startswith("5;iogauge-")


def test_formats_come_in_fios_order_and_json_plus_holds_json(runner: Runner, capsys) -> None:  # noqa: F811
    assert run(*JOB, "--output-format=normal,json,terse,json+") == status.OK
    out = capsys.readouterr().out
    assert out.startswith("3;iogauge-")
    assert out.count('"fio version"') == 1
    assert '"bins"' in out
    assert out.index('"fio version"') < out.index("reader: randread")


@pytest.mark.parametrize("name", ["minimal", "csv", "terse,csv"])
def test_terse_has_fios_other_names(name: str, runner: Runner, capsys) -> None:  # noqa: F811
    assert run(*JOB, f"--output-format={name}") == status.OK
    assert capsys.readouterr().out.startswith("3;iogauge-")


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [
        (["--minimal", "--output-format=json"], "{"),
        (["--output-format=json", "--minimal"], "3;iogauge-"),
        (["--output-format", "json", "--seed=1", "--minimal"], "3;iogauge-"),
    ],
)
def test_the_last_word_on_the_format_counts(
    arguments: list[str],
    begins: str,
    runner: Runner,  # noqa: F811
    capsys,
) -> None:
    assert run(*JOB, *arguments) == status.OK
    assert capsys.readouterr().out.startswith(begins)


def test_a_section_is_run_alone(runner: Runner, job_file: str) -> None:  # noqa: F811
    assert run(job_file, "--section=writer") == status.OK
    assert [(job.name, job.size.size_bytes) for job in runner.request.job_file.jobs] == [("writer", 1 << 30)]
    assert run(job_file, "--section", "writer", "--section=reader") == status.OK
    assert [job.name for job in runner.request.job_file.jobs] == ["reader", "writer"]
    assert run("--name=x", *JOB[1:], "--name=y", *JOB[1:], "--section=y") == status.OK
    assert [job.name for job in runner.request.job_file.jobs] == ["y"]


def test_a_section_that_is_passed_over_is_not_read(runner: Runner, tmp_path: Path) -> None:  # noqa: F811
    unreadable = "[unreadable]\nrw=sideways\nfilename=${NOT_SET}\ninclude no/such\n"
    (tmp_path / "two.fio").write_text(TWO + unreadable)
    assert run("two.fio", "--section=reader") == status.OK


@pytest.mark.parametrize("name", ["zz", "global", "reade"])
def test_a_section_that_is_not_there_names_those_that_are(name: str, job_file: str, capsys) -> None:
    assert run(job_file, "--section=reader", f"--section={name}") == status.USAGE
    expected = f"error: two.fio: there is no job '{name}'\nhint: its jobs: 'reader', 'writer'\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("rw", ["write", "randtrim", "randrw", "trimwrite"])
def test_readonly_refuses_writes_and_trims_before_anything_is_looked_at(
    rw: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["--name=w", f"--rw={rw}", "--filename=drive.bin", "--size=1m", "--output=out.json"]
    assert run(*arguments, "--readonly", "--destroy=drive.bin") == status.ERROR
    assert (
        f"error: w: rw={rw} writes or trims, which --readonly refuses\nhint: leave out"
        in capsys.readouterr().err
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [None, 4096])
def test_readonly_lays_no_file_out(size: int | None, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "drive.bin"
    if size:
        file.write_bytes(b"x" * size)
    assert run("--name=r", "--filename=drive.bin", "--size=1m", "--readonly", "--no-ceiling") == status.ERROR
    assert "--readonly keeps it from being laid out" in capsys.readouterr().err
    assert file.exists() == bool(size)
    assert not size or file.stat().st_size == size


def test_readonly_reaches_the_run_of_jobs_that_read(runner: Runner) -> None:  # noqa: F811
    assert run(*JOB, "--readonly") == status.OK
    assert runner.request.readonly


def test_the_command_of_a_job_file_means_the_same(runner: Runner, tmp_path: Path, capsys) -> None:  # noqa: F811
    text = "[a job]\nrw=randread:8\nbssplit=4k/10:64k/90\nruntime=1m30s\ntime_based\nioengine=null\nsize=1g\n"
    (tmp_path / "a.fio").write_text(
        text + "[second]\nioengine=null\nsize=1m\nstonewall\ndescription=it's here\n"
    )
    assert run("a.fio", "--showcmd") == status.OK
    words = shlex.split(capsys.readouterr().out)
    assert words[:3] == ["iogauge", "run", "--name=a job"]
    assert from_arguments(words[2:]).jobs == load("a.fio").jobs
    assert not vars(runner.request)


def test_a_command_says_what_no_job_file_can(runner: Runner, capsys) -> None:  # noqa: F811
    words = ["--name=[x]", "--ioengine=null", "--size=1m", "--description=a;b #c $d", "--write_bw_log=x#y"]
    assert run(*words, "--showcmd") == status.OK
    shown = shlex.split(capsys.readouterr().out)[2:]
    assert from_arguments(shown).jobs == from_arguments(words).jobs
    assert run(*words, "--parse-only") == status.ERROR
    assert "[[x]] description: has ';', '#' or '$', which a job file cannot have" in capsys.readouterr().err


def test_progress_is_left_out_and_messages_stay(runner: Runner, capsys) -> None:  # noqa: F811
    assert run(*JOB, "--eta=never") == status.OK
    assert capsys.readouterr().err == "the drive is a file\n"
    assert run(*JOB, "--eta=always", "--eta-interval=250ms") == status.OK
    assert "about" in capsys.readouterr().err


def test_one_dash_does_for_two(runner: Runner) -> None:  # noqa: F811
    words = [
        "-name=x",
        "-iodepth=4",
        "-ioengine",
        "null",
        "-size=1g",
        "-output-format=json",
        "-o",
        "out.json",
    ]
    ignored = ("-max-jobs=16", "-alloc-size=1024", "-eta-newline=1", "-warnings-fatal")
    assert run(*words, *ignored, "-thread") == status.OK
    job = runner.request.job_file.jobs[0]
    assert (job.name, job.iodepth, job.thread) == ("x", 4, True)
    assert json.loads(Path("out.json").read_text())["jobs"][0]["jobname"] == "x"


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        (["-oresult"], "result"),
        (["-offset=4k", "-output", "-bs"], "-bs"),
        (["-o", "-result=x"], "-result=x"),
    ],
)
def test_values_are_no_options(arguments: list[str], file: str, runner: Runner) -> None:  # noqa: F811
    assert run(*JOB, *arguments) == status.OK
    assert Path(file).read_text().startswith("reader: randread")


def test_what_follows_two_dashes_is_a_file(runner: Runner) -> None:  # noqa: F811
    Path("-bs").write_text(TWO)
    assert run("--", "-bs") == status.OK
    assert [job.name for job in runner.request.job_file.jobs] == ["reader", "writer"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("-offset_align=1", "fio's offset_align is not supported"),
        ("-nodepth=4", "is not an option"),
    ],
)
def test_options_behind_one_dash_are_refused_by_name(
    argument: str,
    message: str,
    runner: Runner,  # noqa: F811
    capsys,
) -> None:
    assert run(*JOB, argument) == status.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--eta=maybe", "'maybe' is not one of"),
        ("--eta-interval=100ms", "'100ms' is shorter than 250 ms"),
        ("--status-interval=5ms", "'5ms' is shorter than 10 ms"),
        ("--status-interval=soon", "--status-interval soon: is not a time"),
        ("--terse-version=6", "--terse-version"),
        ("--max-jobs=many", "--max-jobs"),
        ("--sections=x", "--sections is not an option"),
    ],
)
def test_wrong_values_are_wrong_usage(argument: str, message: str, runner: Runner, capsys) -> None:  # noqa: F811
    assert run(*JOB, argument) == status.USAGE
    err = capsys.readouterr().err
    assert message in err
    assert "hint: " in err
    assert not vars(runner.request)
