"""Plans: what the Rust core is handed, nothing left open. Their Rust twin is crates/core/src/plan.rs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import SCHEMA_VERSION, Model, NonNegative, Percent, PerDirection, Positive
from iogauge.schema.jobs import BlockSizeShare, Distribution, EngineKind, Rw, SyncMode


class SizesPlan(Model):
    """Block sizes of one direction; see ``BlockSize``. ``align_bytes`` is what random offsets are multiples of."""

    minimum_bytes: Positive
    maximum_bytes: Positive
    split: tuple[BlockSizeShare, ...]
    align_bytes: Positive


class PatternPlan(Model):
    """Which offset, length and direction come next."""

    rw: Rw
    sequence: int
    sizes: PerDirection[SizesPlan]
    distribution: PerDirection[Distribution]
    percentage_random: PerDirection[Percent]
    rwmix_read_percent: Percent
    random_map: bool
    """Every block of the region once before any twice."""
    fsync_every: NonNegative
    fdatasync_every: NonNegative


class FilePlan(Model):
    """One opened file or device. The core opens ``/proc/self/fd/FD`` again with the worker's own flags."""

    path: str
    fd: int
    """A descriptor that ``target.py`` opened and cleared, or -1 under the null engine."""
    writable: bool
    is_block_device: bool
    region_offset_bytes: NonNegative
    region_bytes: Positive


class SchedulePlan(Model):
    """When requests of one direction are due. Exactly one of the rates is positive, or both are zero: no schedule."""

    rate_iops: NonNegative
    rate_Bps: NonNegative
    rate_min_Bps: NonNegative
    first_ns: NonNegative = 0
    """When the first one is due where gaps are equal, since the worker's start; 0 in what was stored before."""


class BufferPlan(Model):
    """What is written."""

    refill: bool
    zero: bool
    scramble: bool
    compress_percent: Percent
    dedupe_percent: Percent


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
    """At most so many requests a submission. None only in older records: an eighth of the iodepth."""
    reap_batch: Positive | None
    """At most so many completions taken at a time. None only in older records: all that were there."""


class WorkerPlan(Model):
    """One thread: everything a worker, its engine and its recorder need to know."""

    name: str
    job: NonNegative
    """Index of the section in the job file."""
    clone: NonNegative
    """Which of the section's numjobs."""
    row: NonNegative
    """The reported row that this worker's results are merged into: one per worker, or one per group."""
    seed: NonNegative
    engine: EnginePlan
    pattern: PatternPlan
    files: tuple[FilePlan, ...]
    buffers: BufferPlan
    iodepth: Positive
    iodepth_low: Positive
    complete_min: NonNegative
    """Completions to wait for when the queue is full; 0 and 1: one."""
    runtime_ns: NonNegative
    time_based: bool
    ramp_ns: NonNegative
    start_delay_ns: NonNegative
    io_bytes: NonNegative
    """Ends after so many bytes issued, unless time_based; 0: no limit."""
    number_ios: NonNegative
    loops: Positive
    replay_loops: bool
    """Every loop makes the same requests again (randrepeat)."""
    schedule: PerDirection[SchedulePlan]
    poisson: bool
    thinktime_ns: NonNegative
    thinktime_spin_ns: NonNegative
    thinktime_blocks: Positive
    handed_over: bool = False
    """Threads of the kernel (io-wq) do requests of it. They may run only where it may, so it is not pinned."""
    cpus: tuple[NonNegative, ...]
    """CPUs this worker may run on, one where it is pinned; empty: all that the process may."""
    spin: bool
    """Spin out the last stretch before a due time; only where no thread that could run on its CPUs has to wait."""
    exitall: bool
    group: NonNegative
    """fio's group: jobs from one stonewall or new_group to the next. exitall ends the stage's workers of its group."""
    invalidate: bool
    """Drop the cached pages of its regions before it begins."""
    continue_on_read_error: bool
    continue_on_write_error: bool


class StagePlan(Model):
    """The workers that start and end together."""

    workers: tuple[WorkerPlan, ...]


class RunPlan(Model):
    """One run, as one validated value: stages one after the other."""

    schema_version: int = SCHEMA_VERSION
    seed: NonNegative
    interval_ns: Annotated[int, Field(gt=0, le=60 * 10**9)]
    """A minute at most: an interval's buckets count to 2**32."""
    give_up_ns: Positive
    """How long to wait, once everything else is done, for requests that do not come back."""
    stages: tuple[StagePlan, ...]
    request_log: bool
    request_log_capacity: Positive
    log_overflow: Literal["wait", "drop"] = "wait"
    """Of a run that logs every request: how many a worker holds until they are spilled, and what it does then."""
