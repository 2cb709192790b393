"""Every noun that is stored or passed between layers, and the version of that vocabulary.

Three families live here. *Jobs* are what a user asked for, in fio's words (``Job``, ``JobFile``). *Plans* are
what the Rust core is handed, fully resolved, nothing left to default (``RunPlan`` down to ``WorkerPlan``); their
Rust twins are in ``crates/core/src/plan.rs`` and must change with them. *Results* are what came back
(``RunResult``, ``Interval``), and what a review on disk says of itself (``Manifest``).

Times are integer nanoseconds, sizes integer bytes, quantiles fractions; the unit ends the name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 2
"""Raised when a stored field changes meaning. Every older version still loads."""

T = TypeVar("T")

NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(gt=0)]
Quantile = Annotated[float, Field(gt=0, lt=1)]
Percent = Annotated[float, Field(ge=0, le=100)]
Encoded = bytes
"""A histogram as stored. Named, since a field of ``Tally`` is called ``bytes``."""


class Model(BaseModel):
    """Immutable, and refuses fields it does not know: a typing error never passes as a default."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Direction(StrEnum):
    """What a request does to the target; ``sync`` covers fsync and fdatasync."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"
    SYNC = "sync"


class PerDirection(Model, Generic[T]):
    """One value each for reads, writes and trims: fio's ``a,b,c``."""

    read: T
    write: T
    trim: T

    @classmethod
    def same(cls, value: T) -> PerDirection[T]:
        """Return the same value for all three directions.

        >>> PerDirection[int].same(4096).trim
        4096
        """
        return cls(read=value, write=value, trim=value)


# --- Jobs: what a user asked for ---------------------------------------------------------------------------


class Rw(StrEnum):
    """fio's ``rw``. ``rw`` is stored as ``readwrite``."""

    READ = "read"
    WRITE = "write"
    TRIM = "trim"
    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RANDTRIM = "randtrim"
    READWRITE = "readwrite"
    RANDRW = "randrw"
    TRIMWRITE = "trimwrite"
    RANDTRIMWRITE = "randtrimwrite"

    @property
    def random(self) -> bool:
        """Whether offsets are drawn at random."""
        return self.startswith("rand")

    @property
    def directions(self) -> frozenset[Direction]:
        """The directions that this pattern issues.

        >>> sorted(Rw.TRIMWRITE.directions)
        [<Direction.TRIM: 'trim'>, <Direction.WRITE: 'write'>]
        """
        name = self.removeprefix("rand")
        if name in ("readwrite", "rw"):
            return frozenset({Direction.READ, Direction.WRITE})
        if name == "trimwrite":
            return frozenset({Direction.TRIM, Direction.WRITE})
        return frozenset({Direction(name)})

    @property
    def writes(self) -> bool:
        """Whether the target's contents change: any write or trim."""
        return self.directions != {Direction.READ}


class EngineKind(StrEnum):
    """fio's ``ioengine``, as far as supported. ``sync`` and ``pvsync`` are not: use psync or pvsync2."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"
    PVSYNC2 = "pvsync2"
    PSYNC = "psync"
    NULL = "null"


class SyncMode(StrEnum):
    """fio's ``sync``: how a write is opened. ``sync`` is O_SYNC, ``dsync`` O_DSYNC."""

    NONE = "none"
    SYNC = "sync"
    DSYNC = "dsync"


class BlockSizeShare(Model):
    """One entry of ``bssplit``: a block size and its share of the I/Os."""

    size_bytes: Positive
    percent: Percent


class BlockSize(Model):
    """Block sizes of one direction: fixed (``minimum == maximum``), a range, or a weighted split.

    A range draws a multiple of ``minimum_bytes``, as fio does without bs_unaligned. ``split`` is empty unless
    the job gave bssplit; its percentages then add up to 100.
    """

    minimum_bytes: Positive
    maximum_bytes: Positive
    split: tuple[BlockSizeShare, ...] = ()


class Amount(Model):
    """A size or an offset: bytes, or a percentage of the file (``percent`` set, ``size_bytes`` zero)."""

    size_bytes: NonNegative = 0
    percent: Percent | None = None

    def of(self, whole_bytes: int) -> int:
        """Return the amount in bytes where the whole is ``whole_bytes``.

        >>> Amount(percent=25).of(4096)
        1024
        """
        if self.percent is None:
            return self.size_bytes
        return int(whole_bytes * self.percent / 100)


class UniformDistribution(Model):
    """``random``: every block of the region is as likely as any other."""

    kind: Literal["random"] = "random"


class ZipfDistribution(Model):
    """``zipf:theta[/center]``. ``center`` in [0, 1] rotates the hottest block there; else blocks are scattered."""

    kind: Literal["zipf"] = "zipf"
    theta: Annotated[float, Field(gt=0)]
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class ParetoDistribution(Model):
    """``pareto:h[/center]``, h in (0, 1)."""

    kind: Literal["pareto"] = "pareto"
    h: Annotated[float, Field(gt=0, lt=1)]
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class NormalDistribution(Model):
    """``normal:deviation[/center]``: deviation in percent of the region, centred on ``center`` or its middle."""

    kind: Literal["normal"] = "normal"
    deviation_percent: Percent
    center: Annotated[float, Field(ge=0, le=1)] | None = None


class Zone(Model):
    """One zone of ``zoned``: ``access_percent`` of the I/Os go to the next ``size_percent`` of the region."""

    access_percent: Percent
    size_percent: Percent


class ZonedDistribution(Model):
    """``zoned:50/5:30/15:20/80``: both columns add up to 100."""

    kind: Literal["zoned"] = "zoned"
    zones: tuple[Zone, ...]


Distribution = Annotated[
    UniformDistribution | ZipfDistribution | ParetoDistribution | NormalDistribution | ZonedDistribution,
    Field(discriminator="kind"),
]


class ContinueOnError(StrEnum):
    """fio's ``continue_on_error``: which failing directions do not end the job."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    IO = "io"
    VERIFY = "verify"
    ALL = "all"


class Job(Model):
    """One section of a job file, after [global] and defaults: fio's option names, units made explicit.

    Defaults are fio's, as its code has them. Where a field is ``None`` the user did not
    say, and the documented default behaviour applies.
    """

    name: str
    description: str = ""
    filenames: tuple[str, ...] = ()
    """Complete paths, ``directory`` already before them. Empty: see ``workload.paths``."""
    directory: str = ""
    """Where the job's files are; empty where ``filenames`` says."""
    rw: Rw = Rw.READ
    rw_sequence: int = 0
    """The ``:n`` of rw. Random: n I/Os in sequence from each drawn offset (0 and 1: one). Sequential: bytes added
    to the offset after each I/O, leaving a hole (negative goes backwards)."""
    bs: PerDirection[BlockSize] = PerDirection[BlockSize].same(
        BlockSize(minimum_bytes=4096, maximum_bytes=4096)
    )
    ba: PerDirection[NonNegative] = PerDirection[int].same(0)
    """Alignment of random offsets in bytes; 0 means the direction's smallest block size."""
    iodepth: Positive = 1
    iodepth_batch: NonNegative | None = None
    """None: up to an eighth of the iodepth in one call. (fio: 1.) 0 means the iodepth, as in fio."""
    iodepth_batch_complete_min: NonNegative | None = None
    iodepth_batch_complete_max: NonNegative | None = None
    iodepth_low: Positive | None = None
    """Refill the queue only once it has drained to this; None means iodepth."""
    numjobs: Positive = 1
    thread: bool = False
    """Accepted: iogauge's workers are always threads."""
    size: Amount | None = None
    io_size: Amount | None = None
    offset: Amount = Amount()
    offset_increment: Amount = Amount()
    runtime_ns: NonNegative = 0
    """0: no limit."""
    time_based: bool = False
    ramp_time_ns: NonNegative = 0
    startdelay_ns: tuple[NonNegative, NonNegative] = (0, 0)
    """A range; equal ends give a fixed delay."""
    loops: Positive = 1
    number_ios: NonNegative = 0
    """0: no limit."""
    stonewall: bool = False
    group_reporting: bool = False
    new_group: bool = False
    exitall: bool = False
    rwmix_read_percent: Percent = 50
    random_distribution: PerDirection[Distribution] = PerDirection[Distribution].same(UniformDistribution())
    percentage_random: PerDirection[Percent] = PerDirection[float].same(100.0)
    norandommap: bool = False
    randrepeat: bool = True
    randseed: NonNegative | None = None
    refill_buffers: bool = False
    zero_buffers: bool = False
    scramble_buffers: bool = True
    buffer_compress_percent: Percent = 0
    dedupe_percent: Percent = 0
    cpus_allowed: tuple[NonNegative, ...] = ()
    cpus_allowed_policy: Literal["shared", "split"] = "shared"
    rate_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_iops: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_min_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_process: Literal["linear", "poisson"] = "linear"
    thinktime_ns: NonNegative = 0
    thinktime_spin_ns: NonNegative = 0
    thinktime_blocks: Positive = 1
    percentile_list: tuple[Percent, ...] = (
        1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99,
    )  # fmt: skip
    clat_percentiles: bool = True
    slat_percentiles: bool = False
    lat_percentiles: bool = False
    write_bw_log: str | None = None
    """Prefix of the log's file name; an empty string stands for the job's name. None: no log."""
    write_lat_log: str | None = None
    write_iops_log: str | None = None
    write_hist_log: str | None = None
    log_avg_ns: NonNegative = 0
    log_hist_ns: NonNegative = 0
    direct: bool = False
    invalidate: bool = True
    """Drop the target's cached pages before the stage begins, as fio does by default."""
    sync: SyncMode = SyncMode.NONE
    fsync: NonNegative = 0
    """An fsync after this many writes; 0: none."""
    fdatasync: NonNegative = 0
    ioengine: EngineKind = EngineKind.PSYNC
    hipri: bool = False
    fixedbufs: bool = False
    registerfiles: bool = False
    sqthread_poll: bool = False
    sqthread_poll_cpu: NonNegative | None = None
    continue_on_error: ContinueOnError = ContinueOnError.NONE


class JobFile(Model):
    """The jobs of one job file, in order, and where they came from.

    ``options`` keeps for every job the option lines as the user wrote them ([global] included, in effect order),
    so that json+ and the report can show the job as fio would read it.
    """

    jobs: tuple[Job, ...]
    source: str
    options: tuple[dict[str, str], ...]
    global_options: dict[str, str] = {}


# --- Plans: what the Rust core is handed -------------------------------------------------------------------


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
    """At most so many requests a submission; None: an eighth of the iodepth (crates/engine/src/batch.rs says why)."""
    reap_batch: Positive | None
    """At most so many completions taken at a time; None: all that are there."""


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
    cpus: tuple[NonNegative, ...]
    """CPUs this worker may run on, one where it is pinned; empty: all that the process may."""
    spin: bool
    """Spin out the last stretch before a due time; only where CPUs are at least as many as workers."""
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
    """Keep every request for ``RunHandle.requests()``."""
    request_log_capacity: Positive = 1 << 18
    """Requests the bounded queue holds per worker; what does not fit is counted as dropped."""


# --- Results: what came back -------------------------------------------------------------------------------


class Kind(StrEnum):
    """The latencies of METHODOLOGY.md's table, in its order; ``loop_gap`` belongs to no direction."""

    LAT = "lat"
    CLAT = "clat"
    SLAT = "slat"
    RESPONSE = "response"
    QUEUED = "queued"
    LATENESS = "lateness"
    LOOP_GAP = "loop_gap"


class Exact(Model):
    """What is known of a latency beside its buckets, nanoseconds."""

    count: NonNegative
    sum_ns: NonNegative
    min_ns: NonNegative
    max_ns: NonNegative


class Tally(Model):
    """What one direction of one row did, over one interval or a whole run.

    ``histograms`` holds HdrHistogram V2 encodings (compressed, as ``hdrhistogram`` decodes after base64), values in
    nanoseconds. A kind that is missing did not differ: response equals lat, queued and lateness are zero, slat is
    not known (SQPOLL). A sync's response counts from when the first write was intended that it makes last.
    """

    ios: NonNegative = 0
    """Completed without error."""
    bytes: NonNegative = 0
    errors: dict[int, int] = {}
    """Count by errno."""
    short: NonNegative = 0
    """Completed with fewer bytes than asked."""
    flagged: NonNegative = 0
    """Completed after a loop gap of over 1 ms (and over a tenth of their own latency) in their flight: their
    latency may be the thread's, not the drive's."""
    late: NonNegative = 0
    """Scheduled requests that started over 1 ms after they were ready."""
    histograms: dict[Kind, Encoded] = {}
    exact: dict[Kind, Exact] = {}
    """Beside each histogram: what its buckets cannot say."""


class Interval(Model):
    """A fixed slice of a run for one row, kept even when nothing completed in it.

    ``index`` counts from the stage's start in units of the plan's ``interval_ns``. A slice cut by the end of the
    ramp or of the job comes in parts with the same index; parts with equal (stage, row, index, ramp) add up.
    """

    stage: NonNegative
    row: NonNegative
    index: NonNegative
    start_ns: NonNegative
    end_ns: NonNegative
    """Both since the start of the stage."""
    ramp: bool
    tallies: dict[Direction, Tally]
    loop_gap: Encoded | None = None


class InFlight(Model):
    """A request that had not come back when the run gave up: a censored latency of at least ``age_ns``."""

    worker: NonNegative
    direction: Direction
    path: str
    offset_bytes: NonNegative
    length_bytes: NonNegative
    age_ns: NonNegative


class WorkerResult(Model):
    """What one thread cost and how it was kept busy."""

    name: str
    row: NonNegative
    stage: NonNegative
    cpus: tuple[int, ...]
    """CPUs it was seen on."""
    pinned: bool
    start_ns: NonNegative
    end_ns: NonNegative
    """Measured part of its life, since the start of the stage, ramp excluded."""
    user_ns: NonNegative
    system_ns: NonNegative
    voluntary_switches: NonNegative
    involuntary_switches: NonNegative
    migrations: NonNegative
    major_faults: NonNegative = 0
    minor_faults: NonNegative = 0
    submit_calls: NonNegative
    reap_calls: NonNegative
    submit_batch: tuple[int, ...]
    """Submissions by how many requests they took: entry n counts those in (2**(n-1), 2**n]."""
    reap_batch: tuple[int, ...]
    """Looks at the completions that found some, by how many, as ``submit_batch``."""
    depth: tuple[int, ...]
    """How many requests were in flight, seen at each submission: entry n counts [2**n, 2**(n+1))."""
    depth_mean: float
    """Time-weighted mean of requests in flight."""
    overdue: NonNegative
    """Scheduled requests that were due before the end and never issued: the target or the generator was too slow."""
    late_handovers: NonNegative
    """Intervals that could not be handed over in time and were merged with the next."""
    log_dropped: NonNegative
    error: str | None = None
    """Why it ended early; None: it did not."""
    stuck: bool = False
    """True where the thread itself was still inside the kernel at the end."""


class RowResult(Model):
    """One reported row: a worker, or a group of them merged."""

    row: NonNegative
    stage: NonNegative
    name: str
    start_ns: NonNegative
    end_ns: NonNegative
    """From the first worker's measured start to the last one's end, since the start of the stage."""
    tallies: dict[Direction, Tally]
    loop_gap: Encoded


class ClockFacts(Model):
    """What stamped the requests."""

    source: Literal["tsc", "clock_gettime", "virtual"]
    reason: str = ""
    """Why not the TSC, where it was not."""
    tsc_hz: float = 0
    read_cost_ns: float
    check_ppm: float = 0
    """Difference of the TSC's calibrated rate from the kernel's clock over the whole run, parts per million."""


class DriveResult(Model):
    """What a modelled drive did besides answering. A real one does not say."""

    path: str
    energy_J: float
    low_power_ns: float
    throttled_ns: float
    temperature_C: float | None
    """At the end; None where the model has no thermal node."""
    hottest_C: float | None
    write_amplification: float | None
    """Pages programmed for each page that the host wrote; None where the media need no translation."""
    erases_mean: float | None
    erases_max: int | None
    unwritten_reads: NonNegative
    """Reads of what was never written: answered without looking at the media."""


class RunResult(Model):
    """All of a run but its intervals, which were handed out while it ran."""

    rows: tuple[RowResult, ...]
    workers: tuple[WorkerResult, ...]
    in_flight: tuple[InFlight, ...]
    drives: tuple[DriveResult, ...] = ()
    """Of a modelled run; empty for a real one."""
    clock: ClockFacts
    stopped_by: str | None = None
    """None: ran to its end. Otherwise ``interrupt``, ``rate_min``, ``error``."""
    error: str | None = None
    elapsed_ns: NonNegative


# --- Facts and warnings ------------------------------------------------------------------------------------


class Ceiling(Model):
    """What the generator can do at best on these CPUs: measured on the null engine before a run."""

    iops: float
    """One worker, 4k randread, iodepth 32, null engine."""
    shallow_iops: float = 0
    """The same at iodepth 1; 0: not measured, in what was stored before there was this."""
    lat_mean_ns: float
    """Mean lat on the null engine at iodepth 1: what iogauge itself adds to every request."""
    clock_source: str
    clock_read_ns: float
    sleep_slack_ns: float
    """How late the timer wakes, 99th percentile: what is spun instead of slept."""


class Code(StrEnum):
    """Every warning iogauge can give. The text and the remedy of each are in ``machine/warnings.py``."""

    PAGE_CACHE = "page_cache"
    UNWRITTEN = "unwritten"
    COMPRESSIBLE = "compressible"
    FEW_SAMPLES = "few_samples"
    GENERATOR_LIMITED = "generator_limited"
    MIGRATION = "migration"
    VIRTUAL_MACHINE = "virtual_machine"
    BUSY_TARGET = "busy_target"
    NO_POLLING = "no_polling"
    NO_PIN = "no_pin"
    CLOCK = "clock"
    IN_FLIGHT = "in_flight"
    ERRORS = "errors"
    STALLED = "stalled"
    LOG_DROPPED = "log_dropped"
    RATE_MISSED = "rate_missed"
    INTERVALS_MERGED = "intervals_merged"
    ENGINE_FALLBACK = "engine_fallback"
    UNSTEADY = "unsteady"
    WRITTEN_MEANWHILE = "written_meanwhile"
    UNSUPPORTED = "unsupported"


class Warning(Model):  # noqa: A001 (the field's word; nothing here raises Python warnings)
    """One thing that makes a result mean less than it seems to, and what to do about it."""

    code: Code
    message: str
    hint: str


class ModelFacts(Model):
    """What a modelled target is made of. The seed is the plan's."""

    drive: str
    drive_version: NonNegative
    machine: str
    machine_version: NonNegative
    machine_title: str
    sha256: str
    """Of the parameters of both."""


class TargetFacts(Model):
    """What a target is. Unknown facts are None, never a guess."""

    path: str
    kind: Literal["block", "file", "null", "model"]
    size_bytes: NonNegative
    real_path: str = ""
    device: str | None = None
    """Kernel name of the block device, or of the one under the file."""
    model: str | None = None
    serial: str | None = None
    firmware: str | None = None
    filesystem: str | None = None
    logical_block_bytes: Positive | None = None
    physical_block_bytes: Positive | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    write_cache: str | None = None
    link_Bps: Positive | None = None
    """What the drive's link carries at most, bytes a second; of a file, that of the drive below."""
    modelled: ModelFacts | None = None
    """Of a model only."""


class DeviceStat(Model):
    """``/sys/block/DEV/stat`` over a run, as differences. Times are what block layer and device took together."""

    device: str
    read_ios: NonNegative
    read_bytes: NonNegative
    read_ns: NonNegative
    write_ios: NonNegative
    write_bytes: NonNegative
    write_ns: NonNegative
    trim_ios: NonNegative
    trim_ns: NonNegative
    flush_ios: NonNegative
    flush_ns: NonNegative
    busy_ns: NonNegative
    queue_ns: NonNegative
    read_merges: NonNegative | None = None
    write_merges: NonNegative | None = None


class MachineFacts(Model):
    """The computer and operating system in front of the drive."""

    hostname: str
    kernel: str
    cpu: str
    cpus: Positive
    cpus_allowed: Positive
    memory_bytes: Positive
    virtualised: str | None
    """What says so, where the machine is virtual; None: nothing does."""
    clocksource: str | None = None
    governor: str | None = None
    limits: tuple[str, ...] = ()
    """What cgroups hold this process to: CPU time, I/O."""
    python: str = ""
    iogauge: str = ""
    git: str | None = None


class ToldLatency(Model):
    """One kind of latency that another program told as figures alone, without the counts behind them."""

    stage: NonNegative
    row: NonNegative
    direction: Direction | None
    """None: all that the row issued, as one sample."""
    kind: Kind
    count: NonNegative
    """Samples."""
    mean_ns: float | None = None
    max_ns: float | None = None
    quantiles_ns: dict[float, float] = {}
    """By fraction, in (0, 1)."""


class RunRecord(Model):
    """One run with everything needed to judge it: what ``iogauge run`` prints and a review stores for a step."""

    schema_version: int = SCHEMA_VERSION
    jobs: JobFile
    plan: RunPlan
    result: RunResult
    targets: tuple[TargetFacts, ...]
    device_stats: tuple[DeviceStat, ...]
    ceiling: Ceiling | None
    warnings: tuple[Warning, ...]
    started_at: str
    """UTC, ISO 8601."""
    told: tuple[ToldLatency, ...] = ()
    """Of a run of another program: latencies of rows that have no histogram of them."""


class LedgerEntry(Model):
    """What one run wrote to one target, or that it was purged: a line of the target's ledger."""

    what: Literal["run", "purge"]
    at: str
    """When it began, UTC, ISO 8601."""
    source: str = ""
    """The job file: its path, or the step of a review."""
    capacity_bytes: Positive
    """Size of the whole device or file."""
    written_bytes: NonNegative = 0
    random_bytes: NonNegative = 0
    """Of these, by jobs whose offsets are drawn at random."""
    block_bytes: NonNegative = 0
    """Mean size of a write; 0: there was none."""


class TargetState(Model):
    """What iogauge did to a target before a review began, by its ledger. What others did is unknown."""

    known_since: str
    """The ledger's first entry, UTC, ISO 8601."""
    purged_at: str | None
    """The last purge of all of it; None: there is none in the ledger."""
    written_bytes: NonNegative
    """Since that purge or, without one, since it is known."""
    random_bytes: NonNegative
    last: LedgerEntry | None
    """What wrote to it last; None: nothing did since then."""


class Trace(Model):
    """What whoever writes to a target leaves behind: two of them tell whether anything did in between."""

    boot: str | None = None
    """Of the machine; the device's counters begin anew with each."""
    written_bytes: NonNegative | None = None
    """By the kernel's counter of a block device; None: it has none, or is none."""
    trims: NonNegative | None = None
    """Requests, by the same counters."""
    modified_ns: NonNegative | None = None
    """When a file was last written to, since 1970; None: it is none."""
    entries: NonNegative = 0
    """In its ledger."""
    entered_bytes: NonNegative = 0
    """Written, by its ledger."""


# --- Reviews -----------------------------------------------------------------------------------------------


class Axis(Model):
    """What a suite's steps vary."""

    name: str
    unit: str


class StepPlan(Model):
    """One run at one position on a suite's axis."""

    id: str
    """Unique in the review, usable as a file name."""
    series: str = ""
    """What this step has in common with others along the axis, in words; empty where all do."""
    label: str = ""
    """What this step is called where its place on the axis does not say it; empty: the place does."""
    at: float
    job_file: str
    """The step as a fio job file, complete: what runs and what the report shows."""
    seed: NonNegative
    state_group: str
    """Steps whose drive state depends on earlier ones share a group; each alone otherwise."""
    repeat: NonNegative = 0
    """Which of the review's repeats it belongs to, from 0."""
    purge: bool = False
    """Whether all that its targets hold is given back to them first."""
    interval_ns: Positive = 10**9
    """How long each of its run's intervals is, where its jobs' log_avg_msec do not say."""
    longer: Positive = 1
    """How many times as long as its suite planned it, so that its sample supports a quantile that was asked for."""
    short: str = ""
    """Why it does not support that quantile, known once it was run; empty: it does, or none was asked for."""
    follows: bool = False
    """Whether it was planned after others were measured, and because of what they showed."""
    is_round: bool = False
    """Whether it is one of the rounds that go on until they are steady."""
    judged: bool = True
    """False where it only brings the drive into a state: its figures are no finding."""
    direction: Direction | None = None
    """Of the judged job's requests, only these count; None: all that its pattern issues."""


class SuitePlan(Model):
    """A suite's steps on its targets in the order in which they run, and what is to be judged from them."""

    key: str
    """Unique in the review; the ids of its steps begin with it."""
    suite: str
    title: str
    source: str
    targets: tuple[str, ...]
    """Paths of what its steps run on, as the review has them."""
    beside: tuple[str, ...] = ()
    """Paths of what some steps run on instead, to compare the targets with."""
    axis: Axis
    reader: str
    """Name of the job whose latency is judged."""
    judged: str = "read"
    """What one of its requests is called."""
    kind: Kind = Kind.LAT
    """Which latency of it is judged."""
    pressure: str | None
    """Name of the jobs that press."""
    steps: tuple[StepPlan, ...]
    """Empty until ``search`` has been run, where there is one."""
    search: StepPlan | None = None
    """A short run, saved beside the steps, whose result their positions on the axis were chosen from."""
    size_bytes: NonNegative | None = None
    """How much of the target is used; None: all of it."""
    runtime_ns: NonNegative = 0
    """Measured part of each step."""
    ramp_ns: NonNegative = 0
    """What comes before it in each step, not measured."""
    prepares: bool = False
    """Whether it brings its targets into the state in which the others measure them: it runs before these."""
    notes: tuple[str, ...] = ()


Pace = Literal["quick", "standard", "full"]
"""How long the steps of a suite take: seconds, half of what was published, or as it was."""
State = Literal["as-is", "fresh", "preconditioned"]
"""What is done to a drive before it is measured: nothing, a purge, or a purge and a preconditioning."""


class Manifest(Model):
    """What a saved review says of itself."""

    schema_version: int = SCHEMA_VERSION
    """The version that it was written in; it is read as ``SCHEMA_VERSION``."""
    id: str
    created_at: str
    command: tuple[str, ...]
    seed: NonNegative
    pace: Pace
    repeats: Positive = 1
    """How often every suite is conducted on its targets."""
    state: State = "as-is"
    until_supported: Quantile | None = None
    """The quantile that steps are made longer for."""
    plans: tuple[SuitePlan, ...]
    """One for each suite and target, in the order in which they were asked for."""
    targets: tuple[TargetFacts, ...]
    found: dict[str, TargetState] = {}
    """In which state each target was when the review began, by its path; those of which nothing is known are left out.
    """
    left: dict[str, Trace] = {}
    """How each target was left when the review last did something to it, by its path, where that can be known again."""
    under_way: str | None = None
    """The step that runs now on such targets: where a saved review has one it was killed, and ``left`` is older."""
    machine: MachineFacts
    ceiling: Ceiling | None
    versions: dict[str, str]
    warnings: tuple[Warning, ...] = ()

    def target(self, path: str) -> TargetFacts:
        """Return what is known of one of the targets. Raises KeyError: it is not of this review."""
        return {target.path: target for target in self.targets}[path]

    @property
    def measured_by(self) -> str | None:
        """The other program that runs its steps, or ran them; None: iogauge does."""
        return next((program for program in ("fio", "diskspd") if program in self.versions), None)

    def completed_by(self, path: str) -> str:
        """Return the command that goes on with a review which is saved at ``path``."""
        return (
            f"iogauge import DIRECTORY --output {path}"
            if self.measured_by
            else f"iogauge review --resume {path}"
        )

    @property
    def steps(self) -> tuple[StepPlan, ...]:
        """The steps of all plans, plan by plan: not the order in which they run."""
        return tuple(step for plan in self.plans for step in plan.steps)
