"""The numbers of a run that its judges want: exact where the recorder knows more than its buckets."""

from __future__ import annotations

from iogauge.run.figures import row_figures
from iogauge.schema import Direction, Job, Kind
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE


def test_a_quantile_stays_within_what_was_measured_exactly() -> None:
    """All in one bucket, of which only one end was ever seen."""
    tally = builders.tally({1_000_001: 100})
    (found,) = row_figures(report_records.record([Job(name="r", rw="randread")], [{READ: tally}]))
    assert found.lat_p50_ns == 1_000_001


def test_a_row_without_exact_figures_has_its_buckets() -> None:
    tally = builders.tally({1_000_001: 100}, exact={})
    (found,) = row_figures(report_records.record([Job(name="r", rw="randread")], [{READ: tally}]))
    assert found.lat_p50_ns is not None
    assert found.lat_p50_ns > 1_000_001


def test_lateness_is_unknown_where_nothing_was_due() -> None:
    (found,) = row_figures(report_records.record([Job(name="r")], [{READ: builders.tally({5: 1})}]))
    assert found.lateness_p99_ns is None
    late = builders.tally(
        {5: 1}, histograms={Kind.LAT: builders.histogram([5]), Kind.LATENESS: builders.histogram([9])}
    )
    (found,) = row_figures(report_records.record([Job(name="r")], [{READ: late}]))
    assert found.lateness_p99_ns == 9


def test_what_a_row_left_undone_is_counted_once() -> None:
    both = {READ: builders.tally({5: 10}), WRITE: builders.tally({5: 10})}
    record = report_records.record([Job(name="m", rw="randrw")], [both])
    workers = tuple(worker.model_copy(update={"overdue": 40}) for worker in record.result.workers)
    record = record.model_copy(update={"result": record.result.model_copy(update={"workers": workers})})
    assert sum(found.overdue for found in row_figures(record)) == 40 * len(workers)
