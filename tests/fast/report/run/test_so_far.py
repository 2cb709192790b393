"""The results of a run that still lasts: intervals added up, and when they are reported."""

from __future__ import annotations

import pytest

from iogauge.cli.run.status_reports import StatusReports
from iogauge.report.run import jsonplus, table
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.report.run.rows import rows
from iogauge.report.run.so_far import SoFar
from iogauge.schema import ClockFacts, Direction, Interval, Job, Kind, RunRecord
from tests import builders, report_records
from tests.fast.execution.test_many_jobs import calls

READ, WRITE = Direction.READ, Direction.WRITE
CLOCK = ClockFacts(source="tsc", read_cost_ns=20.0)
JOBS = (Job(name="a", rw="randrw"), Job(name="b"))


def so_far() -> SoFar:
    plan = report_records.plan(JOBS)
    return SoFar(report_records.job_file(*JOBS), plan, (), clock=CLOCK, ceiling=None)


def test_intervals_add_up_to_the_record_of_a_run() -> None:
    parts = [{5_000: 3, 7_001: 1}, {6_000: 2}, {5_000: 10, 1_000_000: 1}]
    run, stats = so_far(), IntervalStats(interval_ns=10**9)
    for index, values in enumerate(parts):
        interval = builders.interval(
            index, {READ: builders.tally(values), WRITE: builders.tally({9: 1}, errors={5: 1})}
        )
        run.add(interval)
        stats.add(interval)
    record = run.record()
    row = next(rows(record))
    merged = builders.tally({5_000: 13, 7_001: 1, 6_000: 2, 1_000_000: 1})
    assert row.tally(READ).ios == 17
    assert row.tally(READ).exact[Kind.LAT] == merged.exact[Kind.LAT]
    assert row.tally(READ).histograms[Kind.LAT] == merged.histograms[Kind.LAT]
    assert row.tally(WRITE).errors == {5: 3}
    assert row.seconds == 3
    assert row.loop_gap.count == 3
    assert jsonplus.document(record, stats, plus=True)["jobs"][0]["read"]["iops_samples"] == 3
    assert "a: randrw" in table.render(record, stats)


def test_a_ramp_is_left_out_and_a_row_that_has_not_begun_is_empty() -> None:
    run = so_far()
    run.add(builders.interval(0, {READ: builders.tally({5: 1})}, ramp=True))
    run.add(builders.interval(1, {READ: builders.tally({5: 2})}))
    first, second = rows(run.record())
    assert (first.tally(READ).ios, first.seconds) == (2, 1)
    assert (second.directions, second.seconds) == ((), 0)


def reads_reported(*intervals: tuple[int, int], every_ns: int) -> list[int]:
    """Return how many reads each report holds. ``intervals`` are rows and indices; each has one read."""
    reads: list[int] = []

    def show(record: RunRecord) -> None:
        reads.append(sum(row.tally(READ).ios for row in rows(record)))

    reports = StatusReports(report_records.plan(JOBS), so_far(), every_ns=every_ns, show=show)
    for row, index in intervals:
        reports.interval(builders.interval(index, {READ: builders.tally({5: 1})}, row=row))
    return reads


@pytest.mark.parametrize(
    ("intervals", "every_s", "expected"),
    [
        ([(0, 0), (1, 0), (0, 1), (1, 1)], 1, [2, 4]),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 2, [4]),
        ([(0, 0), (1, 0), (0, 1), (0, 2), (0, 3)], 2, [3]),  # the second has ended: a later interval says so
        ([(0, 0), (1, 0)], 2, []),
    ],
)
def test_a_report_comes_when_all_rows_are_there(
    intervals: list[tuple[int, int]], every_s: int, expected: list[int]
) -> None:
    assert reads_reported(*intervals, every_ns=every_s * 10**9) == expected


def test_a_snapshot_does_not_change_what_later_intervals_give() -> None:
    read, unread = IntervalStats(interval_ns=10**9), IntervalStats(interval_ns=10**9)
    for index in range(6):
        for part in range(2):  # of a group, whose workers hand theirs out one after the other
            interval = builders.interval(index, {READ: builders.tally({5: index + part})})
            read.add(interval)
            unread.add(interval)
            snapshot = read.snapshot().iops(stage=0, row=0, direction=READ)
            assert snapshot.samples == index + 1
            assert snapshot.maximum == (2 * index + 1 if part else max(index, 2 * index - 1))
    row = {"stage": 0, "row": 0, "direction": READ}
    assert read.iops(**row) == unread.iops(**row)
    assert read.bandwidth_Bps(**row) == unread.bandwidth_Bps(**row)


def test_what_an_interval_costs_does_not_grow_with_the_number_of_rows() -> None:
    class Nothing:
        def add(self, interval: Interval) -> None: ...

    def calls_for(count: int) -> int:
        plan = report_records.plan([Job(name=f"j{number}") for number in range(count)])
        reports = StatusReports(plan, Nothing(), every_ns=3600 * 10**9, show=lambda _: None)
        intervals = [builders.interval(0, {}, row=row) for row in range(count)]
        return calls(lambda: [reports.interval(interval) for interval in intervals])

    assert calls_for(200) < 2.2 * calls_for(100)
