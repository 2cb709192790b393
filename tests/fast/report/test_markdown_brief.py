"""The report as short Markdown: the answer first, what fits is folded, the rest is named."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.report import markdown_brief
from iogauge.report.markdown_brief import MOST_BYTES, brief
from iogauge.report.page.first_screen import ranked
from iogauge.report.page.key_figures import key_figures
from iogauge.report.sections import Report
from tests import reviews
from tests.reviews import Drive

HOSTILE = "</summary><img src=x onerror=alert(1)> & | *d*"


def saved(folder: Path, name: str = "Flash 9000") -> Path:
    reviews.save(
        folder / "saved", Drive(name, seconds=3, reads_a_second=400), pressures_MBps=(0, 100, 700), repeats=2
    )
    return folder / "saved"


def test_it_begins_with_the_answer_and_folds_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    review = saved(tmp_path)
    assert main(["report", str(review), "--format=md"]) == 0
    text = capsys.readouterr().out
    assert len(text.encode()) <= MOST_BYTES == 8000
    report = Report.of([review])
    lines = text.splitlines()
    assert lines[0] == "## Flash 9000"
    assert lines[4] == f"**{ranked(report)[0].headline}**"
    rows = [line.split(" | ") for line in lines if line.startswith("| ")]
    figures = key_figures(report)
    assert [row[1] for row in rows[2 : 2 + len(figures)]] == [figure.value for figure in figures]
    folded = re.findall("<summary>(.*)</summary>", text)
    assert folded[:3] == ["Circumstances: Flash 9000", "How to measure it again", "Write pressure"]
    assert text.count("<details>") == text.count("</details>") == len(folded)
    assert "Left out" not in text


def test_what_does_not_fit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report.of([saved(tmp_path)])
    all_bytes = len(brief(report).encode())
    monkeypatch.setattr(markdown_brief, "MOST_BYTES", all_bytes - 1)
    text = brief(report)
    assert len(text.encode()) < all_bytes
    (left_out,) = re.findall(r"^Left out: (.*)\. .*verbose.* writes everything\.$", text, re.MULTILINE)
    assert f"<summary>{left_out.split(', ')[0]}</summary>" not in text


def test_verbose_has_every_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(saved(tmp_path)), "--format=md", "--verbose"]) == 0
    text = capsys.readouterr().out
    assert "\n### Write pressure\n" in text
    assert "<details>" not in text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_verdict_for_a_use_comes_before_the_headline(tmp_path: Path, name: str) -> None:
    review = saved(tmp_path)
    (verdict,) = iogauge.judge(review, use="wal").sentences
    iogauge.write_report(review, tmp_path / name, use="wal")
    text = html.unescape((tmp_path / name).read_text("utf-8")).replace("\\", "")
    assert text.index(verdict) < text.index(ranked(Report.of([review]))[0].headline)


def test_no_name_becomes_markup(tmp_path: Path) -> None:
    text = brief(Report.of([saved(tmp_path, HOSTILE)]))
    assert "<img" not in text.replace(r"\<", "")
    assert "<summary>Circumstances: &lt;/summary&gt;&lt;img" in text
