"""Facts about machine, target and drive, the warnings that follow from them, and the record of one run."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from iogauge.schema.base import SCHEMA_VERSION, Direction, Model, NonNegative, Positive
from iogauge.schema.jobs import JobFile
from iogauge.schema.plans import RunPlan
from iogauge.schema.results import Kind, RunResult


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


BegunAs = Literal["fresh", "filled", "preconditioned"]
"""What was written to flash: nothing since a purge; all of it in order; and then at random until the rate is steady."""
State = Literal["as-is", BegunAs]
"""What is done to a drive before it is measured: nothing, or what it takes to bring it into one of these states."""


class ModelFacts(Model):
    """What a modelled target is made of. The seed is the plan's."""

    drive: str
    drive_version: NonNegative
    machine: str
    machine_version: NonNegative
    machine_title: str
    sha256: str
    """Of the parameters of both."""
    begun_as: BegunAs | None = None
    """The state in which its runs begin; None: its media have none, or an older iogauge did not say."""


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
    quantiles_ns: dict[float, float] = Field(default_factory=dict)
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
