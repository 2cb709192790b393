"""``iogauge ladder``: the answer first, in 80 columns; the same as a review of its suite; what is refused, and why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.tunings import rungs
from iogauge.machine.tuning import Tuning
from iogauge.report.charts.effects import effects_chart
from iogauge.report.markdown import markdown
from iogauge.report.sections import Report
from iogauge.store import Review

LADDER = ["ladder", "model:p4800x", "--read-only", "--runtime=50ms", "--seed=1"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ladder of reads on a drive model."""
    path = tmp_path_factory.mktemp("ladder") / "saved"
    assert main([*LADDER, f"--output={path}"]) == 0
    return path


def test_the_answer_comes_first_and_all_fits_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LADDER, f"--output={tmp_path / 'r'}"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("- governor performance is worth -0.2")
    lines = out.splitlines()
    # A command is as long as the path in it.
    assert max(len(line) for line in lines if "iogauge " not in line) <= 80
    findings = " ".join(out[: out.index("model:p4800x: 6 blocks")].split())
    assert "- A/A shows no difference" in findings
    assert "  published" in out


def test_a_review_of_the_suite_has_the_same_steps(tmp_path: Path) -> None:
    short = ["--runtime=5ms", "--seed=1"]
    ladder, other = tmp_path / "ladder", tmp_path / "review"
    assert main([*LADDER[:3], "--blocks=2", *short, f"--output={ladder}"]) == 0
    options = ["--suite=ladder", "--repeats=2", *short, f"--output={other}"]
    assert main(["review", "model:p4800x", *options]) == 0
    reads = [step for step in Review.open(other).manifest.steps if "reads" in step.id]
    assert [step.model_dump() for step in reads] == [
        step.model_dump() for step in Review.open(ladder).manifest.steps
    ]


def test_a_ladder_that_goes_on_ends_with_the_same_text(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(saved, tmp_path / "copy")
    review = Review.open(copy)
    review.discard(review.manifest.steps[-1].id)
    capsys.readouterr()
    assert main(["review", "--resume", str(copy)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("- governor performance is worth -0.2")
    assert "model:p4800x: 6 blocks" in out


def test_json_has_every_effect_with_its_interval(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["show", str(saved), "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    mean = plan["effects"][0]
    assert (mean["title"], mean["unit"]) == ("mean read latency", "us")
    turbo = {row["name"]: row for row in mean["rows"]}["turbo off 2.3 GHz"]
    assert turbo["established"]
    assert turbo["low"] < turbo["value"] < turbo["high"]
    assert turbo["published"] == pytest.approx(9.2 - 7.96)


def test_reports_have_the_chart_and_the_tables(saved: Path) -> None:
    report = Report.of([saved], conclude=lambda _: iogauge.open_review(saved).suite("ladder").conclusions)
    text = markdown(report)
    assert "| governor performance |" in text
    assert "one at a time: against the rung below" in text
    drive = iogauge.open_review(saved).suite("ladder")
    chart = effects_chart(drive, drive.conclusions.effects, name="c")
    assert [choice.label for choice in chart.choices.values()][:2] == [
        "Mean read latency",
        "P99 read latency",
    ]
    row = chart.table.records()[0]
    assert (row["tuning"], row["against"], row["published"]) == ("governor performance", "stock", -0.27)
    assert any(part.name.endswith("-effects") for part in report.charts)


def test_the_library_returns_the_saved_review(tmp_path: Path) -> None:
    review = iogauge.ladder(
        "model:p4800x", one_at_a_time=True, read_only=True, blocks=1, runtime="20ms", output=tmp_path / "r"
    )
    rows = review.suite("ladder").conclusions.effects[0].rows
    assert {row.against for row in rows} == {"stock"}
    assert len(rows) == 5


def test_where_no_rung_can_be_set_nothing_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> Tuning:
        raise iogauge.IogaugeError("only root may change this machine's settings", hint="be root")

    monkeypatch.setattr(rungs, "subject_of", lambda _: None)  # A file in memory is on no drive.
    monkeypatch.setattr(rungs, "tuned", refused)
    target, output = tmp_path / "file.bin", tmp_path / "r"
    assert main(["ladder", str(target), "--size=4m", f"--output={output}"]) != 0
    errors = capsys.readouterr().err
    assert "there is no rung to measure" in errors
    assert "irqbalance off was not measured: only root may change" in errors
    assert not output.exists()
