"""``--fail-if``, ``--checks``, ``--check-results`` of every command that has them: exit status and files."""

from __future__ import annotations

import json
import re
import signal
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import iogauge
from iogauge.cli import main
from iogauge.cli.terminal import checks, status
from iogauge.cli.terminal.progress import Progress
from iogauge.report.run.interval_stats import IntervalStats
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
        ("write-pressure[100].p99.99999 > 1s", 1, "error: at-0100: 100 MB/s: p99.99999"),
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
        (("fast", "slow"), "mean worse by > 5%", 3, "write-pressure, 300 MB/s: mean "),
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


def test_the_gravest_ten_have_a_line_each_and_the_others_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for target in ("p4800x", "optane-memory-32g"):
        review = ["review", f"model:{target}", "--suite=queue-depth", "--runtime=50ms", "--seed=1"]
        assert main([*review, f"--output={tmp_path / target}"]) == 0
    both = [str(tmp_path / target) for target in ("p4800x", "optane-memory-32g")]
    for columns, results, has in (
        (80, [], "--check-results FILE"),
        (200, ["--check-results=c.xml"], "c.xml"),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        assert main(["compare", *both, "--fail-if", "p99 worse by > 5%", *results]) == 3
        lines = capsys.readouterr().err.splitlines()
        failed = [line for line in lines if line.startswith("failed: ")]
        assert len(failed) == checks.MOST
        assert max(map(len, lines)) <= columns
        assert all(re.search(r": p99 ~?[\d.,]+(x A's| % worse)$", line) for line in failed)
        assert re.fullmatch(rf"\.\.\. \d+ more: {has}", lines[checks.MOST])
        worse = [line.rpartition(" p99 ")[2].split("x")[0] for line in failed if "x A's" in line]
        # Each has the digits that its interval supports.
        assert all(
            float(before) + half_digit(before) >= float(after) - half_digit(after)
            for before, after in pairwise(worse)
        )


def half_digit(number: str) -> float:
    """Return half of the last digit of a printed number."""
    return 0.5 * 10.0 ** -len(number.partition(".")[2])


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
    assert "70 %: IOPS is " in capsys.readouterr().err
    assert ElementTree.parse(xml).getroot()[0].get("failures") == "1"


def test_the_library_returns_a_result_for_each_condition(place: Path) -> None:
    review = iogauge.open_review(place / "slow")
    results = review.check(["write-pressure.mean < 1us", "write-pressure[100].mean > 1us"])
    assert [result.result for result in results] == ["passed", "failed"]
    (result,) = iogauge.compare(place / "fast", place / "slow").check("mean worse by > 5%")
    assert result.result == "failed"
    assert len(result.messages) == 2


RUN = [
    "run",
    "--name=log",
    "--filename=model:p4800x",
    "--rw=randread",
    "--bs=4k",
    "--runtime=4",
    "--time_based",
]
QUICK = ["quick", "model:p4800x", "--read-only", "--runtime=50ms", "--seed=1"]


def outcomes(path: Path) -> dict[str | None, list[str]]:
    """Return what JUnit's XML says of each check, by its name: empty if it passed."""
    (suite,) = ElementTree.parse(path).getroot()
    return {case.get("name"): [problem.tag for problem in case] for case in suite}


@pytest.mark.parametrize(
    ("command", "holds", "passes", "undecided"),
    [
        (RUN, "job=log: p50 > 1us", "iops < 1", "p99.99999 > 1s"),
        (
            QUICK,
            "quick[RND4K Q1T1 read].mean > 1us",
            "read.iops < 1",
            "quick[RND4K Q1T1 read].p99.99999 > 1s",
        ),
    ],
    ids=["run", "quick"],
)
def test_a_run_and_a_minute_take_files_of_checks(
    command: list[str],
    holds: str,
    passes: str,
    undecided: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks, xml, table = tmp_path / "checks.toml", tmp_path / "checks.xml", tmp_path / "checks.md"
    checks.write_text(f'[[check]]\nname = "fast"\nfail-if = "{holds}"\n[[check]]\nfail-if = "{undecided}"\n')
    saved = [f"--output={tmp_path / 'saved'}"]
    files = [f"--checks={checks}", f"--check-results={xml}", f"--check-results={table}"]
    assert main([*command, *saved, *files, f"--fail-if={passes}"]) == 3
    assert outcomes(xml) == {passes: [], "fast": ["failure"], undecided: ["error"]}
    assert "| fast | failed |" in table.read_text()
    err = capsys.readouterr().err
    assert f"({holds})" in err
    assert f"({undecided})" in err
    assert passes not in err


@pytest.mark.parametrize("command", [RUN, QUICK], ids=["run", "quick"])
@pytest.mark.parametrize(
    ("text", "results", "exits", "says"),
    [
        ("[[check]]\nfail-if = 'p99 > 1'\n", "checks.xml", 2, "lacks its unit"),
        ("[[check]]\nfail_if = 'p99 > 1ms'\n", "checks.xml", 2, "did you mean fail-if?"),
        ("[[check]]\nfail-if = 'write.p99 > 1ms'\n", "checks.xml", 1, "no job issues a write"),
        ("check = 1\n", "checks.xml", 2, "it has no checks"),
        ("[[check]]\nfail-if = 'p99 > 1ms'\n", "missing/checks.xml", 1, "there is no directory"),
        ("[[check]]\nfail-if = 'p99 > 1ms'\n", ".", 1, "is a directory"),
        ("[[check]]\nfail-if = 'p99 > 1ms'\n", "checks.toml", 1, "is an input of this command"),
        (None, "checks.xml", 1, "No such file"),
    ],
)
def test_wrong_files_of_checks_are_refused_before_anything_runs(
    command: list[str],
    text: str | None,
    results: str,
    exits: int,
    says: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = tmp_path / "checks.toml"
    if text is not None:
        checks.write_text(text)
    output = f"--output={tmp_path / 'saved'}"
    arguments = [f"--checks={checks}", f"--check-results={tmp_path / results}", output]
    assert main([*command, *arguments]) == exits
    out, err = capsys.readouterr()
    assert (out, says in err, "\nhint: " in err) == ("", True, True)
    assert [path.name for path in tmp_path.iterdir()] == ([] if text is None else ["checks.toml"])
    assert text is None or checks.read_text() == text


def test_an_interrupted_run_passes_no_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    xml = tmp_path / "checks.xml"
    monkeypatch.setattr(IntervalStats, "add", lambda *_: signal.raise_signal(signal.SIGINT))
    conditions = ["--fail-if=p50 > 1us", "--fail-if=iops < 1", f"--check-results={xml}"]
    assert main([*RUN, *conditions]) == status.INTERRUPTED
    assert outcomes(xml) == {"p50 > 1us": ["failure"], "iops < 1": ["error"]}
    assert "the run was interrupted (iops < 1)" in xml.read_text().replace("&lt;", "<")
    assert "randread" in capsys.readouterr().out


def test_an_interrupted_minute_writes_no_results_until_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xml, saved = tmp_path / "checks.xml", tmp_path / "saved"
    conditions = ["--fail-if=read.iops < 1", f"--check-results={xml}"]
    with monkeypatch.context() as interrupting:
        interrupting.setattr(Progress, "interval", lambda *_: signal.raise_signal(signal.SIGINT))
        assert main([*QUICK, f"--output={saved}", *conditions]) == status.INTERRUPTED
    assert not xml.exists()
    assert main(["review", "--resume", str(saved), *conditions]) == 0
    assert outcomes(xml) == {"read.iops < 1": []}
