"""The figures of a step, from runs small enough to work out by hand."""

from __future__ import annotations

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Job, JobFile, Kind, RowResult, RunRecord, Rw, Tally
from iogauge.stats.figure import QUANTILES, Figure
from iogauge.stats.figures import StepFigures, ratio, step_figures
from tests import builders

READ, WRITE = Direction.READ, Direction.WRITE
MEGABYTE = 10**6


def jobs(**kinds: Rw) -> JobFile:
    return JobFile(
        jobs=tuple(Job(name=name, rw=rw) for name, rw in kinds.items()),
        source="test",
        options=tuple({} for _ in kinds),
    )


def pressed(rows: list[RowResult], **fields: object) -> RunRecord:
    return builders.record(rows, jobs=jobs(reader=Rw.RANDREAD, pressure=Rw.RANDWRITE), **fields)


def rows(reads: list[int], written_bytes: int) -> list[RowResult]:
    return [
        builders.row("reader", {READ: builders.tally(reads)}, index=0),
        builders.row("pressure", {WRITE: Tally(ios=3, bytes=written_bytes)}, index=1),
    ]


def figures(record: RunRecord, intervals: list[Interval], **options: object) -> StepFigures:
    return step_figures(record, intervals, **({"measured_job": "reader", "load_jobs": "pressure"} | options))  # type: ignore[arg-type]


def test_totals_and_rates_are_the_rows_over_their_measured_time() -> None:
    result = figures(pressed(rows([1000, 1200, 2000], 300 * MEGABYTE)), [])
    assert (result.ios, result.duration_s, result.iops) == (3, 3.0, 1.0)
    assert result.pressure_Bps == 100 * MEGABYTE
    assert result.mean is not None
    assert result.mean.value == pytest.approx(1400, abs=1)
    assert result.quantile(0.5) is not None
    assert result.quantile(0.5).value == 1200
    assert result.device_mean_ns == 1000


def test_parts_of_an_interval_add_up_and_the_ramp_is_left_out() -> None:
    part = builders.interval(1, {READ: builders.tally([1000])})
    intervals = [
        builders.interval(0, {READ: builders.tally([9000] * 5)}, ramp=True),
        part.model_copy(update={"end_ns": 1_400_000_000}),
        part.model_copy(update={"start_ns": 1_400_000_000}),
        builders.interval(1, {WRITE: Tally(ios=1, bytes=MEGABYTE)}, row=1),
    ]
    (moment,) = figures(pressed(rows([1000, 1000], MEGABYTE)), intervals).moments
    assert (moment.start_s, moment.end_s, moment.ios, moment.iops) == (1.0, 2.0, 2, 2.0)
    assert (moment.p50_ns, moment.max_ns) == (1000, 1000)
    assert moment.pressure_Bps == MEGABYTE


def test_an_interval_without_completions_is_a_moment_of_zero() -> None:
    intervals = [
        builders.interval(0, {READ: builders.tally([1000])}),
        builders.interval(1),
        builders.interval(2),
    ]
    moments = figures(pressed(rows([1000], 0)), intervals).moments
    assert [moment.ios for moment in moments] == [1, 0, 0]
    assert [moment.p99_ns for moment in moments] == [1000, None, None]


def slice_of(index: int, reads: list[int], *, start_ns: int, end_ns: int) -> Interval:
    cut = {"start_ns": start_ns, "end_ns": end_ns}
    return builders.interval(index, {READ: builders.tally(reads)}).model_copy(update=cut)


def test_the_blink_in_which_a_job_ends_belongs_to_the_moment_before() -> None:
    second = 10**9
    intervals = [
        slice_of(0, [1000], start_ns=900_000_000, end_ns=second),  # what a ramp left of its interval
        slice_of(1, [2000], start_ns=second, end_ns=2 * second),
        slice_of(2, [3000], start_ns=2 * second, end_ns=3 * second),
        slice_of(3, [4000], start_ns=3 * second, end_ns=3 * second + 2_000_000),
    ]
    result = figures(pressed(rows([1000, 2000, 3000, 4000], 0)), intervals).moments
    assert [(moment.start_s, moment.end_s, moment.ios) for moment in result] == [
        (0.9, 2.0, 2),
        (2.0, 3.002, 2),
    ]
    assert result[1].max_ns == 4000


def test_a_short_run_is_one_moment_whatever_its_length() -> None:
    result = figures(pressed(rows([1000], 0)), [slice_of(0, [1000], start_ns=0, end_ns=1000)]).moments
    assert [moment.ios for moment in result] == [1]


def test_a_reader_that_completed_nothing_has_no_estimates() -> None:
    result = figures(pressed(rows([], 0)), [builders.interval(0)])
    assert result.mean is None
    assert {result.quantile(q) for q in QUANTILES} == {None}
    assert result.ios == 0


def test_several_rows_of_one_job_are_merged() -> None:
    two = [
        builders.row("reader", {READ: builders.tally([latency])}, index=index)
        for index, latency in ((0, 1000), (1, 3000))
    ]
    record = builders.record(two, jobs=jobs(reader=Rw.RANDREAD))
    intervals = [
        builders.interval(0, {READ: builders.tally([1000])}, row=0),
        builders.interval(0, {READ: builders.tally([3000])}, row=1),
    ]
    result = figures(record, intervals, load_jobs=None)
    assert result.histogram.count == 2
    assert result.pressure_Bps == 0
    assert len(result.moments) == 1
    assert result.moments[0].max_ns == 3000


def test_a_kind_that_did_not_differ_is_taken_from_lat() -> None:
    only_lat = Tally(ios=1, histograms={Kind.LAT: builders.histogram([5000])})
    record = builders.record([builders.row("reader", {READ: only_lat})], jobs=jobs(reader=Rw.RANDREAD))
    for kind in (Kind.LAT, Kind.RESPONSE, Kind.CLAT):
        result = figures(record, [], load_jobs=None, kind=kind)
        assert result.histogram.count == 1


def test_reader_and_writers_in_one_group_are_told_apart_by_direction() -> None:
    group = builders.row("pressure", {READ: builders.tally([1000]), WRITE: Tally(ios=9, bytes=3 * MEGABYTE)})
    workers = (builders.worker("reader"), builders.worker("pressure"))
    record = pressed([group])
    record = record.model_copy(update={"result": record.result.model_copy(update={"workers": workers})})
    result = figures(record, [])
    assert (result.ios, result.pressure_Bps) == (1, MEGABYTE)


def test_a_row_shared_with_another_reader_is_refused() -> None:
    record = builders.record(
        [builders.row("reader", {READ: builders.tally([1000])})],
        jobs=jobs(reader=Rw.RANDREAD, other=Rw.RANDRW),
    )
    workers = (builders.worker("reader"), builders.worker("other"))
    record = record.model_copy(update={"result": record.result.model_copy(update={"workers": workers})})
    with pytest.raises(IogaugeError, match="one row with 'other'"):
        figures(record, [], load_jobs=None)


def test_sections_of_one_name_are_one_job_with_all_their_directions() -> None:
    both = JobFile(
        jobs=(Job(name="reader", rw=Rw.RANDREAD), Job(name="reader", rw=Rw.RANDWRITE)),
        source="test",
        options=({}, {}),
    )
    rows = [
        builders.row("reader", {READ: builders.tally([1000])}, index=0),
        builders.row("reader", {WRITE: builders.tally([3000])}, index=1),
    ]
    assert figures(builders.record(rows, jobs=both), [], load_jobs=None).ios == 2


def test_the_interval_of_the_pressure_is_that_of_its_course() -> None:
    written = Tally(ios=3, bytes=3 * MEGABYTE)
    record = pressed(rows([1000], 3 * MEGABYTE))
    intervals = [builders.interval(second, {WRITE: written}, row=1) for second in range(20)]
    steady = figures(record, intervals).pressure_figure
    assert steady.value == MEGABYTE
    assert steady.low == pytest.approx(MEGABYTE)
    assert figures(record, intervals[:5]).pressure_figure.low is None


def test_a_job_that_is_not_there_is_named() -> None:
    with pytest.raises(IogaugeError, match="no job named 'nobody'"):
        figures(pressed(rows([1], 1)), [], measured_job="nobody")


def test_a_run_without_the_jobs_that_press_has_no_pressure() -> None:
    record = builders.record(
        [builders.row("reader", {READ: builders.tally([1000])})], jobs=jobs(reader=Rw.RANDREAD)
    )
    assert figures(record, []).pressure_Bps == 0


def estimate(low: float | None, value: float, high: float | None) -> Figure:
    return Figure(value, low, high, count=100, dependence=True)


def test_a_ratio_is_as_unsure_as_both_its_figures() -> None:
    exact, vague = estimate(100, 100, 100), estimate(90, 100, 112)
    assert ratio(exact, exact).low == pytest.approx(1)
    after = ratio(estimate(200, 200, 200), vague)
    assert (after.low, after.value, after.high) == (pytest.approx(200 / 112), 2, pytest.approx(200 / 90))
    both = ratio(estimate(180, 200, 224), vague)
    assert both.low is not None
    assert after.low is not None
    assert both.low < after.low


def test_a_ratio_of_open_intervals_is_open_on_the_side_it_concerns() -> None:
    open_above = ratio(estimate(90, 100, None), estimate(90, 100, 110))
    assert open_above.high is None
    assert open_above.low is not None
