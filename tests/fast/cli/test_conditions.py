"""``--fail-if``, ``--checks``, ``--check-results`` of ``review``, ``show`` and ``compare``: exit status and files."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import iogauge
from iogauge.cli import main
from tests import reviews


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up fast drive and a slow one, one run each."""
    place = tmp_path_factory.mktemp("reviews")
    reviews.save(place / "fast", reviews.Drive(base_us=50, slope=0.1), pressures_MBps=(100, 300))
    reviews.save(place / "slow", pressures_MBps=(100, 300), seed=2)
    return place


@pytest.mark.parametrize(
    ("condition", "exits", "says"),
    [
        ("write-pressure[100].mean > 1s", 0, ""),
        ("write-pressure[100].mean > 1us", 3, "failed: at-0100: 100 MB/s: mean is "),
        ("write-pressure[100].p99.99999 > 1us", 1, "error: at-0100: 100 MB/s: p99.99999"),
        ("write-pressure[101].mean > 1us", 2, "did you mean '100'?"),
        ("worse by > 5%", 2, "one review has nothing to compare with"),
    ],
)
def test_a_saved_review_is_checked(
    place: Path, capsys: pytest.CaptureFixture[str], condition: str, exits: int, says: str
) -> None:
    capsys.readouterr()
    assert main(["show", str(place / "slow"), "--fail-if", condition, "--json"]) == exits
    out, err = capsys.readouterr()
    assert says in err
    assert (out == "") == (exits == 2)
    assert exits == 2 or bool(json.loads(out)["violations"]) == bool(exits)


@pytest.mark.parametrize(
    ("names", "condition", "exits", "says"),
    [
        (("fast", "slow"), "mean worse by > 5%", 3, "write-pressure, 300 MB/s: mean of "),
        (("slow", "fast"), "mean worse by > 5%", 0, ""),
        (("slow", "fast"), "mean better by > 5%", 3, "% better"),
        (("fast", "slow"), "mixed.mean worse by > 5%", 2, "there is no suite 'mixed'"),
        (("fast", "slow"), "p99 > 1ms", 2, "write for example 'worse by > 5%'"),
    ],
)
def test_a_comparison_is_checked(
    place: Path,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, str],
    condition: str,
    exits: int,
    says: str,
) -> None:
    capsys.readouterr()
    assert main(["compare", *(str(place / name) for name in names), "--fail-if", condition]) == exits
    out, err = capsys.readouterr()
    assert says in err
    assert (out == "") == (exits == 2)


def test_results_are_written_in_both_formats(place: Path, tmp_path: Path) -> None:
    checks, xml, table = tmp_path / "checks.toml", tmp_path / "checks.xml", tmp_path / "checks.md"
    checks.write_text('[[check]]\nname = "slow enough"\nfail-if = "write-pressure.mean < 1us"\n')
    arguments = ["--checks", str(checks), "--fail-if", "write-pressure[300].mean > 1us"]
    files = ["--check-results", str(xml), "--check-results", str(table)]
    assert main(["show", str(place / "slow"), *arguments, *files]) == 3
    (suite,) = ElementTree.parse(xml).getroot()
    assert {case.get("name"): len(case) for case in suite} == {
        "write-pressure[300].mean > 1us": 1,
        "slow enough": 0,
    }
    assert "| slow enough | passed |" in table.read_text()
    both = [str(place / "fast"), str(place / "slow")]
    assert main(["compare", *both, "--fail-if", "mean worse by > 5%", "--check-results", str(xml)]) == 3
    assert ElementTree.parse(xml).getroot()[0].get("failures") == "1"


def test_results_need_conditions(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(place / "slow"), "--check-results", str(tmp_path / "x.xml")]) == 2
    assert "there are no conditions" in capsys.readouterr().err


def test_a_new_review_refuses_unknown_names_before_it_opens_its_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new.bin"
    for condition, hint in (
        ("commit-latncy[1 log].p99 > 5ms", "did you mean 'commit-latency'?"),
        ("mixed[70 %].p99 > 5ms", "use one of 'commit-latency'"),
    ):
        arguments = ["review", str(target), "--suite=commit-latency", "--size=16m", "--fail-if", condition]
        assert main([*arguments, f"--output={tmp_path / 'r'}"]) == 2
        assert hint in capsys.readouterr().err
        assert not target.exists()
        assert not (tmp_path / "r").exists()


def test_a_new_review_is_judged_by_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xml = tmp_path / "checks.xml"
    options = ["--suite=mixed", "--runtime=100ms", "--seed=1", f"--output={tmp_path / 'r'}"]
    conditions = ["--fail-if=mixed[70 %].IOPS > 1", f"--check-results={xml}"]
    assert main(["review", "model:p4800x", *options, *conditions]) == 3
    assert "70 %: iops is " in capsys.readouterr().err
    assert ElementTree.parse(xml).getroot()[0].get("failures") == "1"


def test_the_library_returns_a_result_for_each_condition(place: Path) -> None:
    review = iogauge.open_review(place / "slow")
    results = review.check(["write-pressure.mean < 1us", "write-pressure[100].mean > 1us"])
    assert [result.result for result in results] == ["passed", "failed"]
    (result,) = iogauge.compare(place / "fast", place / "slow").check("mean worse by > 5%")
    assert result.result == "failed"
    assert len(result.messages) == 2
