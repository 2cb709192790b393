"""Errors by kind of figure, the baselines beside them, and the committed file of tables that were left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge import catalog
from iogauge.calibrate import baselines
from iogauge.calibrate.assess import comparable
from iogauge.calibrate.judgement import counted, far_off, groups, left_in, reason_of
from iogauge.calibrate.kinds import GOALS, WORST, Errors, FigureKind, kind_of
from iogauge.calibrate.left_out import Effort, models_digest
from iogauge.calibrate.misses import GOALS_MISSED, LEFT_OUT_REASONS
from iogauge.calibrate.observe import is_shown, is_stated
from iogauge.calibrate.verdict import Part
from iogauge.catalog.left_out import PredictedRow, former, read
from iogauge.catalog.published import Point, held_out, of_drives, points
from iogauge.library.models import predicted_text

ROOT = Path(__file__).resolve().parents[3]
SHOWN = [point for point in comparable() if is_shown(point)]
COMMITTED = read()


def read_at(iops: float, *, depth: int, block: int = 4096, threads: int = 1) -> Point:
    """Return a row of random reads."""
    return replace(
        points()[0], row=900 + depth, host="h", threads=threads, depth=depth, block_bytes=block, value=iops
    )


def latency(us: float, *, depth: int, metric: str = "lat_mean") -> Point:
    return replace(read_at(us, depth=depth), metric=metric, unit="us")


def predicted(point: Point, *, times: float, part: str = "fitted") -> PredictedRow:
    """Return a row that the models miss by a factor when it is left out."""
    return PredictedRow(
        row=point.row,
        source=point.source,
        drive=point.drive,
        host=point.host,
        figure=point.label,
        unit=point.unit,
        published=point.value,
        part=part,
        fitted=point.value,
        left_out=point.value * times,
        models="0",
    )


def test_every_figure_has_a_kind() -> None:
    kinds = {kind: [point for point in SHOWN if kind_of(point) is kind] for kind in FigureKind}
    assert {point.unit for point in kinds[FigureKind.RATE]} == {"IOPS", "GB/s", "MB/s"}
    assert {point.metric for point in kinds[FigureKind.MEAN]} == {"lat_mean", "lat_typical"}
    for kind in (FigureKind.P50, FigureKind.P99, FigureKind.P99_999, FigureKind.P99_99999):
        assert {point.metric for point in kinds[kind]} == {f"lat_{kind}"}
    assert not {"us", "IOPS", "GB/s"} & {point.unit for point in kinds[FigureKind.OTHER]} - {"us"}


def test_a_drive_of_constant_latency_obeys_littles_law_up_to_its_highest_rate() -> None:
    rows = [latency(10.0, depth=1), read_at(400_000, depth=16)]
    assert baselines.constant(rows, read_at(0, depth=2)) == pytest.approx(200_000)
    assert baselines.constant(rows, read_at(0, depth=8)) == pytest.approx(400_000)
    assert baselines.constant(rows, latency(0, depth=8, metric="lat_p99.999")) == pytest.approx(10.0)


def test_a_rate_at_depth_one_is_a_latency() -> None:
    assert baselines.constant([read_at(50_000, depth=1)], latency(0, depth=1)) == pytest.approx(20.0)


def test_baselines_have_no_answer_without_rows_or_for_ratios() -> None:
    ratio = next(point for point in SHOWN if kind_of(point) is FigureKind.OTHER)
    for baseline in (baselines.constant, baselines.linear):
        assert baseline([], read_at(0, depth=1)) is None
        assert baseline([latency(10.0, depth=1)], ratio) is None


@given(st.floats(0.5, 1.0), st.floats(10.0, 1e5), st.integers(1, 256))
def test_the_linear_model_finds_a_power_of_depth(power: float, first: float, depth: int) -> None:
    rows = [read_at(first * one**power, depth=one) for one in (1, 2, 4, 8, 16)]
    assert baselines.linear(rows, read_at(0, depth=depth)) == pytest.approx(first * depth**power, rel=1e-6)


@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=2))
def test_with_too_few_rows_the_linear_model_is_the_geometric_mean(values: list[float]) -> None:
    rows = [latency(value, depth=2**place) for place, value in enumerate(values)]
    expected = (values[0] * values[-1]) ** 0.5
    assert baselines.linear(rows, latency(0, depth=64)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("point", SHOWN, ids=lambda point: str(point.row))
def test_baselines_see_no_row_of_the_table_and_are_positive(point: Point) -> None:
    rows = left_in(point)
    assert point.source not in {row.source for row in rows}
    assert point.row not in {row.row for row in rows}
    for baseline in (baselines.constant, baselines.linear):
        value = baseline(rows, point)
        assert value is None or value > 0


@given(st.lists(st.one_of(st.none(), st.floats(-5, 5)), max_size=9))
def test_the_worst_error_is_no_better_than_the_median(values: list[float | None]) -> None:
    errors = Errors.of(values)
    if errors.median is None or errors.worst is None:
        assert all(value is None for value in values)
    else:
        assert 0 <= errors.median <= errors.worst


def test_groups_hold_every_counted_row_once_and_no_bound() -> None:
    rows = [
        predicted(point, times=1.1, part="bound" if point.use == "bound" else "fitted") for point in SHOWN
    ]
    judged = groups(rows)
    assert sum(len(group.left_out.values) for group in judged) == sum(point.use != "bound" for point in SHOWN)
    assert len({(group.media, group.kind) for group in judged}) == len(judged)
    assert {group.media for group in judged} == {"3D XPoint", "flash"}


def test_goals_are_missed_by_medians_and_rows_are_far_off_by_themselves() -> None:
    (point,) = points()[:1]
    goal = GOALS[kind_of(point)]
    assert [group.reached for group in groups([predicted(point, times=1 + goal * 0.9)])] == [True]
    assert [group.reached for group in groups([predicted(point, times=1 + goal * 1.1)])] == [False]
    assert far_off([predicted(point, times=1 + goal * WORST * 0.9)]) == []
    assert len(far_off([predicted(point, times=1 + goal * WORST * 1.1)])) == 1
    assert counted([predicted(point, times=2, part="stated")]) == []


def test_the_text_begins_with_the_answer_and_says_what_is_missing() -> None:
    (point,) = points()[:1]
    answer = predicted_text.answer([predicted(point, times=1.03)], of=2)
    assert answer == (
        "At the median, models miss the figures of a table that their fit did not see, of 3D XPoint by 3 % for rates "
        "and throughput. 1 of 1 goals are reached. So far 1 of 2 figures were left out."
    )
    text = predicted_text.text([predicted(point, times=1.3)], of=1, columns=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "no reason is known" in " ".join(text.split())


def test_the_former_models_showed_all_rows() -> None:
    assert former().keys() == {point.row for point in SHOWN}
    assert Counter(figure.part for figure in former().values()) == {
        "fitted": 133,
        # 12 of them were published, but not in the table at that time.
        "predicted": 29 + 12,
        "stated": 3,
        "bound": 42,
    }


# The committed file.


def test_the_committed_file_has_rows_of_the_table_as_they_are() -> None:
    known = {point.row: point for point in SHOWN}
    assert len({row.row for row in COMMITTED}) == len(COMMITTED)
    for row in COMMITTED:
        point = known[row.row]
        assert (row.source, row.drive, row.host, row.figure, row.unit, row.published) == (
            point.source,
            point.drive,
            point.host,
            point.label,
            point.unit,
            point.value,
        )
        assert row.part == part_of(point)


def part_of(point: Point) -> Part:
    drive = next(
        drive for drive in map(catalog.drive, catalog.shipped("drive")) if point.drive in drive.published_as
    )
    if point.use == "bound":
        return Part.BOUND
    if is_stated(point, drive):
        return Part.STATED
    return Part.PREDICTED if point.row in held_out(of_drives(drive.published_as)) else Part.FITTED


complete = pytest.mark.skipif(
    not COMMITTED, reason="no table is left out yet: iogauge model compare --left-out makes the file"
)


@complete
def test_the_committed_file_has_every_row_by_the_same_models() -> None:
    assert {row.row for row in COMMITTED} == {point.row for point in SHOWN}
    assert {row.models for row in COMMITTED} == {models_digest(Effort())}


@complete
def test_every_median_is_within_its_goal_or_said_to_miss_it() -> None:
    missed = {(group.media, str(group.kind)) for group in groups(COMMITTED) if not group.reached}
    assert missed == set(GOALS_MISSED)


@complete
def test_every_row_that_is_far_off_has_a_reason() -> None:
    far = {row.row for row in far_off(COMMITTED)}
    assert {row for row in far if reason_of(row) is None} == set()
    assert set(LEFT_OUT_REASONS) <= far


def test_the_page_has_the_table_of_the_committed_file() -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    table = page.partition("<!-- left out -->\n\n")[2].partition("\n<!-- /left out -->")[0]
    assert table.split() == predicted_text.markdown(COMMITTED, of=len(SHOWN)).split()
