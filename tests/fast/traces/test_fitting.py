"""Fitting jobs to traces: what a job file says of traces whose law is known, and that any trace gives a valid one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.schema import JobFile, Rw, ZipfDistribution, ZonedDistribution
from iogauge.traces.fitting.blocks import blocks
from iogauge.traces.fitting.jobs import FittedJobs, fit_jobs
from iogauge.traces.fitting.loop import Loop, loop_of
from iogauge.traces.rows import UNKNOWN, Rows
from iogauge.workload import parse
from tests.fast.traces import fit_samples as samples

GENERATOR = np.random.default_rng


def fitted(rows: Rows) -> tuple[FittedJobs, JobFile]:
    made = fit_jobs(rows)
    assert made is not None
    return made, parse(made.text, source="fitted")


def test_random_reads_are_one_job_at_their_rate() -> None:
    made, jobs = fitted(samples.poisson(GENERATOR(1), 20_000))
    (job,) = jobs.jobs
    assert (job.rw, job.rate_process, made.shape) == (Rw.RANDREAD, "poisson", "random arrivals")
    assert job.rate_iops.read == pytest.approx(20_000, rel=0.03)
    assert job.runtime_ns == pytest.approx(1e9, rel=0.03)
    assert job.iodepth == 256


def test_sizes_and_the_mix_have_their_shares() -> None:
    _, jobs = fitted(samples.mixed(GENERATOR(1), 20_000))
    (job,) = jobs.jobs
    reads = {one.size_bytes: one.percent for one in job.bs.read.split}
    assert reads == {
        4096: pytest.approx(60, abs=1),
        8192: pytest.approx(30, abs=1),
        65536: pytest.approx(10, abs=1),
    }
    assert {one.size_bytes for one in job.bs.write.split} == {4096, 16384, 131072}
    assert job.rate_iops.write / job.rate_iops.read == pytest.approx(3 / 7, rel=0.05)
    assert job.ba.read == 16384


def test_rare_large_requests_have_a_job_of_their_own() -> None:
    random = GENERATOR(1)
    sizes = np.where(random.random(20_000) < 0.003, 1 << 20, 4096)
    _, jobs = fitted(samples.rows(samples.arrivals(random, 20_000, 5_000), 0, np.arange(20_000) << 20, sizes))
    assert [(job.name, job.bs.read.maximum_bytes) for job in jobs.jobs] == [
        ("load", 4096),
        ("large-load", 1 << 20),
    ]
    assert jobs.jobs[1].rate_iops.read == pytest.approx(15, abs=4)


def test_hot_blocks_are_zipf_and_runs_continue() -> None:
    _, jobs = fitted(samples.hot(GENERATOR(1), 40_000))
    (job,) = jobs.jobs
    assert isinstance(job.random_distribution.read, ZipfDistribution)
    assert job.random_distribution.read.theta == pytest.approx(0.9, abs=0.05)
    assert job.percentage_random.read == pytest.approx(40, abs=2)


def test_hot_regions_are_zones() -> None:
    random = GENERATOR(1)
    place = np.where(
        random.random(20_000) < 0.8, random.integers(0, 1 << 16, 20_000), random.integers(0, 1 << 18, 20_000)
    )
    _, jobs = fitted(samples.rows(samples.arrivals(random, 20_000, 1_000), 1, place * 4096, 4096))
    zoned = jobs.jobs[0].random_distribution.write
    assert isinstance(zoned, ZonedDistribution)
    assert zoned.zones[0].access_percent == pytest.approx(85, abs=2)
    assert zoned.zones[0].size_percent == pytest.approx(25, abs=1)


def test_one_stream_is_sequential() -> None:
    count = 5_000
    time = samples.arrivals(GENERATOR(1), count, 1_000)
    _, jobs = fitted(samples.rows(time, 1, np.arange(count) * 65536, 65536))
    assert (jobs.jobs[0].rw, jobs.jobs[0].bs.write.maximum_bytes) == (Rw.WRITE, 65536)


def test_a_journal_begins_again_at_its_start() -> None:
    _, jobs = fitted(samples.journal(GENERATOR(1), 6_000))
    (job,) = jobs.jobs
    assert job.size is not None
    assert (job.size.size_bytes, job.ba.write) == (96 << 10, 64 << 10), "random writes have one place"
    assert job.percentage_random.write == pytest.approx(100 / 24, abs=1)


def test_even_gaps_are_a_constant_rate() -> None:
    made, jobs = fitted(samples.rows(np.arange(1_000) * 100_000, 0, np.arange(1_000) * 8192, 4096))
    assert (made.shape, jobs.jobs[0].rate_process, jobs.jobs[0].rate_iops.read) == (
        "even arrivals",
        "linear",
        10_000,
    )


def test_a_slow_trace_has_pauses_instead_of_a_rate() -> None:
    made, jobs = fitted(samples.slow(GENERATOR(1), 200))
    (job,) = jobs.jobs
    assert (job.rate_iops.write, job.iodepth, made.shape) == (0, 1, "even arrivals")
    assert job.thinktime_ns == pytest.approx(1e9 / 0.3, rel=0.15)
    assert job.startdelay_ns[0] == pytest.approx(job.thinktime_ns / 2, rel=0.01)


def test_rare_writes_among_many_reads_keep_their_rate() -> None:
    random = GENERATOR(1)
    direction = (np.arange(20_000) % 5_000 == 0).astype(int)
    time = samples.arrivals(random, 20_000, 2_000)
    _, jobs = fitted(samples.rows(time, direction, random.integers(0, 1 << 18, 20_000) * 4096, 4096))
    assert [(job.name, job.rw) for job in jobs.jobs] == [("load", Rw.RANDREAD), ("slow-load", Rw.RANDWRITE)]
    assert jobs.jobs[1].thinktime_ns == pytest.approx(2.5e9, rel=0.05)


def test_bursts_keep_their_pauses() -> None:
    _, jobs = fitted(samples.bursts(GENERATOR(1), 20_000))
    begins = [job.startdelay_ns[0] for job in jobs.jobs]
    assert len(jobs.jobs) == 10
    assert np.diff(begins) == pytest.approx(np.full(9, 250e6), rel=0.1)
    assert [job.runtime_ns for job in jobs.jobs] == pytest.approx([50e6] * 10, rel=0.05)


def test_few_changes_of_the_rate_are_phases_in_their_order() -> None:
    random = GENERATOR(1)
    slow, fast = samples.arrivals(random, 5_000, 1_000), samples.arrivals(random, 20_000, 10_000)
    time = np.concatenate([slow, slow[-1] + fast, slow[-1] + fast[-1] + slow])
    made, jobs = fitted(samples.rows(time, 0, random.integers(0, 1 << 18, len(time)) * 4096, 4096))
    assert [job.rate_iops.read for job in jobs.jobs] == pytest.approx([1_000, 10_000, 1_000], rel=0.05)
    assert made.shape == "random arrivals at 3 rates"


def test_batches_come_at_once_and_pause() -> None:
    time = np.repeat(samples.arrivals(GENERATOR(1), 1_000, 1_000), 16)
    made, jobs = fitted(samples.rows(time, 0, np.arange(len(time)) * 4096 * 3, 4096))
    assert made.shape == "arrivals and batches at once"
    assert {(job.iodepth, job.thinktime_blocks) for job in jobs.jobs} == {(16, 16)}
    assert sum(1e9 / job.thinktime_ns for job in jobs.jobs) == pytest.approx(1_000, rel=0.1)


def closed(depth: int, count: int, think_ns: int = 0) -> Rows:
    """A closed loop whose requests take 80 to 120 us."""
    random = GENERATOR(1)
    free = np.zeros(depth, dtype=np.int64)
    begin, latency = np.zeros(count, dtype=np.int64), random.integers(80_000, 120_000, count)
    for number in range(count):
        slot = int(free.argmin())
        begin[number] = free[slot]
        free[slot] += latency[number] + (random.integers(0, 2 * think_ns) if think_ns else 0)
    return samples.rows(begin, 0, random.integers(0, 1 << 18, count) * 4096, 4096, latency)


@pytest.mark.parametrize("depth", [1, 8])
def test_a_closed_loop_has_its_depth(depth: int) -> None:
    rows = closed(depth, 4_000)
    assert loop_of(rows) == Loop(depth)
    made, jobs = fitted(rows)
    assert (made.pacing, jobs.jobs[0].iodepth, jobs.jobs[0].number_ios) == ("closed", depth, 4_000)


def test_a_loop_that_thinks_has_its_clones() -> None:
    loop = loop_of(closed(3, 4_000, think_ns=50_000))
    assert loop is not None
    assert (loop.depth, loop.think_ns) == (3, pytest.approx(50_000, rel=0.1))
    _, jobs = fitted(closed(3, 4_000, think_ns=50_000))
    assert (jobs.jobs[0].numjobs, jobs.jobs[0].iodepth) == (3, 1)


def test_a_loop_of_bursts_pauses_when_it_is_empty() -> None:
    rows = closed(4, 4_000)
    rows["time_ns"] = np.concatenate([closed(4, 100)["time_ns"] + 10**8 * burst for burst in range(40)])
    rows["latency_ns"] = np.tile(closed(4, 100)["latency_ns"], 40)
    _, jobs = fitted(rows)
    (job,) = jobs.jobs
    assert (job.iodepth, job.thinktime_blocks) == (4, 100)
    assert job.thinktime_ns == pytest.approx(97.5e6, rel=0.01)


def test_an_open_loop_is_none() -> None:
    rows = samples.poisson(GENERATOR(1), 5_000)
    rows["latency_ns"] = 100_000
    assert loop_of(rows) is None
    assert fitted(rows)[1].jobs[0].iodepth == pytest.approx(9, abs=3), "the depth is the trace's"


def test_syncs_are_those_of_writes() -> None:
    rows = samples.rows(np.arange(100) * 10**6, [1, 1, 1, 3] * 25, np.arange(100) * 4096, 4096)
    rows["size_bytes"][3::4] = 0
    assert fitted(rows)[1].jobs[0].fsync == 3
    assert fit_jobs(rows[3::4]) is None


def test_blocks_are_found_across_pieces() -> None:
    counts = GENERATOR(1).poisson(np.repeat([10, 30, 10], 2_000))
    assert np.array(blocks(counts, np.ones(6_000))) == pytest.approx([0, 2_000, 4_000, 6_000], abs=3)


@settings(max_examples=40, deadline=None)
@given(
    requests=st.lists(
        st.tuples(
            st.integers(0, 10**10) | st.integers(0, 20),
            st.sampled_from([0, 1, 2, 3]),
            st.integers(0, 1 << 40),
            st.sampled_from([512, 4096, 12_288, 1 << 20]),
            st.integers(-1, 10**7),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=60,
    ),
    copies=st.sampled_from([1, 1, 40]),
)
def test_any_trace_gives_jobs_that_are_valid(requests: list[tuple[int, ...]], copies: int) -> None:
    gaps, direction, offset, size, latency, device = np.tile(np.array(requests), (copies, 1)).T
    rows = samples.rows(
        np.cumsum(gaps), direction, offset * 512, size, np.where(latency < 0, UNKNOWN, latency)
    )
    rows["device"] = device
    made = fit_jobs(rows)
    if (rows["direction"] == 3).all():
        assert made is None
    else:
        assert made is not None
        assert parse(made.text, source="fitted").jobs
