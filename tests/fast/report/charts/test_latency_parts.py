"""The chart of the parts of latency: what is behind its bars."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.report.charts.drawing import svg
from iogauge.report.charts.latency_parts import latency_parts_chart
from iogauge.report.charts.specification import Chart
from iogauge.report.latency_parts import parts_at
from iogauge.report.run.latency_split import lines
from iogauge.schema import Direction, Part
from iogauge.stats.histogram import Histogram
from tests.fast.report.run.test_latency_split import part, trace, traced


def drive(*positions: Any) -> Any:
    return SimpleNamespace(label="Flash 9000", positions=positions)


def position(name: str, *records: Any) -> Any:
    runs = [SimpleNamespace(traced=bool(record.latency_traces), record=record) for record in records]
    return SimpleNamespace(name=name, runs=runs)


def chart(*positions: Any) -> Chart:
    made = latency_parts_chart(drive(*positions), name="parts")
    assert made is not None
    return made


def test_there_is_no_chart_without_a_trace() -> None:
    assert latency_parts_chart(drive(position("one", traced())), name="parts") is None


def test_the_pieces_of_a_bar_follow_each_other_and_fill_it() -> None:
    rows = [row for row in chart(position("one", traced(trace()))).table.records() if row["at"] == "mean"]
    assert [row["part"] for row in rows] == ["submission", "queue", "device", "completion"]
    assert [row["from_percent"] for row in rows] == pytest.approx([0, 2, 6, 86])
    assert [row["to_percent"] for row in rows] == pytest.approx([2, 6, 86, 100])
    assert sum(float(row["part_us"] or 0) for row in rows) == pytest.approx(50)
    assert {row["bar"] for row in rows} == {"mean: 50.00 µs"}


def test_parts_that_tracing_made_longer_than_lat_still_fill_one_bar() -> None:
    long = trace(requests=False, latencies=(part(Part.BLOCK, {60_000: 1_000}),))
    rows = [row for row in chart(position("one", traced(long))).table.records() if row["at"] == "mean"]
    assert [(row["part"], row["to_percent"]) for row in rows] == [
        ("block layer + device", 100),
        ("software", 100),
    ]


def test_traced_requests_that_are_slower_than_the_run_have_no_share_of_it() -> None:
    long = trace(requests=False, latencies=(part(Part.BLOCK, {60_000: 1_000}),))
    picture = svg(chart(position("one", traced(long))).spec("parts-1"))
    assert "Traced requests took longer than those of the whole run (mean 60" in picture
    assert "On average" not in picture
    text = " ".join("\n".join(lines(traced(long))).split())
    assert "traced requests took longer than those of the whole run" in text
    assert "took longer" not in "\n".join(lines(traced(trace())))


def test_steps_are_choices_and_repeats_one_sample() -> None:
    made = chart(position("one", traced(trace()), traced(trace())), position("two", traced(trace())))
    assert [choice.label for choice in made.choices.values()] == ["one, reads", "two, reads"]
    first = {row["at"] for row in made.table.records() if row["choice"] == 1}
    assert first == {"mean", "p50", "p90", "p99"}


def test_requests_cut_off_take_the_high_quantiles_away() -> None:
    lat = Histogram.of([50_000] * 1_000)
    labels = [point.label for point in parts_at([trace(cut=1)], Direction.READ, lat)]
    assert labels == ["mean", "p50", "p90"]


def test_it_can_be_drawn() -> None:
    made = chart(position("one", traced(trace())))
    picture = svg(made.spec("parts-1"))
    assert "Where the time goes: one, reads" in picture
    assert "mean: 50.00 µs" in picture
