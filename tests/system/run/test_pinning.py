"""Where workers run, and the kernel's threads that work for them. Needs root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iogauge.execution import execute
from iogauge.schema import WorkerPlan
from iogauge.workload import parse

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

CPUS = os.sched_getaffinity(0)


def ran(target: str, options: str) -> tuple[WorkerPlan, dict[str, set[int]]]:
    """Return the worker's plan, and by the first letters of their names where threads were allowed to run."""
    allowed: dict[str, set[int]] = {}

    def look(_: object) -> None:
        for task in Path("/proc/self/task").iterdir():
            try:
                allowed[(task / "comm").read_text()[:7]] = os.sched_getaffinity(int(task.name))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended

    job = f"[j]\nfilename={target}\nsize=16m\nrw=randread\ndirect=1\niodepth=8\ntime_based\nruntime=1\n{options}\n"
    record = execute(parse(job, source="pinning"), interval_ns=50_000_000, on_interval=look)
    return record.plan.stages[0].workers[0], allowed


def test_requests_that_threads_of_the_kernel_do_are_done_on_any_cpu(zram: str) -> None:
    """zram's driver has no non-blocking I/O."""
    plan, allowed = ran(zram, "ioengine=io_uring")
    assert (plan.handed_over, plan.cpus) == (True, ())
    assert allowed["iou-wrk"] == CPUS


@pytest.mark.parametrize("engine", ["psync", "pvsync2", "libaio"])
def test_a_worker_that_does_its_requests_itself_is_pinned(zram: str, engine: str) -> None:
    plan, allowed = ran(zram, f"ioengine={engine}")
    assert (plan.handed_over, len(plan.cpus)) == (False, 1)
    assert "iou-wrk" not in allowed


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_a_polling_thread_is_not_on_its_workers_cpu(tmp_path: Path) -> None:
    plan, allowed = ran(str(tmp_path / "file"), "ioengine=io_uring\nsqthread_poll=1")
    if plan.handed_over:
        pytest.skip("the filesystem has no non-blocking I/O")
    assert len(plan.cpus) == len(allowed["iou-sqp"]) == 1
    assert not allowed["iou-sqp"] & set(plan.cpus)
