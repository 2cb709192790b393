"""Latencies and logs by I/O priority, on a drive model, which serves all of them alike."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

import iogauge
from iogauge.cli import main
from iogauge.execution.plans.priorities import io_priority

JOB = [
    "--name=a", "--ioengine=io_uring", "--rw=randrw", "--iodepth=4", "--number_ios=2000", "--prioclass=2", "--prio=5",
    "--cmdprio_bssplit=4k/25/1/2:4k/25/0/3,4k/50/3/0",
]  # fmt: skip
OWN, REAL_TIME, LOW, IDLE = io_priority(2, 5), io_priority(1, 2), io_priority(2, 3), io_priority(3, 0)
MODEL = "model:ram"


def direction(options: list[str], name: str) -> dict[str, Any]:
    """Return one direction of the first job as JSON."""
    part: dict[str, Any] = json.loads(iogauge.run(options, target=MODEL).to_json())["jobs"][0][name]
    return part


def counts(part: dict[str, Any], latency: str = "clat_ns") -> dict[int, int]:
    return {io_priority(one["prioclass"], one["prio"]): one[latency]["N"] for one in part["prios"]}


@pytest.mark.parametrize(
    ("name", "shares"), [("read", {REAL_TIME: 0.25, LOW: 0.25, OWN: 0.5}), ("write", {OWN: 0.5, IDLE: 0.5})]
)
def test_every_request_is_in_the_latency_of_its_priority(name: str, shares: dict[int, float]) -> None:
    part = direction(JOB, name)
    assert list(counts(part)) == list(shares), "the most urgent first"
    assert sum(counts(part).values()) == part["total_ios"]
    for priority, share in shares.items():
        assert counts(part)[priority] / part["total_ios"] == pytest.approx(share, abs=0.06)


def test_lat_is_reported_where_its_percentiles_are() -> None:
    part = direction([*JOB, "--lat_percentiles=1"], "read")
    assert set(counts(part, "lat_ns")) == {REAL_TIME, LOW, OWN}
    assert "percentile" in part["prios"][0]["lat_ns"]


def test_reads_and_writes_are_merged_by_priority() -> None:
    mixed = direction([*JOB, "--unified_rw_reporting=mixed"], "mixed")
    assert set(counts(mixed)) == {REAL_TIME, LOW, OWN, IDLE}
    assert sum(counts(mixed).values()) == mixed["total_ios"]


@pytest.mark.parametrize("options", [[*JOB, "--disable_clat=1"], JOB[:-1]])
def test_nothing_is_reported_without_the_latency_or_several_priorities(options: list[str]) -> None:
    assert "prios" not in direction(options, "read")


def test_a_group_counts_its_plain_jobs_under_their_own_priority() -> None:
    options = [*JOB, "--group_reporting", "--name=b", "--group_reporting", *JOB[1:5], "--prioclass=3"]
    part = direction(options, "read")
    assert set(counts(part)) == {REAL_TIME, LOW, OWN, IDLE}
    assert sum(counts(part).values()) == part["total_ios"]


def test_the_table_has_a_row_for_each_priority(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *JOB, f"--filename={MODEL}"]) == 0
    text = capsys.readouterr().out
    assert [text.count(word) for word in ("real-time 2", "best-effort 3", "best-effort 5", "idle 0")] == [
        1,
        1,
        2,
        1,
    ]
    assert "the latency of an I/O priority is clat" in text
    assert main(["run", *JOB, f"--filename={MODEL}", "--verbose"]) == 0
    assert "clat of real-time 2" in capsys.readouterr().out


@pytest.mark.parametrize("log_prio", [0, 1])
def test_logs_have_the_priority_of_each_request(
    log_prio: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [*JOB, "--write_lat_log=l", f"--log_prio={log_prio}"]
    result = iogauge.run(options, target=MODEL, request_log=tmp_path / "requests.parquet")
    stored = Counter(parquet.read_table(tmp_path / "requests.parquet")["priority"].to_pylist())
    job = json.loads(result.to_json())["jobs"][0]
    assert stored == Counter(counts(job["read"])) + Counter(counts(job["write"]))
    lines = (tmp_path / "l_clat.1.log").read_text().splitlines()
    logged = Counter(line.rpartition(", ")[2] for line in lines)
    if log_prio:
        assert logged == {f"0x{priority:04x}": count for priority, count in stored.items()}
    else:
        assert logged == {"1": stored[REAL_TIME], "0": stored.total() - stored[REAL_TIME]}
