"""``iogauge report``, and the page of ``iogauge compare``: one page for both, and how far its making is."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.report.page import render
from iogauge.report.sections import Report
from iogauge.store import outputs
from tests import reviews

SHORT = {"seconds": 12, "reads_a_second": 200}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up drives."""
    place = tmp_path_factory.mktemp("reviews")
    reviews.save(place / "flash", reviews.Drive(**SHORT), pressures_MBps=(0, 300))
    fast = reviews.Drive(model="Fast", base_us=10, slope=0.05, limit_MBps=2000, **SHORT)
    reviews.save(place / "fast", fast, pressures_MBps=(0, 300), seed=2)
    return place


def test_a_report_of_two_and_a_comparison_are_one_page(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [f"{saved}/fast", f"{saved}/flash", "published"]
    assert main(["report", *both, f"--output={tmp_path}/report.html"]) == 0
    assert main(["compare", *both, "--format=html", f"--output={tmp_path}/compare.html"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"{tmp_path}/report.html", f"{tmp_path}/compare.html"]
    assert err == ""
    page = (tmp_path / "report.html").read_text()
    assert page == (tmp_path / "compare.html").read_text()
    assert "Reads of Fast stay " in page


def test_a_page_of_a_comparison_needs_something_to_compare(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", f"{saved}/fast", "--format=html"]) == 2
    assert "only one side is named" in capsys.readouterr().err
    assert main(["compare", f"{saved}/fast", f"{saved}/flash", "--format=html", "--json"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    assert main(["report", "published"]) == 2
    assert "no saved review is named" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_is_written_to_a_file(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = [f"{saved}/fast", f"{saved}/flash"]
    assert main(["compare", *both, "--verbose"]) == 0
    shown = capsys.readouterr().out
    assert main(["compare", *both, f"--output={tmp_path}/found.txt"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/found.txt\n"
    assert (tmp_path / "found.txt").read_text() == shown


def test_a_margin_is_that_of_the_page(saved: Path, tmp_path: Path) -> None:
    made = Report.of([saved / "fast", saved / "flash"], margin=0.2)
    (part,) = made.pairs[0].parts
    assert part.compared.margin == 0.2
    assert {row[0] for row in part.charts[0].table.rows} == {
        "iops",
        "mean_ns",
        "p50_ns",
        "p99_ns",
        "p99.9_ns",
    }


def test_a_step_that_left_its_level_is_warned_of_wherever_it_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    throttled = reviews.Drive(seconds=70, reads_a_second=200, throttled_from=40)
    reviews.save(tmp_path / "r", throttled, pressures_MBps=(0,))
    said = "the rate did not stay at its level: left its level at second 40: from "
    assert main(["show", f"{tmp_path}/r", "-v"]) == 0
    assert said in capsys.readouterr().err
    for form in ("html", "md"):
        page = tmp_path / f"r.{form}"
        assert main(["report", f"{tmp_path}/r", f"--format={form}", f"--output={page}"]) == 0
        assert said in page.read_text()


def test_every_part_of_the_making_is_heard(saved: Path) -> None:
    heard: list[tuple[int, int]] = []

    def hear(done: int, total: int) -> None:
        heard.append((done, total))

    made = Report.of([saved / "fast", saved / "flash"], on_progress=hear)
    assert heard == [(1, 2), (2, 2)]
    heard.clear()
    render.page(made, on_progress=hear)
    assert heard == [(place, len(made.charts)) for place in range(1, len(made.charts) + 1)]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_stderr_shows_how_far_it_is(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["report", f"{saved}/fast", f"--output={tmp_path}/r.html"]) == 0
    assert "report: reading and judging" in terminal.getvalue()
    assert "report: drawing" in terminal.getvalue()
    assert capsys.readouterr().out == f"{tmp_path}/r.html\n"


@pytest.mark.parametrize("command", [["report", "--format=md"], ["compare"], ["compare", "--format=md"]])
def test_what_is_only_printed_looks_at_no_target(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setattr(outputs, "Claims", None)
    assert main([*command, f"{saved}/fast", f"{saved}/flash"]) == 0
    assert capsys.readouterr().out


def test_a_page_in_its_review_is_replaced_where_files_have_no_attributes(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    review = tmp_path / "review"
    shutil.copytree(saved / "fast", review)
    (review / "report.html").write_text("a page that was copied with the review")
    monkeypatch.setattr(render, "page", lambda *_, **__: "the new page")
    assert main(["report", str(review)]) == 0
    assert "report.html: exists and was not written by iogauge" in capsys.readouterr().err
    assert (review / "report.html").read_text() == "the new page"
