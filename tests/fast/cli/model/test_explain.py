"""``iogauge model explain``: the answer, the tables, JSON, the picture, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.cli import main

JOB = """\
[reads]
rw=randread
bs=4k
ioengine=libaio
direct=1
size=64m
number_ios=4000
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in, with a job file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.fio").write_text(JOB)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints if it succeeds."""
    assert main(["model", "explain", *arguments, "--job", "job.fio"]) == 0
    return capsys.readouterr().out


def test_the_answer_comes_first_and_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "p4800x")
    assert out.startswith("A read takes 11.7 us on average: 3.5 us channel, ")
    assert max(map(len, out.splitlines())) <= 80
    head = next(line for line in out.splitlines() if "p50" in line)
    assert head.split() == ["mean", "p50", "p90", "p99"]
    assert "\np99.9, p99.99 and p99.999 would need more requests.\n" in out


def test_another_machine_takes_other_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "p4800x", "--machine", "ideal") == said(capsys, "p4800x@ideal")
    assert "submission" not in said(capsys, "p4800x@ideal")


def test_markdown_explains_the_parts(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "p4800x", "--format", "md")
    assert "|  | mean | p50 | p90 | p99 |" in out
    assert "| wake-up | The thread wakes up, or sees the completion by polling. |" in out


def test_json_has_a_version_and_all_digits(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(said(capsys, "p4800x", "--format", "json", "--seed", "7"))
    assert (data["version"], data["seed"], data["drive"]) == (1, 7, "p4800x-375g")
    for at in data["loads"][0]["at"]:
        assert sum(at["parts_ns"].values()) == pytest.approx(at["lat_ns"])


def test_other_values_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "p4800x", "--set", "machine.wake_ns=0", "--replications", "3")
    assert "With machine.wake_ns=0, the mean is" in out
    assert max(map(len, out.splitlines())) <= 80
    table = out.partition("3 pairs of runs")[2].partition("A column is")[0]
    rows = {line.split("  ")[0]: line for line in table.splitlines()}
    assert "not shown" not in rows["wake-up"]


def test_a_picture_is_written(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    said(capsys, "p4800x", "--chart", "parts.svg")
    assert (folder / "parts.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--set", "media.turnaround_ns"], "not PARAMETER=VALUE", "media.turnaround_ns=0"),
        (["--set", "a=1", "--set", "a=2"], "names a parameter twice", "leave one"),
        (["--set", "media.turnround_ns=0"], "has no media.turnround_ns", "media.turnaround_ns"),
        (["--chart", "parts.png"], "ends in .svg", "parts.png.svg"),
        (["--machine", "ideall"], "ideall", "ideal"),
    ],
)
def test_refusals_have_hints(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, hint: str
) -> None:
    assert main(["model", "explain", "p4800x", *arguments, "--job", "job.fio"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert hint in error.partition("hint:")[2]
