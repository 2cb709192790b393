"""Limits of the process, and what its machine lacks: a clear error, quickly, and nothing hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

IOGAUGE = Path(sys.executable).with_name("iogauge")
SAVED = Path(__file__).resolve().parents[2] / "fast" / "saved_reviews" / "v2"
# Root's processes are not limited; another user's are, who may read root's files all the same.
USER = "60713"
CAPABILITIES = "+dac_override,+dac_read_search"


def test_a_report_that_gets_no_memory_to_draw_with(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ended = subprocess.run(
        ["prlimit", "--as=4000000000", str(IOGAUGE), "report", str(SAVED), f"--output={page}"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert [line.partition(": ")[0] for line in ended.stderr.splitlines()] == ["error", "hint"]
    assert "cannot be drawn" in ended.stderr
    assert not page.exists()


def test_without_proc_the_error_says_so(tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    job = f"--name=a --filename={target} --rw=randread --size=1m --number_ios=10"
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f"umount -l /proc && exec {IOGAUGE} run --no-ceiling {job}"],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert f"{target}: examining it needs /proc, which is not mounted" in ended.stderr


@pytest.mark.parametrize("threads", [1, 3, 20])
def test_no_more_threads(threads: int) -> None:
    ended = subprocess.run(
        [
            "setpriv", f"--reuid={USER}", f"--inh-caps={CAPABILITIES}", f"--ambient-caps={CAPABILITIES}",
            "prlimit", f"--nproc={threads}",
            str(IOGAUGE), "run", "--name=a", "--ioengine=null", "--numjobs=64", "--size=1m", "--number_ios=10",
        ],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "cannot be started: Resource temporarily unavailable" in ended.stderr
    assert "ulimit -u" in ended.stderr
    assert "defect" not in ended.stderr


@pytest.mark.parametrize(
    "options",
    [
        "--numjobs=4096 --iodepth=64 --bs=16m --ioengine=libaio",
        "--numjobs=2 --iodepth=32768 --bs=64m --ioengine=io_uring",
    ],
)
def test_more_memory_than_there_is(options: str, tmp_path: Path) -> None:
    target = tmp_path / "data.bin"
    job = f"--name=a --filename={target} --rw=randread --size=64m --direct=0 {options}"
    ended = subprocess.run(
        [str(IOGAUGE), "run", "--no-ceiling", *job.split()],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended.stderr
    assert "GiB are available" in ended.stderr
    assert "hint: lower iodepth, bs or numjobs" in ended.stderr
