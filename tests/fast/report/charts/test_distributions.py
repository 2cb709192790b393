"""Distributions in the report: percentile curves and heat maps of drives whose every request is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from iogauge.report.charts.drawing import svg
from iogauge.report.charts.over_time import heat
from iogauge.report.charts.over_time.heat import heat_chart, heat_table
from iogauge.report.charts.percentiles import percentile_chart
from iogauge.report.charts.specification import ONLY
from iogauge.report.charts.theme import DRIVES
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.moments import LEVELS
from tests import reviews
from tests.reviews import Drive

WIDTHS = ("1.25", "2.25")
"""Of the dashed and the solid part of a curve."""
PATH = "{http://www.w3.org/2000/svg}path"


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteResult, ...]:
    folder = tmp_path_factory.mktemp("both")
    reviews.save(folder / "a", Drive(seconds=4, reads_a_second=400), pressures_MBps=(0, 700))
    fast = Drive("Crosspoint", base_us=9, slope=0.05, seconds=4, reads_a_second=3000)
    reviews.save(folder / "b", fast, pressures_MBps=(0, 400, 700))
    return load([folder / "a", folder / "b"])


def marks(spec: dict[str, Any], kind: str) -> list[ElementTree.Element]:
    drawn = ElementTree.fromstring(svg(spec))
    return [path for path in drawn.iter(PATH) if path.get("aria-roledescription") == kind]


def test_a_curve_is_offered_for_every_step_of_any_drive(drives: tuple[SuiteResult, ...]) -> None:
    chart = percentile_chart(drives, name="curves")
    assert chart is not None
    assert [choice.label for choice in chart.choices.values()] == ["0 MB/s", "700 MB/s", "400 MB/s"]
    rows = chart.table.records()
    assert {row["drive"] for row in rows if row["choice"] == 1} == {"Flash 9000", "Crosspoint"}
    assert {row["drive"] for row in rows if row["choice"] == 3} == {"Crosspoint"}


def test_a_curve_holds_the_quantiles_and_ends_with_the_slowest(drives: tuple[SuiteResult, ...]) -> None:
    chart = percentile_chart(drives, name="curves")
    assert chart is not None
    for drive in drives:
        figures = drive.positions[0].figures
        assert figures is not None
        rows = [r for r in chart.table.records() if r["drive"] == drive.label and r["choice"] == 1]
        at = {float(row["beyond"] or 0): row for row in rows}
        assert at[0.5]["latency_us"] == pytest.approx(figures.histogram.quantile(0.5) / 1000, rel=1e-4)
        assert at[0.01]["latency_us"] == pytest.approx(figures.histogram.quantile(0.99) / 1000, rel=1e-4)
        assert rows[-1]["latency_us"] == pytest.approx(figures.histogram.max / 1000, rel=1e-4)
        latencies = [float(row["latency_us"] or 0) for row in rows]
        assert latencies == sorted(latencies)
        for beyond, row in at.items():
            assert row["supported"] == (beyond * figures.histogram.count >= 10)


def test_what_the_sample_does_not_support_is_dashed_and_hollow(drives: tuple[SuiteResult, ...]) -> None:
    chart = percentile_chart(drives[:1], name="curves")
    assert chart is not None
    spec = chart.spec("step-1")
    lines = [
        path for path in ElementTree.fromstring(svg(spec)).iter(PATH) if path.get("stroke-width") in WIDTHS
    ]
    assert sorted(path.get("stroke-dasharray", "") for path in lines) == ["", "1,3"]
    rows = [row for row in chart.table.records() if row["choice"] == 1]
    points = [row for row in rows if row["marked"] or not row["supported"]]
    hollow = [path for path in marks(spec, "point") if path.get("fill") == "#ffffff"]
    assert len(marks(spec, "point")) == len(points)
    assert len(hollow) == sum(not row["supported"] for row in points) > 0


def test_the_scale_of_nines_grows_to_the_right(drives: tuple[SuiteResult, ...]) -> None:
    chart = percentile_chart(drives[1:], name="curves")
    assert chart is not None
    drawn = ElementTree.fromstring(svg(chart.spec("step-1")))
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    labels = ["50 %", "90 %", "99 %", "99.9 %"]
    assert [text for text in texts if text in labels] == labels


def test_a_heat_map_holds_every_request_once(drives: tuple[SuiteResult, ...]) -> None:
    for drive in drives:
        rows = heat_table(drive).records()
        completed = sum(run.figures.ios for run in drive.runs)
        assert sum(int(row["requests"] or 0) for row in rows) == completed
        for row in rows:
            ratio = float(row["high_us"] or 0) / float(row["low_us"] or 1)
            assert ratio == pytest.approx(10 ** (1 / LEVELS), rel=1e-3)


def test_a_heat_map_stays_within_its_cells(
    drives: tuple[SuiteResult, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heat, "COLUMNS", 5)
    monkeypatch.setattr(heat, "ROWS", 7)
    for drive in drives:
        rows = heat_table(drive).records()
        assert len({row["start_s"] for row in rows}) <= 5
        assert len({row["low_us"] for row in rows}) <= 7
        completed = sum(run.figures.ios for run in drive.runs)
        assert sum(int(row["requests"] or 0) for row in rows) == completed


def test_a_heat_map_has_a_mark_for_each_cell(drives: tuple[SuiteResult, ...]) -> None:
    chart = heat_chart(drives[0], name="heat")
    assert chart is not None
    assert chart.dense
    cells = [
        path
        for path in ElementTree.fromstring(svg(chart.spec(ONLY))).iter(PATH)
        if path.get("fill") == DRIVES[0]
    ]
    assert len(cells) == len(chart.table.rows)
    # The most requests a second are the darkest.
    rates = [float(row["requests"] or 0) for row in chart.table.records()]
    shades = [float(cell.get("opacity", "1")) for cell in cells]
    assert shades.index(max(shades)) == rates.index(max(rates))


def test_without_any_request_there_is_neither(tmp_path: Path) -> None:
    reviews.save(tmp_path / "r", pressures_MBps=(100,), missing=(100,))
    drives = load([tmp_path / "r"])
    assert percentile_chart(drives, name="curves") is None
    assert heat_chart(drives[0], name="heat") is None
