"""Charts: their tables, every variant as valid Vega-Lite, and drawing without a browser."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import vl_convert

from iogauge.errors import IogaugeError
from iogauge.report.charts.data import STATISTICS, Table, pressure_table, time_table
from iogauge.report.charts.drawing import VEGA_LITE, svg
from iogauge.report.charts.over_time.lines import time_chart
from iogauge.report.charts.pressure import pressure_chart, staircase_chart
from iogauge.report.charts.specification import ONLY, Chart, log_axis
from iogauge.report.charts.theme import HEIGHT
from iogauge.report.export import claim_charts, write_charts
from iogauge.results.review import load
from iogauge.results.suite_result import SuiteResult
from iogauge.results.warnings import warnings
from iogauge.store.outputs import Claims
from tests import reviews
from tests.reviews import Drive

SMALL: dict[str, Any] = {"seconds": 3, "reads_a_second": 400}


@pytest.fixture(scope="module")
def flash(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    path = tmp_path_factory.mktemp("flash") / "review"
    reviews.save(path, Drive(**SMALL, silent=(1,)), pressures_MBps=(0, 100, 300, 700), missing=(300,))
    return load([path])[0]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[SuiteResult, ...]:
    folder = tmp_path_factory.mktemp("both")
    reviews.save(folder / "a", Drive(**SMALL), pressures_MBps=(100, 700))
    fast = Drive("Crosspoint 4800", base_us=1.5, slope=0.0, **SMALL)
    reviews.save(folder / "b", fast, pressures_MBps=(100, 400, 700))
    return load([folder / "a", folder / "b"])


def rows(table: Table, **values: object) -> list[dict[str, Any]]:
    return [row for row in table.records() if all(row[name] == value for name, value in values.items())]


def test_every_step_has_a_row_for_each_statistic(flash: SuiteResult) -> None:
    table = pressure_table([flash])
    assert len(table.rows) == 4 * len(STATISTICS)
    for index, position in enumerate(flash.planned):
        shown = rows(table, step=position.plan.id)
        assert [row["statistic"] for row in shown] == [statistic.key for statistic in STATISTICS]
        if not position.runs:
            assert index == 2
            assert {row["latency_us"] for row in shown} == {None}
        else:
            assert position.figures.mean is not None
            assert shown[0]["latency_us"] == pytest.approx(position.figures.mean.value / 1000, rel=1e-5)
            assert shown[0]["low_us"] < shown[0]["latency_us"] < shown[0]["high_us"]


def test_a_quantile_beyond_the_sample_is_marked_with_what_it_needs(flash: SuiteResult) -> None:
    row = rows(pressure_table([flash]), step="at-0700", statistic="p99.99")[0]
    assert not row["supported"]
    assert row["high_us"] is None
    assert row["needed"] == 100_000 > row["samples"]


def test_treads_of_the_stair_meet_half_way(flash: SuiteResult) -> None:
    shown = rows(pressure_table([flash]), statistic="mean")
    assert [(row["from"], row["to"]) for row in shown] == [(-50, 50), (50, 200), (200, 500), (500, 900)]
    assert [row["achieved_MBps"] for row in shown][2] is None


def test_steps_follow_each_other_on_one_clock_and_silence_is_zero(flash: SuiteResult) -> None:
    shown = time_table(flash).records()
    assert [row["start_s"] for row in shown] == list(range(9))
    assert [row["end_s"] for row in shown] == list(range(1, 10))
    for row in shown[1::3]:
        assert (row["reads"], row["read_iops"], row["p50_us"], row["max_us"]) == (0, 0, None, None)
    assert all(row["p50_us"] <= row["p99_us"] <= row["max_us"] for row in shown[0::3])


@pytest.fixture(scope="module")
def heated(tmp_path_factory: pytest.TempPathFactory) -> SuiteResult:
    path = tmp_path_factory.mktemp("heated") / "review"
    drive = Drive(seconds=6, reads_a_second=400, throttled_from=4, sampled=True)
    reviews.save(path, drive, pressures_MBps=(0, 700))
    return load([path])[0]


def marks(spec: dict[str, Any]) -> list[str]:
    """Return the marks of every panel, from the top."""
    return [",".join(layer["mark"]["type"] for layer in panel["layer"]) for panel in spec["vconcat"]]


def test_where_the_drive_throttled_is_shaded_and_its_temperature_drawn(heated: SuiteResult) -> None:
    shown = time_table(heated).records()
    assert [row["heat"] for row in shown] == [None, None, "hot", "hot", "throttled", "throttled"] * 2
    assert [row["spell"] for row in shown] == [None, None, 1, 1, 2, 2, None, None, 3, 3, 4, 4]
    assert [row["temperature_C"] for row in shown] == [61, 62, 86, 86, 88, 88] * 2
    chart = time_chart(heated, name="heated")
    spec = chart.spec(ONLY)
    assert [panel.startswith("rect,") for panel in marks(spec)] == [True] * 4
    assert marks(spec)[0].startswith("rect,text,text,"), "the spells have names"
    assert "Amber: the drive throttled or was hot." in json.dumps(spec, ensure_ascii=False)
    picture = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    assert all(f">{word}<" in picture for word in ("throttled", "hot", "Drive, °C"))


def test_a_drive_that_was_not_sampled_has_no_temperature(flash: SuiteResult) -> None:
    assert "temperature_C" not in time_table(flash).columns
    spec = time_chart(flash, name="cool").spec(ONLY)
    assert len(spec["vconcat"]) == 3
    assert "Amber" not in json.dumps(spec)


def test_the_report_says_for_how_long_the_drive_throttled(heated: SuiteResult) -> None:
    (group,) = warnings([heated])
    ((message, steps),) = group.messages
    assert message.startswith(
        "nvme0n1: the drive throttled for 2 s of 5.99 s, and was hot for 2 s more, at up to 88 C"
    )
    assert "cool it" in group.remedy
    assert "0 MB/s" in steps


def test_csv_says_what_the_chart_draws(flash: SuiteResult) -> None:
    table = pressure_table([flash])
    read = list(csv.reader(io.StringIO(table.csv())))
    assert read[0] == list(table.columns)
    assert len(read) == 1 + len(table.rows)
    latency = table.columns.index("latency_us")
    assert [float(row[latency]) if row[latency] else None for row in read[1:]] == [
        row[latency] for row in table.rows
    ]
    assert {row[table.columns.index("supported")] for row in read[1:]} == {"true", "false"}


def compiled(chart: Chart, statistic: str, scale: str) -> dict[str, Any]:
    """Return the Vega that a variant compiles to; the compiler refuses what is not Vega-Lite."""
    vega: dict[str, Any] = vl_convert.vegalite_to_vega(chart.spec(statistic, scale), vl_version=VEGA_LITE)
    return vega


def test_every_variant_compiles_with_both_axes(both: tuple[SuiteResult, ...], flash: SuiteResult) -> None:
    sides = {"bottom", "left"}
    for chart, orients in (
        *((pressure_chart(drives), sides) for drives in (both, [flash])),
        *((staircase_chart(drives), {*sides, "right"}) for drives in (both, [flash])),
    ):
        assert set(chart.variants) == {(s.key, scale) for s in STATISTICS for scale in ("linear", "log")}
        for statistic, scale in chart.variants:
            axes = compiled(chart, statistic, scale)["axes"]
            assert {axis["orient"] for axis in axes} == orients


def test_the_latency_axis_is_logarithmic_where_figures_span_decades(
    both: tuple[SuiteResult, ...], flash: SuiteResult
) -> None:
    assert pressure_chart(both).scales["mean"] == "log"
    assert pressure_chart([flash]).scales["mean"] == "linear"


def test_an_axis_of_many_places_names_none_below_zero(tmp_path: Path) -> None:
    few = Drive(seconds=1, reads_a_second=40)
    for name, most in (("a", 800), ("b", 2000)):
        reviews.save(tmp_path / name, few, pressures_MBps=[most * part / 8 for part in range(9)])
    chart = staircase_chart(load([tmp_path / "a", tmp_path / "b"]))
    drawn = vl_convert.vegalite_to_svg(chart.variants["mean", "linear"], vl_version=VEGA_LITE)
    labels = {
        element.text for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("}text")
    }
    assert {"0", "1,000", "2,000"} <= labels
    assert not any(label and label[0] in "-−" for label in labels)


def test_a_drive_has_a_line_of_its_own_in_the_legend(both: tuple[SuiteResult, ...]) -> None:
    drawn = vl_convert.vegalite_to_svg(pressure_chart(both).spec("p99"), vl_version=VEGA_LITE)
    texts = [text.text for text in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"Flash 9000", "Crosspoint 4800"} <= set(texts)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_whisker_from_zero_reaches_down_to_the_axis(flash: SuiteResult, scale: str) -> None:
    chart = pressure_chart([flash])
    table = chart.table
    low, statistic = table.columns.index("low_us"), table.columns.index("statistic")
    cells = [
        tuple(0 if index == low and row[statistic] == "mean" else value for index, value in enumerate(row))
        for row in table.rows
    ]
    from_zero = dataclasses.replace(chart, table=Table(table.columns, tuple(cells)))
    drawn = ElementTree.fromstring(svg(from_zero.spec("mean", scale), keep=False))
    whiskers = [
        line
        for line in drawn.iter("{http://www.w3.org/2000/svg}line")
        if line.get("aria-roledescription") == "errorbar"
    ]
    assert len(whiskers) == 3
    for whisker in whiskers:
        start = float(whisker.get("transform", "").rpartition(",")[2].rstrip(")"))
        ends = (start, start + float(whisker.get("y2", "")))
        assert max(ends) == pytest.approx(HEIGHT), "the lower end is on the axis"
        assert 0 <= min(ends) < HEIGHT, "the upper end is inside the chart"


@pytest.mark.parametrize("choice", ["long", "short"])
def test_captions_are_in_lines_that_a_picture_has_room_for(flash: SuiteResult, choice: str) -> None:
    origin = (
        "SAMSUNG MZQL21T9HCJR-00A07 1.92 TB, " * (9 if choice == "long" else 1)
        + "Linux 6.1 · 2026-01-01 · iogauge 1"
    )
    captioned = dataclasses.replace(pressure_chart([flash]), caption=origin)
    drawn = ElementTree.fromstring(svg(captioned.spec("p99.99"), keep=False))
    (title,) = (
        group
        for group in drawn.iter("{http://www.w3.org/2000/svg}g")
        if group.get("class") == "mark-group role-title"
    )
    lines = ["".join(text.itertext()) for text in title.iter("{http://www.w3.org/2000/svg}text")]
    said = re.sub(r"\s", "", "".join(lines))
    assert re.sub(r"\s", "", origin) in said
    assert "…" not in said


def test_unsupported_points_are_hollow(flash: SuiteResult) -> None:
    chart = pressure_chart([flash])
    drawn = {key: vl_convert.vegalite_to_svg(chart.spec(key)) for key in ("median", "p99.99")}
    points = {
        key: [
            path.get("fill")
            for path in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}path")
            if path.get("aria-roledescription") == "point"
        ]
        for key, picture in drawn.items()
    }
    assert len(points["median"]) == len(points["p99.99"]) == 3
    assert "#ffffff" not in points["median"]
    assert set(points["p99.99"]) == {"#ffffff"}


def test_the_chart_over_time_compiles_and_marks_silence(flash: SuiteResult) -> None:
    chart = time_chart(flash, name="over-time-1")
    drawn = vl_convert.vegalite_to_svg(chart.spec(ONLY), vl_version=VEGA_LITE)
    # Three steps with one silent second each, in the panels of latency and reads, and of writes if requested.
    marks = [
        path for path in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}path")
        if path.get("fill") == "#c8321f"
    ]  # fmt: skip
    assert len(marks) == 3 + 3 + 2


def test_a_review_without_any_step_still_makes_charts(tmp_path: Path) -> None:
    reviews.save(tmp_path / "review", pressures_MBps=(100, 200), missing=(100, 200))
    drives = load([tmp_path / "review"])
    compiled(pressure_chart(drives), "mean", "log")
    compiled(time_chart(drives[0], name="time"), ONLY, "log")


@pytest.mark.parametrize(
    ("values", "domain", "ticks"),
    [
        ([85.0, 450.0], [50, 500], [50, 100, 200, 500]),
        ([10.0, 1000.0], [10, 1000], [10, 20, 50, 100, 200, 500, 1000]),
        ([100.0], [100, 200], [100, 200]),
        ([0.3, 4000.0, None, 0], [0.2, 5000], [1, 10, 100, 1000]),
        ([], [1, 2], [1, 2]),
    ],
)
def test_logarithmic_axes_hold_all_values_between_round_numbers(
    values: list[float | None], domain: list[float], ticks: list[float]
) -> None:
    scale, ticks_shown = log_axis(values)
    assert scale["domain"] == pytest.approx(domain)
    assert ticks_shown == pytest.approx(ticks)


def test_charts_are_written_as_pictures_and_data(flash: SuiteResult, tmp_path: Path) -> None:
    chart = pressure_chart([flash])
    charts = [chart, time_chart(flash, name="over-time-1")]
    written = list(write_charts(charts, claim_charts(charts, tmp_path / "charts", Claims())))
    names = {path.name for path in written}
    assert names == {path.name for path in (tmp_path / "charts").iterdir()}
    assert {f"write-pressure-{s.key}.{kind}" for s in STATISTICS for kind in ("svg", "png")} <= names
    assert {"write-pressure.csv", "over-time-1.csv", "over-time-1.svg", "over-time-1.png"} <= names
    png = (tmp_path / "charts" / "write-pressure-mean.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20])[0] > 1600
    assert (tmp_path / "charts" / "write-pressure.csv").read_text() == chart.table.csv()


def test_a_place_that_cannot_be_written_is_named(flash: SuiteResult, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(IogaugeError, match="taken"):
        claim_charts([], tmp_path / "taken" / "charts", Claims())
