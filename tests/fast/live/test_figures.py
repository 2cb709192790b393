"""The figures of an interval: bands and quantiles are those of the histogram, and steadiness is that of the core."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge import execution, workload
from iogauge.live.figures import BANDS, bands, merged
from iogauge.live.rows import planned_rows
from iogauge.live.steadiness import Steadiness
from iogauge.schema import Direction, Job, PerDirection, RunPlan
from iogauge.stats.histogram import Histogram
from tests import builders, report_records
from tests.fast.live import feeds


@given(st.lists(st.integers(1, 10**11), max_size=50))
def test_each_latency_is_in_its_quarter_of_a_decade(samples: list[int]) -> None:
    histogram = Histogram.of(samples)
    counts = [0] * BANDS
    for middle, count in zip(histogram.midpoints, histogram.counts, strict=True):
        band = math.floor(4 * math.log10(middle / 1000) + 1e-9)
        counts[min(max(band, 0), BANDS - 1)] += int(count)
    assert bands(histogram) == [[band, count] for band, count in enumerate(counts) if count]


def test_nothing_completed() -> None:
    empty = builders.interval(0, {Direction.READ: builders.tally()})
    assert merged([empty])["directions"] == {}
    errors = builders.interval(0, {Direction.READ: builders.tally(errors={5: 3})})
    read = merged([errors])["directions"]["read"]
    assert (read["errors"], read["mean_ns"], read["p50_ns"], read["max_ns"], read["bands"]) == (
        3,
        None,
        None,
        None,
        [],
    )


@pytest.mark.parametrize(
    ("job", "iops"),
    [
        (Job(name="a", rw="randread"), {}),
        (Job(name="a", rw="randread", rate_iops=PerDirection(read=5, write=7, trim=0)), {"read": 5.0}),
        (
            Job(name="a", rw="randrw", rate_Bps=PerDirection(read=8192, write=4096, trim=0)),
            {"read": 2.0, "write": 1.0},
        ),
    ],
)
def test_the_rate_that_a_job_asks_for(job: Job, iops: dict[str, float]) -> None:
    (row,) = planned_rows(report_records.plan([job])).values()
    assert row.iops == iops


def test_workers_of_one_row_ask_together() -> None:
    plan = report_records.plan([Job(name="a", rate_iops=PerDirection(read=5, write=0, trim=0))])
    stage = plan.stages[0]
    three = stage.model_copy(update={"workers": stage.workers * 3})
    (row,) = planned_rows(plan.model_copy(update={"stages": (three,)})).values()
    assert row.iops == {"read": 15.0}


@pytest.mark.parametrize("steady", ["iops:1%", "iops_slope:0.01%", "bw:100000", "lat:10%", "lat_slope:1"])
def test_steadiness_while_it_runs_is_what_the_core_says_at_the_end(steady: str, tmp_path: Path) -> None:
    plans: list[RunPlan] = []
    rows: list[Steadiness] = []
    criteria: list[float] = []

    def begin(plan: RunPlan, _: object) -> None:
        plans.append(plan)
        (row,) = planned_rows(plan).values()
        assert row.steady is not None
        rows.append(Steadiness(row.steady))

    def add(interval) -> None:
        if (criterion := rows[0].add(interval)) is not None:
            criteria.append(criterion)

    options = "--name=x --filename=model:p4800x --rw=randread --bs=4k --runtime=8 --time_based=1"
    record = execution.execute(
        workload.from_arguments([*options.split(), f"--steadystate={steady}", "--steadystate_duration=3"]),
        seed=1,
        on_start=begin,
        on_interval=add,
    )
    result = record.result.rows[0].steady
    assert result is not None
    assert criteria[-1] == pytest.approx(result.criterion)
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.started(plans[0])
        feed.finished(record)
    (event,) = (event for event in feeds.events(tmp_path) if event["event"] == "steady")
    assert event["attained"] is result.attained
