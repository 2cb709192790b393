"""The classic measurement errors, made on purpose, and the warning that each must raise.

Every trap is a real run of iogauge on a file or on the null engine, without root. The last tests set no trap, and must
get no warning of that kind.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.execution import execute, measure_ceiling
from iogauge.machine.judge import kernel_version
from iogauge.machine.samples.drive_reader import DriveReader
from iogauge.schema import Ceiling, Code, Notice, RunRecord
from iogauge.target import open_target
from iogauge.workload import from_arguments
from tests.nvme_images import laptop

MIB = 1 << 20
IOS = 1009
SIZE = 8 * MIB
"""Room for all of them: a job ends with its region, whatever number_ios says."""


def run(*options: str, ceiling: Ceiling | None = None) -> RunRecord:
    common = ("--name=trap", "--bs=4k", "--randseed=1")
    return execute(from_arguments([*common, *options]), seed=1, ceiling=ceiling)


def reading(path: Path, *options: str) -> RunRecord:
    return run("--rw=randread", f"--filename={path}", f"--number_ios={IOS}", "--norandommap", *options)


def writing(path: Path, *options: str) -> RunRecord:
    return run(
        "--rw=randwrite",
        f"--filename={path}",
        f"--number_ios={IOS}",
        "--norandommap",
        f"--size={SIZE}",
        *options,
    )


def achieved_iops(record: RunRecord) -> float:
    (row,) = record.result.rows
    return sum(tally.ios for tally in row.tallies.values()) * 1e9 / (row.end_ns - row.start_ns)


def warned(record: RunRecord, code: Code) -> list[Notice]:
    return [one for one in record.warnings if one.code is code]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours.bin"
    open_target(str(path), write=True, size_bytes=SIZE).close()
    return path


@pytest.fixture
def direct(tmp_path: Path) -> str:
    path = tmp_path / "probe"
    path.write_bytes(bytes(4096))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
    except OSError:
        pytest.skip("the filesystem of the temporary directory has no direct I/O")
    return "--direct=1"


def test_the_page_cache_answers(ours: Path) -> None:
    (one,) = warned(reading(ours), Code.PAGE_CACHE)
    assert "direct=1" in one.hint
    assert warned(writing(ours), Code.PAGE_CACHE)


def test_the_file_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(SIZE)
    record = reading(path)
    (one,) = warned(record, Code.UNWRITTEN)
    assert "100%" in one.message
    assert warned(record, Code.COMPRESSIBLE)


def test_the_file_was_only_preallocated(tmp_path: Path) -> None:
    path = tmp_path / "preallocated.bin"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, SIZE)
        if os.lseek(file.fileno(), 0, os.SEEK_HOLE) == SIZE:
            pytest.skip("this filesystem does not mark preallocated extents")
    assert warned(reading(path), Code.UNWRITTEN)


def test_the_file_compresses(tmp_path: Path) -> None:
    path = tmp_path / "text.bin"
    path.write_bytes((b"all work and no play makes jack a dull boy\n" * 200_000)[:SIZE])
    (one,) = warned(reading(path), Code.COMPRESSIBLE)
    assert "compresses by" in one.message


def test_the_file_repeats_one_block(tmp_path: Path) -> None:
    path = tmp_path / "repeats.bin"
    path.write_bytes(os.urandom(4096) * (SIZE // 4096))
    (one,) = warned(reading(path), Code.COMPRESSIBLE)
    assert "repeats" in one.message


@pytest.mark.parametrize(
    "option", ["--zero_buffers", "--buffer_compress_percentage=80", "--dedupe_percentage=50"]
)
def test_what_is_written_compresses(ours: Path, option: str) -> None:
    assert warned(writing(ours, option), Code.COMPRESSIBLE)


def test_the_data_is_not_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "data"
    verified = (f"--filename={path}", "--size=64k", "--verify=crc32c", "--continue_on_error=verify")
    assert not warned(run("--rw=write", *verified), Code.MISMATCH)
    with path.open("r+b") as file:
        file.seek(5_000)
        file.write(b"damage")
    assert warned(run("--rw=read", *verified), Code.MISMATCH)


def test_too_few_samples_for_the_tail(ours: Path) -> None:
    (one,) = warned(reading(ours, "--percentile_list=50:99:99.9:99.99"), Code.FEW_SAMPLES)
    assert "p99.9, p99.99" in one.message
    assert "p99, " not in one.message


def test_the_generator_is_saturated() -> None:
    """No drive at all: whatever the rate, it is the generator's."""
    options = (
        "--rw=randread",
        "--ioengine=null",
        "--size=1g",
        "--runtime=300ms",
        "--time_based",
        "--norandommap",
    )
    # A busy machine may leave the run less than it left the probe: both have to be what the generator can do.
    for _ in range(100):
        ceiling = measure_ceiling()
        record = run(*options, "--iodepth=32", ceiling=ceiling)
        if achieved_iops(record) > 0.8 * ceiling.iops:
            break
    assert warned(record, Code.GENERATOR_LIMITED)


def test_more_is_requested_than_can_be_done() -> None:
    options = (
        "--rw=randread",
        "--ioengine=null",
        "--size=1g",
        "--runtime=300ms",
        "--time_based",
        "--norandommap",
    )
    (one,) = warned(run(*options, "--rate_iops=500000000"), Code.RATE_MISSED)
    assert "of the 500,000,000 requested I/Os a second" in one.message


def test_the_generators_own_ceiling_is_near() -> None:
    low = Ceiling(iops=1000, lat_mean_ns=1e6, clock_source="tsc", clock_read_ns=20, sleep_slack_ns=50_000)
    options = ("--rw=randread", "--ioengine=null", "--size=1g", "--number_ios=100003", "--norandommap")
    (one,) = warned(run(*options, ceiling=low), Code.GENERATOR_LIMITED)
    assert "more than the 1,000 that a worker reached without a drive" in one.message


def test_more_workers_than_cpus(ours: Path) -> None:
    workers = len(os.sched_getaffinity(0)) + 1
    (one,) = warned(reading(ours, f"--numjobs={workers}"), Code.NO_PIN)
    assert f"{workers} workers at once" in one.message


def test_somebody_else_has_the_file_open(ours: Path) -> None:
    program = "import sys; file = open(sys.argv[1]); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(ours)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdin
        other.stdout.readline()
        record = reading(ours)
        other.stdin.close()
    (one,) = warned(record, Code.BUSY_TARGET)
    assert f"pid {other.pid}" in one.message


@pytest.mark.skipif(kernel_version(os.uname().release) < (5, 19), reason="pvsync2 still polls here")
def test_polling_that_does_not_poll(ours: Path, direct: str) -> None:
    (one,) = warned(reading(ours, "--ioengine=pvsync2", "--hipri", direct), Code.NO_POLLING)
    assert "io_uring" in one.hint


@pytest.mark.parametrize("throttles", [True, False])
def test_the_drive_is_too_hot(ours: Path, throttles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # No machine for tests has a drive that throttles: this one's answers are made up, from the second reading on.
    drive = laptop(temperature=350)
    before, after = drive.logs[2], laptop(temperature=359, thm_temp2_total_time=3 * throttles).logs[2]
    answers = iter([before])
    monkeypatch.setattr(drive, "log_page", lambda *_: next(answers, after))
    monkeypatch.setattr("iogauge.machine.watch.readers_of", lambda *_: [DriveReader("nvme0n1", drive)])
    (one,) = warned(reading(ours), Code.THERMAL_THROTTLING)
    assert one.message.startswith(
        f"nvme0n1: the drive {'throttled for' if throttles else 'was hot (from 85 C on)'}"
    )
    assert "at up to 86 C" in one.message
    assert "cool it" in one.hint


def test_no_trap_no_warning(ours: Path, direct: str) -> None:
    setting_traps = {
        Code.PAGE_CACHE, Code.UNWRITTEN, Code.COMPRESSIBLE, Code.FEW_SAMPLES, Code.RATE_MISSED, Code.NO_PIN,
        Code.NO_POLLING, Code.IN_FLIGHT, Code.ERRORS, Code.LOG_DROPPED,
    }  # fmt: skip
    for record in (
        reading(ours, direct, "--percentile_list=50:90:99"),
        writing(ours, direct, "--percentile_list=50:90:99"),
    ):
        assert {one.code for one in record.warnings} & setting_traps == set()
    # Others may use the machine, but nobody has this file open.
    assert "open in" not in " ".join(one.message for one in warned(record, Code.BUSY_TARGET))


def test_what_iogauge_writes_is_no_trap_for_later_reads(ours: Path, direct: str) -> None:
    sequential = ("--rw=write", f"--filename={ours}", f"--size={SIZE}")
    assert run(*sequential, direct).result.error is None
    assert {one.code for one in reading(ours, direct).warnings} & {Code.COMPRESSIBLE, Code.UNWRITTEN} == set()
