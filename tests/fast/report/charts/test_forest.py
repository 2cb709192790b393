"""The forest plot: every figure has an axis of its own, which holds its ratios, their intervals and the margin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from iogauge.comparison.pairwise import Side, compare_sides
from iogauge.report.charts.drawing import svg
from iogauge.report.charts.forest import forest_charts
from iogauge.report.charts.specification import Chart
from iogauge.results.figures import IOPS, PositionFigure
from iogauge.results.position import PositionKey

P99 = "p99_ns"


@pytest.fixture(scope="module")
def chart() -> Chart:
    """IOPS differ by a tenth, and p99 by thirtyfold."""
    rows = [
        PositionFigure(
            drive="d",
            position=PositionKey(suite="s", series="", label="", at=at, axis="depth", unit=""),
            repeat=0,
            judged="read",
            metric=metric,
            value=100,
            low=99,
            high=101,
            source="here",
        )
        for metric in (IOPS, P99)
        for at in (1, 2, 4)
    ]
    times = {IOPS: 1.1, P99: 30.0}
    others = [
        replace(row, value=100 * times[row.metric], low=98 * times[row.metric], high=102 * times[row.metric])
        for row in rows
    ]
    (compared,) = compare_sides(Side("A", "a", tuple(rows)), Side("B", "b", tuple(others)), titles={})
    (made,) = forest_charts(compared, name="forest", places=(0, 1))
    return made


def chosen(chart: Chart, metric: str) -> dict[str, Any]:
    return {param["name"]: param["value"] for param in chart.choices[metric].patches["log"]["params"]}


def test_the_axis_is_that_of_the_figure_that_is_shown(chart: Chart) -> None:
    iops, p99 = chosen(chart, IOPS), chosen(chart, P99)
    assert iops["domain"] == [0.5, 2]
    assert p99["domain"] == [0.5, 50]
    assert iops["ticks"] == [0.5, 1, 2]
    for metric, params in ((IOPS, iops), (P99, p99)):
        low, high = params["domain"]
        rows = [row for row in chart.table.records() if row["metric"] == metric]
        assert all(low <= float(row[name] or 1) <= high for row in rows for name in ("ratio", "low", "high"))


def test_the_points_of_each_figure_use_the_width(chart: Chart) -> None:
    """Drawn by Vega: were the axis of p99 everybody's, the points of IOPS would lie in its left part."""
    places = {}
    for metric in (IOPS, P99):
        tree = ElementTree.fromstring(svg(chart.spec(metric)))
        points = [
            node.get("transform", "")
            for node in tree.iter("{http://www.w3.org/2000/svg}path")
            if "ratio" in node.get("aria-label", "") or "B is" in node.get("aria-label", "")
        ]
        places[metric] = [float(point.removeprefix("translate(").partition(",")[0]) for point in points]
        assert len(points) == 3
    assert min(places[IOPS]) > 400
    assert min(places[P99]) > 600
