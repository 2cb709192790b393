"""Traces against the programs that define their formats: fio's iologs, and blktrace's records by blkparse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.traces.file import Facts
from iogauge.traces.rows import DIRECTIONS, Rows
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import Request


def imported(tmp_path: Path, *files: Path) -> tuple[Rows, list[str], Facts]:
    output = tmp_path / "trace"
    assert main(["trace", "import", *map(str, files), "--output", str(output)]) == 0
    return samples.read(output)


def test_what_fio_logs_is_what_fio_did(tmp_path: Path) -> None:
    target, log = tmp_path / "data", tmp_path / "log"
    command = ["fio", "--name=x", f"--filename={target}", "--size=4m", "--rw=randrw", "--bsrange=512-64k",
               "--randseed=7", "--bs_unaligned", "--fsync=37", "--rate_iops=2000,2000", "--number_ios=501",
               f"--write_iolog={log}", "--output-format=json"]  # fmt: skip
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    job = result["jobs"][0]
    rows, devices, facts = imported(tmp_path, log)
    assert devices == [str(target)]
    assert facts.source == "iolog"
    for number, direction in enumerate(DIRECTIONS[:2]):
        mine = rows[rows["direction"] == number]
        assert len(mine) == job[direction.value]["total_ios"]
        assert mine["size_bytes"].sum() == job[direction.value]["io_bytes"]
    assert (rows["direction"] == 3).sum() == job["sync"]["total_ios"]
    # By a rate of 4,000 a second in all the log must span nearly what fio says that the run took.
    span_ms = int(rows["time_ns"][-1]) / 1e6
    assert span_ms == pytest.approx(job["job_runtime"], rel=0.3)


def test_blkparse_reads_the_same_of_the_same_files(tmp_path: Path) -> None:
    requests = [
        Request(
            number * 37,
            "write" if number % 3 else "read",
            4096 * (number * 7919 % 5000),
            4096 * (1 + number % 9),
            500,
        )
        for number in range(800)
    ]
    files = []
    for cpu, content in enumerate(samples.blktrace(requests, cpus=2)):
        files.append(tmp_path / f"sda.blktrace.{cpu}")
        files[-1].write_bytes(content)
    command = ["blkparse", "-q", "-i", "sda", "-d", "merged", "-f", "%a %T.%9t %D %d %S %N\\n"]
    parsed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    expected = []
    for line in parsed.splitlines():
        if line.startswith("Q "):
            _, time, device, letters, sector, size = line.split()
            seconds, nanoseconds = map(int, time.split("."))
            direction = "read" if "R" in letters else "write"
            expected.append(
                (
                    seconds * 10**9 + nanoseconds,
                    device.replace(",", ":"),
                    direction,
                    int(sector) * 512,
                    int(size),
                )
            )
    rows, devices, facts = imported(tmp_path, *files)
    assert facts.source == "blktrace"
    first_ns = expected[0][0]
    assert [(time - first_ns, *rest) for time, *rest in expected] == [
        (
            int(row["time_ns"]),
            devices[row["device"]],
            DIRECTIONS[row["direction"]].value,
            int(row["offset_bytes"]),
            int(row["size_bytes"]),
        )
        for row in rows
    ]
    assert set(rows["latency_ns"].tolist()) == {500_000}
    merged, names, _ = imported(tmp_path, tmp_path / "merged")
    assert names == devices
    assert merged.tobytes() == rows.tobytes()
