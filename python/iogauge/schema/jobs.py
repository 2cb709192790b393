"""Jobs: the user's request, in fio's terms."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, field_validator

from iogauge.schema.base import (
    Direction,
    Model,
    NonNegative,
    Percent,
    PerDirection,
    Positive,
    RangeSync,
    Steadiness,
)
from iogauge.schema.checksums import Checksum
from iogauge.schema.distributions import Distribution, FileDistribution, UniformDistribution

_MOST_FILES = 1 << 16
"""Files of a job: the log numbers them in 16 bits. Options accept fewer."""


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
        """Whether it changes the target's content: any write or trim."""
        return self.directions != {Direction.READ}


class EngineKind(StrEnum):
    """fio's ``ioengine``, as far as supported. ``sync`` is read as psync; ``pvsync`` is not: use pvsync2."""

    IO_URING = "io_uring"
    IO_URING_CMD = "io_uring_cmd"
    """NVMe commands to a namespace's character device, past the block layer."""
    LIBAIO = "libaio"
    PVSYNC2 = "pvsync2"
    PSYNC = "psync"
    MMAP = "mmap"
    """Copies from and to a mapping of the file."""
    POSIXAIO = "posixaio"
    """The C library's threads."""
    NULL = "null"

    @property
    def has_ring(self) -> bool:
        """Whether requests go through an io_uring."""
        return self in (EngineKind.IO_URING, EngineKind.IO_URING_CMD)

    @property
    def is_synchronous(self) -> bool:
        """Whether a submission is the whole request, so that only one is in flight."""
        return self in (EngineKind.PSYNC, EngineKind.PVSYNC2, EngineKind.MMAP)


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
        """Return the amount in bytes, of a total of ``whole_bytes``.

        >>> Amount(percent=25).of(4096)
        1024
        """
        if self.percent is None:
            return self.size_bytes
        return int(whole_bytes * self.percent / 100)


class ContinueOnError(StrEnum):
    """fio's ``continue_on_error``: which failing directions do not end the job."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    IO = "io"
    VERIFY = "verify"
    ALL = "all"


class NumaPolicy(Model):
    """``numa_mem_policy``: how the kernel chooses the node of a worker's memory, and among which nodes."""

    mode: Literal["default", "local", "prefer", "bind", "interleave"]
    nodes: tuple[NonNegative, ...] = ()


class Pacing(StrEnum):
    """When the requests of a trace are issued: iogauge's ``replay_pacing``."""

    TIMED = "timed"
    """At the instants of the trace, whatever the target does."""
    CLOSED = "closed"
    """As soon as the depth allows: fio's replay_no_stall."""
    THINK = "think"
    """Once those have completed that had completed before it in the trace, and as long after them as in the trace."""
    DEPENDENT = "dependent"
    """As soon as those have completed."""


class Addresses(StrEnum):
    """What happens to requests beyond the end of the target: iogauge's ``replay_addresses``."""

    KEEP = "keep"
    """They are an error."""
    FOLD = "fold"
    """Their addresses begin anew at the start of the target."""
    FIT = "fit"
    """All addresses are scaled, so that the trace covers the target."""


class PriorityShare(Model):
    """The share of the I/Os of one block size that have a priority of their own."""

    size_bytes: Positive
    percent: Annotated[int, Field(ge=1, le=100)]
    prioclass: Annotated[int, Field(ge=0, le=3)] | None = None
    """None: that of cmdprio_class, and the level of cmdprio."""
    prio: Annotated[int, Field(ge=0, le=7)] | None = None


class Job(Model):
    """One section of a job file, after [global] and defaults: fio's option names, units made explicit.

    Defaults are those of fio's code. ``None`` means that the user did not set the option: its documented default
    applies.
    """

    name: str
    description: str = ""
    filenames: Annotated[tuple[str, ...], Field(max_length=_MOST_FILES)] = ()
    """Complete paths, ``directory`` included. Empty: see ``workload.paths``."""
    directory: tuple[str, ...] = ()
    """Directories of the files, one for each clone in turn; empty if ``filenames`` names them."""
    nrfiles: Annotated[int, Field(ge=1, le=_MOST_FILES)] = 1
    """Number of files, if ``filenames`` does not name them."""
    filename_format: str = ""
    """Name of these files, with the keywords of fio; empty: ``$jobname.$jobnum.$filenum``."""
    filesize: Positive | None = None
    """Bytes of each file. ``size`` is then the number of bytes that the job moves."""
    filesize_most: Positive | None = None
    """The upper end of a range of sizes, whose lower end is ``filesize``."""
    file_service_type: Literal["roundrobin", "random", "sequential"] = "roundrobin"
    file_service_run: Positive = 1
    """I/Os in a row to one file: the ``:n`` of file_service_type."""
    file_service_distribution: FileDistribution = UniformDistribution()
    """How likely each file is, if ``file_service_type`` is random: the ``zipf`` of file_service_type."""
    openfiles: NonNegative = 0
    """Files that are open at the same time; 0: all."""
    fadvise_hint: Literal["0", "1", "random", "sequential"] = "1"
    """What the kernel is told about the order of I/Os: nothing, the order that they have, or this one."""
    create_only: bool = False
    unlink: bool = False
    unlink_each_loop: bool = False
    rw: Rw = Rw.READ
    rw_sequence: int = 0
    """The ``:n`` of rw. Random: I/Os in sequence from a drawn offset (0: one). Sequential: bytes skipped after it."""
    bs: PerDirection[BlockSize] = PerDirection[BlockSize].same(
        BlockSize(minimum_bytes=4096, maximum_bytes=4096)
    )
    ba: PerDirection[NonNegative] = PerDirection[int].same(0)
    """Alignment of random offsets in bytes; 0 means the direction's smallest block size."""
    iodepth: Positive = 1
    iodepth_batch: NonNegative | None = None
    """None: 1, as in fio. 0 means the iodepth, as in fio."""
    iodepth_batch_complete_min: NonNegative | None = None
    iodepth_batch_complete_max: NonNegative | None = None
    iodepth_low: Positive | None = None
    """Refill the queue only once it has drained to this; None means iodepth."""
    numjobs: Positive = 1
    thread: bool = False
    size: Amount | None = None
    io_size: Amount | None = None
    offset: Amount = Amount()
    offset_increment: Amount = Amount()
    zonemode: Literal["none", "strided"] = "none"
    zonesize: NonNegative = 0
    zonerange: NonNegative = 0
    """0: zonesize."""
    zoneskip: NonNegative = 0
    runtime_ns: NonNegative = 0
    """0: no limit."""
    time_based: bool = False
    ramp_time_ns: NonNegative = 0
    steadystate: Steadiness | None = None
    steadystate_duration_ns: NonNegative = 0
    """0: the job does not end by it."""
    steadystate_ramp_ns: NonNegative = 0
    steadystate_interval_ns: Positive = 10**9
    latency_target_ns: NonNegative = 0
    """The latency that the depth is chosen to keep; 0: iodepth is the depth."""
    latency_window_ns: NonNegative = 0
    latency_percentile: Percent = 100
    latency_run: bool = False
    max_latency_ns: PerDirection[NonNegative] = PerDirection[int].same(0)
    """The longest that a request may take; 0: no limit."""
    startdelay_ns: tuple[NonNegative, NonNegative] = (0, 0)
    """A range; equal ends give a fixed delay."""
    loops: Positive = 1
    number_ios: NonNegative = 0
    """0: no limit."""
    stonewall: bool = False
    group_reporting: bool = False
    new_group: bool = False
    exec_prerun: str = ""
    """Command of a shell before the run; empty: none."""
    exec_postrun: str = ""
    wait_for: str = ""
    """Name of the job that ends before this one begins."""
    exitall: bool = False
    exitall_on_error: bool = False
    exit_what: Literal["group", "stonewall", "all"] = "group"
    """Which jobs exitall and exitall_on_error end."""
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
    buffer_pattern: str = ""
    """The bytes that writes repeat, in hexadecimal; empty: random bytes."""
    verify: Checksum | None = None
    """How data is verified; None: it is not."""
    do_verify: bool = True
    """Whether a job that writes reads back what it wrote."""
    verify_only: bool = False
    """Write nothing, and read back what would have been written."""
    verify_interval: NonNegative = 0
    """Bytes between two headers; 0: as the block sizes need."""
    verify_offset: NonNegative = 0
    """Bytes by which a header is moved into its interval."""
    verify_pattern: str = ""
    """The bytes that are written, in hexadecimal; empty: random bytes."""
    verify_pattern_offsets: tuple[NonNegative, ...] = ()
    """Where in the pattern the offset of the I/O is inserted: eight bytes, %o."""
    verify_pattern_interval: NonNegative = 0
    """Bytes of an I/O after which the pattern begins anew; 0: it does not."""
    verify_fatal: bool = False
    verify_dump: bool = False
    verify_async: NonNegative = 0
    """Threads of each clone that check what was read; 0: the clone checks it itself."""
    verify_async_cpus: tuple[NonNegative, ...] = ()
    verify_backlog: NonNegative = 0
    """Writes after which some are read back; 0: only at the end."""
    verify_backlog_batch: NonNegative = 0
    """How many are then read back; 0: ``verify_backlog``."""
    trim_percentage: Annotated[int, Field(ge=0, le=100)] = 0
    """How many of 100 verified writes are trimmed, in the mean."""
    trim_verify_zero: bool = True
    """Whether these are read back, and must be zeroes."""
    trim_backlog: NonNegative = 0
    """Writes after which some are trimmed."""
    trim_backlog_batch: NonNegative = 0
    """How many are then trimmed; 0: ``trim_backlog``."""
    verify_state_save: bool = False
    """Save how far the writes came."""
    verify_state_load: bool = False
    """Verify no more than the saved state says was written."""
    verify_write_sequence: bool = True
    """Whether headers must have the number of the last write."""
    stamp_log: str = ""
    """The file of the stamp log, with ``verify=stamp``."""
    nice: Annotated[int, Field(ge=-20, le=19)] = 0
    prio: Annotated[int, Field(ge=0, le=7)] | None = None
    prioclass: Annotated[int, Field(ge=0, le=3)] | None = None
    cmdprio_percentage: tuple[int, int] = (0, 0)
    """Shares of the reads and of the writes that have a priority of their own."""
    cmdprio_class: tuple[int, int] = (1, 1)
    cmdprio: tuple[int, int] = (0, 0)
    cmdprio_bssplit: tuple[tuple[PriorityShare, ...], tuple[PriorityShare, ...]] = ((), ())
    """The same by block size, for reads and for writes."""
    mem: Literal["malloc", "mmap", "mmapshared", "shm", "mmaphuge", "shmhuge"] = "malloc"
    hugepage_bytes: Positive = 2 << 20
    lockmem_bytes: NonNegative = 0
    numa_cpu_nodes: tuple[NonNegative, ...] = ()
    numa_mem_policy: NumaPolicy | None = None
    cpus_allowed: tuple[NonNegative, ...] = ()
    cpus_allowed_policy: Literal["shared", "split"] = "shared"
    rate_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_iops: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_min_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_iops_min: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_process: Literal["linear", "poisson"] = "linear"
    thinktime_ns: NonNegative = 0
    thinktime_spin_ns: NonNegative = 0
    thinktime_blocks: Positive | None = None
    """None: 1, unless there is a ``thinktime_iotime_ns``."""
    thinktime_blocks_type: Literal["complete", "issue"] = "complete"
    thinktime_iotime_ns: NonNegative = 0
    flow: Annotated[int, Field(ge=0, le=1000)] = 0
    """Its weight among the jobs of its flow_id; 0: none."""
    flow_id: NonNegative = 0
    flow_sleep_us: NonNegative = 0
    percentile_list: tuple[Percent, ...] = (
        1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99,
    )  # fmt: skip
    clat_percentiles: bool = True
    slat_percentiles: bool = False
    lat_percentiles: bool = False
    disable_lat: bool = False
    disable_clat: bool = False
    disable_slat: bool = False
    disable_bw_measurement: bool = False
    unified_rw_reporting: Literal["none", "mixed", "both"] = "none"
    write_bw_log: str | None = None
    """Prefix of the log's file name; an empty string stands for the job's name. None: no log."""
    write_iolog: str | None = None
    write_lat_log: str | None = None
    write_iops_log: str | None = None
    write_hist_log: str | None = None
    per_job_logs: bool = True
    log_avg_ns: NonNegative = 0
    log_hist_ns: NonNegative = 0
    log_hist_coarseness: Annotated[int, Field(ge=0, le=6)] = 0
    """Each step halves the bins of a histogram log."""
    log_window_value: Literal["avg", "max", "both"] = "avg"
    log_offset: bool = False
    log_prio: bool = False
    direct: bool = False
    invalidate: bool = True
    """Drop the target's cached pages before the stage begins, as fio does by default."""
    pre_read: bool = False
    """Read the region into the page cache instead."""
    atomic: bool = False
    sync: SyncMode = SyncMode.NONE
    fsync: NonNegative = 0
    """An fsync after this many writes; 0: none."""
    fdatasync: NonNegative = 0
    sync_file_range: RangeSync | None = None
    """Syncs of what was written since the last; None: none."""
    end_fsync: bool = False
    fsync_on_close: bool = False
    ioengine: EngineKind = EngineKind.PSYNC
    hipri: bool = False
    fixedbufs: bool = False
    registerfiles: bool = False
    sqthread_poll: bool = False
    sqthread_poll_cpu: NonNegative | None = None
    uncached: bool = False
    nowait: bool = False
    continue_on_error: ContinueOnError = ContinueOnError.NONE
    ignore_error: tuple[tuple[Positive, ...], tuple[Positive, ...]] = ((), ())
    """The errors of reads and those of writes that count as errors of the medium; empty: EIO and EILSEQ."""
    read_iolog: str = ""
    """The trace that the job replays instead of a pattern; empty: none."""
    read_iolog_chunked: bool = False
    replay_no_stall: bool = False
    replay_redirect: tuple[str, ...] = ()
    """What the devices of the trace become, in turns; empty: themselves."""
    replay_scale: Positive = 1
    """Offsets are divided by this."""
    replay_align: NonNegative = 0
    """Offsets are rounded down to a multiple of this power of two; 0: as they are."""
    replay_time_scale: Positive = 100
    """How fast time passes, in percent: at 200 the trace takes half of its time."""
    replay_skip: tuple[Direction, ...] = ()
    replay_pacing: Pacing = Pacing.TIMED
    replay_addresses: Addresses = Addresses.KEEP

    @field_validator("directory", mode="before")
    @classmethod
    def _directories(cls, value: object) -> object:
        """Accept the one directory of older results."""
        return ((value,) if value else ()) if isinstance(value, str) else value

    @property
    def reads_back(self) -> bool:
        """Whether it writes and then reads back what it wrote, or what it would have written."""
        verifies = self.verify is not None and not self.stamps
        return verifies and self.do_verify and Direction.WRITE in self.rw.directions

    @property
    def stamps(self) -> bool:
        """Whether its writes carry stamps."""
        return self.verify is Checksum.STAMP

    @property
    def saves_state(self) -> bool:
        """Whether it saves how far its writes came: a job that writes blocks to be verified, and asks for it."""
        writes = Direction.WRITE in self.rw.directions and not self.verify_only
        return self.verify_state_save and self.verify is not None and writes

    @property
    def trims_written(self) -> bool:
        """Whether it trims some of what it writes before it reads that back."""
        return self.reads_back and self.trim_percentage > 0

    @property
    def changes_targets(self) -> bool:
        """Whether it changes what its targets hold."""
        return self.rw.writes and not self.verify_only

    @property
    def directions(self) -> frozenset[Direction]:
        """The directions that it issues."""
        reads = {Direction.READ} if self.reads_back else set()
        trims = {Direction.TRIM} if self.trims_written else set()
        return self.rw.directions | reads | trims


class JobFile(Model):
    """The jobs of one job file, in order, and their source.

    ``options`` keeps for every job the option lines as the user wrote them ([global] included, in effect order),
    so that json+ and the report can show the job as fio would read it.
    """

    jobs: tuple[Job, ...]
    source: str
    options: tuple[dict[str, str], ...]
    global_options: dict[str, str] = Field(default_factory=dict)
