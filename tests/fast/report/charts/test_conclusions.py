"""Conclusions of a suite in the report: tables, matrices and convergence plots, drawn from plain data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from iogauge.report.charts.conclusions import convergence_chart, matrix_chart
from iogauge.report.charts.drawing import svg
from iogauge.report.charts.specification import Chart
from iogauge.report.markdown import markdown
from iogauge.report.page import render
from iogauge.report.sections import Report
from iogauge.results.conclusions import Conclusions, Convergence, Matrix, TextTable
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from tests import reviews

COURSE = Convergence(
    title="4 KiB writes", axis="round", unit="IOPS", places=(1, 2, 3, 4, 5, 6, 7),
    values=(900.0, 500.0, 410.0, 400.0, 396.0, 404.0, 400.0), first=2, last=6, mean=402.0, slope=-1.0, steady=True,
)  # fmt: skip
UNSTEADY = replace(COURSE, title="64 KiB writes", steady=False)
MATRIX = Matrix(
    title="IOPS", unit="IOPS", columns="reads/writes", rows="block size",
    cells=(("100/0", "4 KiB", 5000.0), ("0/100", "4 KiB", 3000.0), ("100/0", "64 KiB", 400.0)),
)  # fmt: skip
TABLE = TextTable("Steady state", ("test", "round"), (("<b>4 KiB</b>", "7"),))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("concluded") / "review"
    reviews.save(path, reviews.Drive(seconds=2, reads_a_second=100), pressures_MBps=(0, 100))
    return path


@pytest.fixture(scope="module")
def drive(path: Path) -> SuiteResult:
    return load([path])[0]


def drawn(chart: Chart, choice: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg(chart.spec(choice)))


def test_the_convergence_plot_has_every_round_its_window_and_its_fit(drive: SuiteResult) -> None:
    chart = convergence_chart(drive, [COURSE, UNSTEADY], name="c")
    assert list(chart.choices) == ["1", "2"]
    assert chart.choices["1"].patches["linear"]["title"]["subtitle"].startswith("Steady.")
    assert chart.choices["2"].patches["linear"]["title"]["subtitle"].startswith("Not steady.")
    rows = [row for row in chart.table.records() if row["choice"] == 1]
    assert [row["value"] for row in rows] == list(COURSE.values)
    assert [row["in_window"] for row in rows] == [False, False, True, True, True, True, True]
    assert {(row["window_from"], row["window_to"]) for row in rows} == {(3, 7)}
    assert {(row["fit_from"], row["fit_to"]) for row in rows} == {(404, 400)}
    roles = [path.get("aria-roledescription") for path in drawn(chart, "1").iter(f"{SVG}path")]
    assert roles.count("point") == len(COURSE.values)
    rules = [line for line in drawn(chart, "1").iter(f"{SVG}line") if line.get("stroke-dasharray") == "2,3"]
    assert len(rules) == 3


def test_the_matrix_names_every_value_it_colours(drive: SuiteResult) -> None:
    chart = matrix_chart(drive, [MATRIX], name="m")
    texts = [text.text for text in drawn(chart, "1").iter(f"{SVG}text")]
    assert {"5,000", "3,000", "400.0", "100/0", "0/100", "4 KiB", "64 KiB"} <= set(texts)
    # In the order of the cells, not by the alphabet.
    assert texts.index("100/0") < texts.index("0/100")


def test_the_page_and_the_markdown_show_what_was_concluded(path: Path) -> None:
    conclusions = Conclusions(("it is steady",), (TABLE,), (MATRIX,), (COURSE, UNSTEADY))
    report = Report.of([path], conclude=lambda _: conclusions)
    names = [chart.name for chart in report.charts]
    assert names[3:5] == ["write-pressure-1-convergence", "write-pressure-1-matrix"]
    page = render.page(report)
    assert all(f'data-chart="{name}"' in page for name in names)
    assert "It is steady." in page
    assert "&lt;b&gt;4 KiB&lt;/b&gt;" in page
    text = markdown(report)
    assert "- It is steady." in text
    assert "| test | round |\n| :-- | --: |\n| \\<b\\>4 KiB\\</b\\> | 7 |" in text
    assert "| 4 KiB | 5,000 | 3,000 |" in text
    assert "| 64 KiB | 400.0 | - |" in text
