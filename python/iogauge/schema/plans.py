"""Plans: the complete input of the Rust core, without defaults. Their Rust twin is crates/core/src/plan.rs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import SCHEMA_VERSION, Model, NonNegative, Percent, PerDirection, Positive
from iogauge.schema.jobs import BlockSizeShare, Distribution, EngineKind, Rw, SyncMode


class SizesPlan(Model):
    """Block sizes of one direction; see ``BlockSize``. Random offsets are multiples of ``align_bytes``."""

    minimum_bytes: Positive
    maximum_bytes: Positive
    split: tuple[BlockSizeShare, ...]
    align_bytes: Positive


class PatternPlan(Model):
    """How the next offset, length and direction are chosen."""

    rw: Rw
    sequence: int
    sizes: PerDirection[SizesPlan]
    distribution: PerDirection[Distribution]
    percentage_random: PerDirection[Percent]
    rwmix_read_percent: Percent
    random_map: bool
    """Whether every block of the region comes once before any comes twice."""
    fsync_every: NonNegative
    fdatasync_every: NonNegative
    sync_at_end: bool = False
    """Whether each file is synced at the end of the job, unless nothing was written since the last sync."""
    file_order: Literal["roundrobin", "random", "sequential"] = "roundrobin"
    """Which file comes next."""
    file_run: Positive = 1
    """Requests in a row to one file; without meaning if files are sequential."""


class NamespacePlan(Model):
    """How NVMe commands reach the namespace behind a block device: fio's io_uring_cmd."""

    fd: NonNegative
    """A descriptor of its character device (``/dev/ng0n1``)."""
    nsid: Positive
    block_bytes: Positive
    """Bytes of a logical block."""
    largest_bytes: Positive
    """The most that one command may move."""


class FilePlan(Model):
    """One opened file or device. The core opens ``/proc/self/fd/FD`` again with the worker's own flags."""

    path: str
    fd: int
    """A descriptor that ``target.py`` opened and cleared, or -1 under the null engine."""
    writable: bool
    is_block_device: bool
    region_offset_bytes: NonNegative
    region_bytes: Positive
    namespace: NamespacePlan | None = None
    """How io_uring_cmd reaches it; None under the other engines, and in older records."""


class SchedulePlan(Model):
    """When requests of one direction are due. Exactly one of the rates is positive, or both are zero: no schedule."""

    rate_iops: NonNegative
    rate_Bps: NonNegative
    rate_min_Bps: NonNegative
    first_ns: NonNegative = 0
    """When the first request is due if gaps are equal, since the worker's start; 0 in older records."""


class BufferPlan(Model):
    """The content that is written."""

    refill: bool
    zero: bool
    scramble: bool
    compress_percent: Percent
    dedupe_percent: Percent
    pattern: tuple[Annotated[int, Field(ge=0, le=255)], ...] = ()
    """Bytes that are repeated instead of random ones, or in the compressible share instead of zeroes."""


class EnginePlan(Model):
    """How requests reach the target."""

    kind: EngineKind
    direct: bool
    sync: SyncMode
    hipri: bool
    fixedbufs: bool
    registerfiles: bool
    sqthread_poll: bool
    sqthread_poll_cpu: NonNegative | None
    submit_batch: Positive | None
    """The most requests of a submission. None only in older records: an eighth of the iodepth."""
    reap_batch: Positive | None
    """The most completions of a reap. None only in older records: all that were available."""


class WorkerPlan(Model):
    """The plan of one thread: its worker, its engine and its recorder."""

    name: str
    job: NonNegative
    """Index of the section in the job file."""
    clone: NonNegative
    """Number among the section's numjobs."""
    row: NonNegative
    """The row into which this worker's results are merged: one per worker, or one per group."""
    seed: NonNegative
    engine: EnginePlan
    pattern: PatternPlan
    files: tuple[FilePlan, ...]
    buffers: BufferPlan
    iodepth: Positive
    iodepth_low: Positive
    complete_min: NonNegative
    """Completions to wait for if the queue is full; 0 and 1: one."""
    runtime_ns: NonNegative
    time_based: bool
    ramp_ns: NonNegative
    start_delay_ns: NonNegative
    io_bytes: NonNegative
    """End after so many bytes were issued, unless time_based; 0: no limit."""
    number_ios: NonNegative
    loops: Positive
    replay_loops: bool
    """Whether every loop repeats the same requests (randrepeat)."""
    schedule: PerDirection[SchedulePlan]
    poisson: bool
    thinktime_ns: NonNegative
    thinktime_spin_ns: NonNegative
    thinktime_blocks: NonNegative
    """Requests from one pause to the next; 0: any number."""
    thinktime_at_issue: bool = False
    """Whether these are counted when they are issued, and not when they have returned."""
    thinktime_iotime_ns: NonNegative = 0
    """Time from the end of a pause to the next; 0: any time."""
    handed_over: bool = False
    """Whether kernel threads (io-wq) execute some of its requests. They run only on its CPUs, so it is not pinned."""
    cpus: tuple[NonNegative, ...]
    """CPUs of this worker, one if it is pinned; empty: all CPUs of the process."""
    spin: bool
    """Whether it spins just before a due time; only if no thread that can run on its CPUs has to wait."""
    exitall: bool
    group: NonNegative
    """fio's group: jobs from one stonewall or new_group to the next. exitall ends the stage's workers of its group."""
    invalidate: bool
    """Whether to drop the cached pages of its regions before it begins."""
    pre_read: bool = False
    """Whether to read its regions into the page cache before it begins."""
    nice: int = 0
    """What is added to its thread's nice value."""
    io_priority: NonNegative | None = None
    """Its thread's I/O priority, as ioprio_set takes it; None: unchanged."""
    continue_on_read_error: bool
    continue_on_write_error: bool


class StagePlan(Model):
    """The workers that start and end together."""

    workers: tuple[WorkerPlan, ...]


class RunPlan(Model):
    """The plan of a run: stages that run one after the other."""

    schema_version: int = SCHEMA_VERSION
    seed: NonNegative
    interval_ns: Annotated[int, Field(gt=0, le=60 * 10**9)]
    """A minute at most: an interval's buckets count to 2**32."""
    give_up_ns: Positive
    """How long to wait at the end for requests that do not complete."""
    stages: tuple[StagePlan, ...]
    request_log: bool
    request_log_capacity: Positive
    log_overflow: Literal["wait", "drop"] = "wait"
    """In a run that logs every request: how many a worker holds in memory, and what it does when they are full."""
