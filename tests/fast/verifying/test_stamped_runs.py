"""``verify=stamp``: what a run stamps and logs, as ``iogauge verify`` reads it, and what it refuses."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import iogauge
from iogauge.errors import IogaugeError
from iogauge.library.running.result import RunResult

BLOCK = 4096
JOB = {
    "rw": "randwrite",
    "bs": "4k",
    "size": "1m",
    "filename": "target",
    "verify": "stamp",
    "stamp_log": "stamps.log",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(*jobs: dict[str, object]) -> str:
    """Return a job file of these jobs, j1, j2 and so on, each ``JOB`` with other options."""
    sections = []
    for number, options in enumerate(jobs, 1):
        merged = {**JOB, "ioengine": "psync", **options}
        sections.append(
            "\n".join([f"[j{number}]", *(f"{k}={v}" for k, v in merged.items() if v is not None)])
        )
    return "\n".join(sections) + "\n"


def run(*jobs: dict[str, object]) -> RunResult:
    return iogauge.run(text(*jobs), ceiling=False, drive_samples=False)


def judged() -> dict[str, int]:
    """Return the blocks of each class that are there, after a run that kept its power."""
    counts = iogauge.verify("target", after_run="stamps.log").counts
    return {kind: count for kind, count in counts.items() if count}


@pytest.mark.parametrize("engine", ["psync", "pvsync2", "libaio", "io_uring", "posixaio"])
def test_everything_that_workers_wrote_together_is_stamped_and_logged(engine: str) -> None:
    options = {"ioengine": engine, "iodepth": 4, "numjobs": 2, "fsync": 16, "norandommap": 1, "loops": 2}
    result = run({**options, "bsrange": "4k-16k"})
    (log,) = result.to_dict()["iogauge"]["stamp_logs"]
    job = result["j1"]
    assert log["writes"] == job.write.ios > 200
    assert log["flushes"] == job.sync.ios > 10
    assert (log["target"], log["failure"]) == ("target", None)
    verification = iogauge.verify("target", after_run="stamps.log")
    assert verification.violations == 0
    assert verification.judged.block_bytes == BLOCK
    assert verification.judged.records == 2 * (log["writes"] + log["flushes"])
    assert verification.counts["newest"] > 100


def test_stages_share_a_log_and_a_last_flush_makes_all_durable() -> None:
    run({}, {"stonewall": 1, "end_fsync": 1, "offset": "512k", "size": "256k", "rw": "write"})
    verification = iogauge.verify("target", after_crash="stamps.log")
    assert (verification.violations, verification.counts["newest"]) == (0, 256)


def test_a_synchronous_write_is_durable_when_it_completes() -> None:
    for name, sync, violations in (("volatile", 0, 0), ("durable", 1, 1)):
        run({"rw": "write", "sync": sync, "size": "4k", "filename": name, "stamp_log": f"{name}.log"})
        Path(name).write_bytes(bytes(BLOCK))
        verification = iogauge.verify(name, after_crash=f"{name}.log")
        assert (verification.violations, verification.judged.written) == (violations, 1)


@pytest.mark.parametrize(("size", "block"), [("12k", 4096), ("8m", 65536), ("1536", 512)])
def test_blocks_are_powers_of_two_as_atomic_units_are(size: str, block: int) -> None:
    run({"rw": "write", "bs": size, "size": "24m" if size == "8m" else "96k", "numjobs": 2, "loops": 2})
    for atomic_unit in (None, "4k", "64k"):
        verification = iogauge.verify("target", after_run="stamps.log", atomic_unit=atomic_unit)
        assert (verification.violations, verification.judged.block_bytes) == (0, block)


def test_a_file_may_hold_a_part_of_a_large_write_that_was_not_flushed() -> None:
    run({"rw": "write", "bs": "64k", "size": "64k"})
    Path("target").write_bytes(Path("target").read_bytes()[: 16 << 10].ljust(64 << 10, b"\0"))
    assert iogauge.verify("target", after_crash="stamps.log").violations == 0


def test_damage_is_named() -> None:
    run({"rw": "write", "fsync": 1})
    content = bytearray(Path("target").read_bytes())
    blocks = [content[at : at + BLOCK] for at in range(0, len(content), BLOCK)]
    blocks[3][700] ^= 1
    blocks[5], blocks[6] = blocks[6], blocks[5]
    blocks[9] = bytearray(BLOCK)
    blocks[12][512:1024] = bytes(512)
    Path("target").write_bytes(b"".join(blocks))
    assert judged() == {"corrupt": 1, "misdirected": 2, "lost": 2, "newest": 251}
    torn = iogauge.verify("target", after_run="stamps.log", atomic_unit="4k").counts["torn"]
    assert torn == 1, "a drive that writes 4 KiB whole"


def test_a_run_that_is_killed_leaves_a_log_that_violates_nothing() -> None:
    job = text({"time_based": 1, "runtime": 600, "numjobs": 2, "norandommap": 1, "fdatasync": 8})
    Path("job.fio").write_text(job)
    command = [sys.executable, "-m", "iogauge", "run", "job.fio", "--no-ceiling"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not (Path("stamps.log").exists() and Path("stamps.log").stat().st_size > 100_000):
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    verification = iogauge.verify("target", after_crash="stamps.log")
    assert verification.violations == 0
    assert verification.judged.written > 100


@pytest.mark.parametrize(
    "end", [{"time_based": 1, "runtime": 600}, {"number_ios": 2000, "norandommap": 1, "loops": 1000}]
)
def test_a_log_that_cannot_be_written_ends_the_run(end: dict[str, object]) -> None:
    limit = 64 << 10
    Path("job.fio").write_text(text({"size": limit // 2, **end}))
    Path("target").write_bytes(bytes(limit // 2))
    process = subprocess.run(
        [sys.executable, "-m", "iogauge", "run", "job.fio", "--no-ceiling", "--destroy", "target"],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        env={**os.environ, "XDG_STATE_HOME": "state"},
    )
    assert process.returncode == 1
    assert "writing the stamp log failed: File too large" in process.stderr
    # What was logged before is judged, and the rest is no violation.
    assert iogauge.verify("target", after_run="stamps.log").violations == 0


def test_a_log_is_never_replaced() -> None:
    Path("stamps.log").write_text("of a power cut")
    with pytest.raises(IogaugeError, match=r"stamps\.log: exists"):
        run({})
    assert Path("stamps.log").read_text() == "of a power cut"
    assert not Path("target").exists()


def test_a_refused_run_leaves_no_log() -> None:
    Path("target").write_bytes(b"precious" * 200_000)
    with pytest.raises(IogaugeError, match="target"):
        run({})
    assert not Path("stamps.log").exists()


ON_TWO = {"filename": "target:other"}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([{"stamp_log": None}], "stamp needs stamp_log"),
        ([{"verify": "crc32c"}], "stamp_log.*needs verify=stamp"),
        ([{"verify": None}], "stamp_log.*needs verify=stamp"),
        ([{"stamp_log": "/dev/stdout"}], "a stamp_log must be a file"),
        ([{"stamp_log": "/dev/null"}], "a stamp_log must be a file"),
        ([{"rw": "randread"}], "a job that writes and never trims, not rw=randread"),
        ([{"rw": "trimwrite"}], "a job that writes and never trims"),
        ([{"verify_only": 1}], "verify_only.*cannot be combined with verify=stamp"),
        ([{"verify_interval": 4096}], "verify_interval.*cannot be combined with verify=stamp"),
        ([{"bs": "1000", "direct": 0}], "whole sectors of 512 bytes"),
        ([{"verify_backlog_batch": 4}], "verify_backlog_batch.*cannot be combined with verify=stamp"),
        ([{"unlink": 1}], "unlink.*cannot be combined with verify=stamp"),
        ([{"offset": "1000"}], "whole sectors of 512 bytes"),
        ([{"ioengine": "null"}], "an engine whose syncs flush the target, not null"),
        ([{"ioengine": "mmap"}], "an engine whose syncs flush the target, not mmap"),
        ([{"filename": "model:p4800x"}], "a drive model holds no data"),
        ([ON_TWO], "verify=stamp takes one target, and this job has 2"),
        ([{}, {"filename": "other"}], "stamps.log is the log of target, and cannot be that of other"),
        ([{}, {"stamp_log": "other.log"}], "target: has two stamp logs, stamps.log and other.log"),
        ([{}, {"verify": None, "stamp_log": None}], "j2: writes to target without stamps"),
        ([{}, {"verify": None, "stamp_log": None, "stonewall": 1}], "j2: writes to target without stamps"),
    ],
)  # fmt: skip
def test_what_could_not_be_judged_is_refused(jobs: list[dict[str, object]], message: str) -> None:
    with pytest.raises(IogaugeError, match=message) as caught:
        run(*jobs)
    assert caught.value.hint
    assert not Path("stamps.log").exists()


def test_a_target_may_be_filled_before_its_writes_are_stamped() -> None:
    run({"verify": None, "stamp_log": None, "rw": "write"}, {"stonewall": 1})
    assert judged() == {"newest": 256}


def test_a_run_says_what_it_logged_and_how_to_judge_it() -> None:
    result = run({})
    assert "stamps.log has 256 writes and 0 flushes; judge the target with" in " ".join(str(result).split())
