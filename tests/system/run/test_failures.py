"""A drive that fails, vanishes or never answers: a clear error, and what was measured is kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unreliable import unreliable

IOGAUGE = Path(sys.executable).with_name("iogauge")


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [str(IOGAUGE), "run", "--no-ceiling", "--output-format=json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, **options)


def job(path: Path, engine: str, *more: str) -> list[str]:
    depth = [] if engine in ("psync", "pvsync2") else ["--iodepth=4"]
    return [
        "--name=r", f"--filename={path}", "--rw=randread", "--bs=8k", f"--ioengine={engine}", *depth,
        "--direct=1", "--time_based", "--runtime=20", *more,
    ]  # fmt: skip


ENGINES = ("psync", "pvsync2", "libaio", "io_uring")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_request_that_never_returns_is_reported_with_its_age(tmp_path: Path, engine: str) -> None:
    with unreliable(tmp_path) as drive:
        drive.hang_after = 2003
        saved = tmp_path / "result.json"
        command = [
            str(IOGAUGE), "run", "--no-ceiling", "--output-format=json", f"--output={saved}", "--give-up=2s",
            *job(drive.path, engine),
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # The results come while the kernel still holds the request: only then is the drive let go.
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline and not (saved.exists() and saved.stat().st_size):
            time.sleep(0.05)
        time.sleep(0.2)
        result = json.loads(saved.read_text())
        assert drive.hung > 0
    _, error = process.communicate(timeout=600)
    flights = result["iogauge"]["in_flight"]
    # Requests that were answered while their thread was stuck behind another were never seen to come back.
    assert len(flights) >= drive.hung
    assert result["jobs"][0]["read"]["total_ios"] + len(flights) == 2003 + drive.hung
    assert all(flight["age_ns"] > 1.5e9 for flight in flights)
    assert "still in the kernel" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("engine", ENGINES)
def test_eio_ends_the_job_and_keeps_what_was_measured(tmp_path: Path, engine: str) -> None:
    with unreliable(tmp_path) as drive:
        drive.fail_after = 1009
        ended = run(*job(drive.path, engine))
    result = json.loads(ended.stdout)
    assert result["jobs"][0]["read"]["total_ios"] == 1009
    assert result["jobs"][0]["error"] == 5
    assert ended.returncode == 1
    assert "Input/output error" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_eio_is_counted_where_the_job_goes_on(tmp_path: Path) -> None:
    with unreliable(tmp_path) as drive:
        drive.fail_after = 1009
        # number_ios counts requests for a job that is not time_based, as in fio.
        options = ["--bs=8k", "--direct=1", "--continue_on_error=all", "--number_ios=2003"]
        ended = run("--name=r", f"--filename={drive.path}", "--rw=randread", *options)
    result = json.loads(ended.stdout)["jobs"][0]
    assert result["read"]["total_ios"] == 1009
    assert result["total_err"] == 2003 - 1009


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_is_cut_short_is_no_fast_file(tmp_path: Path, engine: str) -> None:
    with unreliable(tmp_path) as drive:
        drive.truncate_after = 1009
        ended = run(*job(drive.path, engine))
    result = json.loads(ended.stdout)
    assert result["jobs"][0]["read"]["total_ios"] <= 1009
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr


def _wait_for_reads(process: subprocess.Popen[str], device: str) -> None:
    """Wait until the worker of a run has read something, and not only those who look at the device before it."""

    def reads() -> int:
        return int(Path("/sys/block", Path(device).name, "stat").read_text().split()[0])

    def works() -> bool:
        return any(
            task.read_text() == "iogauge-0\n" for task in Path(f"/proc/{process.pid}/task").glob("*/comm")
        )

    while process.poll() is None and not works():
        time.sleep(0.01)
    before = reads()
    while process.poll() is None and reads() < before + 100:
        time.sleep(0.01)


def test_a_device_that_vanishes_is_an_error_of_its_requests(tmp_path: Path) -> None:
    backing = tmp_path / "backing"
    backing.write_bytes(os.urandom(16 << 20))
    device = subprocess.run(
        ["losetup", "-f", "--show", str(backing)], capture_output=True, text=True, check=True
    ).stdout.strip()
    try:
        command = [str(IOGAUGE), "run", "--no-ceiling", "--output-format=json", *job(Path(device), "psync")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        _wait_for_reads(process, device)
        os.truncate(backing, 0)
        out, error = process.communicate(timeout=600)
    finally:
        subprocess.run(["losetup", "-d", device], check=False)
    assert json.loads(out)["jobs"][0]["read"]["total_ios"] > 0
    assert process.returncode == 1
    assert "error:" in error
    assert "Traceback" not in error
