"""A step exported as fio's job file, run by fio, and imported: its figures are those that fio reports.

Needs fio, and neither root nor a device.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from iogauge.reviews.imported_run import run_record
from iogauge.schema import Direction, Kind
from iogauge.stats.figures import step_figures
from iogauge.stats.histogram import Histogram
from iogauge.store.imported import read_foreign
from iogauge.suites import SUITES
from iogauge.suites.suite import SuiteRequest
from iogauge.workload.scripts import Step, fio_files
from tests import builders
from tests.offline_programs import last_report

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")

SIZE_BYTES = 4 << 20
KEYS = ((Kind.LAT, "lat_ns"), (Kind.CLAT, "clat_ns"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which fio has run the second step of write pressure, as the script runs it."""
    folder = tmp_path_factory.mktemp("fio")
    drive = folder / "drive.bin"
    drive.write_bytes(b"\xa5" * SIZE_BYTES)
    request = SuiteRequest(
        targets=(builders.target(str(drive), size_bytes=SIZE_BYTES),),
        pace="full",
        size_bytes=SIZE_BYTES,
        runtime_ns=1_500_000_000,
    )
    step = SUITES["write-pressure"].plan(request).steps[1]
    # Not every filesystem takes direct I/O; what is compared does not depend on it.
    text = step.job_file.replace("direct=1", "direct=0").replace("runtime=1500ms", "runtime=2")
    for name, content in fio_files([Step("step", text)]).files.items():
        (folder / name).write_text(content)
    subprocess.run(["/bin/sh", str(folder / "run.sh"), "--destroy"], check=True, timeout=600)
    return folder


def fio_rank(q: float, count: int) -> int:
    """Return the rank of the sample that fio takes for a quantile.

    fio compares counts with a percentage in floating point, a little above 99.9 for 99.9: of 1,000 samples it takes the
    last one, not the one before. Source: fio stat.c, calc_clat_percentiles.
    """
    return math.ceil(Fraction(round(100 * q, 6)) / 100 * count)


def test_every_number_is_fios_own(ran: Path) -> None:
    (step,) = read_foreign(ran / "step.json")
    jobs = last_report(ran / "step.json")
    assert {row.name for row in step.rows} == set(jobs) == {"pressure", "reader"}
    compared = 0
    for row in step.rows:
        for direction, figures in row.figures.items():
            theirs = jobs[row.name][direction.value]
            assert (figures.ios, figures.bytes, figures.iops) == (
                theirs["total_ios"],
                theirs["io_bytes"],
                theirs["iops"],
            )
            for kind, key in KEYS:
                latency = figures.latencies[kind]
                assert latency.histogram is not None
                histogram = Histogram.decode(latency.histogram, latency.exact)
                assert histogram.count == theirs[key]["N"]
                assert (histogram.min, histogram.max) == (theirs[key]["min"], theirs[key]["max"])
                for published in latency.quantiles:
                    low_ns, high_ns = histogram.bounds(fio_rank(published.q, histogram.count))
                    # fio's percentiles are middles of its buckets, and may lie above its maximum.
                    assert low_ns - published.high_ns <= 0 <= high_ns - published.low_ns
                    compared += 1
    assert compared >= 20


def test_the_run_is_judged_like_one_of_ours(ran: Path) -> None:
    (step,) = read_foreign(ran / "step.json")
    assert step.jobs is not None
    pressure, reader = step.jobs.jobs
    assert (pressure.numjobs, reader.iodepth, pressure.time_based) == (8, 1, True)
    figures = step_figures(run_record(step), step.intervals, measured_job="reader", load_jobs="pressure")
    theirs = last_report(ran / "step.json")["reader"]
    assert figures.ios == theirs["read"]["total_ios"]
    assert figures.mean is not None
    assert figures.mean.value == pytest.approx(theirs["read"]["lat_ns"]["mean"], rel=1e-6)


def test_logs_beside_it_are_intervals(ran: Path, tmp_path: Path) -> None:
    for log in ran.glob("*.log"):
        shutil.copy(log, tmp_path)
    # Of the last report alone, as without --status-interval.
    text = (ran / "step.json").read_text()
    (tmp_path / "step.json").write_text(text[text.rindex("\n{\n") + 1 :])
    (step,) = read_foreign(tmp_path / "step.json")
    written = [
        interval.tallies[Direction.WRITE]
        for interval in step.intervals
        if Direction.WRITE in interval.tallies
    ]
    assert len(written) >= 2
    (row,) = (row for row in step.rows if row.name == "pressure")
    rate_Bps = sum(tally.bytes for tally in written) / (0.5 * len(written))
    assert rate_Bps == pytest.approx(row.figures[Direction.WRITE].rate_Bps, rel=0.3)
    assert all(tally.ios == round(tally.bytes / 8192) for tally in written)


def test_reports_of_the_status_add_up_to_the_last(ran: Path) -> None:
    (step,) = read_foreign(ran / "step.json")
    for place, row in enumerate(step.rows):
        mine = [interval for interval in step.intervals if interval.row == place]
        assert len(mine) >= 2
        assert [interval.start_ns for interval in mine] == [0, *(interval.end_ns for interval in mine[:-1])]
        for way, figures in row.figures.items():
            parts = [
                Histogram.decode(interval.tallies[way].histograms[Kind.LAT])
                for interval in mine
                if Kind.LAT in interval.tallies[way].histograms
            ]
            counts = [part.count for part in parts]
            assert sum(counts) == figures.latencies[Kind.LAT].count
            assert [interval.tallies[way].ios for interval in mine if interval.tallies[way].ios] == counts


def test_it_is_not_run_again(ran: Path) -> None:
    before = (ran / "step.json").stat().st_mtime_ns
    done = subprocess.run(
        ["/bin/sh", str(ran / "run.sh")], check=True, capture_output=True, text=True, timeout=600
    )
    assert done.stderr == "step: done before\n"
    assert (ran / "step.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("engine", ["psync", "io_uring", "libaio"])
def test_other_engines(tmp_path: Path, engine: str) -> None:
    text = (
        f"[mix]\nfilename={tmp_path}/drive.bin\nsize=2m\nrw=randrw\nioengine={engine}\niodepth=4\n"
        "number_ios=500\nnorandommap\nwrite_hist_log=mix\nlog_hist_msec=100\n"
    )
    if engine == "psync":
        text = text.replace("iodepth=4\n", "")
    for name, content in fio_files([Step("mix", text)]).files.items():
        (tmp_path / name).write_text(content)
    done = subprocess.run(
        ["/bin/sh", str(tmp_path / "run.sh")], check=False, capture_output=True, text=True, timeout=600
    )
    if done.returncode and engine == "io_uring":
        pytest.skip("this kernel has no io_uring for us")
    assert done.returncode == 0, done.stderr
    (step,) = read_foreign(tmp_path / "mix.json")
    (row,) = step.rows
    assert sum(figures.ios for figures in row.figures.values()) == 500
    record = run_record(step)
    (totals,) = record.result.rows
    assert sum(tally.ios for tally in totals.tallies.values()) == 500
