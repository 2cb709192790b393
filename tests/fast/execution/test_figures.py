"""The numbers of a run that its judges want: exact where the recorder knows more than its buckets."""

from __future__ import annotations

import pytest

from iogauge.execution.figures import OwnBytes, row_figures
from iogauge.machine.judge import Tail
from iogauge.schema import Direction, EngineKind, Job, Kind, Tally
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE


def test_a_quantile_stays_within_what_was_measured_exactly() -> None:
    """All in one bucket, of which only one end was ever seen."""
    tally = builders.tally({1_000_001: 100})
    (figures,) = row_figures(report_records.record([Job(name="r", rw="randread")], [{READ: tally}]))
    assert figures.lat_p50_ns == 1_000_001


def test_a_row_without_exact_figures_has_its_buckets() -> None:
    tally = builders.tally({1_000_001: 100}, exact={})
    (figures,) = row_figures(report_records.record([Job(name="r", rw="randread")], [{READ: tally}]))
    assert figures.lat_p50_ns is not None
    assert figures.lat_p50_ns > 1_000_001


def test_lateness_is_unknown_where_nothing_was_due() -> None:
    (figures,) = row_figures(report_records.record([Job(name="r")], [{READ: builders.tally({5: 1})}]))
    assert (figures.scheduled, figures.lateness) == (False, None)
    (figures,) = row_figures(report_records.record([Job(name="r")], [{READ: late({9: 2_000})}]))
    assert (figures.scheduled, figures.lateness) == (True, Tail(q=0.99, value_ns=9))


def late(lateness_ns: dict[int, int]) -> Tally:
    histograms = {Kind.LAT: builders.histogram({5: 1}), Kind.LATENESS: builders.histogram(lateness_ns)}
    return builders.tally({5: 1}, histograms=histograms)


@pytest.mark.parametrize(("count", "q"), [(1_000, 0.99), (999, 0.9), (60, 0.5), (20, 0.5), (19, None)])
def test_only_quantiles_that_their_sample_supports_are_judged(count: int, q: float | None) -> None:
    run = report_records.record([Job(name="r")], [{READ: late({9: count})}])
    gaps = run.result.rows[0].model_copy(update={"loop_gap": builders.histogram({70: count * 10})})
    run = run.model_copy(update={"result": run.result.model_copy(update={"rows": (gaps,)})})
    (figures,) = row_figures(run)
    assert figures.lateness == (q and Tail(q=q, value_ns=9))
    assert figures.lat_p50_ns is None
    expected = 0.999 if count >= 1_000 else 0.99 if count >= 100 else 0.9
    assert figures.loop_gap == Tail(q=expected, value_ns=70)


def test_a_rows_work_is_that_of_its_directions_together_and_told_of_once() -> None:
    both = {
        READ: builders.tally({5: 10}),
        WRITE: builders.tally({5: 7}),
        Direction.SYNC: builders.tally({5: 3}),
    }
    run = report_records.record([Job(name="m", rw="randrw", iodepth=4, ioengine="libaio")], [both])
    assert [(row.direction, row.row_ios) for row in row_figures(run)] == [
        (READ, 20),
        (WRITE, None),
    ]
    assert {(row.workers, row.iodepth) for row in row_figures(run)} == {(1, 4)}


def test_what_a_row_left_undone_is_counted_once() -> None:
    both = {READ: builders.tally({5: 10}), WRITE: builders.tally({5: 10})}
    record = report_records.record([Job(name="m", rw="randrw")], [both])
    workers = tuple(worker.model_copy(update={"overdue": 40}) for worker in record.result.workers)
    record = record.model_copy(update={"result": record.result.model_copy(update={"workers": workers})})
    assert sum(row.overdue for row in row_figures(record)) == 40 * len(workers)


@pytest.mark.parametrize(
    ("uncounted", "counted"),
    [
        ((), {"nvme0n1": (3 * 8192, 0), "sda": (8192, 0)}),
        (("nvme0n1",), {"nvme0n1": (2 * 8192, 0), "sda": (8192, 0)}),
    ],
)
def test_commands_that_no_counter_sees_are_not_expected_of_it(
    uncounted: tuple[str, ...], counted: dict[str, tuple[int, int]]
) -> None:
    jobs = [
        Job(name="c", filenames=("/n",), ioengine=EngineKind.IO_URING_CMD),
        Job(name="b", filenames=("/n",), ioengine=EngineKind.IO_URING),
        Job(name="f", filenames=("/f",), ioengine=EngineKind.IO_URING),
    ]
    targets = [builders.target("/n", device="nvme0n1"), builders.target("/f", device="sda")]
    own = OwnBytes(report_records.plan(jobs), targets, uncounted=uncounted)
    for row, count in enumerate((1, 2, 1)):
        interval = builders.interval(0, {READ: builders.tally({1000: count})})
        own.add(interval.model_copy(update={"row": row}))
    assert own.by_device() == counted


def test_a_row_of_which_a_part_is_counted_says_nothing_of_its_device() -> None:
    jobs = [
        Job(name=engine.value, filenames=("/n",), ioengine=engine, group_reporting=True)
        for engine in (EngineKind.IO_URING_CMD, EngineKind.IO_URING)
    ]
    plan = report_records.plan(jobs)
    workers = tuple(worker.model_copy(update={"row": 0}) for worker in plan.stages[0].workers)
    plan = plan.model_copy(update={"stages": (plan.stages[0].model_copy(update={"workers": workers}),)})
    targets = [builders.target("/n", device="nvme0n1")]
    assert OwnBytes(plan, targets, uncounted=("nvme0n1",)).by_device() == {}
    assert OwnBytes(plan, targets).by_device() == {"nvme0n1": (0, 0)}
