"""The report as Markdown: its content and marks, and that no name in it becomes markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iogauge.cli import main
from iogauge.report.markdown import markdown
from iogauge.report.sections import Report
from tests import reviews
from tests.reviews import Drive

SMALL: dict[str, Any] = {"seconds": 3, "reads_a_second": 400}
HOSTILE = "<img src=x onerror=alert(1)> | `a` [b](javascript:c) *d*"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reviews")
    reviews.save(folder / "one", Drive(**SMALL), pressures_MBps=(0, 100, 700), missing=(100,))
    reviews.save(folder / "two", Drive("Crosspoint", base_us=9, **SMALL), pressures_MBps=(0, 700), repeats=2)
    reviews.save(folder / "hostile", Drive(HOSTILE, **SMALL), pressures_MBps=(0, 700))
    return folder


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a Markdown text, as cells, without their rules."""
    tables: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            tables.append([cells]) if not inside else tables[-1].append(cells)
        inside = line.startswith("|")
    return [[rows[0], *rows[2:]] for rows in tables]


def test_findings_come_first_then_a_table_and_the_circumstances(folder: Path) -> None:
    text = markdown(Report.of([folder / "one"]))
    assert text.startswith("## Flash 9000\n\n**Write pressure**\n\n- Mean read latency grew ")
    (steps,) = tables(text)
    assert steps[0][:3] == ["Requested, MB/s", "Achieved, MB/s", "Reads a second"]
    assert [row[0] for row in steps[1:]] == ["0", "100", "700"]
    assert steps[2][1] == "not complete"
    assert all(len(row) == len(steps[0]) for row in steps)
    assert "kernel 6.1.0" in text
    assert text.index("Mean read latency") < text.index("| Requested") < text.index("Example CPU")
    assert text.endswith("    iogauge review drive.bin\n")


def test_unsupported_quantiles_are_marked_and_explained(folder: Path) -> None:
    text = markdown(Report.of([folder / "one"]))
    (steps,) = tables(text)
    assert steps[1][-1].startswith("○ ")
    assert not steps[1][3].startswith("○")
    assert "○ marks a quantile" in text


def test_figures_have_their_intervals(folder: Path) -> None:
    (steps, _varied) = tables(markdown(Report.of([folder / "two"])))
    assert all("(" in row[3] and "–" in row[3] for row in steps[1:])


def test_several_drives_share_a_table_and_repeats_have_one_more(folder: Path) -> None:
    text = markdown(Report.of([folder / "one", folder / "two"]))
    steps, varied = tables(text)
    assert [row[0] for row in steps[1:]] == ["Flash 9000"] * 3 + ["Crosspoint"] * 2
    assert [row[:2] for row in varied[1:]] == [["0", "2"], ["700", "2"]]
    assert "- Crosspoint: Mean read latency grew" in text
    assert "- Reads of Crosspoint stay " in text


def test_no_name_becomes_markup(folder: Path) -> None:
    text = markdown(Report.of([folder / "hostile", folder / "one"]))
    assert "<img" not in text.replace("\\<", "")
    assert "](javascript" not in text.replace("\\]", "")
    steps = tables(text)[0]
    assert len({len(row) for row in steps}) == 1


def test_the_command_prints_it_or_writes_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folder / "one"), "--format", "md"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("## Flash 9000\n")
    file = tmp_path / "report.md"
    assert main(["report", str(folder / "one"), "--format", "md", "--output", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    assert file.read_text() == printed
