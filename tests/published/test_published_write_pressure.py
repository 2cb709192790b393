"""The write-pressure note of 2017 as it was published, figure by figure, against what the full pace plans.

The note: eight jobs of 8 KiB random writes at depth 8, one reader at depth 1, a minute a step.
"""

from __future__ import annotations

import pytest

from iogauge import workload
from iogauge.schema import EngineKind, Job, Rw
from iogauge.suites import SUITES, SuiteRequest
from tests import builders

LABELS_MBPS = (100, 200, 300, 400, 500, 600, 700)
RATE_KIBPS_OF_500 = 62_500
"""``rate=,62500k`` of each of eight writers: 512 MB/s, in the note's chart 500."""
PERCENTILES = (99, 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999, 99.9999999)


def steps() -> dict[float, tuple[Job, Job]]:
    plan = SUITES["write-pressure"].plan(
        SuiteRequest(targets=(builders.target("/dev/nvme0n1"),), pace="full")
    )
    jobs_by_rate = {}
    for step in plan.steps:
        jobs = {job.name: job for job in workload.parse(step.job_file, source=step.id).jobs}
        jobs_by_rate[step.at] = (jobs[str(plan.load_jobs)], jobs[plan.measured_job])
    return jobs_by_rate


def test_the_steps_are_the_seven_of_the_chart() -> None:
    assert tuple(steps()) == LABELS_MBPS


@pytest.mark.parametrize("label", LABELS_MBPS)
def test_a_step_is_the_published_job(label: int) -> None:
    writer, reader = steps()[label]
    assert writer.rate_Bps.write == RATE_KIBPS_OF_500 * 1024 * label // 500
    assert (writer.rw, writer.numjobs, writer.iodepth) == (Rw.RANDWRITE, 8, 8)
    assert (reader.rw, reader.numjobs, reader.iodepth) == (Rw.RANDREAD, 1, 1)
    assert reader.rate_Bps.read == 0
    for job in (writer, reader):
        assert job.bs.read.minimum_bytes == job.bs.write.maximum_bytes == 8192
        assert job.ioengine is EngineKind.LIBAIO
        assert job.runtime_ns == 60 * 10**9
        assert job.log_avg_ns == 500 * 10**6
        assert job.percentile_list == PERCENTILES
        assert all(
            (job.direct, job.thread, job.time_based, job.group_reporting, job.norandommap, job.refill_buffers)
        )
        assert not job.randrepeat


def test_the_step_labelled_500_writes_512() -> None:
    writer, _ = steps()[500]
    assert writer.numjobs * writer.rate_Bps.write == 512_000_000
