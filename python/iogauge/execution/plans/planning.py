"""Makes a run's plan from its jobs. The plan has no defaults left: every choice that a job leaves open is made here.

That is: files and their regions, clones, reported rows, stages, seeds, CPUs, batches. This module opens nothing.
``regions.needs`` returns the targets of a job file, and ``make_plan`` takes them opened.

Source: fio 3.33's setup_files and fixup_options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Literal

from iogauge.execution.plans.placement import Assignment, WorkerRequest, assign, worker_requests
from iogauge.execution.plans.priorities import BEST_EFFORT, io_priority, priorities, reported
from iogauge.execution.plans.stamping import stamp_logs
from iogauge.execution.plans.verifying import refuse_shared, verify_plan
from iogauge.schema import (
    BlockSize,
    BufferPlan,
    Direction,
    EngineKind,
    EnginePlan,
    FilePlan,
    FlowPlan,
    Job,
    JobFile,
    LatencyTargetPlan,
    MemoryPlan,
    NamespacePlan,
    NumaPlan,
    PatternPlan,
    PerDirection,
    ReplayPlan,
    RunPlan,
    Rw,
    SchedulePlan,
    SizesPlan,
    StagePlan,
    SteadyPlan,
    StridesPlan,
    WorkerPlan,
)
from iogauge.target import Namespace
from iogauge.workload import paths
from iogauge.workload.clones import Clone, clones
from iogauge.workload.options.chapters.endings import ignored
from iogauge.workload.options.table import REPLACED_ENGINES
from iogauge.workload.regions import REPEATABLE_SEED, region, seed_for
from iogauge.workload.stages import held, waits

LOG_REQUESTS = 1 << 19
"""The most requests in memory that are not spilled yet: a tenth of a second at five million a second."""
LEAST_LOG_REQUESTS = 1 << 13

NULL_SIZE_BYTES = 1 << 30
"""Size of the null engine's target if the job gives none: it has no file."""


_RATES = ("rate_Bps", "rate_iops", "rate_min_Bps", "rate_iops_min")
_NO_LIMIT = PerDirection[int].same(0)
_UNHURRIED = dict.fromkeys(_RATES, _NO_LIMIT) | {
    "thinktime_ns": 0,
    "thinktime_spin_ns": 0,
    "ramp_time_ns": 0,
}
"""A job without rates, pauses and ramp."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A needed target, opened."""

    fd: int
    size_bytes: int
    writable: bool
    is_block_device: bool
    namespace: Namespace | None = None
    """How NVMe commands reach it."""


def make_plan(
    job_file: JobFile,
    opened: Mapping[str, Opened],
    *,
    seed: int,
    repeatable_seed: int = REPEATABLE_SEED,
    interval_ns: int,
    give_up_ns: int,
    request_log: bool,
    log_drops: bool = False,
    cpus: Sequence[int],
    spins: bool = True,
    handed_over: Callable[[RunPlan], Sequence[bool]] | None = None,
    replays: Mapping[int, ReplayPlan] = MappingProxyType({}),
    stamp_descriptors: Mapping[str, int] = MappingProxyType({}),
    say: Callable[[str], None] = lambda _: None,
) -> RunPlan:
    """Make the plan of a run.

    Args:
        seed: seeds jobs without randseed and without randrepeat.
        repeatable_seed: seeds jobs with randrepeat and without randseed.
        cpus: the CPUs that the process may use.
        spins: let a worker spin if it has a CPU to itself, instead of waking up late. False on a machine model, which
            has no number of CPUs, and models the delay of a wake-up.
        handed_over: returns for every worker whether kernel threads execute some of its requests, which decides its
            CPUs; None: they do for no worker.
        replays: the traces that jobs replay, by the index of the job.
        stamp_descriptors: the open stamp logs, by the ``stamp_log`` of their jobs.
        say: is called with a sentence for every option that is changed or has no effect.
    """
    _tell_replaced_engines(job_file, say)
    _warn_of_unused_windows(job_file, say)
    for job in job_file.jobs:
        _warn_of_shared_map(job, say)
    stages: list[list[WorkerPlan]] = []
    awaited = waits(job_file.jobs)
    for clone in clones(job_file):
        if clone.stage == len(stages):
            stages.append([])
        job = job_file.jobs[clone.job]
        files = _files(job, clone.number, opened)
        base = repeatable_seed if job.randrepeat else seed
        number = 1 + sum(map(len, stages))
        worker = _worker(job, files, clone, seed=base, say=say)
        parts = {
            "replay": replays.get(clone.job),
            "verify": verify_plan(job, number=number),
            "waits_for": tuple(i for i, other in enumerate(stages[-1]) if other.job in awaited[clone.job]),
        }
        stages[-1].append(worker.model_copy(update=parts))
    for workers in stages:
        refuse_shared(workers)
    logs, stages = stamp_logs(job_file, stages, stamp_descriptors)
    plan = RunPlan(
        seed=seed,
        interval_ns=interval_ns,
        give_up_ns=give_up_ns,
        stages=tuple(
            StagePlan(held=is_held, workers=tuple(reported(workers, job_file.jobs)))
            for is_held, workers in zip(held(job_file.jobs), stages, strict=True)
        ),
        request_log=request_log,
        request_log_capacity=_log_capacity(max(map(len, stages), default=1)),
        log_overflow="drop" if log_drops else "wait",
        stamp_logs=logs,
    )
    requests = worker_requests(job_file, handed_over(plan) if handed_over else ())
    placed = tuple(
        stage.model_copy(
            update={"workers": _placed(stage.workers, of_stage, assign(of_stage, cpus), spins=spins)}
        )
        for stage, of_stage in zip(plan.stages, requests, strict=True)
    )
    return plan.model_copy(update={"stages": placed})


def _log_capacity(workers: int) -> int:
    """Return how many requests a worker may hold in memory: 38 MB for all workers, or more above 64 workers."""
    return max(LOG_REQUESTS // workers, LEAST_LOG_REQUESTS)


def _tell_replaced_engines(job_file: JobFile, say: Callable[[str], None]) -> None:
    """Say once for each engine of fio that another one runs its jobs."""
    written = dict.fromkeys(options.get("ioengine", "") for options in job_file.options)
    for name in written:
        if name in REPLACED_ENGINES:
            say(f"ioengine={name} runs as {REPLACED_ENGINES[name]}, which issues the same requests")


def _warn_of_unused_windows(job_file: JobFile, say: Callable[[str], None]) -> None:
    """Warn of windows for logs that no job writes. fio ignores them silently."""
    jobs = job_file.jobs
    averaged = any((job.write_bw_log, job.write_lat_log, job.write_iops_log) != (None,) * 3 for job in jobs)
    for option, is_set, used in (
        ("log_avg_msec", any(job.log_avg_ns for job in jobs), averaged),
        (
            "log_hist_msec",
            any(job.log_hist_ns for job in jobs),
            any(j.write_hist_log is not None for j in jobs),
        ),
    ):
        if is_set and not used:
            say(f"{option} has no effect: no job writes such a log")


def _placed(
    workers: Sequence[WorkerPlan],
    requests: Sequence[WorkerRequest],
    assigned: Sequence[Assignment],
    *,
    spins: bool,
) -> tuple[WorkerPlan, ...]:
    return tuple(
        worker.model_copy(
            update={
                "handed_over": request.handed_over,
                "cpus": place.cpus,
                "spin": place.spin and spins,
                "engine": worker.engine.model_copy(update={"sqthread_poll_cpu": place.poller}),
                "verify": worker.verify and worker.verify.model_copy(update={"cpus": place.verifiers}),
            }
        )
        for worker, request, place in zip(workers, requests, assigned, strict=True)
    )


def targets_of(job: Job, clone: int, opened: Mapping[str, Opened]) -> Mapping[str, Opened]:
    """Return the opened targets of a clone, by their paths; those of the null engine are made up."""
    if job.ioengine is not EngineKind.NULL:
        return opened
    size_bytes = job.filesize or (job.size and job.size.size_bytes) or NULL_SIZE_BYTES
    target = Opened(fd=-1, size_bytes=size_bytes, writable=True, is_block_device=False)
    return dict.fromkeys(paths(job, clone), target)


def _files(job: Job, clone: int, opened: Mapping[str, Opened]) -> tuple[FilePlan, ...]:
    names = paths(job, clone)
    opened = targets_of(job, clone, opened)
    plans = []
    for name in names:
        target = opened[name]
        offset, length = region(job, clone, path=name, file_bytes=target.size_bytes, files=len(names))
        plans.append(
            FilePlan(
                path=name,
                fd=target.fd,
                writable=target.writable,
                is_block_device=target.is_block_device,
                file_bytes=max(target.size_bytes if target.fd >= 0 else 0, offset + length),
                region_offset_bytes=offset,
                region_bytes=length,
                namespace=_namespace(job, target),
            )
        )
    return tuple(plans)


def _namespace(job: Job, target: Opened) -> NamespacePlan | None:
    if job.ioengine is not EngineKind.IO_URING_CMD or target.namespace is None:
        return None
    return NamespacePlan(**asdict(target.namespace))


def _warn_of_shared_map(job: Job, say: Callable[[str], None]) -> None:
    """Warn that reads and writes of different sizes share one random map and end a pass early."""
    read, write = job.bs.read, job.bs.write
    vary = any(size.minimum_bytes != size.maximum_bytes for size in (read, write))
    if job.rw is Rw.RANDRW and not job.norandommap and vary and read.minimum_bytes != write.minimum_bytes:
        say(
            f"{job.name}: reads and writes of different sizes share a random map, so that a pass ends "
            "before it has covered everything, as in fio; norandommap=1 turns the map off"
        )


def _worker(
    job: Job,
    files: tuple[FilePlan, ...],
    clone: Clone,
    *,
    seed: int,
    say: Callable[[str], None],
) -> WorkerPlan:
    depth = job.iodepth
    if job.ioengine.is_synchronous and depth > 1:
        if clone.number == 0:
            say(f"{job.name}: {job.ioengine} does one request at a time: iodepth {depth} becomes 1")
        depth = 1
    if job.verify_only and Direction.WRITE in job.rw.directions:
        # The writes that are not made take no time.
        job = job.model_copy(update=_UNHURRIED)
    base = seed if job.randseed is None else job.randseed
    worker_seed = seed_for(base, "worker", clone.job, clone.number)
    low, high = job.startdelay_ns
    delay = low if low == high else low + seed_for(worker_seed, "delay") % (high - low + 1)
    regions_bytes = sum(file.region_bytes for file in files)
    forgiven = ignored(job)
    return WorkerPlan(
        name=job.name,
        job=clone.job,
        clone=clone.number,
        row=clone.row,
        seed=worker_seed,
        engine=_engine(job, depth),
        pattern=_pattern(job),
        files=files,
        buffers=BufferPlan(
            refill=job.refill_buffers,
            zero=job.zero_buffers,
            scramble=job.scramble_buffers,
            compress_percent=job.buffer_compress_percent,
            dedupe_percent=job.dedupe_percent,
            pattern=tuple(bytes.fromhex(job.buffer_pattern)),
        ),
        iodepth=depth,
        iodepth_low=min(job.iodepth_low or depth, depth),
        complete_min=min(job.iodepth_batch_complete_min or 0, depth),
        runtime_ns=job.runtime_ns,
        time_based=job.time_based,
        ramp_ns=job.ramp_time_ns,
        start_delay_ns=delay,
        io_bytes=_io_bytes(job, regions_bytes),
        number_ios=job.number_ios,
        loops=job.loops,
        replay_loops=job.randrepeat,
        schedule=PerDirection[SchedulePlan](
            read=_schedule(job, "read", clone=clone.number),
            write=_schedule(job, "write", clone=clone.number),
            trim=_schedule(job, "trim", clone=clone.number),
        ),
        poisson=job.rate_process == "poisson",
        thinktime_ns=job.thinktime_ns,
        thinktime_spin_ns=job.thinktime_spin_ns,
        thinktime_blocks=job.thinktime_blocks or (0 if job.thinktime_iotime_ns else 1),
        thinktime_at_issue=job.thinktime_blocks_type == "issue",
        thinktime_iotime_ns=job.thinktime_iotime_ns,
        flow=FlowPlan(id=job.flow_id, weight=job.flow, sleep_ns=job.flow_sleep_us * 1000)
        if job.flow
        else None,
        cpus=(),
        spin=False,
        exitall=job.exitall,
        exitall_on_error=job.exitall_on_error,
        exit_what=job.exit_what,
        group=clone.group,
        steady=_steady(job),
        latency_target=_latency_target(job),
        max_latency_ns=_NO_LIMIT if job.disable_lat else job.max_latency_ns,
        create_only=job.create_only,
        memory=_memory(job),
        invalidate=job.invalidate,
        advice=_advice(job),
        pre_read=job.pre_read,
        nice=job.nice,
        io_priority=_io_priority(job),
        priorities=priorities(job),
        continue_on_read_error=forgiven[0],
        continue_on_write_error=forgiven[1],
        ignored_read_errors=job.ignore_error[0],
        ignored_write_errors=job.ignore_error[1],
    )


def _io_bytes(job: Job, regions_bytes: int) -> int:
    """Return the bytes after which a worker ends; 0: those of its regions. With filesize, size is such a limit."""
    if job.io_size:
        return job.io_size.of(regions_bytes)
    if job.filesize and job.size and job.size.percent is None and job.size.size_bytes < regions_bytes:
        return job.size.size_bytes
    return 0


def _steady(job: Job) -> SteadyPlan | None:
    if job.steadystate is None or not job.steadystate_duration_ns:
        return None
    return SteadyPlan(
        **job.steadystate.model_dump(),
        duration_ns=job.steadystate_duration_ns,
        ramp_ns=job.steadystate_ramp_ns,
        interval_ns=job.steadystate_interval_ns,
    )


def _latency_target(job: Job) -> LatencyTargetPlan | None:
    if not job.latency_target_ns:
        return None
    return LatencyTargetPlan(
        limit_ns=job.latency_target_ns,
        window_ns=job.latency_window_ns,
        percent=job.latency_percentile,
        keeps_adjusting=job.latency_run,
    )


def _memory(job: Job) -> MemoryPlan:
    policy = job.numa_mem_policy
    return MemoryPlan(
        huge_page_bytes=job.hugepage_bytes if job.mem.endswith("huge") else 0,
        locked_bytes=job.lockmem_bytes,
        numa=NumaPlan(mode=policy.mode, nodes=policy.nodes) if policy else None,
    )


def _io_priority(job: Job) -> int | None:
    """Return the priority for ioprio_set; without a class, prio is that of the best-effort class, as in fio."""
    if job.prio is None and job.prioclass is None:
        return None
    return io_priority(job.prioclass or BEST_EFFORT, job.prio or 0)


def _advice(job: Job) -> Literal["none", "random", "sequential"]:
    """Return what fadvise is to say; by default the order of the job's requests, as in fio."""
    if job.fadvise_hint == "0":
        return "none"
    if job.fadvise_hint == "1":
        return "random" if job.rw.random else "sequential"
    return job.fadvise_hint


def _engine(job: Job, depth: int) -> EnginePlan:
    submit, reap = _batches(job, depth)
    return EnginePlan(
        kind=job.ioengine,
        # NVMe commands bypass the page cache, whatever the job says.
        direct=job.direct or job.ioengine is EngineKind.IO_URING_CMD,
        sync=job.sync,
        hipri=job.hipri,
        fixedbufs=job.fixedbufs,
        registerfiles=job.registerfiles,
        sqthread_poll=job.sqthread_poll,
        sqthread_poll_cpu=job.sqthread_poll_cpu,
        uncached=job.uncached,
        nowait=job.nowait,
        atomic=job.atomic,
        submit_batch=submit,
        reap_batch=reap,
    )


def _batches(job: Job, depth: int) -> tuple[int, int]:
    """Return the most requests of one submission, and the most completions of one reap.

    By default both are 1, as in fio: a free slot is filled at once, so that ``depth`` requests stay in flight. With
    larger batches, a slot stays empty while other requests of the batch are submitted. The null engine has nothing in
    flight between two calls, so it takes all.
    """
    submit, least, most = job.iodepth_batch, job.iodepth_batch_complete_min, job.iodepth_batch_complete_max
    if (submit, least, most) == (None, None, None) and job.ioengine is EngineKind.NULL:
        return depth, depth
    submit = 1 if submit is None else submit or depth
    # fio's rule: the maximum is at least the minimum, and 1 where neither is given.
    return min(submit, depth), min(max(most or 0, least or 0, 1), depth)


def _pattern(job: Job) -> PatternPlan:
    def sizes(block: BlockSize, align: int) -> SizesPlan:
        smallest = min((share.size_bytes for share in block.split), default=block.minimum_bytes)
        return SizesPlan(
            minimum_bytes=block.minimum_bytes,
            maximum_bytes=block.maximum_bytes,
            split=block.split,
            align_bytes=align or smallest,
        )

    return PatternPlan(
        rw=job.rw,
        sequence=job.rw_sequence,
        sizes=PerDirection[SizesPlan](
            read=sizes(job.bs.read, job.ba.read),
            write=sizes(job.bs.write, job.ba.write),
            trim=sizes(job.bs.trim, job.ba.trim),
        ),
        distribution=job.random_distribution,
        percentage_random=job.percentage_random,
        rwmix_read_percent=job.rwmix_read_percent,
        random_map=not job.norandommap,
        fsync_every=job.fsync,
        fdatasync_every=job.fdatasync,
        sync_file_range=job.sync_file_range,
        sync_at_end=job.end_fsync or job.fsync_on_close,
        file_order=job.file_service_type,
        file_run=job.file_service_run,
        file_distribution=job.file_service_distribution,
        open_files=job.openfiles,
        strides=_strides(job),
    )


def _strides(job: Job) -> StridesPlan | None:
    if job.zonemode != "strided":
        return None
    return StridesPlan(
        size_bytes=job.zonesize, range_bytes=job.zonerange or job.zonesize, skip_bytes=job.zoneskip
    )


def _schedule(job: Job, direction: str, *, clone: int) -> SchedulePlan:
    rate_iops: int = getattr(job.rate_iops, direction)
    rate_Bps: int = 0 if rate_iops else getattr(job.rate_Bps, direction)
    gap_ns = 0
    if rate_iops:
        gap_ns = 10**9 // rate_iops
    elif rate_Bps:
        gap_ns = getattr(job.bs, direction).minimum_bytes * 10**9 // rate_Bps
    return SchedulePlan(
        rate_iops=rate_iops,
        rate_Bps=rate_Bps,
        rate_min_Bps=getattr(job.rate_min_Bps, direction)
        or getattr(job.rate_iops_min, direction) * getattr(job.bs, direction).minimum_bytes,
        # Clones take turns: due at the same instant, they would load the drive in bursts.
        first_ns=gap_ns * clone // job.numjobs,
    )
