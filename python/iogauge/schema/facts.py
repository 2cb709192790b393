"""Facts about machine, target and drive; warnings about a run; the record of a run."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from iogauge.schema.audit import Audit, AuditChange, DriveInterrupts
from iogauge.schema.base import SCHEMA_VERSION, Direction, Model, NonNegative, Positive
from iogauge.schema.explained import ExplainedRun
from iogauge.schema.jobs import JobFile
from iogauge.schema.plans import RunPlan
from iogauge.schema.results import Kind, RunResult
from iogauge.schema.samples import DriveSamples
from iogauge.schema.split import LatencySplit, LatencyTrace


class Ceiling(Model):
    """The generator's ceiling on these CPUs, measured on the null engine before a run."""

    iops: float
    """One worker, 4k randread, iodepth 32, null engine."""
    shallow_iops: float = 0
    """The same at iodepth 1; 0: an older version did not measure it."""
    lat_mean_ns: float
    """Mean lat on the null engine at iodepth 1: the latency that iogauge adds to every request."""
    clock_source: str
    clock_read_ns: float
    sleep_slack_ns: float
    """How late the timer wakes a thread, 99th percentile: a worker spins for this part of a wait."""


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
    MISMATCH = "mismatch"
    STALLED = "stalled"
    LOG_DROPPED = "log_dropped"
    SEARCH_UNFINISHED = "search_unfinished"
    RATE_MISSED = "rate_missed"
    INTERVALS_MERGED = "intervals_merged"
    ENGINE_FALLBACK = "engine_fallback"
    UNSTEADY = "unsteady"
    WRITTEN_MEANWHILE = "written_meanwhile"
    UNSUPPORTED = "unsupported"
    THERMAL_THROTTLING = "thermal_throttling"


class Notice(Model):
    """A limit on the meaning of a result, and its remedy."""

    code: Code
    message: str
    hint: str


BegunAs = Literal["fresh", "filled", "preconditioned"]
"""State of flash: purged; then written once in order; then written at random until the rate is steady."""
State = Literal["as-is", BegunAs]
"""Preconditioning of a drive before it is measured: none, or into one of these states."""


PurgeBy = Literal["discard", "format", "sanitize"]
"""How a target is purged: by a discard, or by an NVMe drive's own Format NVM or Sanitize."""


class ModelFacts(Model):
    """The models behind a modelled target. The seed is in the plan."""

    drive: str
    drive_version: NonNegative
    machine: str
    machine_version: NonNegative
    machine_title: str
    sha256: str
    """Checksum of the parameters of both."""
    begun_as: BegunAs | None = None
    """The state in which its runs begin; None: its media have no states, or an older iogauge wrote this."""


class IdleState(Model):
    """A state that a drive, its link or the CPUs may enter when idle, as it is declared. Unknown facts are None."""

    part: Literal["drive", "link", "CPU"]
    name: str
    """Such as ``power state 4``."""
    operational: bool = False
    """Whether requests are served in it."""
    enabled: bool | None = None
    """Whether it is entered without a command."""
    after_ns: NonNegative | None = None
    """Idle time after which it is entered."""
    entry_ns: NonNegative | None = None
    """Time to enter it, at most."""
    exit_ns: NonNegative | None = None
    """Time to leave it, at most."""
    power_W: float | None = None
    """Power of the drive in it."""


class TargetFacts(Model):
    """Facts about a target. Unknown facts are None, never a guess."""

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
    polls: bool | None = None
    """Whether its driver polls for the requests that ask for it."""
    link_Bps: Positive | None = None
    """Bandwidth of the drive's link, bytes a second; for a file, of the drive below it."""
    modelled: ModelFacts | None = None
    """None: the target is real."""


class DeviceStat(Model):
    """``/sys/block/DEV/stat`` over a run, as differences. Times cover the block layer and the device."""

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
    """Evidence that the machine is virtual; None: there is none."""
    clocksource: str | None = None
    governor: str | None = None
    limits: tuple[str, ...] = ()
    """Limits of cgroups on this process: CPU time, I/O."""
    python: str = ""
    iogauge: str = ""
    git: str | None = None


class ReportedLatency(Model):
    """A latency that another program reported as figures, without a histogram."""

    stage: NonNegative
    row: NonNegative
    direction: Direction | None
    """None: all requests of the row as one sample."""
    kind: Kind
    count: NonNegative
    """Samples."""
    mean_ns: float | None = None
    max_ns: float | None = None
    quantiles_ns: dict[float, float] = Field(default_factory=dict)
    """By fraction, in (0, 1)."""


class PowerTrace(Model):
    """Readings of power from one source during a run."""

    source: str
    of: Literal["target", "host"]
    """Whose power it is: ``host`` is the whole computer, or its processors."""
    at_ns: tuple[NonNegative, ...]
    """When each was read, from the start of the run."""
    power_W: tuple[float, ...]
    """Mean power since the reading before, or the power at that instant."""


class PowerRecord(Model):
    """The power of a run, as far as anything measured it."""

    traces: tuple[PowerTrace, ...] = ()
    state: str | None = None
    """The drive's power state at the end of the measured part, by its own account; None: unknown."""
    problems: tuple[str, ...] = ()
    """Why sources gave nothing, or not all: a clause each."""


class RunRecord(Model):
    """A run with everything that is needed to judge it, as ``iogauge run`` prints it and a review stores it."""

    schema_version: int = SCHEMA_VERSION
    jobs: JobFile
    plan: RunPlan
    result: RunResult
    targets: tuple[TargetFacts, ...]
    device_stats: tuple[DeviceStat, ...]
    ceiling: Ceiling | None
    warnings: tuple[Notice, ...]
    started_at: str
    """UTC, ISO 8601."""
    drive_samples: tuple[DriveSamples, ...] = ()
    """What the drives said of themselves, one for each drive that says something."""
    reported: tuple[ReportedLatency, ...] = ()
    """Latencies without a histogram, in a run of another program."""
    audits: tuple[Audit, ...] = ()
    """The settings before the run: the machine's, then those of each drive. Empty in a review, which stores them once,
    and for drive models."""
    audit_changes: tuple[AuditChange, ...] = ()
    """In a review: the settings that changed since it began."""
    interrupts: tuple[DriveInterrupts, ...] = ()
    """The interrupts of each drive that has any."""
    latency_splits: tuple[LatencySplit, ...] = ()
    """Where the mean lat went, by device and direction; empty for drive models and in runs of other programs."""
    latency_traces: tuple[LatencyTrace, ...] = ()
    """By device; empty: nothing was traced."""
    power: PowerRecord | None = None
    """None: power was not to be measured."""
    explained: ExplainedRun | None = None
    """Where the time of its requests went; None: real targets, or it was not to be explained."""


class LedgerEntry(Model):
    """A line of a target's ledger: what a run wrote to it, or that it was purged."""

    what: Literal["run", "purge"]
    purged_by: PurgeBy | None = None
    """How; None: it is a run, or the discard of an older iogauge."""
    at: str
    """When it began, UTC, ISO 8601."""
    source: str = ""
    """The job file: its path, or the step of a review."""
    capacity_bytes: Positive
    """Size of the device or file."""
    written_bytes: NonNegative = 0
    random_bytes: NonNegative = 0
    """The part of them that jobs with random offsets wrote."""
    block_bytes: NonNegative = 0
    """Mean size of a write; 0: there was none."""


class TargetState(Model):
    """What iogauge wrote to a target before a review began, by its ledger. Other writes are unknown."""

    known_since: str
    """The ledger's first entry, UTC, ISO 8601."""
    purged_at: str | None
    """The last purge of the target; None: the ledger has none."""
    purged_by: PurgeBy = "discard"
    """How it was purged then."""
    written_bytes: NonNegative
    """Since that purge or, without one, since the ledger's first entry."""
    random_bytes: NonNegative
    last: LedgerEntry | None
    """The last entry that wrote since then; None: there is none."""


class WriteFingerprint(Model):
    """Counters that every write to a target changes: two of them show whether anything wrote in between."""

    boot: str | None = None
    """Id of the machine's boot: counters of a device restart with it."""
    written_bytes: NonNegative | None = None
    """By the kernel's counter of a block device; None: there is no such counter."""
    trims: NonNegative | None = None
    """Requests, by the same counters."""
    modified_ns: NonNegative | None = None
    """Time of the last write to a file, since 1970; None: the target is no file."""
    entries: NonNegative = 0
    """Entries in its ledger."""
    entered_bytes: NonNegative = 0
    """Bytes written, by its ledger."""
