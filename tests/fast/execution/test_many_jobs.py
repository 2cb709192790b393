"""Thousands of jobs: what surrounds a run costs each of them the same, and an interrupt ends any part of it.

Work is counted in calls of Python's, which the machine's other load does not change.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from iogauge import execution
from iogauge.execution import core
from iogauge.execution.figures import row_figures
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.report.run import jsonplus, table, terse
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.schema import EngineKind, Job, JobFile, RunPlan, RunRecord
from tests import report_records

FEW, MANY = 16, 64


def jobs(count: int) -> JobFile:
    fields = {"ioengine": EngineKind.NULL, "size": {"size_bytes": 1 << 20}, "number_ios": 1}
    return report_records.job_file(*(Job.model_validate({"name": f"j{i}", **fields}) for i in range(count)))


def plan(job_file: JobFile) -> RunPlan:
    return make_plan(
        job_file, {}, seed=1, interval_ns=10**9, give_up_ns=10**9, request_log=False, cpus=(0, 1)
    )


def calls(work: Callable[[], object]) -> int:
    """Return how many calls and resumed generators a piece of work takes."""
    count = 0

    def heard(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_planning_grows_with_the_number_of_jobs() -> None:
    few, many = (calls(partial(plan, jobs(count))) for count in (FEW, MANY))
    assert many < 1.1 * few * MANY / FEW


@pytest.fixture(scope="module")
def records() -> tuple[RunRecord, RunRecord]:
    return execution.execute(jobs(FEW), seed=1), execution.execute(jobs(MANY), seed=1)


@pytest.mark.parametrize(
    "report",
    [
        row_figures,
        lambda record: table.render(record, IntervalStats(interval_ns=10**9)),
        lambda record: jsonplus.document(record, IntervalStats(interval_ns=10**9), plus=False),
        lambda record: terse.render(record, IntervalStats(interval_ns=10**9), version=3),
    ],
    ids=["figures", "table", "json", "terse"],
)
def test_reporting_grows_with_the_number_of_jobs(
    records: tuple[RunRecord, RunRecord], report: Callable[[RunRecord], object]
) -> None:
    few, many = (calls(partial(report, record)) for record in records)
    assert many < 1.1 * few * MANY / FEW


def test_an_interrupt_ends_the_preparation_of_workers(tmp_path: Path) -> None:
    """A worker that opens a pipe waits there until somebody writes to it, which nobody does."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    node = os.open(pipe, os.O_PATH | os.O_CLOEXEC)
    target = Opened(fd=node, size_bytes=1 << 20, writable=False, is_block_device=False)
    job = Job(name="r", ioengine=EngineKind.PSYNC, filenames=(str(pipe),), direct=False, invalidate=False)
    planned = make_plan(
        report_records.job_file(job),
        {str(pipe): target},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0,),
    )
    with Interrupts() as interrupts:
        interrupts._signals = 1
        result = core.run_plan(planned, interrupts=interrupts)
    os.close(os.open(pipe, os.O_RDWR))
    os.close(node)
    assert (result.stopped_by, result.workers, result.error) == ("interrupt", (), None)
