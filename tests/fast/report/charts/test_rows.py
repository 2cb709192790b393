"""The rows of a specification as bars: sorted, small requests apart from large ones, with their intervals."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from iogauge.cli import main
from iogauge.report.charts.drawing import svg
from iogauge.report.charts.rows import rows_chart
from iogauge.report.sections import Report
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "review"
    small = ("--seed=1", "--runtime=100ms")
    assert main(["review", "model:p4800x", "--suite=spec", *small, f"--output={path}"]) == 0
    return path


@pytest.fixture(scope="module")
def drives(saved: Path) -> tuple[SuiteResult, ...]:
    return load([saved])


def panels(drives: tuple[SuiteResult, ...]) -> list[tuple[str, list[str]]]:
    """Return the title of each panel's axis, and its rows from the top, as they are drawn."""
    drawn = ElementTree.fromstring(svg(rows_chart(drives).spec("mean"), keep=False))
    shown = []
    for panel in drawn.iter(f"{SVG}g"):
        if not re.fullmatch(r"mark-group role-scope concat_\d+_group", panel.get("class", "")):
            continue
        texts = [
            [
                "".join(part.text or "" for part in label.iter() if part.text)
                for label in axis.iter(f"{SVG}text")
            ]
            for kind in ("title", "label")
            for axis in panel.iter(f"{SVG}g")
            if f"role-axis-{kind}" in axis.get("class", "")
        ]
        names = next(labels for labels in texts if any("KiB" in label for label in labels))
        title = next(
            label for labels in texts for label in labels if label in ("IOPS", "MB/s", "I/O latency, µs")
        )
        shown.append((title, names))
    return shown


def test_small_requests_are_iops_and_large_ones_megabytes(drives: tuple[SuiteResult, ...]) -> None:
    rows = rows_chart(drives).table.records()
    assert {row["unit"] for row in rows if str(row["label"]).startswith("4 KiB")} == {"IOPS"}
    assert {row["unit"] for row in rows if str(row["label"]).startswith("64 KiB")} == {"MB/s"}
    for position in drives[0].positions:
        figures = position.figures
        row = next(row for row in rows if row["label"] == position.plan.label)
        rate = figures.iops if row["unit"] == "IOPS" else figures.rate_Bps / 1e6
        assert row["rate"] == pytest.approx(rate, rel=1e-5)
        assert row["rate_low"] <= row["rate"] <= row["rate_high"]  # type: ignore[operator]


def test_bars_are_sorted_and_latencies_too(drives: tuple[SuiteResult, ...]) -> None:
    rows = [row for row in rows_chart(drives).table.records() if row["statistic"] == "mean"]

    def ordered(unit: str | None, column: str, *, falling: bool) -> list[str]:
        chosen = [row for row in rows if unit in (None, row["unit"])]
        chosen.sort(key=lambda row: float(row[column] or 0), reverse=falling)
        return [re.sub(r"\s", "", str(row["label"])) for row in chosen]

    assert [(title, [re.sub(r"\s", "", name) for name in names]) for title, names in panels(drives)] == [
        ("IOPS", ordered("IOPS", "rate", falling=True)),
        ("MB/s", ordered("MB/s", "rate", falling=True)),
        ("I/O latency, µs", ordered(None, "latency_us", falling=False)),
    ]


def test_every_choice_is_drawn_on_both_axes_for_one_drive_and_two(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    main(["review", "model:p3700-800g", "--suite=spec", "--seed=1", "--runtime=100ms", f"--output={other}"])
    for drives in (load([saved]), load([saved, other])):
        chart = rows_chart(drives)
        for scale in ("linear", "log"):
            assert svg(chart.spec("p99", scale), keep=False).count('aria-roledescription="bar"') == 9 * len(
                drives
            )


def test_the_section_of_the_specification_has_this_chart(saved: Path) -> None:
    (section,) = Report.of([saved]).sections
    (chart,) = section.along
    assert chart.name == "spec"
    assert "rate_high" in chart.table.columns
