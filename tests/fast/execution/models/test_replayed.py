"""Traces replayed on drive models, from the job to its results and its request log."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import iogauge
from iogauge.cli import main
from iogauge.errors import IogaugeError
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import Request

TRACE = [
    Request(100 * number + 7 * (number % 5), ("read", "write", "read", "trim")[number % 4], 4096 * (number * 37 % 1000),
            4096 * (1 + number % 3), 150 + number % 50)
    for number in range(2_000)
]  # fmt: skip


def replay(
    tmp_path: Path, trace: Path, *options: str, target: str = "model:p4800x"
) -> tuple[Any, list[dict[str, Any]]]:
    """Return what a replay measured, and its requests in the order of their issue."""
    log = tmp_path / "log.parquet"
    log.unlink(missing_ok=True)
    job = [
        "--name=r",
        f"--read_iolog={trace}",
        f"--replay_redirect={target}",
        "--ioengine=io_uring",
        *options,
    ]
    result = iogauge.run(job, seed=1, request_log=log)
    return result, sorted(pq.read_table(log).to_pylist(), key=lambda row: row["start_ns"])


def requests(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(row["direction"], row["offset_bytes"], row["length_bytes"]) for row in rows]


EXPECTED = [(one.direction, one.offset, one.size) for one in TRACE]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return samples.write(tmp_path / "t", TRACE)


def test_a_timed_replay_issues_the_trace_at_its_instants(trace: Path, tmp_path: Path) -> None:
    _, rows = replay(tmp_path, trace)
    assert requests(rows) == EXPECTED
    first = rows[0]["intended_ns"]
    assert [row["intended_ns"] - first for row in rows] == [1000 * one.time_us for one in TRACE]


def test_time_scaled_replays_take_so_much_longer(trace: Path, tmp_path: Path) -> None:
    _, rows = replay(tmp_path, trace, "--replay_time_scale=50")
    assert rows[-1]["intended_ns"] - rows[0]["intended_ns"] == 2000 * TRACE[-1].time_us


def test_a_closed_replay_keeps_the_order_and_the_depth(trace: Path, tmp_path: Path) -> None:
    _, rows = replay(tmp_path, trace, "--replay_pacing=closed", "--iodepth=1")
    assert requests(rows) == EXPECTED
    assert all(before["done_ns"] <= after["start_ns"] for before, after in pairwise(rows))


@pytest.mark.parametrize("pacing", ["think", "dependent"])
def test_requests_wait_for_those_that_they_waited_for(pacing: str, trace: Path, tmp_path: Path) -> None:
    # A hard disk is far slower than the trace.
    _, rows = replay(
        tmp_path, trace, f"--replay_pacing={pacing}", "--number_ios=300", target="model:disk-7200"
    )
    assert requests(rows) == EXPECTED[:300]
    for number, row in enumerate(rows):
        arrived = TRACE[number].time_us
        before = [n for n in range(number) if TRACE[n].time_us + TRACE[n].latency_us <= arrived]
        assert all(rows[n]["done_ns"] <= row["start_ns"] for n in before)


def test_a_seed_gives_the_same_bytes(trace: Path, tmp_path: Path) -> None:
    for pacing in ("timed", "closed", "think", "dependent"):
        logs = []
        for _ in range(2):
            replay(tmp_path, trace, f"--replay_pacing={pacing}")
            logs.append((tmp_path / "log.parquet").read_bytes())
        assert logs[0] == logs[1]


def test_a_trace_of_several_devices_is_split_or_merged(tmp_path: Path) -> None:
    made = [Request(number * 100, "read", 4096 * number, 4096, 50, number % 3) for number in range(30)]
    trace = samples.write(tmp_path / "t", made)
    _, rows = replay(tmp_path, trace, target="model:ram")
    assert [row["target"] for row in rows] == [0] * 30
    _, rows = replay(tmp_path, trace, target="model:p4800x-375g:model:p4800x-750g")
    assert [row["target"] for row in rows] == [number % 3 % 2 for number in range(30)]
    assert requests(rows) == [("read", 4096 * number, 4096) for number in range(30)]


def test_the_gate_sees_what_a_trace_writes(trace: Path, tmp_path: Path) -> None:
    with pytest.raises(IogaugeError, match="write"):
        iogauge.run(["--name=r", f"--read_iolog={trace}", "--replay_redirect=model:ram"], readonly=True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--rate_iops=10"], "has no effect on a trace"),
        (["--time_based", "--runtime=1"], "has no effect on a trace"),
        (["--zonesize=64m"], "has no effect on a trace"),
        (["--replay_no_stall=1", "--replay_pacing=think"], "contradicts replay_pacing"),
        (["--replay_align=1000"], "is not a power of two"),
        (["--replay_skip=reads"], "is no direction"),
        (["--replay_pacing=slow"], "is not a value"),
        (["--size=1m"], "lies beyond its end"),
    ],
)
def test_what_contradicts_a_replay_is_refused(
    options: list[str], problem: str, trace: Path, tmp_path: Path
) -> None:
    with pytest.raises(IogaugeError, match=problem) as refused:
        replay(tmp_path, trace, *options)
    assert refused.value.hint


def test_the_null_engine_replays_too(trace: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    job = ["--name=r", f"--read_iolog={trace}", "--ioengine=null", "--replay_no_stall=1", "--iodepth=4"]
    iogauge.run(job, request_log=log, ceiling=False)
    rows = sorted(pq.read_table(log).to_pylist(), key=lambda row: row["start_ns"])
    assert sorted(requests(rows)) == sorted(EXPECTED)


def test_the_command_replays_and_reports(trace: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["replay", str(trace), "model:p4800x", "--pacing", "think", "--output-format", "json"]
    assert main(command) == 0
    (job,) = json.loads(capfd.readouterr().out)["jobs"]
    assert job["read"]["total_ios"] == 1_000
    assert (job["write"]["total_ios"], job["trim"]["total_ios"]) == (500, 500)


@pytest.mark.parametrize(("pacing", "due"), [("timed", True), ("think", True), ("closed", False)])
def test_latencies_count_from_when_requests_were_due(
    pacing: str, due: bool, trace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(trace), "model:p4800x", "--pacing", pacing]) == 0
    assert ("latencies count from when a request was due" in capfd.readouterr().out) == due


def test_the_function_is_the_command(trace: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.parquet"
    result = iogauge.replay(
        trace, "model:p4800x", pacing="closed", skip="trim", iodepth=4, seed=1, request_log=log
    )
    options = ["--pacing=closed", "--skip=trim", "--iodepth=4", "--seed=1", "--output-format=json"]
    assert main(["replay", str(trace), "model:p4800x", *options]) == 0
    (job,) = json.loads(capfd.readouterr().out)["jobs"]
    read = result["replay"].read
    assert (read.ios, read.lat.max_ns) == (job["read"]["total_ios"], job["read"]["lat_ns"]["max"])
    assert set(pq.read_table(log)["direction"].to_pylist()) == {"read", "write"}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"align": 1000}, "align=1000: is not a power of two"),
        ({"pacing": "late"}, "pacing 'late'"),
        ({"readonly": True}, "write"),
        ({"seed": -1}, "seed"),
        ({"fail_if": "p99 > 0ns"}, "p99"),
    ],
)
def test_the_function_refuses_what_the_command_refuses(
    options: dict[str, Any], problem: str, trace: Path
) -> None:
    with pytest.raises(IogaugeError, match=problem):
        iogauge.replay(trace, "model:ram", **options)


@pytest.mark.parametrize(
    ("arguments", "status", "message", "remedy"),
    [
        (["garbage", "model:ram"], 1, "its format is not recognised", "iogauge trace import garbage"),
        (
            ["replayed", "model:ram", "--pacing=late"],
            2,
            "--pacing 'late'",
            "one of timed, closed, think, dependent",
        ),
        (["replayed", "model:ram", "--addresses=lost"], 2, "--addresses 'lost'", "one of keep, fold, fit"),
        (["replayed", "model:ram", "--align=1000"], 2, "--align 1000: is not a power of two", "such as 4096"),
        (["replayed", "model:ram", "--skip=reads"], 2, "--skip reads: 'reads' is no direction", "list read,"),
        (["replayed", "model:ram", "--runtime=5x"], 2, "--runtime 5x: 'x' is not a unit", "units: us"),
    ],
)
def test_a_hint_names_what_the_command_has(
    arguments: list[str],
    status: int,
    message: str,
    remedy: str,
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("garbage").write_text("garbage")
    Path("replayed").write_bytes(trace.read_bytes())
    assert main(["replay", *arguments]) == status
    error = capsys.readouterr().err
    assert message in error
    assert remedy in error
