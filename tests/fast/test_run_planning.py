"""What a plan settles that a job left open, or asked for in vain."""

from __future__ import annotations

import pytest

from iogauge.run.planning import Opened, make_plan
from iogauge.schema import EngineKind, Job, RunPlan
from tests import report_records

DRIVE = Opened(fd=3, size_bytes=1 << 30, writable=True, is_block_device=False)


def planned(*jobs: Job) -> tuple[RunPlan, list[str]]:
    """Return the plan, and what was said of it."""
    said: list[str] = []
    plan = make_plan(
        report_records.job_file(*jobs),
        {"/drive": DRIVE},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0, 1),
        say=said.append,
    )
    return plan, said


@pytest.mark.parametrize("engine", [EngineKind.PSYNC, EngineKind.PVSYNC2])
def test_an_engine_that_does_one_request_at_a_time_keeps_one_in_flight(engine: EngineKind) -> None:
    job = Job(name="r", filenames=("/drive",), ioengine=engine, iodepth=8, iodepth_low=4, numjobs=2)
    plan, said = planned(job)
    assert [(worker.iodepth, worker.iodepth_low) for worker in plan.stages[0].workers] == [(1, 1), (1, 1)]
    assert said == [f"r: {engine} does one request at a time: iodepth 8 becomes 1"]


@pytest.mark.parametrize("engine", [EngineKind.IO_URING, EngineKind.LIBAIO])
def test_others_keep_what_was_asked_for(engine: EngineKind) -> None:
    plan, said = planned(Job(name="r", filenames=("/drive",), ioengine=engine, iodepth=8, iodepth_low=4))
    assert [(worker.iodepth, worker.iodepth_low) for worker in plan.stages[0].workers] == [(8, 4)]
    assert said == []


@pytest.mark.parametrize(
    ("fields", "submit", "reap"),
    [
        ({}, None, None),
        ({"iodepth_batch": 4}, 4, 1),
        ({"iodepth_batch": 0}, 16, 1),
        ({"iodepth_batch_complete_min": 4}, None, 4),
        ({"iodepth_batch": 4, "iodepth_batch_complete_max": 8}, 4, 8),
        ({"iodepth_batch": 99, "iodepth_batch_complete_min": 99}, 16, 16),
    ],
)
def test_batches_are_fios_once_any_is_set(
    fields: dict[str, int], submit: int | None, reap: int | None
) -> None:
    job = Job(name="r", filenames=("/drive",), ioengine=EngineKind.LIBAIO, iodepth=16, **fields)  # type: ignore[arg-type]
    (worker,) = planned(job)[0].stages[0].workers
    assert (worker.engine.submit_batch, worker.engine.reap_batch) == (submit, reap)
