"""What a plan settles that a job left open, or asked for in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution.plans.planning import NULL_SIZE_BYTES, Opened, make_plan
from iogauge.schema import Amount, BlockSize, EngineKind, Job, NamespacePlan, PerDirection, RunPlan, Rw
from iogauge.target import Namespace
from iogauge.workload.regions import needs
from tests import report_records

DRIVE = Opened(fd=3, size_bytes=1 << 30, writable=True, is_block_device=False)


def planned(*jobs: Job, drive: Opened = DRIVE) -> tuple[RunPlan, list[str]]:
    """Return the plan, and what was said of it."""
    said: list[str] = []
    plan = make_plan(
        report_records.job_file(*jobs),
        {"/drive": drive},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0, 1),
        say=said.append,
    )
    return plan, said


def _sizes(read: tuple[int, int], write: tuple[int, int]) -> PerDirection[BlockSize]:
    one, other = (BlockSize(minimum_bytes=least, maximum_bytes=most) for least, most in (read, write))
    return PerDirection[BlockSize](read=one, write=other, trim=one)


@pytest.mark.parametrize("engine", [EngineKind.PSYNC, EngineKind.PVSYNC2])
def test_an_engine_that_does_one_request_at_a_time_keeps_one_in_flight(engine: EngineKind) -> None:
    job = Job(name="r", filenames=("/drive",), ioengine=engine, iodepth=8, iodepth_low=4, numjobs=2)
    plan, said = planned(job)
    assert [(worker.iodepth, worker.iodepth_low) for worker in plan.stages[0].workers] == [(1, 1), (1, 1)]
    assert said == [f"r: {engine} does one request at a time: iodepth 8 becomes 1"]


def test_commands_go_to_the_namespace_of_a_drive_and_block_io_to_its_block_device() -> None:
    namespace = Namespace(fd=9, nsid=2, block_bytes=512, largest_bytes=1 << 17)
    jobs = [
        Job(name=name, filenames=("/drive",), ioengine=engine)
        for name, engine in (("c", EngineKind.IO_URING_CMD), ("b", EngineKind.IO_URING))
    ]
    (need,) = needs(report_records.job_file(*jobs))
    assert (need.commands, need.files, need.direct) == (True, True, True)
    plan, _ = planned(*jobs, drive=replace(DRIVE, is_block_device=True, namespace=namespace))
    commands, block = plan.stages[0].workers
    assert commands.files[0].fd == block.files[0].fd == 3
    assert block.files[0].namespace is None
    assert commands.files[0].namespace == NamespacePlan(fd=9, nsid=2, block_bytes=512, largest_bytes=1 << 17)
    # Commands have no page cache to bypass.
    assert (commands.engine.direct, block.engine.direct) == (True, False)


@pytest.mark.parametrize("engine", [EngineKind.IO_URING, EngineKind.IO_URING_CMD, EngineKind.LIBAIO])
def test_others_keep_what_was_asked_for(engine: EngineKind) -> None:
    plan, said = planned(Job(name="r", filenames=("/drive",), ioengine=engine, iodepth=8, iodepth_low=4))
    assert [(worker.iodepth, worker.iodepth_low) for worker in plan.stages[0].workers] == [(8, 4)]
    assert said == []


@pytest.mark.parametrize(
    ("fields", "submit", "reap"),
    [
        ({}, 1, 1),
        ({"iodepth_batch": 4}, 4, 1),
        ({"iodepth_batch": 0}, 16, 1),
        ({"iodepth_batch_complete_min": 4}, 1, 4),
        ({"iodepth_batch_complete_max": 4}, 1, 4),
        ({"iodepth_batch": 4, "iodepth_batch_complete_max": 8}, 4, 8),
        ({"iodepth_batch": 99, "iodepth_batch_complete_min": 99}, 16, 16),
    ],
)
@pytest.mark.parametrize("engine", [EngineKind.LIBAIO, EngineKind.IO_URING])
def test_batches_are_fios(engine: EngineKind, fields: dict[str, int], submit: int, reap: int) -> None:
    assert batches(ioengine=engine, iodepth=16, **fields) == (submit, reap)


def test_the_null_engine_takes_all_at_once_unless_batches_are_asked_for() -> None:
    assert batches(ioengine=EngineKind.NULL, iodepth=16) == (16, 16)
    assert batches(ioengine=EngineKind.NULL, iodepth=16, iodepth_batch=1) == (1, 1)


def batches(**fields: object) -> tuple[int | None, int | None]:
    job = Job.model_validate({"name": "r", "filenames": ("/drive",), **fields})
    (worker,) = planned(job)[0].stages[0].workers
    return worker.engine.submit_batch, worker.engine.reap_batch


def test_a_worker_is_not_pinned_where_threads_of_the_kernel_do_its_requests() -> None:
    jobs = [Job(name=name, filenames=("/drive",), ioengine=EngineKind.IO_URING) for name in "ab"]
    plans: list[RunPlan] = []

    def second(plan: RunPlan) -> tuple[bool, ...]:
        plans.append(plan)
        return False, True

    plan = make_plan(
        report_records.job_file(*jobs),
        {"/drive": DRIVE},
        seed=1,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=(0, 1, 2),
        handed_over=second,
    )
    assert [(worker.cpus, worker.handed_over) for worker in plan.stages[0].workers] == [
        ((2,), False),
        ((), True),
    ]
    assert [worker.files for worker in plans[0].stages[0].workers] == [
        worker.files for worker in plan.stages[0].workers
    ]


def test_a_polling_thread_gets_a_cpu_of_its_own_by_the_plan() -> None:
    polling = Job(name="r", filenames=("/drive",), ioengine=EngineKind.IO_URING, sqthread_poll=True)
    (worker,) = planned(polling)[0].stages[0].workers
    assert (worker.cpus, worker.engine.sqthread_poll_cpu) == ((1,), 0)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"rate_iops": PerDirection[int].same(1000), "numjobs": 4}, [0, 250_000, 500_000, 750_000]),
        # 8 KiB of a million bytes a second.
        ({"rate_Bps": PerDirection[int].same(1_000_000), "numjobs": 2}, [0, 4_096_000]),
        ({"rate_iops": PerDirection[int].same(1000)}, [0]),
        ({"numjobs": 2}, [0, 0]),
    ],
)
def test_clones_of_a_rate_take_turns(fields: dict[str, object], expected: list[int]) -> None:
    bs = PerDirection[BlockSize].same(BlockSize(minimum_bytes=8192, maximum_bytes=8192))
    job = Job.model_validate({"name": "r", "filenames": ("/drive",), "bs": bs, **fields})
    workers = planned(job)[0].stages[0].workers
    assert [worker.schedule.read.first_ns for worker in workers] == expected


def regions(**fields: object) -> list[tuple[int, int]]:
    job = Job.model_validate({"name": "r", "filenames": ("/drive",), **fields})
    workers = planned(job)[0].stages[0].workers
    return [(worker.files[0].region_offset_bytes, worker.files[0].region_bytes) for worker in workers]


GIB = 1 << 30


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [(0, GIB)]),
        ({"offset": Amount(size_bytes=8191)}, [(8191, GIB - 8191)]),
        # 33 % is 354334801.92 bytes, in the 86508th block of 4 KiB.
        ({"offset": Amount(percent=33)}, [(86_508 * 4096, GIB - 86_508 * 4096)]),
        (
            {"offset": Amount(percent=33), "offset_increment": Amount(size_bytes=1), "numjobs": 2},
            [(86_508 * 4096, GIB - 86_508 * 4096)] * 2,
        ),
        (
            {"offset": Amount(size_bytes=1), "offset_increment": Amount(percent=25), "numjobs": 2},
            [(4096, GIB - 4096), (GIB // 4 + 4096, GIB // 4 * 3 - 4096)],
        ),
        ({"size": Amount(percent=33)}, [(0, 86_507 * 4096)]),
        ({"size": Amount(percent=90), "offset": Amount(percent=33)}, [(86_508 * 4096, GIB - 86_508 * 4096)]),
        ({"size": Amount(percent=100), "offset": Amount(size_bytes=4097)}, [(4097, GIB - 4097)]),
        ({"size": Amount(size_bytes=GIB), "offset": Amount(size_bytes=4096)}, [(4096, GIB - 4096)]),
    ],
)
def test_percentages_are_rounded_to_blocks_as_in_fio(
    fields: dict[str, object], expected: list[tuple[int, int]]
) -> None:
    assert regions(**fields) == expected


def test_the_smallest_block_of_any_direction_is_what_counts() -> None:
    sizes = {"read": {"minimum_bytes": 65536, "maximum_bytes": 65536}}
    sizes |= {name: {"minimum_bytes": 512, "maximum_bytes": 512} for name in ("write", "trim")}
    assert regions(bs=sizes, offset=Amount(percent=33)) == [(692_061 * 512, GIB - 692_061 * 512)]


def test_an_offset_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(IogaugeError, match="nothing of /drive, which has 1073741824 bytes"):
        regions(offset=Amount(percent=100))
    with pytest.raises(IogaugeError, match="leave nothing of"):
        regions(size=Amount(percent=0.0001))


def test_the_null_engine_has_no_end() -> None:
    fields: dict[str, object] = {"ioengine": EngineKind.NULL, "numjobs": 3}
    fields |= {"size": Amount(size_bytes=1 << 20), "offset_increment": Amount(size_bytes=1 << 20)}
    assert regions(**fields) == [(n << 20, 1 << 20) for n in range(3)]
    assert regions(**fields | {"offset": Amount(percent=50)}) == [
        ((n << 20) + (1 << 19), 1 << 20) for n in range(3)
    ]
    assert regions(ioengine=EngineKind.NULL, offset=Amount(size_bytes=4096)) == [(4096, NULL_SIZE_BYTES)]


def test_a_file_size_ends_the_null_engine_too() -> None:
    fields: dict[str, object] = {"ioengine": EngineKind.NULL, "filesize": 1 << 16}
    fields |= {"size": Amount(size_bytes=1 << 16), "offset": Amount(size_bytes=1 << 15)}
    assert regions(**fields) == [(1 << 15, 1 << 15)]


@pytest.mark.parametrize(
    ("fields", "option"),
    [
        ({"log_avg_ns": 10**9}, "log_avg_msec"),
        ({"log_avg_ns": 10**9, "write_hist_log": "x", "log_hist_ns": 10**9}, "log_avg_msec"),
        ({"log_hist_ns": 10**9, "write_bw_log": ""}, "log_hist_msec"),
        ({"log_avg_ns": 10**9, "write_bw_log": ""}, None),
        ({}, None),
    ],
)
def test_windows_of_logs_that_nobody_writes_are_told_of(
    fields: dict[str, object], option: str | None
) -> None:
    job = Job.model_validate({"name": "r", "filenames": ("/drive",), **fields})
    assert planned(job)[1] == ([f"{option} has no effect: no job writes such a log"] if option else [])


def test_one_jobs_log_is_enough_where_all_have_its_window() -> None:
    both = {"filenames": ("/drive",), "log_avg_ns": 10**9}
    jobs = [
        Job.model_validate({"name": "a", "write_bw_log": "x"} | both),
        Job.model_validate({"name": "b"} | both),
    ]
    assert planned(*jobs)[1] == []


@pytest.mark.parametrize(
    ("fields", "shared"),
    [
        ({}, True),
        ({"norandommap": True}, False),
        ({"rw": Rw.RANDREAD}, False),
        ({"bs": PerDirection[BlockSize].same(BlockSize(minimum_bytes=4096, maximum_bytes=16384))}, False),
        ({"bs": _sizes((4096, 4096), (8192, 8192))}, False),
    ],
)
def test_a_map_shared_by_blocks_of_different_sizes_is_said_to_end_early(
    fields: dict[str, Any], shared: bool
) -> None:
    job = {"name": "m", "filenames": ("/drive",), "rw": Rw.RANDRW, "bs": _sizes((4096, 16384), (8192, 32768))}
    _, said = planned(Job(**job | fields))
    prefix = "m: reads and writes of different sizes share a random map"
    assert [text.startswith(prefix) for text in said] == [True] * shared
