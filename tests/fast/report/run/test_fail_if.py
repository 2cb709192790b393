"""``--fail-if``: the conditions it parses, the errors for others, and the violations that it reports."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.report.run.fail_if import parse
from iogauge.schema import Direction, Job, Kind, RunRecord
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE
READER = Job(name="reader", rw="randread")
WRITER = Job(name="writer", rw="randwrite", fsync=8)


def record() -> RunRecord:
    """A reader of 10,007 requests at 100 us, seven of them at 5 ms, and a writer of 50 with two errors."""
    reads = builders.tally({100_000: 10_000, 5_000_000: 7}, block_bytes=4096)
    writes = builders.tally({30_000: 50}, block_bytes=4096, errors={5: 2}, late=3)
    return report_records.record([READER, WRITER], [{READ: reads}, {WRITE: writes}])


@pytest.mark.parametrize(
    ("text", "figure", "op", "threshold", "direction", "kind", "q"),
    [
        ("p99.9 > 1ms", "p99.9", ">", 1e6, None, Kind.LAT, 0.999),
        ("read.p99>200us", "p99", ">", 2e5, READ, Kind.LAT, 0.99),
        ("  write.response.p99.99 >= 1.5 s ", "p99.99", ">=", 1.5e9, WRITE, Kind.RESPONSE, 0.9999),
        ("lat.mean <= 80 ns", "mean", "<=", 80, None, Kind.LAT, None),
        ("loop_gap.max > 1ms", "max", ">", 1e6, None, Kind.LOOP_GAP, None),
        ("iops < 10k", "iops", "<", 10_000, None, Kind.LAT, None),
        ("write.bw < 100MB/s", "bw", "<", 1e8, WRITE, Kind.LAT, None),
        ("bw<1GiB/s", "bw", "<", 1 << 30, None, Kind.LAT, None),
        ("errors != 0", "errors", "!=", 0, None, Kind.LAT, None),
        ("p50 > 1µs", "p50", ">", 1_000, None, Kind.LAT, 0.5),
    ],
)
def test_what_is_understood(text, figure, op, threshold, direction, kind, q) -> None:
    condition = parse(text)
    assert (
        condition.figure,
        condition.op,
        condition.threshold,
        condition.direction,
        condition.kind,
        condition.q,
    ) == (
        figure,
        op,
        threshold,
        direction,
        kind,
        q,
    )


def test_a_job_may_be_named_and_its_name_may_hold_a_colon() -> None:
    condition = parse("job=a: b: p99 > 1ms")
    assert (condition.job, condition.figure) == ("a: b", "p99")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "not a figure, a comparison and a value", "write for example"),
        ("p99", "not a figure, a comparison and a value", "write for example"),
        ("p99 > 1ms > 2ms", "not a figure, a comparison and a value", "write for example"),
        ("p99 > 1", "'1' lacks its unit", "use one of ns, us"),
        ("p99 > 1MS", "'MS' is not a unit of this figure", "did you mean 1ms?"),
        ("p99 > fast", "'fast' is not a value", "write for example"),
        ("bw < 100mb/s", "'mb/s' is not a unit of this figure", "did you mean 100MB/s?"),
        ("bw < 100ms", "'ms' is not a unit of this figure", "use one of B/s"),
        ("iopz < 1", "'iopz' is not a figure", "did you mean 'iops'?"),
        ("meen > 1ms", "'meen' is not a figure", "did you mean 'mean'?"),
        ("raed.p99 > 1ms", "'raed' is not a direction or a latency", "did you mean 'read'?"),
        (
            "lat.read.p99 > 1ms",
            "'read' is not a direction or a latency, or stands in the wrong place",
            "use one of",
        ),
        ("lat.iops > 1", "iops is not a figure of lat", "write 'iops' without 'lat'"),
        ("read.loop_gap.max > 1ms", "the loop gap belongs to no direction", "leave out 'read'"),
        ("p100 > 1ms", "p100 is not a quantile", "use 'min' or 'max'"),
        ("p0 > 1ms", "p0 is not a quantile", "use 'min' or 'max'"),
        ("job=reader p99 > 1ms", "a colon must follow job=NAME", "write 'job=NAME: p99 > 1ms'"),
    ],
)
def test_a_text_that_is_no_condition_is_an_error_with_a_remedy(text, message, hint) -> None:
    with pytest.raises(IogaugeError, match=re.escape(message)) as caught:
        parse(text)
    assert str(caught.value).startswith(f"fail_if '{text}'")
    assert caught.value.hint
    assert hint in caught.value.hint


@given(
    st.text(max_size=40) | st.from_regex(r"(job=\w+:)?(read\.|lat\.){0,3}\w{1,6}(\.\d)?[<>=!]{1,2}\d*\w{0,3}")
)
def test_any_text_is_a_condition_or_a_clear_error(text: str) -> None:
    hint: str | None = ""
    try:
        assert parse(text).threshold >= 0
    except IogaugeError as error:
        hint = error.hint
    assert hint is not None


_FIGURES = st.sampled_from(["mean", "p50", "p99.9", "max"])
_DURATIONS = st.tuples(
    st.integers(1, 10**6), st.sampled_from([("ns", 1), ("us", 10**3), ("ms", 10**6), ("s", 10**9)])
)


@given(_FIGURES, st.sampled_from([">", ">=", "<", "<=", "==", "!="]), _DURATIONS, st.sampled_from(["", " "]))
def test_what_was_written_is_what_is_read(figure, op, duration, space) -> None:
    number, (unit, unit_ns) = duration
    condition = parse(f"{figure}{space}{op}{space}{number}{space}{unit}")
    assert (condition.figure, condition.op, condition.threshold) == (figure, op, number * unit_ns)


def violations(text: str) -> list[tuple[str, float | None, bool]]:
    return [
        (violation.row, violation.measured, violation.unknown) for violation in parse(text).check(record())
    ]


def test_a_condition_that_holds_is_reported_on_its_row() -> None:
    (violation,) = parse("read.max > 1ms").check(record())[:1]
    assert (violation.row, violation.direction, violation.unknown) == ("reader", READ, False)
    assert violation.measured == pytest.approx(5e6, rel=1e-3)
    assert violation.message == "reader: read lat max is 5.000 ms (read.max > 1ms)"


def test_a_condition_that_does_not_hold_finds_nothing() -> None:
    assert violations("p50 > 1ms") == []


def test_rates_and_counts_are_sums_over_directions() -> None:
    assert violations("iops < 20") == [("writer", pytest.approx(50 / 3), False)]
    assert violations("errors > 1") == [("writer", 2, False)]
    assert violations("job=writer: late >= 3") == [("writer", 3, False)]
    assert violations("write.bw > 0B/s") == [("writer", pytest.approx(50 * 4096 / 3), False)]


def test_a_quantile_that_its_sample_cannot_support_is_neither_kept_nor_broken() -> None:
    (violation,) = parse("job=writer: p99 > 1ms").check(record())
    assert violation.unknown
    assert violation.measured is None
    assert "it needs 1,000 samples and has 50" in violation.message
    assert violation.hint == "run 20 times as long, or choose a lower quantile"


def test_a_latency_of_nothing_is_unknown() -> None:
    idle = report_records.record([READER, WRITER], [{}, {}])
    assert [violation.unknown for violation in parse("write.p50 > 1ms").check(idle)] == [True]
    assert [violation.row for violation in parse("p50 > 1ms").check(idle)] == ["reader", "writer"]


def test_a_condition_on_a_direction_skips_rows_that_do_not_issue_it() -> None:
    assert violations("write.mean > 1ns") == [("writer", pytest.approx(30_000, rel=1e-3), False)]
    assert violations("write.bw < 1B/s") == []
    assert violations("sync.mean > 1ns") == [("writer", None, True)]
    assert violations("job=reader: write.p50 > 1ms") == []


def test_a_group_is_checked_for_what_any_of_its_jobs_issues() -> None:
    jobs = [READER, WRITER]
    plan = report_records.plan(jobs)
    workers = tuple(worker.model_copy(update={"row": 0}) for worker in plan.stages[0].workers)
    grouped = plan.model_copy(update={"stages": (plan.stages[0].model_copy(update={"workers": workers}),)})
    writes = builders.tally({30_000: 50}, block_bytes=4096)
    both = report_records.record(
        [READER], [{WRITE: writes}], file=report_records.job_file(*jobs), plan=grouped
    )
    assert [violation.row for violation in parse("write.mean > 1us").check(both)] == ["reader"]


def test_whether_a_condition_concerns_jobs_at_all() -> None:
    reads, writes = report_records.job_file(READER), report_records.job_file(WRITER)
    assert [parse("write.p50 > 1ms").concerns(jobs) for jobs in (reads, writes)] == [False, True]
    assert [parse("job=reader: p50 > 1ms").concerns(jobs) for jobs in (reads, writes)] == [True, False]
    assert parse("p50 > 1ms").concerns(reads)


def test_slat_without_a_submission_call_is_unknown() -> None:
    assert violations("job=reader: slat.mean > 1us") == [("reader", None, True)]


def test_response_without_a_schedule_is_lat_and_queued_is_zero() -> None:
    assert violations("job=reader: response.p50 > 99us") == [("reader", pytest.approx(1e5, rel=1e-3), False)]
    assert violations("job=reader: queued.p50 > 0ns") == []


def test_a_job_that_does_not_exist_is_refused_before_the_run() -> None:
    jobs = report_records.job_file(READER, WRITER)
    with pytest.raises(IogaugeError, match="there is no job 'raeder'") as caught:
        parse("job=raeder: p99 > 1ms").require(jobs)
    assert caught.value.hint == "did you mean 'reader'?"
    with pytest.raises(IogaugeError, match="the run has no row"):
        parse("job=raeder: p99 > 1ms").check(record())


def test_a_direction_that_is_not_issued_is_refused_before_the_run() -> None:
    jobs = report_records.job_file(READER, WRITER)
    with pytest.raises(IogaugeError, match="no job issues a trim"):
        parse("trim.p99 > 1ms").require(jobs)
    with pytest.raises(IogaugeError, match="no job issues a write"):
        parse("job=reader: write.iops < 1").require(jobs)
    parse("sync.p99 > 1ms").require(jobs)
    parse("job=writer: write.p99 > 1ms").require(jobs)
