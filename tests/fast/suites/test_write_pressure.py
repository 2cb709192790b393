"""The write-pressure suite: the published steps, the scaled steps, and the judging of the reader alone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.ordering import placed_plan
from iogauge.schema import Direction, JobFile, StepPlan, SuitePlan
from iogauge.store import Review
from iogauge.suites import SUITES, Pace, SuiteRequest
from iogauge.suites.write_pressure import pressures_MBps
from tests import builders
from tests.reviews import concluded

SUITE = SUITES["write-pressure"]


def planned(
    pace: Pace = "full", *, path: str = "/dev/nvme0n1", kind: str = "block", **options: int
) -> SuitePlan:
    """Return the plan for a drive."""
    return SUITE.plan(SuiteRequest(targets=(builders.target(path, kind=kind),), pace=pace, **options))


def refined(limit_Bps: int = 800_000_000) -> SuitePlan:
    """Return the quick plan for a drive that takes ``limit_Bps`` of writes."""
    plan = planned("quick")
    assert plan.search is not None
    record, _ = builders.pressed_run(parsed(plan.search), limit_Bps=limit_Bps)
    request = SuiteRequest(targets=(builders.target("/dev/nvme0n1"),), pace="quick")
    return SUITE.refine(plan, record, request)


def parsed(step: StepPlan) -> JobFile:
    """Parse the step's job file like any other."""
    return workload.parse(step.job_file, source=step.id)


PUBLISHED_500 = """\
[global]
filename=/dev/nvme0n1
ioengine=libaio
thread=1
direct=1
bs=8k
gtod_reduce=0
log_avg_msec=500
percentile_list=99:99.9:99.99:99.999:99.9999:99.99999:99.999999:99.9999999
group_reporting=1
norandommap=1
randrepeat=0
refill_buffers=1
time_based=1
runtime=60

[pressure]
rw=randwrite
iodepth=8
numjobs=8
rate=,62500k
write_bw_log=pressure-500

[reader]
new_group=1
rw=randread
iodepth=1
write_lat_log=pressure-500
"""


def test_full_is_the_published_script() -> None:
    steps = {step.at: step for step in planned().steps}
    assert list(steps) == [100, 200, 300, 400, 500, 600, 700]
    assert steps[500].job_file == PUBLISHED_500


def test_each_step_is_independent_and_has_its_own_seed() -> None:
    steps = planned().steps
    placed = [placed_plan(planned(), seed=seed, repeats=2).steps for seed in (1, 1, 2)]
    assert placed[0] == placed[1]
    assert len({step.id for step in placed[0]}) == len({step.state_group for step in placed[0]}) == 14
    assert len({step.seed for step in (*placed[0], *placed[2])}) == 28
    assert [step.repeat for step in placed[0]] == [0] * len(steps) + [1] * len(steps)


def test_all_of_a_device_is_used_and_a_file_by_size() -> None:
    assert parsed(planned().steps[0]).jobs[0].size is None
    for plan, size_bytes in (
        (planned(size_bytes=1 << 20), 1 << 20),
        (planned(kind="file"), 16 << 30),
        (planned("quick", kind="file"), 1 << 30),
        (planned("quick", kind="file", size_bytes=3 << 13), 3 << 13),
    ):
        step = plan.search or plan.steps[0]
        size = parsed(step).jobs[0].size
        assert size is not None
        assert size.size_bytes == size_bytes == plan.size_bytes


@pytest.mark.parametrize("path", ["/dev/disk/by-path/pci-0000:01:00.0", "/tmp/a b.bin", "/tmp/ünïcode.bin"])
def test_any_path_survives_the_job_file(path: str) -> None:
    for job in parsed(planned(path=path).steps[0]).jobs:
        assert job.filenames == (path,)


@pytest.mark.parametrize(("runtime_ns", "text"), [(5 * 10**9, "5 s"), (1_500_000_000, "1.5 s")])
def test_a_note_states_another_runtime(runtime_ns: int, text: str) -> None:
    plan = planned(runtime_ns=runtime_ns)
    assert all(job.runtime_ns == runtime_ns for step in plan.steps for job in parsed(step).jobs)
    assert any(f"{text} instead of the published 60 s" in note for note in plan.notes)
    assert not any("instead" in note for note in planned().notes)


def test_quick_searches_without_a_limit_before_it_plans() -> None:
    plan = planned("quick")
    assert plan.steps == ()
    assert plan.search is not None
    pressure, _ = parsed(plan.search).jobs
    assert (pressure.rate_Bps.write, pressure.runtime_ns) == (0, 2 * 10**9)
    assert pressure.percentile_list == (50, 99, 99.9, 99.99)


def test_quick_goes_from_no_writes_to_nearly_the_search_s_rate() -> None:
    plan = refined()
    assert [step.at for step in plan.steps] == [0, 100, 200, 300, 400, 500, 600, 700]
    assert [job.name for job in parsed(plan.steps[0]).jobs] == ["reader"]
    for step in plan.steps[1:]:
        pressure, _ = parsed(step).jobs
        assert pressure.numjobs * pressure.rate_Bps.write == step.at * 1_000_000
        assert (pressure.runtime_ns, pressure.ramp_time_ns) == (3 * 10**9, 500_000_000)
    assert "800 MB/s" in plan.notes[-1]
    assert refined() == plan


def test_a_search_that_wrote_nothing_is_an_error() -> None:
    with pytest.raises(IogaugeError, match="no write completed") as caught:
        refined(limit_Bps=1000)
    assert caught.value.hint


@given(st.floats(min_value=1e-3, max_value=1e6))
def test_pressures_are_even_and_stay_below_the_limit(limit_MBps: float) -> None:
    rates = pressures_MBps(limit_MBps)
    assert 5 <= len(rates) <= 8
    assert 0.75 * limit_MBps <= rates[-1] <= 0.95 * limit_MBps * (1 + 1e-9)
    for lower, upper in pairwise([0, *rates]):
        assert upper - lower == pytest.approx(rates[0])
    assert len(f"{rates[0]:g}".replace(".", "").strip("0")) <= 2


@pytest.fixture
def review(tmp_path: Path) -> Review:
    """Return a quick review of a made-up drive, without its last step."""
    plan = refined()
    review = Review.create(tmp_path / "r", builders.manifest(plan=plan))
    for step in plan.steps[:-1]:
        record, intervals = builders.pressed_run(parsed(step), seed=step.seed)
        with review.begin(step.id) as writer:
            for interval in intervals:
                writer.interval(interval)
            writer.finish(record)
    return review


def test_the_reader_is_judged_and_the_load_jobs_are_its_pressure(review: Review) -> None:
    result = concluded(review)
    assert [step.id for step in result.missing] == ["pressure-700"]
    for position in result:
        assert position.requested_Bps == position.at * 1_000_000
        assert position.achieved_Bps == pytest.approx(position.requested_Bps, rel=1e-3)
        assert position.figures.ios == 10_007
        median = position.figures.quantile(0.5)
        assert median is not None
        assert median.value == pytest.approx(80_000 + position.requested_Bps / 1000, rel=2e-3)


def test_unsupported_quantiles_are_marked(review: Review) -> None:
    result = concluded(review)
    for position in result:
        estimates = {q: position.figures.quantile(q) for q in result.conclusions.quantiles}
        supported = {q for q, estimate in estimates.items() if estimate is not None and estimate.supported}
        assert supported == {0.5, 0.99, 0.999}  # of 10,007 reads


def test_growth_is_from_the_lowest_to_the_highest_write_rate(review: Review) -> None:
    growth = concluded(review).growth
    assert growth is not None
    assert growth.value == pytest.approx(680 / 80, rel=1e-2)
    assert growth.low is not None
    assert growth.high is not None
    assert growth.low < growth.value < growth.high


def test_growth_needs_two_steps(tmp_path: Path) -> None:
    review = Review.create(tmp_path / "r", builders.manifest(plan=refined()))
    assert concluded(review).growth is None
    assert concluded(review).positions == ()


def test_the_reader_may_have_completed_nothing(tmp_path: Path) -> None:
    plan = refined()
    review = Review.create(tmp_path / "r", builders.manifest(plan=plan))
    record, _ = builders.pressed_run(parsed(plan.steps[1]))
    writer_row, reader_row = record.result.rows
    silent = reader_row.model_copy(update={"tallies": {Direction.READ: builders.tally()}})
    result = record.result.model_copy(update={"rows": (writer_row, silent)})
    with review.begin(plan.steps[1].id) as writer:
        writer.finish(record.model_copy(update={"result": result}))
    (position,) = concluded(review).positions
    assert position.figures.mean is None
    assert concluded(review).growth is None
