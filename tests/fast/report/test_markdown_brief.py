"""The report as short Markdown: the answer first, all of it within its bytes, and the rest named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.report.markdown_brief import MOST_BYTES, brief
from iogauge.report.page.first_screen import key_figures, ranked
from iogauge.report.sections import Report
from tests import reviews
from tests.reviews import Drive

HOSTILE = "</summary><img src=x onerror=alert(1)> & | *d*"


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("review") / "saved"
    assert main(["review", "model:p3700-800g", "--seed=1", "--runtime=5ms", f"--output={folder}"]) == 0
    return folder


def test_a_default_review_fits_and_begins_with_the_answer(
    default: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["report", str(default), "--format=md"]) == 0
    text = capsys.readouterr().out
    assert len(text.encode()) <= MOST_BYTES == 8000
    report = Report.of([default])
    lines = text.splitlines()
    headline = lines.index(f"**{ranked(report)[0].headline.replace('~', chr(92) + '~')}**")
    assert headline == 4
    rows = [line for line in lines[headline:] if line.startswith("| ")]
    assert [row.split(" | ")[1] for row in rows[2 : 2 + len(key_figures(report))]] == [
        figure.value for figure in key_figures(report)
    ]
    # What was left out is said; with what was folded, it is the whole.
    titles = {section.plan.title for section in report.sections}
    folded = set(re.findall("<summary>(.*)</summary>", text))
    (left_out,) = re.findall(r"^Left out: (.*)\. --verbose writes everything\.$", text, re.MULTILINE)
    assert titles == (titles & folded) | (titles & set(left_out.split(", ")))
    assert text.count("<details>") == text.count("</details>") == len(folded)


def test_verbose_has_every_table(default: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["report", str(default), "--format=md", "--verbose"]) == 0
    text = capsys.readouterr().out
    for section in Report.of([default]).sections:
        assert f"\n### {section.plan.title}\n" in text


def test_no_name_becomes_markup(tmp_path: Path) -> None:
    reviews.save(tmp_path / "r", Drive(HOSTILE, seconds=3, reads_a_second=400), pressures_MBps=(0, 700))
    text = brief(Report.of([tmp_path / "r"]))
    assert "<img" not in re.sub(r"\\<", "", text)
    assert "<summary>Circumstances: &lt;/summary&gt;&lt;img" in text
