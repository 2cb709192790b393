"""fio's log files: names, lines, windows with and without I/O, a full disk."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.report.run import fio_buckets, fio_logs
from iogauge.schema import Direction, Interval, Job, Kind
from iogauge.store.outputs import Claims
from tests import builders, report_records

READ, WRITE = Direction.READ, Direction.WRITE
MS = 1_000_000


def job(**fields: object) -> Job:
    return Job.model_validate({"name": "reader", "rw": "randread", "ioengine": "libaio", **fields})


def logs(directory: Path, *jobs: Job) -> fio_logs.FioLogs:
    file = report_records.job_file(*jobs)
    return fio_logs.FioLogs(file, fio_logs.claim(file, Claims(), directory=directory))


def interval(index: int, tallies: dict, *, length_ns: int = 100 * MS, **fields: object) -> Interval:
    return builders.interval(index, tallies, interval_ns=length_ns, **fields)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def reads(count: int, latency_ns: int = 2_000):
    return {READ: builders.tally({latency_ns: count} if count else {}, block_bytes=4096)}


def test_windows_are_sums_of_intervals_and_empty_ones_are_zeros(tmp_path: Path) -> None:
    logged = job(write_bw_log="out", write_iops_log="out", write_lat_log="out", log_avg_ns=200 * MS)
    written = logs(tmp_path, logged)
    for index, tallies in enumerate([reads(10), reads(30), reads(0), {}, reads(7, 1_000), reads(1, 1_800)]):
        written.interval(interval(index, tallies))
    written.close()
    assert lines(tmp_path / "out_iops.1.log") == ["200, 200, 0, 0, 0", "400, 0, 0, 0, 0", "600, 40, 0, 0, 0"]
    assert lines(tmp_path / "out_bw.1.log") == ["200, 800, 0, 0, 0", "400, 0, 0, 0, 0", "600, 160, 0, 0, 0"]
    # No latency can stand for no request.
    assert lines(tmp_path / "out_lat.1.log") == ["200, 2000, 0, 0, 0", "600, 1100, 0, 0, 0"]
    assert lines(tmp_path / "out_clat.1.log") == lines(tmp_path / "out_lat.1.log")
    assert lines(tmp_path / "out_slat.1.log") == []


def test_averages_of_rates_are_there_whatever_is_left_out(tmp_path: Path) -> None:
    left_out = dict.fromkeys(("disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement"), True)
    written = logs(tmp_path, job(write_bw_log="out", write_iops_log="out", log_avg_ns=100 * MS, **left_out))
    written.interval(interval(0, reads(10)))
    written.close()
    assert lines(tmp_path / "out_bw.1.log") == ["100, 400, 0, 0, 0"]
    assert lines(tmp_path / "out_iops.1.log") == ["100, 100, 0, 0, 0"]


def test_a_mixed_job_has_a_line_for_each_direction(tmp_path: Path) -> None:
    written = logs(tmp_path, job(rw="randrw", write_iops_log="out", log_avg_ns=100 * MS))
    written.interval(interval(0, {WRITE: builders.tally({500: 3})}))
    written.close()
    assert lines(tmp_path / "out_iops.1.log") == ["100, 0, 0, 0, 0", "100, 30, 1, 0, 0"]


def test_time_begins_with_the_measured_part(tmp_path: Path) -> None:
    written = logs(tmp_path, job(write_iops_log="out", log_avg_ns=100 * MS))
    for index, ramp in enumerate([True, True, False, False]):
        written.interval(interval(index, reads(1), ramp=ramp))
    written.close()
    assert lines(tmp_path / "out_iops.1.log") == ["100, 10, 0, 0, 0", "200, 10, 0, 0, 0"]


def test_a_rest_at_the_end_has_latencies_but_no_rates(tmp_path: Path) -> None:
    written = logs(tmp_path, job(write_iops_log="out", write_lat_log="out", log_avg_ns=200 * MS))
    written.interval(interval(0, reads(10)))
    written.interval(interval(1, reads(10)))
    written.interval(interval(2, reads(1)).model_copy(update={"end_ns": 250 * MS}))
    written.close()
    assert lines(tmp_path / "out_iops.1.log") == ["200, 100, 0, 0, 0"]
    assert lines(tmp_path / "out_lat.1.log") == ["200, 2000, 0, 0, 0", "250, 2000, 0, 0, 0"]


def test_an_only_window_is_as_long_as_it_was(tmp_path: Path) -> None:
    written = logs(tmp_path, job(write_iops_log="out", log_avg_ns=1000 * MS))
    written.interval(interval(0, reads(5), length_ns=500 * MS))
    written.close()
    assert lines(tmp_path / "out_iops.1.log") == ["500, 10, 0, 0, 0"]


def test_files_without_a_prefix_are_named_after_the_job_and_counted_by_worker(tmp_path: Path) -> None:
    second = job(name="writer", rw="write", write_hist_log="", log_hist_ns=100 * MS)
    logs(tmp_path, job(write_lat_log="", log_avg_ns=100 * MS), second).close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "reader_clat.1.log",
        "reader_lat.1.log",
        "reader_slat.1.log",
        "writer_clat_hist.2.log",
    ]


@pytest.mark.parametrize(
    ("fields", "slat"),
    [
        ({"ioengine": "psync"}, False),
        ({"ioengine": "pvsync2"}, False),
        ({"ioengine": "io_uring", "sqthread_poll": True}, False),
        ({"ioengine": "io_uring"}, True),
        ({"ioengine": "null"}, False),
        ({"ioengine": "null", "iodepth": 2}, True),
    ],
)
def test_an_engine_without_slat_has_no_log_of_it(tmp_path: Path, fields: dict, slat: bool) -> None:
    logs(tmp_path, job(write_lat_log="out", log_avg_ns=100 * MS, **fields)).close()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"out_lat.1.log", "out_clat.1.log"} | ({"out_slat.1.log"} if slat else set())


def test_histogram_lines_hold_every_request_in_fios_buckets(tmp_path: Path) -> None:
    written = logs(tmp_path, job(write_hist_log="out", log_hist_ns=200 * MS))
    written.interval(interval(0, {READ: builders.tally([100, 100, 5_000])}))
    written.interval(interval(1, {READ: builders.tally([5_001])}))
    written.close()
    (line,) = lines(tmp_path / "out_clat_hist.1.log")
    time_ms, ddir, block_bytes, *counts = (int(field) for field in line.split(", "))
    assert (time_ms, ddir, block_bytes, len(counts)) == (200, 0, 4096, 1_856)
    assert counts[100] == 2
    assert sum(counts) == 4


@given(st.integers(0, 10**12))
def test_fios_buckets_are_64_to_the_octave_and_exact_below_128_ns(value_ns: int) -> None:
    bucket = int(fio_buckets.bucket_of(np.array([value_ns]))[0])
    if bucket == 1_855:
        assert value_ns >= 17_045_651_456
        return
    octave, step = divmod(bucket, 64)
    shift = max(octave - 1, 0)
    lowest = (step + (64 if octave else 0)) << shift
    assert lowest <= value_ns < lowest + (1 << shift)


def test_what_a_run_must_provide_follows_from_the_jobs() -> None:
    plain = report_records.job_file(job())
    per_request = report_records.job_file(job(write_lat_log="out"))
    averaged = report_records.job_file(job(write_lat_log="out", log_avg_ns=MS * 250))
    assert [fio_logs.needs_intervals(jobs) for jobs in (plain, per_request, averaged)] == [False, False, True]
    assert [fio_logs.needs_requests(jobs) for jobs in (plain, per_request, averaged)] == [False, True, False]


@given(st.lists(st.integers(1, 500).map(lambda n: n * 10), min_size=1, max_size=4))
def test_the_interval_divides_every_window(windows_ms: list[int]) -> None:
    jobs = report_records.job_file(
        *(job(name=f"j{n}", write_bw_log="", log_avg_ns=ms * MS) for n, ms in enumerate(windows_ms))
    )
    interval_ns = fio_logs.interval_ns_for(jobs)
    assert interval_ns >= 10 * MS
    assert all(ms * MS % interval_ns == 0 for ms in windows_ms)
    fio_logs.require_interval(jobs, interval_ns=interval_ns)


def test_a_window_counts_only_if_its_log_is_written() -> None:
    jobs = report_records.job_file(job(log_avg_ns=3 * MS, log_hist_ns=7 * MS))
    assert fio_logs.interval_ns_for(jobs) == builders.SECOND_NS


def test_windows_too_short_and_intervals_too_long_are_refused() -> None:
    short = report_records.job_file(job(write_bw_log="", log_avg_ns=5 * MS))
    with pytest.raises(IogaugeError, match="10 ms is the shortest"):
        fio_logs.interval_ns_for(short)
    with pytest.raises(IogaugeError, match="a log window of 5 ms is not a multiple of the interval, 1000 ms"):
        fio_logs.require_interval(short, interval_ns=builders.SECOND_NS)


def test_a_log_that_cannot_be_made_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match=r"missing/out_bw\.1\.log: there is no directory"):
        logs(tmp_path, job(write_bw_log="missing/out", log_avg_ns=100 * MS))


@pytest.fixture
def little_room() -> Iterator[None]:
    """Files cannot grow beyond 16 KiB; writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.usefixtures("little_room")
def test_a_full_disk_does_not_stop_the_run_and_is_reported_at_its_end(tmp_path: Path) -> None:
    written = logs(tmp_path, job(write_hist_log="out", log_hist_ns=100 * MS))
    for index in range(20):
        written.interval(
            interval(index, {READ: builders.tally([100], histograms={Kind.CLAT: builders.histogram([9])})})
        )
    with pytest.raises(
        IogaugeError, match=r"logs are not complete: .*/out_clat_hist.1.log: cannot write: File too large"
    ):
        written.close()
