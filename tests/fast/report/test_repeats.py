"""Repeats in the report: one row and point for all of them, one for each, and how much they differ."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from iogauge.report.charts.data import STATISTICS, pressure_table
from iogauge.report.charts.drawing import svg
from iogauge.report.charts.pressure import pressure_chart
from iogauge.report.page import render
from iogauge.report.page.steps import run_rows, step_rows, varied_rows
from iogauge.report.sections import Report
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import StepFigures
from iogauge.stats.pooled import pooled
from tests import reviews
from tests.reviews import Drive

SMALL: dict[str, Any] = {"seconds": 3, "reads_a_second": 400}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("repeats") / "review"
    reviews.save(path, Drive(**SMALL), pressures_MBps=(0, 100, 300), repeats=3)
    return path


@pytest.fixture(scope="module")
def drive(path: Path) -> SuiteResult:
    return load([path])[0]


def figures(drive: SuiteResult) -> list[StepFigures]:
    """Those of the runs at the last place."""
    return [run.figures for run in drive.positions[-1].runs]


def test_a_place_is_its_runs_merged(drive: SuiteResult) -> None:
    assert [len(position.runs) for position in drive] == [3, 3, 3]
    runs = figures(drive)
    merged = drive.positions[-1].figures
    assert merged.ios == sum(run.ios for run in runs) == merged.histogram.count
    assert merged.iops == pytest.approx(math.prod(run.iops for run in runs) ** (1 / 3))
    estimate = merged.quantile(0.99)
    assert estimate is not None
    # The quantile of all requests, not a mean of quantiles.
    assert estimate.value == merged.histogram.quantile(0.99)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high


def test_a_merged_interval_is_that_of_the_runs_not_of_their_requests(drive: SuiteResult) -> None:
    runs = figures(drive)
    means = [run.mean.value for run in runs if run.mean]
    mean = pooled(runs).mean
    assert mean is not None
    assert mean.low is not None
    # 4.303: the t distribution with two degrees of freedom.
    reach = math.exp(4.303 * np.std(np.log(means), ddof=1) / math.sqrt(3))
    assert mean.value / mean.low == pytest.approx(reach, rel=1e-3)


def test_one_run_keeps_its_own_figures(drive: SuiteResult) -> None:
    first = figures(drive)[0]
    assert pooled([first]) is first


def test_what_a_single_run_cannot_support_three_may(tmp_path: Path) -> None:
    reviews.save(tmp_path / "r", Drive(seconds=2, reads_a_second=400), pressures_MBps=(0,), repeats=3)
    (position,) = load([tmp_path / "r"])[0]
    run, merged = position.runs[0].figures, position.figures
    assert 500 < run.ios < 1000 < merged.ios
    assert run.quantile(0.99) is not None
    assert merged.quantile(0.99) is not None
    assert (run.quantile(0.99).supported, merged.quantile(0.99).supported) == (False, True)


def test_tables_have_a_row_for_all_runs_and_one_for_each(drive: SuiteResult) -> None:
    table = pressure_table([drive])
    repeats = [row["repeat"] for row in table.records() if row["statistic"] == "mean"]
    assert repeats == [None, 1, 2, 3] * 3
    assert len(table.rows) == 3 * 4 * len(STATISTICS)


def test_each_repeat_is_a_pale_point_behind_the_line(drive: SuiteResult) -> None:
    drawn = ElementTree.fromstring(svg(pressure_chart([drive]).spec("mean")))
    points = [
        path
        for path in drawn.iter("{http://www.w3.org/2000/svg}path")
        if path.get("aria-roledescription") == "point"
    ]
    pale = [point for point in points if float(point.get("opacity", "1")) < 0.5]
    assert (len(pale), len(points)) == (9, 12)


def test_every_figure_has_its_variation(drive: SuiteResult) -> None:
    rows = list(varied_rows(drive))
    assert [row.position for row in rows] == ["0", "100", "300"]
    assert all(len(row.coefficients) == 1 + len(STATISTICS) for row in rows)
    means = [run.mean.value for run in figures(drive) if run.mean]
    spread = float(np.std(means, ddof=1) / np.mean(means))
    assert float(rows[-1].coefficients[1].split()[0].lstrip("<")) == pytest.approx(100 * spread, abs=0.06)
    assert len(list(step_rows(drive))) == 3
    assert [row.position for row in run_rows(drive)][:3] == ["0, repeat 1", "0, repeat 2", "0, repeat 3"]


def test_the_page_says_whose_the_intervals_are(path: Path) -> None:
    page = render.page(Report.of([path]))
    assert "Run-to-run variation" in page
    assert "95 % interval, over the repeats of steps that have several" in page
    assert "0 MB/s, repeat 2" in page


def test_without_repeats_there_is_no_variation(tmp_path: Path) -> None:
    reviews.save(tmp_path / "one", Drive(**SMALL), pressures_MBps=(0, 100))
    (drive,) = load([tmp_path / "one"])
    assert list(varied_rows(drive)) == []
    assert "Run-to-run variation" not in render.page(Report.of([tmp_path / "one"]))


def test_a_missing_repeat_is_reported(tmp_path: Path) -> None:
    review = reviews.save(tmp_path / "r", Drive(**SMALL), pressures_MBps=(0, 100), repeats=2)
    drive = load([tmp_path / "r"])[0]
    last = review.path / "steps" / "at-0100-2"
    assert last.is_dir()
    for file in last.iterdir():
        file.unlink()
    last.rmdir()
    (drive,) = load([tmp_path / "r"])
    assert [step.id for step in drive.missing] == ["at-0100-2"]
    assert list(step_rows(drive))[-1].remarks == ("1 repeat not complete",)
