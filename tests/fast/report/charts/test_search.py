"""The path of a search in the report: its chart on real searches, the key figures, and what the page says."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

import iogauge
from iogauge.report.charts.drawing import svg
from iogauge.report.charts.rows import rows_chart
from iogauge.report.charts.search import PALE, search_chart, search_table
from iogauge.report.charts.specification import Chart
from iogauge.report.page import render
from iogauge.report.page.first_screen import ranked
from iogauge.report.page.key_figures import key_figures
from iogauge.report.sections import Report
from iogauge.results.conclusions import SearchResult
from iogauge.results.suite_result import SuiteResult
from iogauge.suites.rates.find import Find
from iogauge.text.cells import micro
from tests.fast.suites.rates.known import SERVICE_NS, one_lane

LIMIT = f"p99 < {6 * SERVICE_NS / 1000:g}us"
SVG = "{http://www.w3.org/2000/svg}"


def concluded(report: Path) -> Report:
    return Report.of([report], conclude=Find().conclude)


def searched(folder: Path, **options: object) -> Report:
    iogauge.find(
        one_lane(folder),
        **{"limit": LIMIT, "runtime": "100ms", "precision": 0.1, "seed": 1, **options},  # type: ignore[arg-type]
        output=folder / "saved",
    )
    return concluded(folder / "saved")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return searched(tmp_path_factory.mktemp("rate"))


def search_of(drive: SuiteResult) -> SearchResult:
    assert drive.conclusions.search is not None
    return drive.conclusions.search


def _symbols(group: ElementTree.Element) -> bool:
    return "mark-symbol" in group.get("class", "") and "legend" not in group.get("class", "")


def points(chart: Chart) -> int:
    """Return how many loads have a point, without the pale ones of shorter runs."""
    drawn = ElementTree.fromstring(svg(chart.spec("only")))
    marks = (group for group in drawn.iter(f"{SVG}g") if _symbols(group))
    solid = ([point for point in group if float(point.get("opacity", 1)) != PALE] for group in marks)
    return max(map(len, solid))


def test_the_first_chart_has_a_point_for_each_load(report: Report) -> None:
    chart, (drive,) = report.hero, report.drives
    assert chart is not None
    loads = {load.at for load in search_of(drive).loads}
    assert points(chart) == len(loads) > 4
    drawn = ElementTree.fromstring(svg(chart.spec("only")))
    assert float(drawn.get("width", "inf")) < 1000
    assert LIMIT in chart.title
    assert {"kept", "missed"} <= set(chart.table.column("outcome"))


def test_only_the_longest_run_of_a_load_decides(report: Report) -> None:
    (drive,) = report.drives
    rows = search_table(report.drives).records()
    deciding = [row["position"] for row in rows if row["decides"]]
    assert len(set(deciding)) == len(deciding) == len({load.at for load in search_of(drive).loads})
    runs = Counter(load.at for load in search_of(drive).loads)
    again = {at for at, times in runs.items() if times > 1}
    assert {row["position"] for row in rows if not row["decides"]} == again


def test_each_limit_has_a_panel(tmp_path: Path) -> None:
    limits = [LIMIT.replace("p99", "read.p99"), LIMIT.replace("p99", "write.mean")]
    report = searched(tmp_path, limit=limits, rw="randrw", runtime="50ms")
    chart = report.hero
    assert chart is not None
    assert len(chart.specs["log"]["vconcat"]) == 2
    assert points(chart) == len({load.at for load in search_of(report.drives[0]).loads})
    names = [figure.name for figure in key_figures(report)]
    assert sum(name.startswith("Kept at ") for name in names) == 2


@pytest.mark.parametrize("over", ["depth", "jobs"])
def test_a_search_of_whole_numbers_is_drawn_too(over: str, tmp_path: Path) -> None:
    report = searched(tmp_path, over=over, runtime="20ms")
    chart = report.hero
    assert chart is not None
    assert points(chart) > 3
    limit, *_ = key_figures(report)
    assert limit.value.split()[0] == str(search_of(report.drives[0]).holds).removesuffix(".0")


def test_two_searches_share_a_chart(report: Report, tmp_path: Path) -> None:
    other = searched(tmp_path, seed=2).drives[0]
    other.label = "Other"
    chart = search_chart([report.drives[0], other])
    assert set(chart.table.column("drive")) == {report.drives[0].label, "Other"}
    assert points(chart) == sum(bool(row["decides"]) for row in chart.table.records())


def test_key_figures_are_the_answer(report: Report) -> None:
    search = search_of(report.drives[0])
    figures = {figure.name: figure for figure in key_figures(report)}
    assert len(figures) == 4
    assert search.holds is not None
    assert search.breaks is not None
    limit = figures["Limit, estimated"]
    assert search.holds < float(limit.value.removesuffix(" IOPS").replace(",", "")) < search.breaks
    assert limit.interval == f"kept {search.holds:,.0f}, missed {search.breaks:,.0f}"
    for name, at in (("Kept", search.holds), ("Missed", search.breaks)):
        figure = figures[f"{name} at {at:,.0f} IOPS: p99"]
        *_, load = (load for load in search.loads if load.at == at)
        assert load.latencies[0] is not None
        assert micro(str(load.latencies[0])).startswith(f"{figure.value.removesuffix(' µs')} ")
    assert "Most served, limit kept" in figures


def test_the_page_writes_microseconds_in_one_way_and_the_condition_as_typed(report: Report) -> None:
    assert ranked(report)[0].headline.startswith(f"{LIMIT} is kept up to ")
    page = re.sub(r"<(script|svg)\b.*?</\1>", "", render.page(report), flags=re.DOTALL)
    assert re.search(r"\d µs", page)
    assert not re.search(r"\d us\b", page)


def test_rows_without_names_are_refused(report: Report) -> None:
    with pytest.raises(ValueError, match="no name"):
        rows_chart(report.drives)
    assert not report.drives[0].is_table


def test_a_load_that_completed_nothing_leaves_a_gap(report: Report) -> None:
    (drive,) = report.drives
    search = search_of(drive)
    silent = tuple(replace(load, latencies=(None,)) for load in search.loads[:1])
    drive.__dict__["conclusions"] = replace(
        drive.conclusions, search=replace(search, loads=(*silent, *search.loads[1:]))
    )
    try:
        assert points(search_chart([drive])) == len({load.at for load in search.loads}) - 1
    finally:
        del drive.__dict__["conclusions"]
