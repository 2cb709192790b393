"""Plans: the complete input of the Rust core, without defaults. Their Rust twin is crates/core/src/plan.rs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import (
    SCHEMA_VERSION,
    Direction,
    Model,
    NonNegative,
    Percent,
    PerDirection,
    Positive,
    RangeSync,
)
from iogauge.schema.checksums import Checksum
from iogauge.schema.distributions import Distribution, FileDistribution, UniformDistribution
from iogauge.schema.jobs import BlockSizeShare, EngineKind, Pacing, Rw, SyncMode


class SizesPlan(Model):
    """Block sizes of one direction; see ``BlockSize``. Random offsets are multiples of ``align_bytes``."""

    minimum_bytes: Positive
    maximum_bytes: Positive
    split: tuple[BlockSizeShare, ...]
    align_bytes: Positive


class StridesPlan(Model):
    """Zones that a job goes through: fio's zonemode=strided."""

    size_bytes: Positive
    """What is issued in a zone before the next one."""
    range_bytes: Positive
    """What a zone covers of the file."""
    skip_bytes: NonNegative
    """What lies between two zones."""


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
    sync_file_range: RangeSync | None = None
    """Syncs of what was written since the last; None: none."""
    sync_at_end: bool = False
    """Whether each file is synced at the end of the job, unless nothing was written since the last sync."""
    file_order: Literal["roundrobin", "random", "sequential"] = "roundrobin"
    """Which file comes next."""
    file_run: Positive = 1
    """Requests in a row to one file; without meaning if files are sequential."""
    file_distribution: FileDistribution = UniformDistribution()
    """How likely each file is, if files are drawn at random."""
    open_files: NonNegative = 0
    """Files that are open at the same time; 0: all."""
    strides: StridesPlan | None = None
    """Zones that it goes through; None: the whole region."""


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
    file_bytes: NonNegative = 0
    """Its length, at least to the end of the region; 0 in older records."""
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


class VerifyTrims(Model):
    """Which of the verified writes are trimmed, and when: fio's ``trim_percentage`` and its options."""

    percentage: Annotated[int, Field(gt=0, le=100)]
    """How many of 100 writes are trimmed, in the mean."""
    backlog: Positive
    """Writes after which some are trimmed."""
    batch: Positive
    """How many are then trimmed."""
    reads_zeroes: bool
    """Whether trimmed blocks are read back, and must be zeroes."""


class CompletedWrite(Model):
    """A write that returned."""

    target: NonNegative
    """Index into the worker's files."""
    offset_bytes: NonNegative


class VerifyState(Model):
    """How far a worker's writes came: fio's verify state."""

    writes: NonNegative
    """Writes that were issued."""
    depth: NonNegative
    """How many of them could be in flight."""
    completed: tuple[CompletedWrite, ...]
    """The last that returned: at most ``depth`` of each file."""


class VerifyPlan(Model):
    """How written data is verified: fio's ``verify`` and its options."""

    checksum: Checksum
    interval_bytes: Positive
    """Distance between two headers."""
    offset_bytes: NonNegative
    """How far into its interval a header is moved."""
    pattern: tuple[Annotated[int, Field(ge=0, le=255)], ...]
    """What is written instead of random bytes; may be empty."""
    pattern_offsets: tuple[NonNegative, ...]
    pattern_interval_bytes: NonNegative
    """Where in the pattern the offset of the request is inserted."""
    thread: Annotated[int, Field(ge=0, lt=2**16)]
    """The job's number in headers."""
    reads_back: bool
    """Whether it reads back what it wrote."""
    dry: bool
    """Whether it writes nothing, and reads back what it would have written."""
    numbers: bool
    """Whether a header must have the number of the last write to its block."""
    backlog: NonNegative
    """Writes after which some are read back; 0: only at the end of a pass."""
    backlog_batch: NonNegative
    """How many are then read back; 0: ``backlog``."""
    trims: VerifyTrims | None = None
    """Which writes are trimmed before they are read back; None: none."""
    saves_state: bool = False
    """Whether the result says how far the writes came."""
    state: VerifyState | None = None
    """How far the writes came that a dry run verifies; None: all were made."""
    fatal: bool
    """Whether the first bad header of a request hides the others."""
    dump: bool
    """Whether the data of bad blocks is returned."""
    continues: bool
    """Whether bad blocks are counted and do not end the worker."""
    threads: NonNegative = 0
    """Threads that check what was read; 0: the worker's thread does."""
    cpus: tuple[NonNegative, ...] = ()
    """CPUs that they may run on."""


class StampLogPlan(Model):
    """The log of the writes to one target that carry stamps. Each of its workers writes to that target alone."""

    path: str
    fd: NonNegative
    """A descriptor of the empty file, open for writing."""
    run: Positive
    """The number of the run in each stamp."""
    block_bytes: Positive
    """Every write is of whole blocks of this size, a multiple of 512."""
    start_bytes: NonNegative
    """Where in the target the first region begins, a multiple of a block."""
    end_bytes: Positive
    """Where the last region ends."""


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
    uncached: bool = False
    """Whether buffered requests drop their pages from the page cache."""
    nowait: bool = False
    """Whether requests fail instead of waiting."""
    atomic: bool = False
    """Whether no power failure tears a write."""
    submit_batch: Positive | None
    """The most requests of a submission. None only in older records: an eighth of the iodepth."""
    reap_batch: Positive | None
    """The most completions of a reap. None only in older records: all that were available."""


class NumaPlan(Model):
    """How the kernel chooses the node of a thread's memory, and among which nodes."""

    mode: Literal["default", "local", "prefer", "bind", "interleave"]
    nodes: tuple[NonNegative, ...]


class FlowPlan(Model):
    """One worker's part of a flow: fio's flow."""

    id: NonNegative
    """Workers of a stage with the same number form one flow."""
    weight: Positive
    """How many requests it issues, relative to the weights of the others."""
    sleep_ns: NonNegative
    """How long it pauses when it is ahead, after its requests in flight; 0: it does not pause."""


class SteadyPlan(Model):
    """When a row is steady and its workers end: fio's steadystate."""

    figure: Literal["iops", "bw", "lat"]
    slope: bool
    percent: bool
    limit: Annotated[float, Field(ge=0)]
    """In I/Os or bytes a second, in ns, or in percent of the mean."""
    duration_ns: Positive
    """Time that the samples cover."""
    ramp_ns: NonNegative
    """Time before the first sample."""
    interval_ns: Positive
    """Length of a sample."""


class LatencyTargetPlan(Model):
    """The latency that a worker keeps by its depth: fio's latency_target."""

    limit_ns: Positive
    window_ns: NonNegative
    """How long it tries a depth."""
    percent: Percent
    """Share of the requests that must keep the limit."""
    keeps_adjusting: bool
    """Whether it adjusts its depth to its end, and all of it is measured."""


class MemoryPlan(Model):
    """A worker's memory."""

    huge_page_bytes: NonNegative = 0
    """Size of the huge pages that its buffers are made of; 0: pages as the kernel chooses."""
    locked_bytes: NonNegative = 0
    """What it locks beside its buffers, so that the machine has less."""
    numa: NumaPlan | None = None
    """Where it lies; None: unchanged."""


class ReplayPlan(Model):
    """The trace that a worker replays. Its rows lie in a file, in the layout of crates/core's ``replay::Row``."""

    fd: NonNegative
    """A descriptor of that file."""
    rows: Positive
    pacing: Pacing
    trace_depth: NonNegative
    """The most requests in flight in the trace; 0: unknown."""
    directions: tuple[Direction, ...]
    """The directions of its requests."""


class PriorityPlan(Model):
    """The share of some requests that have an I/O priority of their own: fio's cmdprio."""

    direction: Literal["read", "write"]
    length_bytes: NonNegative = 0
    """Only requests of this length; 0: of any."""
    percent: Annotated[int, Field(ge=1, le=100)]
    priority: Positive
    """As ioprio_set takes it."""


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
    verify: VerifyPlan | None = None
    """How written data is verified; None: it is not."""
    stamp_log: NonNegative | None = None
    """The log of its writes, which then carry stamps, by its index in the run's; None: they carry none."""
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
    replay: ReplayPlan | None = None
    """What it replays; None: it draws requests from its pattern."""
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
    waits_for: tuple[NonNegative, ...] = ()
    """The workers of its stage, by index, that end before it begins. All of them come before it."""
    flow: FlowPlan | None = None
    """Its part of a flow of workers; None: none."""
    handed_over: bool = False
    """Whether kernel threads (io-wq) execute some of its requests. They run only on its CPUs, so it is not pinned."""
    cpus: tuple[NonNegative, ...]
    """CPUs of this worker, one if it is pinned; empty: all CPUs of the process."""
    spin: bool
    """Whether it spins just before a due time; only if no thread that can run on its CPUs has to wait."""
    exitall: bool
    exitall_on_error: bool = False
    """Whether the same holds if it ends with an error."""
    exit_what: Literal["group", "stonewall", "all"] = "group"
    """Which workers end with it: those of its group, of its stage, or of its stage and all later ones."""
    group: NonNegative
    """fio's group: jobs from one stonewall or new_group to the next. exitall ends the stage's workers of its group."""
    steady: SteadyPlan | None = None
    """When its row is steady and it ends; None: never."""
    latency_target: LatencyTargetPlan | None = None
    """The latency for which it looks for its depth, from 1 to iodepth; None: iodepth is its depth."""
    max_latency_ns: PerDirection[NonNegative] = PerDirection[int].same(0)
    """A request that takes longer ends it with an error; 0: none does."""
    create_only: bool = False
    """Whether its files are laid out and it issues nothing."""
    memory: MemoryPlan = MemoryPlan()
    invalidate: bool
    advice: Literal["none", "random", "sequential"] = "none"
    """What it says to the kernel about the order of its requests."""
    """Whether to drop the cached pages of its regions before it begins."""
    pre_read: bool = False
    """Whether to read its regions into the page cache before it begins."""
    nice: int = 0
    """What is added to its thread's nice value."""
    priorities: tuple[PriorityPlan, ...] = ()
    """Which of its requests have a priority of their own."""
    io_priority: NonNegative | None = None
    """Its thread's I/O priority, as ioprio_set takes it; None: unchanged."""
    priority_latency: Literal["lat", "clat"] | None = None
    """The latency to report by priority; None: none, since all requests of its row have one priority."""
    continue_on_read_error: bool
    continue_on_write_error: bool
    ignored_read_errors: tuple[Positive, ...] = ()
    """The errors of reads that count as those of the medium; empty: EIO and EILSEQ."""
    ignored_write_errors: tuple[Positive, ...] = ()
    """The same for writes, trims and syncs."""

    @property
    def reads_back(self) -> bool:
        """Whether it reads back what it writes, or what it would have written."""
        return self.verify is not None and self.verify.reads_back

    @property
    def directions(self) -> frozenset[Direction]:
        """The directions that it issues: in a dry run, only reads."""
        if self.verify is not None and self.verify.dry:
            return frozenset({Direction.READ})
        if not self.reads_back:
            return self.pattern.rw.directions
        trims = self.verify is not None and self.verify.trims is not None
        return self.pattern.rw.directions | {Direction.READ} | ({Direction.TRIM} if trims else set())


class StagePlan(Model):
    """The workers between two barriers. Those without ``waits_for`` start together."""

    held: bool = False
    """Whether the run waits before this stage until its caller lets it go on."""
    workers: tuple[WorkerPlan, ...]


class RunPlan(Model):
    """The plan of a run: stages that run one after the other."""

    schema_version: int = SCHEMA_VERSION
    seed: NonNegative
    interval_ns: Annotated[int, Field(gt=0, le=60 * 10**9)]
    """A minute at most: an interval's buckets count to 2**32."""
    give_up_ns: Positive
    """How long to wait at the end for requests that do not complete."""
    start_at_ns: NonNegative | None = None
    """When the first stage starts, on the host's CLOCK_MONOTONIC, or as soon after it as possible; None: at once."""
    stages: tuple[StagePlan, ...]
    request_log: bool
    request_log_capacity: Positive
    log_overflow: Literal["wait", "drop"] = "wait"
    """In a run that logs every request: how many a worker holds in memory, and what it does when they are full."""
    stamp_logs: tuple[StampLogPlan, ...] = ()
    """The stamp logs, one for each target that has any."""
