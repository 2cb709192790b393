"""Whole runs on the null engine against what is known exactly: the request log, the schedule, a stopped process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

REQUESTS = 100_003


def command(*arguments: str) -> list[str]:
    base = [sys.executable, "-m", "iogauge", "run", "--no-ceiling", "--output-format=json+"]
    return [*base, "--name=truth", "--rw=randread", "--ioengine=null", "--size=1g", *arguments]


def measured(*arguments: str) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    ended = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=600, check=True)
    output: dict[str, dict[str, dict[str, dict[str, float]]]] = json.loads(ended.stdout)["jobs"][0]
    return output


def exact_quantile(values: np.ndarray, q: float) -> int:
    return int(np.sort(values)[max(0, int(np.ceil(q * len(values))) - 1)])


def test_every_quantile_is_that_of_the_request_log(tmp_path: Path) -> None:
    log = tmp_path / "requests.parquet"
    percents = ["1", "10", "25", "50", "75", "90", "99", "99.9", "99.97"]
    job = measured(
        f"--request-log={log}", f"--number_ios={REQUESTS}", "--rate_iops=200000", "--rate_process=poisson",
        "--iodepth=8", f"--percentile_list={':'.join(percents)}", "--lat_percentiles=1",
    )["read"]  # fmt: skip
    table = pq.read_table(log)
    assert table.num_rows == REQUESTS == job["total_ios"]
    columns = {name: table[name].to_numpy().astype(np.int64) for name in table.column_names if "_ns" in name}
    latencies = {
        "lat_ns": columns["done_ns"] - columns["start_ns"],
        "response_ns": columns["done_ns"] - columns["intended_ns"],
        "lateness_ns": columns["start_ns"] - columns["ready_ns"],
    }
    for kind, values in latencies.items():
        for percent in percents:
            reported = job[kind]["percentile"][f"{float(percent):f}"]
            exact = exact_quantile(values, float(percent) / 100)
            assert reported == pytest.approx(exact, rel=0.001, abs=0.5), (kind, percent)
        assert job[kind]["max"] == values.max()
        assert job[kind]["mean"] == pytest.approx(values.mean(), rel=1e-6)


def intended_gaps(tmp_path: Path, *arguments: str) -> np.ndarray:
    log = tmp_path / "requests.parquet"
    measured(f"--request-log={log}", f"--number_ios={REQUESTS}", "--rate_iops=300000", *arguments)
    return np.diff(np.sort(pq.read_table(log)["intended_ns"].to_numpy().astype(np.int64)))


def test_constant_arrivals_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    gaps = intended_gaps(tmp_path)
    assert set(gaps) == {3333, 3334}
    assert gaps.sum() == (REQUESTS - 1) * 10**9 // 300_000


def test_poisson_arrivals_are_exponential(tmp_path: Path) -> None:
    gaps = intended_gaps(tmp_path, "--rate_process=poisson", "--randseed=11")
    # Within one part in a million the gaps are whole nanoseconds of an exponential with this mean.
    assert stats.kstest(gaps, "expon", args=(0, 10**9 / 300_000)).pvalue > 0.01


def test_a_stopped_process_is_late_and_not_its_drive() -> None:
    arguments = command(
        "--rate_iops=1000", "--runtime=5", "--time_based", "--iodepth=4", "--lat_percentiles=1"
    )
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        # The run has begun once its worker's thread is there.
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline and "iogauge-0" not in threads_of(process.pid):
            time.sleep(0.02)
        time.sleep(1)
        stopping = time.monotonic()
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(2)
        os.kill(process.pid, signal.SIGCONT)
        stopped_s = time.monotonic() - stopping
        out, _ = process.communicate(timeout=600)
    job = json.loads(out)["jobs"][0]
    read = job["read"]
    assert read["total_ios"] == 5000
    assert read["response_ns"]["max"] >= 1.9e9
    assert job["late_ios"] >= 1900
    # A busy machine may delay any request, but none by half a second.
    held_up = sum(count for value, count in read["lateness_ns"]["bins"].items() if int(value) > 0.5e9)
    assert 1400 <= held_up <= 1000 * stopped_s
    # What the drive did is as it was, but for what was in flight, and that is flagged.
    slow = sum(count for value, count in read["lat_ns"]["bins"].items() if int(value) > 1.5e9)
    assert slow <= 4
    assert job["flagged_ios"] >= slow


def threads_of(pid: int) -> set[str]:
    names = set()
    for task in Path(f"/proc/{pid}/task").glob("*/comm"):
        try:
            names.add(task.read_text().strip())
        except OSError:
            continue
    return names
