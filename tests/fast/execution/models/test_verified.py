"""fio's verify on drive models and plans: the I/O of reading back, and which jobs may not share a region."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import iogauge
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.schema import RunPlan
from iogauge.workload import parse
from iogauge.workload.regions import needs

BASE = ["--name=v", "--filename=model:p4800x", "--size=256k", "--ioengine=io_uring", "--verify=crc32c"]


def run(tmp_path: Path, *options: str) -> tuple[Any, list[tuple[str, int]]]:
    """Return what a job measured, and its requests in the order of their issue."""
    log = tmp_path / "log.parquet"
    log.unlink(missing_ok=True)
    result = iogauge.run([*BASE, *options], seed=1, request_log=log)
    rows = sorted(pq.read_table(log).to_pylist(), key=lambda row: row["start_ns"])
    return result, [(row["direction"], row["offset_bytes"]) for row in rows]


def test_a_model_reads_back_what_was_written(tmp_path: Path) -> None:
    result, requests = run(tmp_path, "--rw=randwrite", "--iodepth=4")
    assert [direction for direction, _ in requests] == 64 * ["write"] + 64 * ["read"]
    written, read = requests[:64], requests[64:]
    assert [offset for _, offset in read] == [offset for _, offset in written]
    assert sorted(offset for _, offset in read) == [4096 * block for block in range(64)]
    assert result["v"].read.iops.value > 0


def test_a_backlog_is_read_back_between_the_writes(tmp_path: Path) -> None:
    _, requests = run(tmp_path, "--rw=write", "--verify_backlog=16", "--number_ios=32")
    letters = "".join(direction[0] for direction, _ in requests)
    assert letters == 2 * (16 * "w" + 16 * "r")


def test_a_dry_run_only_reads(tmp_path: Path) -> None:
    _, requests = run(tmp_path, "--rw=write", "--verify_only", "--rate_iops=100", "--ramp_time=1")
    assert {direction for direction, _ in requests} == {"read"}
    assert len(requests) == 64


def plan(*sections: str) -> RunPlan:
    text = "[global]\nfilename=/data\nsize=1m\nverify=md5\n" + "\n".join(sections)
    job_file = parse(text, source="t", environ={})
    drive = Opened(fd=3, size_bytes=1 << 30, writable=True, is_block_device=False)
    return make_plan(
        job_file,
        {need.path: drive for need in needs(job_file)},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0, 1),
    )


@pytest.mark.parametrize(
    "sections",
    [
        ("[a]\nrw=write\nnumjobs=2",),
        ("[a]\nrw=read", "[b]\nrw=randwrite\nverify=0"),
        ("[a]\nrw=write", "[b]\nrw=trim\nverify=0"),
    ],
)
def test_a_region_that_another_job_changes_is_not_verified(sections: tuple[str, ...]) -> None:
    with pytest.raises(IogaugeError, match="the same part of /data that it verifies") as refused:
        plan(*sections)
    assert refused.value.hint


@pytest.mark.parametrize(
    "sections",
    [
        ("[a]\nrw=write\nnumjobs=2\noffset_increment=1m",),
        ("[a]\nrw=write", "[b]\nstonewall\nrw=write"),
        ("[a]\nrw=read\nnumjobs=2",),
        ("[a]\nrw=write\ndo_verify=0\nnumjobs=2",),
        ("[a]\nrw=write\nverify_only\nnumjobs=2",),
    ],
)
def test_other_regions_stages_and_jobs_that_change_nothing_may_be_verified(sections: tuple[str, ...]) -> None:
    assert plan(*sections).stages


def test_every_worker_has_a_number_of_its_own_in_headers() -> None:
    stages = plan("[a]\nrw=write\nnumjobs=2\noffset_increment=1m", "[b]\nstonewall\nrw=read").stages
    assert [worker.verify.thread for stage in stages for worker in stage.workers if worker.verify] == [
        1,
        2,
        3,
    ]


def test_a_minimum_rate_does_not_end_a_job_that_reads_back() -> None:
    job = ["--name=w", "--filename=model:p4800x", "--size=4g", "--rw=write", "--bs=64k", "--verify=crc32c"]
    result = iogauge.run([*job, "--rate_min=10m", "--runtime=4"], seed=1)
    assert result["w"].write.iops.value > 0


def test_writes_that_the_runtime_leaves_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    job = ["--name=w", "--filename=model:p4800x", "--size=4g", "--rw=write", "--verify=crc32c", "--iodepth=1"]
    assert main(["run", *job, "--runtime=0.01"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert re.search(r"w: [\d,]+ writes were not read back: the job ended first", said)
