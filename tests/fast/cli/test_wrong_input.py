"""Whatever is asked of the commands: two lines that say what is wrong and what to do, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main

NULL = ("--name=x", "--ioengine=null")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with everything that is no job file and no review."""
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "directory").mkdir()
    (tmp_path / "wrong.fio").write_text("[x]\nnosuch=1\n")
    (tmp_path / "good.fio").write_text("[x]\nioengine=null\nsize=1m\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "missing.fio"), 1, "missing.fio: No such file or directory"),
        (("run", "directory"), 1, "directory: not a file"),
        (("run", "binary"), 1, "binary: not UTF-8 text"),
        (("run", "empty"), 1, "empty: there is no job"),
        (("run",), 2, "no job to run"),
        (("run", *NULL, "--fail-if=nonsense"), 2, "--fail-if 'nonsense': not a figure"),
        (("run", *NULL, "--fail-if=write.p50 > 1ms"), 1, "no job issues a write"),
        (("run", *NULL, "--output=missing/x"), 1, "missing/x: there is no directory missing"),
        (("run", *NULL, "--output=directory"), 1, "directory: is a directory"),
        (("run", *NULL, "--interval=0"), 2, "--interval 0: must be longer than 0"),
        (("run", *NULL, "--interval=1ms"), 2, "shorter than 10 ms"),
        (("run", *NULL, "--interval=10m"), 2, "longer than a minute"),
        (("run", *NULL, "--give-up=soon"), 2, "--give-up soon: is not a time"),
        (("run", *NULL, "--seed=many"), 2, "invalid value for '--seed'"),
        (("run", "good.fio", "--iodepht=4"), 2, "argument 2: --iodepht=4: is not an option"),
        (("run", *NULL, "--nosuch=1"), 2, "[x] --nosuch=1: is not an option"),
        (("run", *NULL, "--bs=much"), 2, "[x] --bs=much: "),
        (("run", *NULL, "--rw=sideways"), 2, "is not an I/O pattern"),
        (("run", *NULL, "--rw"), 2, "needs a value"),
        (("run", "--bs=4k"), 2, "command line: there is no job"),
        (("run", "good.fio", "--section=other"), 2, "there is no job 'other'"),
        (("run", "--diskspd", "-q t.dat"), 2, "is not an option of DiskSpd"),
        (("run", "wrong.fio"), 1, "wrong.fio:2: [x] nosuch=1: is not an option"),
        (("review",), 2, "name a TARGET"),
        (("review", "model:ram", "--for=wall"), 2, "there is no profile 'wall'"),
        (("judge", "x", "--for=wall"), 2, "there is no profile 'wall'"),
        (("judge", "x", "--for=wall.toml"), 1, "wall.toml: no such file"),
        (("show", "published:nobody"), 2, "no published drive has 'nobody' in its name"),
        (("ladder", "model:ram", "--rungs=nosuch"), 2, "there is no ladder 'nosuch'"),
        (("review", "x", "--suite=none"), 2, "there is no suite 'none'"),
        (
            ("review", "x", "--pace=foo"),
            2,
            "invalid value for '--pace': 'foo' is not one of 'quick', 'standard', 'full'",
        ),
        (("review", "x", "--until-supported=99.9"), 2, "--until-supported 99.9: a quantile is a fraction"),
        (("review", "x", "--size=0"), 2, "--size 0: must be at least 1"),
        (("review", "x", "--size=big"), 2, "--size big: is not a whole number"),
        (("review", "x", "--runtime=-1"), 2, "--runtime -1"),
        (("review", "x", "--fail-if=nonsense"), 2, "--fail-if 'nonsense': not a figure"),
        (("review", "directory"), 1, "it is a directory"),
        (("review", "/dev/null"), 1, "it is a character device"),
        (("review", "missing/x", "--size=1m"), 1, "there is no directory"),
        (("review", "--resume=directory"), 1, "no manifest.json here"),
        (("review", "--resume=binary"), 1, "no manifest.json here"),
        (("review", "--resume=missing"), 1, "no manifest.json here"),
        (("review", "x", "--resume=directory"), 2, "TARGET cannot be given with it"),
        (("report",), 2, "missing argument 'REVIEW...'"),
        (("report", "directory"), 1, "no manifest.json here"),
        (("list", "missing"), 1, "missing: cannot be listed: No such file"),
        (("list", "binary"), 1, "binary: cannot be listed: Not a directory"),
        (("list", "directory", "--published"), 2, "--published and DIRECTORY exclude each other"),
        (("report", "published", "--judge-by=missing.py"), 1, "--judge-by missing.py: there is no such file"),
        (("review", ""), 2, "a TARGET is empty"),
        (("run", "--diskspd", ""), 2, "diskspd: names no target"),
        (("show", "directory"), 1, "no manifest.json here"),
        (("compare",), 2, "missing argument 'REVIEW...'"),
        (("compare", "directory", "missing"), 1, "no manifest.json here"),
        (("query", "directory", "select 1"), 2, "directory: is a path, not SQL"),
        (("compare", "published"), 2, "no saved review is named"),
        (("review", "mixed"), 2, "a suite has this name"),
        (("quick", "p4800x"), 2, "a drive model has this name"),
        (("query", "select 1", "directory"), 1, "no manifest.json here"),
        (("export", "directory", "--csv=out"), 1, "no manifest.json here"),
        (("import", "empty", "--output=out"), 1, "empty: is not a result of fio or DiskSpd"),
        (("import", "good.fio"), 2, "missing option '--output'"),
        (("plan", "directory"), 1, "it is a directory"),
        (("plan", "x", "--size=0"), 2, "--size 0: must be at least 1"),
        (("options", "nothing-like-it"), 2, "no option mentions nothing-like-it"),
        (("model", "show"), 2, "missing argument 'MODEL'"),
        (("model", "show", "p4801x"), 2, "there is no model 'p4801x'"),
        (("model", "show", "missing.toml"), 1, "missing.toml: no such file"),
        (("model", "show", "directory/"), 1, "directory: Is a directory"),
        (("model", "show", "p4800x@nowhere"), 2, "there is no machine model 'nowhere'"),
        (("model", "show", "ideal@ideal"), 2, "ideal is a machine model, not a drive"),
        (("model", "new"), 2, "missing option '--from'"),
        (("model", "new", "--from", "p4801x"), 2, "there is no model 'p4801x'"),
        (("model", "new", "--from", "p4800x@ideal"), 2, "p4800x@ideal: is two models"),
        (("model", "new", "--from", "p4800x", "--output", "mine"), 2, "a model's file ends in .toml"),
        (
            ("model", "new", "--from", "p4800x", "--output", "missing/x.toml"),
            1,
            "missing/x.toml: there is no",
        ),
        (("run", "--name=x", "--filename=model:p4801x"), 2, "there is no drive model 'p4801x'"),
        (("review", "model:p4801x"), 2, "there is no drive model 'p4801x'"),
        (("import", "/dev/zero", "--output=new"), 1, "/dev/zero: is not a file"),
        (("no-such-command",), 2, "no such command"),
        (("--no-such-option",), 2, "no such option"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_input(
    arguments: tuple[str, ...], code: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.rglob("*"))
    assert main(arguments) == code
    out, err = capsys.readouterr()
    error, hint = err.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert hint.startswith("hint: ")
    assert out == ""
    assert sorted(folder.rglob("*")) == before


def test_a_job_file_that_may_not_be_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "good.fio")

    for name in ("open", "read_bytes", "read_text"):
        monkeypatch.setattr(Path, name, refuse)
    assert main(["run", "good.fio"]) == 1
    assert capsys.readouterr().err.startswith("error: good.fio: Permission denied\nhint: ")


@pytest.mark.parametrize(
    ("words", "problem", "hint"),
    [
        ("run --diskspd", "option '--diskspd' requires an argument", "--diskspd "),
        ("review --suite", "option '--suite' requires an argument", "--suite NAME: "),
        ("model new --from", "option '--from' requires an argument", "--from "),
        (
            "run x --terse-version=9",
            "'--terse-version': must be at most 5",
            "--terse-version 2|3|4|5 (2 to 5): ",
        ),
        ("review x --repeats=0", "'--repeats': must be at least 1", "--repeats NUMBER (1 to 1000): "),
        ("review x --seed=many", "'--seed': must be a whole number", "--seed NUMBER (0 or more): "),
        ("import x", "missing option '--output'", "--output DIRECTORY: "),
        ("recover", "missing argument 'SPILL'", "SPILL: "),
        ("run --name=x --fail-if=foo", "--fail-if 'foo': not a figure", "write for example 'p99.9 > 1ms'"),
        (
            "review model:ram --fail-if=foo",
            "--fail-if 'foo': not a figure",
            "write for example 'p99.9 > 1ms'",
        ),
    ],
)
def test_the_hint_says_what_an_option_takes(
    words: str, problem: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    error, remedy = capsys.readouterr().err.splitlines()
    assert problem in error
    assert remedy.startswith(f"hint: {hint}")


def test_an_unknown_job_option_names_the_command_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name=x", "--nosuch=1"]) == 2
    assert capsys.readouterr().err.endswith("is not an option\nhint: supported options: iogauge options\n")
    with pytest.raises(iogauge.IogaugeError) as caught:
        iogauge.run(["--name=x", "--nosuch=1"])
    assert caught.value.hint == "supported options: iogauge.options()"
