"""The charts of a fleet: every drive is a point, outliers have names, seconds without all hosts are marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iogauge.report.fleet.charts import drives_chart, drives_table
from iogauge.report.fleet.time_charts import moments_chart, moments_table, starts_chart, starts_table
from iogauge.report.fleet.view import Standing
from tests.fast.report.fleet.made_up import fleet, healthy


def test_every_judged_drive_is_a_point_and_outliers_are_named() -> None:
    view = fleet()
    rows = drives_table(view).records()
    assert [row["drive"] for row in rows] == [drive.name for drive in view.drives]
    # One name stands for all drives of the slow host.
    assert sorted(row["name"] for row in rows if row["name"]) == ["host r4", "r7-nvme3"]


def test_a_drive_without_peers_is_no_point() -> None:
    view = fleet()
    alone = replace(view.drives[0], slowness=None, rate=None)
    assert len(drives_table(replace(view, drives=(alone, *view.drives[1:]))).rows) == len(view.drives) - 1


def test_at_most_eight_drives_are_named_the_slowest() -> None:
    view = fleet()
    slow = tuple(
        replace(drive, standing=Standing.SLOW, slowness=2.0 + place)
        for place, drive in enumerate(view.drives)
    )
    named = [row["drive"] for row in drives_table(replace(view, drives=slow)).records() if row["name"]]
    assert named == [drive.name for drive in view.drives[-8:]]


def test_the_axis_has_every_point_and_every_interval_that_is_drawn() -> None:
    view = fleet()
    for choice in ("host", "rate"):
        layers = drives_chart(view).spec(choice)["layer"]
        low, high = layers[1]["encoding"]["y"]["scale"]["domain"]
        drawn = [drive for drive in view.outliers if drive.low and drive.high]
        assert low < min(drive.slowness for drive in view.drives if drive.slowness)
        assert high > max(drive.high for drive in drawn if drive.high)


def test_a_drive_that_is_many_times_slower_makes_the_axis_logarithmic() -> None:
    view = fleet()
    stuck = replace(view.drives[0], slowness=40.0, standing=Standing.SLOW, low=None, high=None)
    layers = drives_chart(replace(view, drives=(stuck, *view.drives[1:]))).spec("host")["layer"]
    assert layers[1]["encoding"]["y"]["scale"]["type"] == "log"


def test_each_host_stands_below_the_middle_of_its_drives() -> None:
    axis = drives_chart(healthy()).spec("host")["layer"][1]["encoding"]["x"]["axis"]
    assert axis["values"] == [3.5, 11.5]
    assert '"3.5": "r1"' in axis["labelExpr"]


def test_thousands_of_drives_have_no_picture_and_few_have_one() -> None:
    assert drives_chart(fleet(300, 8)).dense
    assert not drives_chart(fleet()).dense


def test_moments_end_where_the_next_of_their_step_begins() -> None:
    rows = moments_table(fleet().moments).records()
    assert [(row["start_s"], row["end_s"]) for row in rows[:2]] == [(0, 1), (1, 2)]
    assert rows[29]["end_s"] == 30
    assert {row["choice"] for row in rows} == {"mixed.reads-100, reads", "mixed.reads-70, reads"}
    assert [row["start_s"] for row in rows if row["hosts_running"] < row["hosts"]] == [0, 0]


def test_the_reader_chooses_the_step_over_time() -> None:
    chart = moments_chart(fleet())
    params = {param["name"]: param["value"] for param in chart.spec("mixed.reads-70, reads")["params"]}
    assert params["chosen"] == "mixed.reads-70, reads"
    assert params["clock"] == [0, 30]
    assert params["domain"] == pytest.approx([50, 1000])


def test_thinned_moments_say_so() -> None:
    text = moments_chart(replace(fleet(), thinned=9)).spec("mixed.reads-70, reads")["title"]["subtitle"]
    assert "the highest percentiles of 9 intervals" in text


def test_of_many_hosts_the_chart_of_starts_has_both_ends() -> None:
    view = fleet(100)
    rows = [row for row in starts_table(view.starts).records() if row["step"] == "mixed.reads-70"]
    late_us = [start.late_ns / 1e3 for start in view.starts if start.step == "mixed.reads-70"]
    assert len(rows) == 40
    assert [rows[0]["late_us"], rows[-1]["late_us"]] == pytest.approx([min(late_us), max(late_us)], rel=1e-4)
    assert "at most 40 of a step" in starts_chart(view).spec("only")["title"]["subtitle"]
