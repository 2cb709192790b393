"""Latencies and logs by I/O priority, beside fio's, on a file.

Needs fio, and root for the real-time class.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.system.fio.calls import IOGAUGE, call

pytestmark = pytest.mark.skipif(not shutil.which("fio") or os.geteuid() != 0, reason="needs fio, and root")

JOB = [
    "--name=a", "--ioengine=io_uring", "--direct=1", "--rw=randrw", "--bs=4k", "--iodepth=8", "--size=16m",
    "--number_ios=2000", "--cmdprio_percentage=25,75", "--cmdprio=2", "--prioclass=2", "--prio=5",
    "--thread", "--output-format=json",
]  # fmt: skip
GROUPED = ["--group_reporting"]


def both(*options: str, cwd: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the first job's results of iogauge and of fio."""
    results = []
    for name, program in (("ours", IOGAUGE), ("fios", ["fio"])):
        folder = cwd / name
        folder.mkdir()
        text = call(program, *JOB, *options, "--filename=f", cwd=folder)
        results.append(json.loads(text[text.index("{") :])["jobs"][0])
    return results[0], results[1]


def shares(direction: dict[str, Any], latency: str) -> dict[tuple[int, int], float]:
    """Return the share of the I/Os that each class and level has, and check that these are all."""
    counts = {(part["prioclass"], part["prio"]): part[latency]["N"] for part in direction["prios"]}
    assert sum(counts.values()) == direction[latency]["N"]
    return {key: count / direction[latency]["N"] for key, count in counts.items()}


@pytest.mark.parametrize("latency", ["clat_ns", "lat_ns"])
def test_latencies_by_priority_are_reported_as_by_fio(latency: str, tmp_path: Path) -> None:
    ours, theirs = both(*(["--lat_percentiles=1"] if latency == "lat_ns" else []), cwd=tmp_path)
    for direction in ("read", "write"):
        mine, fios = shares(ours[direction], latency), shares(theirs[direction], latency)
        assert mine.keys() == {(1, 2), (2, 5)}
        assert mine == pytest.approx(fios, abs=0.1)
        first, fios_first = ours[direction]["prios"][0], theirs[direction]["prios"][0]
        assert first.keys() == fios_first.keys()
        assert first[latency].keys() == fios_first[latency].keys()


def test_a_job_whose_requests_have_one_priority_reports_none(tmp_path: Path) -> None:
    for results in both("--cmdprio_percentage=0", cwd=tmp_path):
        assert "prios" not in results["read"]


def test_a_group_has_the_requests_of_all_its_jobs(tmp_path: Path) -> None:
    """The second job has no priorities of its own, and is counted with that of its thread."""
    group = [*GROUPED, "--name=b", *GROUPED, *JOB[1:8], "--prioclass=3", "--filename=f"]
    ours, theirs = both(*group, cwd=tmp_path)
    for direction in ("read", "write"):
        assert shares(ours[direction], "clat_ns").keys() == shares(theirs[direction], "clat_ns").keys()


def test_a_group_of_jobs_with_different_priorities_reports_each(tmp_path: Path) -> None:
    group = [
        "--cmdprio_percentage=0",
        *GROUPED,
        "--name=b",
        *GROUPED,
        *JOB[1:8],
        "--prioclass=3",
        "--filename=f",
    ]
    ours, theirs = both(*group, cwd=tmp_path)
    for direction in ("read", "write"):
        keys = shares(ours[direction], "clat_ns").keys()
        assert keys == shares(theirs[direction], "clat_ns").keys() == {(2, 5), (3, 0)}


def test_reads_that_verify_writes_have_the_priority_of_their_thread(tmp_path: Path) -> None:
    for results in both("--rw=randwrite", "--verify=crc32c", "--size=1m", cwd=tmp_path):
        assert "prios" not in results["read"]
        assert len(results["write"]["prios"]) == 2


@pytest.mark.parametrize("log_prio", [0, 1])
def test_logs_have_the_priority_of_each_request_as_fios(log_prio: int, tmp_path: Path) -> None:
    both(f"--log_prio={log_prio}", "--write_lat_log=l", cwd=tmp_path)
    counts = []
    for name in ("ours", "fios"):
        lines = (tmp_path / name / "l_clat.1.log").read_text().splitlines()
        counts.append(Counter(line.rpartition(", ")[2] for line in lines))
    ours, theirs = counts
    assert ours.keys() == theirs.keys() == ({"0x2002", "0x4005"} if log_prio else {"0", "1"})
    assert ours.total() == theirs.total() == 2000
    assert max(abs(ours[key] - theirs[key]) for key in ours) < 200
