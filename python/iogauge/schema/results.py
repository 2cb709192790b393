"""Results of the Rust core. Their Rust twin is crates/core/src/results.rs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import Field

from iogauge.schema.base import Direction, Encoded, Model, NonNegative, Positive
from iogauge.schema.plans import VerifyState


class Kind(StrEnum):
    """The latencies of docs/latency.md's table, in its order; ``loop_gap`` belongs to no direction."""

    LAT = "lat"
    CLAT = "clat"
    SLAT = "slat"
    RESPONSE = "response"
    QUEUED = "queued"
    LATENESS = "lateness"
    LOOP_GAP = "loop_gap"


class Exact(Model):
    """Exact figures of a latency beside its buckets, nanoseconds."""

    count: NonNegative
    sum_ns: NonNegative
    min_ns: NonNegative
    max_ns: NonNegative


class Tally(Model):
    """The requests of one direction of one row, over an interval or a run.

    ``histograms`` holds HdrHistogram's V2 encodings of values in nanoseconds, compressed in reviews before version 6
    (``schema/hdr_histogram.py`` reads both). A missing kind follows from the others: response equals lat, queued and
    lateness are zero, slat is unknown (SQPOLL). A sync's response counts from the intended instant of the first write
    that it makes durable.
    """

    ios: NonNegative = 0
    """Completed without error."""
    bytes: NonNegative = 0
    errors: dict[int, int] = Field(default_factory=dict)
    """Count by errno."""
    short: NonNegative = 0
    """Completed with fewer bytes than requested."""
    flagged: NonNegative = 0
    """Completed after a loop gap of over 1 ms and a tenth of their latency: the thread may have caused the latency."""
    late: NonNegative = 0
    """Scheduled requests that started over 1 ms after they were ready."""
    histograms: dict[Kind, Encoded] = Field(default_factory=dict)
    exact: dict[Kind, Exact] = Field(default_factory=dict)
    """Exact figures beside every histogram."""


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
    """Both times since the start of the stage."""
    ramp: bool
    tallies: dict[Direction, Tally]
    loop_gap: Encoded | None = None


class InFlight(Model):
    """A request that was in flight when the run gave up: a censored latency of at least ``age_ns``."""

    worker: NonNegative
    direction: Direction
    path: str
    offset_bytes: NonNegative
    length_bytes: NonNegative
    age_ns: NonNegative


class Mismatch(Model):
    """A block that does not hold what was written."""

    path: str
    offset_bytes: NonNegative
    length_bytes: NonNegative
    """The block: the part of the request that has one header."""
    request_offset_bytes: NonNegative
    request_length_bytes: NonNegative
    field: str
    """What differs: a field of the header, the checksum, or the pattern."""
    expected: str
    actual: str
    received: Encoded | None = None
    """What was read, if the job dumps it (verify_dump)."""
    written: Encoded | None = None
    """What should have been read; None too if the header, which says so, is damaged."""


class VerifyResult(Model):
    """What the verification of a worker's data found."""

    requests: NonNegative = 0
    """Reads that were checked."""
    failed: NonNegative = 0
    """Those that read something else than was written."""
    unread: NonNegative = 0
    """Writes that it had still to read back when it ended."""
    mismatches: tuple[Mismatch, ...] = ()
    """The first of them, block by block."""
    reading_ns: NonNegative = 0
    """How long it did nothing but read back."""
    state: VerifyState | None = None
    """How far its writes came, if the job saves that (verify_state_save)."""


class LatencyTargetResult(Model):
    """What became of a worker's search for its depth."""

    depth: Positive
    """The last depth."""
    outcome: Literal["searching", "adjusting", "kept", "missed"]
    """The job ended during the search, and nothing was measured; the search was to go on to the end; enough of what was
    measured kept the latency; too little did, or depth 1 misses it, too."""


class WorkerResult(Model):
    """The CPU time of a worker's thread, and how busy the worker was."""

    name: str
    row: NonNegative
    stage: NonNegative
    cpus: tuple[int, ...]
    """CPUs on which the thread was seen."""
    pinned: bool
    start_ns: NonNegative
    end_ns: NonNegative
    """Measured time, since the start of the stage, without the ramp."""
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
    """Submissions by their number of requests: entry n counts those in (2**(n-1), 2**n]."""
    reap_batch: tuple[int, ...]
    """Reaps by their number of completions, if any, as ``submit_batch``."""
    depth: tuple[int, ...]
    """Requests in flight at every submission: entry n counts [2**n, 2**(n+1))."""
    depth_mean: float
    """Time-weighted mean of requests in flight."""
    overdue: NonNegative
    """Scheduled requests that were due before the end and never issued: the target or the generator was too slow."""
    late_handovers: NonNegative
    """Intervals that were handed over late and merged with the next."""
    log_dropped: NonNegative
    log_wait_ns: NonNegative = 0
    """How long it waited for room in its log, without the ramp."""
    verify: VerifyResult | None = None
    """What the verification of its data found; None: it verified none."""
    latency_target: LatencyTargetResult | None = None
    """None without latency_target, and in older records."""
    took_too_long: bool = False
    """Whether it ended at a request that missed latency_target at depth 1, or exceeded max_latency."""
    error: str | None = None
    """Why it ended early; None: it did not."""
    stuck: bool = False
    """Whether the thread itself was still in the kernel at the end."""

    @classmethod
    def unmeasured(cls, *, name: str, row: int, stage: int, start_ns: int, end_ns: int) -> WorkerResult:
        """Return a worker whose CPU time is unknown: its fields are zero."""
        return cls(
            name=name,
            row=row,
            stage=stage,
            cpus=(),
            pinned=False,
            start_ns=start_ns,
            end_ns=end_ns,
            user_ns=0,
            system_ns=0,
            voluntary_switches=0,
            involuntary_switches=0,
            migrations=0,
            submit_calls=0,
            reap_calls=0,
            submit_batch=(),
            reap_batch=(),
            depth=(),
            depth_mean=0.0,
            overdue=0,
            late_handovers=0,
            log_dropped=0,
        )


class SteadySample(Model):
    """One check interval of a steady state."""

    iops: float
    bw_Bps: float
    lat_ns: float


class SteadyResult(Model):
    """What became of a row's steadystate."""

    attained: bool
    criterion: float
    """The figure that was compared with the limit at last; 0 before the samples cover the duration."""
    deviation: float
    slope: float
    samples: tuple[SteadySample, ...]


class PriorityTally(Model):
    """One latency of the requests of one direction that had one I/O priority."""

    direction: Direction
    priority: NonNegative
    """As ioprio_set takes it; 0: none."""
    histogram: Encoded
    exact: Exact


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
    steady: SteadyResult | None = None
    """None without steadystate, and in older records."""
    priorities: tuple[PriorityTally, ...] = ()
    """One latency of each I/O priority; empty if all requests have the same, and in older records."""

    def seconds(self, workers: Iterable[WorkerResult]) -> float:
        """Return the measured time. ``workers`` are the row's.

        Workers that search for their depth are measured one after the other, each for as long as the others.
        """
        own = [worker.end_ns - worker.start_ns for worker in workers if worker.latency_target]
        return max(own, default=self.end_ns - self.start_ns) / 1e9


class ClockFacts(Model):
    """The clock that stamped the requests."""

    source: Literal["tsc", "clock_gettime", "virtual"]
    reason: str = ""
    """Why it is not the TSC, if it is not."""
    tsc_hz: float = 0
    read_cost_ns: float
    check_ppm: float = 0
    """Difference of the TSC's calibrated rate from the kernel's clock over the run, parts per million."""


class DriveResult(Model):
    """Internal counters of a modelled drive. A real drive does not show them."""

    path: str
    energy_J: float
    low_power_ns: float
    throttled_ns: float
    temperature_C: float | None
    """At the end; None where the model has no thermal node."""
    hottest_C: float | None
    write_amplification: float | None
    """Pages programmed per page that the host wrote; None: the media need no translation."""
    erases_mean: float | None
    erases_max: int | None
    unwritten_reads: NonNegative
    """Reads of blocks that were never written: answered without reading the media."""


class StampLogResult(Model):
    """What a stamp log holds."""

    path: str
    run: NonNegative
    """The number of the run in each stamp; not zero."""
    writes: NonNegative
    flushes: NonNegative
    failure: str | None
    """Why it is incomplete; None: it is complete."""


class RunResult(Model):
    """The result of a run, without its intervals, which were handed over while it ran."""

    rows: tuple[RowResult, ...]
    workers: tuple[WorkerResult, ...]
    in_flight: tuple[InFlight, ...]
    drives: tuple[DriveResult, ...] = ()
    """Drives of a modelled run; empty for a real one."""
    stamp_logs: tuple[StampLogResult, ...] = ()
    """The stamp logs, in the order of the plan's."""
    clock: ClockFacts
    stopped_by: str | None = None
    """None: it ran to its end. Otherwise ``interrupt``, ``rate_min``, ``error``."""
    error: str | None = None
    elapsed_ns: NonNegative
    """Without the wait for an instant to start at."""
    started_ns: NonNegative | None = None
    """When the first stage started, on the host's CLOCK_MONOTONIC. None: it did not, it is a run on drive models with
    no instant to start at, or the record is older."""
    first_issued_ns: NonNegative | None = None
    """When the first request was issued, on the same clock. None: none was, they are drive models, or the record is
    older."""
