"""Jobs: the user's request, in fio's terms."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from iogauge.schema.base import Direction, Model, NonNegative, Percent, PerDirection, Positive


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
    NULL = "null"

    @property
    def has_ring(self) -> bool:
        """Whether requests go through an io_uring."""
        return self in (EngineKind.IO_URING, EngineKind.IO_URING_CMD)


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

    Defaults are those of fio's code. ``None`` means that the user did not set the option: its documented default
    applies.
    """

    name: str
    description: str = ""
    filenames: tuple[str, ...] = ()
    """Complete paths, ``directory`` included. Empty: see ``workload.paths``."""
    directory: str = ""
    """Directory of the job's files; empty if ``filenames`` names them."""
    nrfiles: Positive = 1
    """Number of files, if ``filenames`` does not name them."""
    filename_format: str = ""
    """Name of these files, with the keywords of fio; empty: ``$jobname.$jobnum.$filenum``."""
    filesize: Positive | None = None
    """Bytes of each file. ``size`` is then the number of bytes that the job moves."""
    file_service_type: Literal["roundrobin", "random", "sequential"] = "roundrobin"
    file_service_run: Positive = 1
    """I/Os in a row to one file: the ``:n`` of file_service_type."""
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
    buffer_pattern: str = ""
    """The bytes that writes repeat, in hexadecimal; empty: random bytes."""
    nice: Annotated[int, Field(ge=-20, le=19)] = 0
    prio: Annotated[int, Field(ge=0, le=7)] | None = None
    prioclass: Annotated[int, Field(ge=0, le=3)] | None = None
    cpus_allowed: tuple[NonNegative, ...] = ()
    cpus_allowed_policy: Literal["shared", "split"] = "shared"
    rate_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_iops: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_min_Bps: PerDirection[NonNegative] = PerDirection[int].same(0)
    rate_process: Literal["linear", "poisson"] = "linear"
    thinktime_ns: NonNegative = 0
    thinktime_spin_ns: NonNegative = 0
    thinktime_blocks: Positive | None = None
    """None: 1, unless there is a ``thinktime_iotime_ns``."""
    thinktime_blocks_type: Literal["complete", "issue"] = "complete"
    thinktime_iotime_ns: NonNegative = 0
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
    write_lat_log: str | None = None
    write_iops_log: str | None = None
    write_hist_log: str | None = None
    per_job_logs: bool = True
    log_avg_ns: NonNegative = 0
    log_hist_ns: NonNegative = 0
    direct: bool = False
    invalidate: bool = True
    """Drop the target's cached pages before the stage begins, as fio does by default."""
    pre_read: bool = False
    """Read the region into the page cache instead."""
    sync: SyncMode = SyncMode.NONE
    fsync: NonNegative = 0
    """An fsync after this many writes; 0: none."""
    fdatasync: NonNegative = 0
    end_fsync: bool = False
    fsync_on_close: bool = False
    ioengine: EngineKind = EngineKind.PSYNC
    hipri: bool = False
    fixedbufs: bool = False
    registerfiles: bool = False
    sqthread_poll: bool = False
    sqthread_poll_cpu: NonNegative | None = None
    continue_on_error: ContinueOnError = ContinueOnError.NONE


class JobFile(Model):
    """The jobs of one job file, in order, and their source.

    ``options`` keeps for every job the option lines as the user wrote them ([global] included, in effect order),
    so that json+ and the report can show the job as fio would read it.
    """

    jobs: tuple[Job, ...]
    source: str
    options: tuple[dict[str, str], ...]
    global_options: dict[str, str] = Field(default_factory=dict)
