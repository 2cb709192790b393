"""Made-up plans for tests that need to say what a worker was asked to do, and nothing else."""

from __future__ import annotations

from iogauge.schema import (
    BufferPlan,
    EngineKind,
    EnginePlan,
    FilePlan,
    PatternPlan,
    PerDirection,
    RunPlan,
    Rw,
    SchedulePlan,
    SizesPlan,
    StagePlan,
    SyncMode,
    UniformDistribution,
    WorkerPlan,
)

SECOND_NS = 10**9


def engine(**fields: object) -> EnginePlan:
    """Return direct io_uring without extras, unless ``fields`` say otherwise."""
    defaults: dict[str, object] = {
        "kind": EngineKind.IO_URING,
        "direct": True,
        "sync": SyncMode.NONE,
        "hipri": False,
        "fixedbufs": False,
        "registerfiles": False,
        "sqthread_poll": False,
        "sqthread_poll_cpu": None,
        "submit_batch": 1,
        "reap_batch": 1,
    }
    return EnginePlan.model_validate(defaults | fields)


def buffers(**fields: object) -> BufferPlan:
    """Return random buffers."""
    defaults: dict[str, object] = {
        "refill": False,
        "zero": False,
        "scramble": True,
        "compress_percent": 0,
        "dedupe_percent": 0,
    }
    return BufferPlan.model_validate(defaults | fields)


def file(path: str = "/tmp/drive.bin", **fields: object) -> FilePlan:
    """Return a megabyte of a file that is not open."""
    defaults: dict[str, object] = {
        "path": path,
        "fd": -1,
        "writable": True,
        "is_block_device": False,
        "region_offset_bytes": 0,
        "region_bytes": 1 << 20,
    }
    return FilePlan.model_validate(defaults | fields)


def worker(name: str = "reader", *, rw: Rw = Rw.RANDREAD, **fields: object) -> WorkerPlan:
    """Return one worker with 4 KiB random reads at depth 1."""
    sizes = SizesPlan(minimum_bytes=4096, maximum_bytes=4096, split=(), align_bytes=4096)
    defaults: dict[str, object] = {
        "name": name,
        "job": 0,
        "clone": 0,
        "row": 0,
        "seed": 1,
        "engine": engine(),
        "pattern": PatternPlan(
            rw=rw,
            sequence=0,
            sizes=PerDirection[SizesPlan].same(sizes),
            distribution=PerDirection[UniformDistribution].same(UniformDistribution()).model_dump(),
            percentage_random=PerDirection[float].same(100.0),
            rwmix_read_percent=50,
            random_map=False,
            fsync_every=0,
            fdatasync_every=0,
        ),
        "files": (file(),),
        "buffers": buffers(),
        "iodepth": 1,
        "iodepth_low": 1,
        "complete_min": 1,
        "runtime_ns": SECOND_NS,
        "time_based": True,
        "ramp_ns": 0,
        "start_delay_ns": 0,
        "io_bytes": 0,
        "number_ios": 0,
        "loops": 1,
        "replay_loops": False,
        "schedule": PerDirection[SchedulePlan].same(SchedulePlan(rate_iops=0, rate_Bps=0, rate_min_Bps=0)),
        "poisson": False,
        "thinktime_ns": 0,
        "thinktime_spin_ns": 0,
        "thinktime_blocks": 1,
        "cpus": (),
        "spin": True,
        "exitall": False,
        "group": 0,
        "invalidate": True,
        "continue_on_read_error": False,
        "continue_on_write_error": False,
    }
    return WorkerPlan.model_validate(defaults | fields)


def plan(*workers: WorkerPlan) -> RunPlan:
    """Return one stage of these workers."""
    return RunPlan(
        seed=1,
        interval_ns=SECOND_NS,
        give_up_ns=30 * SECOND_NS,
        stages=(StagePlan(workers=workers),),
        request_log=False,
        request_log_capacity=1,
    )
