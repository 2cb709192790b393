"""Made-up runs with whole plans, for the tests of tables, JSON, log files and conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iogauge.schema import (
    BufferPlan,
    Direction,
    EnginePlan,
    FilePlan,
    Job,
    JobFile,
    Kind,
    PatternPlan,
    PerDirection,
    RunPlan,
    RunRecord,
    SchedulePlan,
    SizesPlan,
    StagePlan,
    Tally,
    WorkerPlan,
)
from tests import builders

SECOND_NS = builders.SECOND_NS


def worker_plan(job: Job, *, index: int, row: int | None = None, clone: int = 0) -> WorkerPlan:
    """Return one thread of ``job``, as a run of it would plan it."""

    def sizes(direction: str) -> SizesPlan:
        sizes = getattr(job.bs, direction)
        return SizesPlan(
            minimum_bytes=sizes.minimum_bytes,
            maximum_bytes=sizes.maximum_bytes,
            split=sizes.split,
            align_bytes=sizes.minimum_bytes,
        )

    def schedule(direction: str) -> SchedulePlan:
        rate_iops, rate_Bps = getattr(job.rate_iops, direction), getattr(job.rate_Bps, direction)
        return SchedulePlan(rate_iops=rate_iops, rate_Bps=rate_Bps, rate_min_Bps=0)

    return WorkerPlan(
        name=job.name,
        job=index,
        clone=clone,
        row=index if row is None else row,
        seed=1,
        engine=EnginePlan(
            kind=job.ioengine,
            direct=job.direct,
            sync=job.sync,
            hipri=False,
            fixedbufs=False,
            registerfiles=False,
            sqthread_poll=False,
            sqthread_poll_cpu=None,
            submit_batch=1,
            reap_batch=1,
        ),
        pattern=PatternPlan(
            rw=job.rw,
            sequence=0,
            sizes=PerDirection(read=sizes("read"), write=sizes("write"), trim=sizes("trim")),
            distribution=job.random_distribution,
            percentage_random=job.percentage_random,
            rwmix_read_percent=50,
            random_map=True,
            fsync_every=0,
            fdatasync_every=0,
        ),
        files=(
            FilePlan(
                path=job.filenames[0] if job.filenames else "/tmp/drive.bin",
                fd=-1,
                writable=True,
                is_block_device=False,
                region_offset_bytes=0,
                region_bytes=1 << 30,
            ),
        ),
        buffers=BufferPlan(refill=False, zero=False, scramble=True, compress_percent=0, dedupe_percent=0),
        iodepth=job.iodepth,
        iodepth_low=job.iodepth,
        complete_min=1,
        runtime_ns=3 * SECOND_NS,
        time_based=True,
        ramp_ns=0,
        start_delay_ns=0,
        io_bytes=0,
        number_ios=0,
        loops=1,
        schedule=PerDirection(read=schedule("read"), write=schedule("write"), trim=schedule("trim")),
        poisson=False,
        thinktime_ns=job.thinktime_ns,
        thinktime_spin_ns=0,
        thinktime_blocks=1,
        replay_loops=False,
        cpus=(),
        spin=False,
        exitall=False,
        group=0,
        invalidate=True,
        continue_on_read_error=False,
        continue_on_write_error=False,
    )


def plan(jobs: Sequence[Job], *, interval_ns: int = SECOND_NS) -> RunPlan:
    """Return one stage with one worker (and one row) a job."""
    workers = tuple(worker_plan(job, index=index) for index, job in enumerate(jobs))
    return RunPlan(
        seed=1,
        interval_ns=interval_ns,
        give_up_ns=30 * SECOND_NS,
        stages=(StagePlan(workers=workers),),
        request_log=False,
        request_log_capacity=1,
    )


def job_file(*jobs: Job, options: Sequence[dict[str, str]] = (), **fields: object) -> JobFile:
    """Return jobs as a file would give them."""
    defaults = {"jobs": jobs, "source": "test.fio", "options": tuple(options) or tuple({} for _ in jobs)}
    return JobFile.model_validate(defaults | fields)


def record(
    jobs: Sequence[Job],
    tallies: Sequence[Mapping[Direction, Tally]],
    *,
    file: JobFile | None = None,
    **fields: object,
) -> RunRecord:
    """Return a run of ``jobs``, one row each."""
    rows = [
        builders.row(job.name, tally, index=index)
        for index, (job, tally) in enumerate(zip(jobs, tallies, strict=True))
    ]
    defaults = {"jobs": file or job_file(*jobs), "plan": plan(jobs)}
    return builders.record(rows, **(defaults | fields))


def scheduled(lat: Mapping[int, int], response: Mapping[int, int], **fields: object) -> Tally:
    """Return a tally with a schedule: response apart from lat, all waiting charged to queued."""
    histograms = {
        Kind.LAT: builders.histogram(lat),
        Kind.RESPONSE: builders.histogram(response),
        Kind.QUEUED: builders.histogram({0: sum(lat.values())}),
        Kind.LATENESS: builders.histogram({1_500: sum(lat.values())}),
    }
    return builders.tally(lat, histograms=histograms, **fields)
