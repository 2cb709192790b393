"""Files that cannot be read or written, and full disks: an error with a hint, and no measurement is lost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

NULL = (
    "--no-ceiling",
    "--name=x",
    "--ioengine=null",
    "--size=1g",
    "--rw=randread",
    "--time_based",
    "--runtime=300ms",
)


def iogauge(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in ``folder`` to its end; it must not have met a defect of its own."""
    command = [sys.executable, "-m", "iogauge", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    if done.returncode:
        assert "error: " in done.stderr
        assert "hint: " in done.stderr
    return done


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    yield from _mounted(tmp_path / "small", "size=1m")


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A file system that cannot be written, with a file ``drive.bin`` on it."""
    for folder in _mounted(tmp_path / "read_only", "size=8m"):
        (folder / "drive.bin").write_bytes(bytes(range(256)) * 4096)
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        yield folder


def _mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("log", ["--request-log=log.parquet", "--write_lat_log=x"])
def test_a_log_that_fills_the_disk_costs_no_result(small: Path, tmp_path: Path, log: str) -> None:
    done = iogauge(small, "run", *NULL, "--output-format=json", log)
    assert done.returncode == 1
    (kept,) = re.findall(
        r"the request log ends after ([\d,]+) requests: No space left on device", done.stderr
    )
    assert json.loads(done.stdout)["jobs"][0]["read"]["total_ios"] > int(kept.replace(",", "")) > 0
    (spill,) = small.iterdir()
    assert f"the logged requests are in {spill}; to write their logs: iogauge recover {spill}" in done.stderr
    # There is room elsewhere for those of a request log.
    parts = ("recover", str(spill), f"--request-log={tmp_path / 'log.parquet'}")
    if log.startswith("--request-log"):
        assert iogauge(tmp_path, *parts).returncode == 0
        assert parquet.read_metadata(tmp_path / "log.parquet").num_rows == int(kept.replace(",", ""))
        assert list(small.iterdir()) == []
    else:
        assert iogauge(tmp_path, *parts).returncode == 1
        assert list(small.iterdir()) == [spill]


def test_an_output_that_does_not_fit_is_printed(small: Path) -> None:
    (small / "rest").write_bytes(bytes((1 << 20) - 4096))
    done = iogauge(small, "run", *NULL, "--output-format=json+,json+,normal", "--output=result")
    assert done.returncode == 1
    assert "result: cannot write: No space left on device" in done.stderr
    assert '"total_ios"' in done.stdout


def test_no_room_for_the_file_to_be_measured(small: Path) -> None:
    done = iogauge(small, "run", "--name=x", "--filename=drive.bin", "--rw=read", "--size=8m")
    assert done.returncode == 1
    assert "hint: ask for at most 819 KiB (size=819k), or free some space" in done.stderr
    assert list(small.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--name=x", "--filename=drive.bin", "--rw=write"),
        ("run", "--name=x", "--filename=new.bin", "--rw=read", "--size=1m"),
        ("run", *NULL, "--output=result"),
        ("run", *NULL, "--request-log=log.parquet"),
        ("run", *NULL, "--write_bw_log=x"),
        ("review", "drive.bin", "--size=1m"),
        ("review", "new.bin", "--size=1m"),
    ],
)
def test_nothing_can_be_written_on_a_read_only_file_system(
    read_only: Path, arguments: tuple[str, ...]
) -> None:
    done = iogauge(read_only, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert [path.name for path in read_only.iterdir()] == ["drive.bin"]


def test_reading_there_is_no_trouble(read_only: Path) -> None:
    done = iogauge(
        read_only,
        "run",
        "-v",
        "--no-ceiling",
        "--name=x",
        "--filename=drive.bin",
        "--rw=read",
        "--number_ios=9",
    )
    assert done.returncode == 0
    assert "9 I/Os" in done.stdout
