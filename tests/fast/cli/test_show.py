"""``iogauge show``: a saved review as its making printed it, and one step as a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from iogauge.cli import main
from tests import reviews


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A review of a model by two suites, as its making printed it."""
    place = tmp_path_factory.mktemp("reviews") / "model"
    options = ["--suite=mixed", "--suite=write-pressure", "--runtime=10ms", "--seed=1"]
    assert main(["review", "model:p4800x", *options, f"--output={place}"]) == 0
    return place


def test_it_is_what_resuming_a_whole_review_prints(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(saved.rglob("*"))
    capsys.readouterr()
    assert main(["review", "--resume", str(saved), "-v"]) == 0
    resumed = capsys.readouterr()
    assert main(["show", str(saved), "-v"]) == 0
    out, err = capsys.readouterr()
    assert resumed.out == f"{out}next: iogauge report {saved}\n"
    assert err == resumed.err
    assert sorted(saved.rglob("*")) == before


def test_one_suite(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["show", str(saved), "--suite=mixed", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [plan["suite"] for plan in shown["plans"]] == ["mixed"]


def test_one_step_is_shown_as_a_run(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["show", str(saved), "--step=mixed.reads-70"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("mix: randrw, 4 KiB")
    assert "lat         clat" in out
    assert main(["show", str(saved), "--step=write-pressure.search", "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["jobs"]
    assert {job["jobname"] for job in jobs} == {"pressure", "reader"}


def test_an_unfinished_review_is_shown_as_far_as_it_got(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews.save(tmp_path / "part", pressures_MBps=(0, 100, 200), missing=(200,))
    assert main(["show", str(tmp_path / "part")]) == 0
    assert "missing: at-0200" in capsys.readouterr().out
    assert main(["show", str(tmp_path / "part"), "--step=at-0200"]) == 1
    assert "step at-0200 is not complete" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ("reads-70", "did you mean mixed.reads-70?"),
        ("pressure-10", "did you mean write-pressure.pressure-"),
        ("write-pressure.serach", "did you mean write-pressure.search?"),
        ("xyzzy", "its steps: mixed.reads-100, "),
    ],
)
def test_the_step_that_was_meant_is_named(
    step: str, hint: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["show", str(saved), f"--step={step}"]) == 2
    assert capsys.readouterr().err.splitlines()[1].startswith(f"hint: {hint}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite=queue-depth",), "has no suite 'queue-depth'"),
        (("--step=reads-70",), "has no step 'reads-70'"),
        (("--step=../x",), "has no step '../x'"),
        (("--step=mixed.reads-70", "--suite=mixed"), "--step excludes --suite, --variation and conditions"),
    ],
)
def test_what_is_not_there(
    arguments: tuple[str, ...], message: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["show", str(saved), *arguments]) in (1, 2)
    error, hint = capsys.readouterr().err.splitlines()
    assert message in error
    assert hint.startswith("hint: ")


def test_how_repeats_differ_is_shown_where_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews.save(tmp_path / "r", pressures_MBps=(0, 100), repeats=3)
    assert main(["show", str(tmp_path / "r"), "-v"]) == 0
    short = capsys.readouterr().out
    assert main(["show", str(tmp_path / "r"), "--variation"]) == 0
    every = capsys.readouterr().out
    added = [line for line in every.splitlines() if line not in short.splitlines()]
    assert added[0].startswith("variation between runs (coefficient of variation), and the share")
    assert added[1].split()[:4] == ["step", "runs", "iops", "mean"]
    assert added[1].endswith("between runs")
    assert [line.split()[:3] for line in added[2:]] == [["0", "MB/s", "3"], ["100", "MB/s", "3"]]
    assert all(line.endswith("%") for line in added[2:])
    assert main(["report", str(tmp_path / "r"), "--format=md", "--verbose"]) == 0
    assert "| Mean: between runs |" in capsys.readouterr().out


def test_how_repeats_differ_most_is_said_with_the_place_on_its_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews.save(tmp_path / "r", pressures_MBps=(0, 100), repeats=3)
    assert main(["show", str(tmp_path / "r"), "-v"]) == 0
    (line,) = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("largest variation between 3 runs (coefficient of variation, by write pressure): ")
    ]
    figure = r"[\w.]+ <?[\d.]+ % at (0|100) MB/s"
    assert re.fullmatch(rf"{figure}(, {figure})+", line.partition(": ")[2])


def test_the_built_in_review_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["show", "published:960 evo 250"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "Samsung 960 EVO 250GB (specified)"
    assert "330,000" in out
    assert main(["show", "published", "--json"]) == 0
    shown = {drive["drive"]: drive["figures"] for drive in json.loads(capsys.readouterr().out)}
    assert [drive["value"] for drive in shown["Samsung 960 EVO 250GB (specified)"]] == [
        14_000,
        50_000,
        330_000,
        300_000,
    ]
    assert main(["show", "published", "--suite=mixed"]) == 2
    assert "no suites and no steps" in capsys.readouterr().err
