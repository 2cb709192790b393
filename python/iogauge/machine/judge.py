"""Judges a run: takes its plan, result and observations, and returns warnings.

There is one pure function for each question; ``judge`` calls them all. Figures from histograms come in as
``RowFigures``, and what was seen on the machine as ``Observations``, so that the same code judges stored and fresh
runs. The texts are in ``warnings``.

Source: Intel's evaluation guide for Linux (governor, interrupts, turbo). The thresholds are our own; each states its
reason.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from iogauge.machine.compress import Sample
from iogauge.machine.samples.throttling import summary
from iogauge.machine.warnings import warning
from iogauge.schema import (
    Ceiling,
    Code,
    Direction,
    DriveSamples,
    EngineKind,
    MachineFacts,
    Notice,
    RunPlan,
    RunResult,
    TargetFacts,
    WorkerPlan,
)
from iogauge.text.numbers import rate

UNWRITTEN_SHARE = 0.01
"""More never-written blocks than this move a mean visibly: they answer in a tenth of the time or less."""
ZERO_SHARE = 0.05
SAVED_SHARE = 0.20
"""zlib saves nothing of random data, and an eighth where writers stamp their buffers (scramble_buffers). Data of which
it saves a fifth was not written as random data."""
REPEATED_SHARE = 0.05
TAIL_SAMPLES = 10
"""A quantile needs this many completions beyond it."""
CEILING_SHARE = 0.5
"""Above half of the rate without a drive, the generator causes a good part of every latency."""
LATE_SHARE = 0.001
LOG_WAIT_SHARE = 0.001
LATENESS_NS = 100_000
"""Limit of the p99 of lateness: ten times a read of a fast drive."""
GAP_NS = 20_000
GAP_SHARE = 0.5
"""A p99.9 loop gap of over 20 us and over half the median latency blurs what the median says."""
RATE_SHARE = 0.01
OVERDUE_SHARE = 0.001
"""Requests that were due and never issued would have waited longest. More of them would move a p99.9."""
DRIFT_PPM = 100.0
"""Limit of the TSC's drift from the kernel's clock. Oscillators agree within 50; synchronisation may slew 500."""


@dataclass(frozen=True, kw_only=True)
class Tail:
    """A quantile that its sample supports: the requested one, or a lower one if there were too few samples."""

    q: float
    value_ns: int

    @property
    def name(self) -> str:
        """The quantile's name in reports."""
        return f"p{100 * self.q:.10g}"


@dataclass(frozen=True, kw_only=True)
class RowFigures:
    """The judged figures of one row and direction. Times are in nanoseconds."""

    name: str
    direction: Direction
    ios: int
    elapsed_s: float
    row_ios: int | None = None
    """I/Os of all directions of the row; None if the figures of another direction hold them."""
    workers: int = 1
    """How many workers share the row."""
    iodepth: int = 1
    """The largest iodepth of these workers."""
    quantiles: tuple[float, ...] = ()
    """The requested quantiles, as fractions."""
    lat_p50_ns: int | None = None
    """None, here and below: too few samples."""
    scheduled: bool = False
    lateness: Tail | None = None
    """The 99th percentile, or a lower one."""
    late: int = 0
    """Scheduled requests that started over 1 ms late."""
    log_wait_share: float = 0.0
    """Share of the workers' time in which they issued nothing because the request log was full."""
    loop_gap: Tail | None = None
    """The 99.9th percentile, or a lower one."""
    requested_iops: float | None = None
    """The row's requested rate; None: no rate was requested."""
    poisson: bool = False
    overdue: int = 0
    """Scheduled requests that were due before the end and never issued."""
    flagged: int = 0
    errors: Mapping[int, int] = field(default_factory=dict)
    mismatches: int = 0
    """Reads that did not return what was written, which ``errors`` counts too."""

    @property
    def label(self) -> str:
        """The row's name in warnings."""
        return f"{self.name} ({self.direction})"


@dataclass(frozen=True, kw_only=True)
class Observations:
    """What was observed around a run, by target path."""

    unwritten: Mapping[str, float] = field(default_factory=dict)
    samples: Mapping[str, Sample] = field(default_factory=dict)
    users: Mapping[str, Sequence[str]] = field(default_factory=dict)
    foreign_bytes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Read and written on the device beyond our own, by device name."""
    polls: Mapping[str, bool] = field(default_factory=dict)
    """Whether the device has poll queues."""
    drives: Sequence[DriveSamples] = ()
    fallbacks: Sequence[Notice] = ()


def judge(
    *,
    plan: RunPlan,
    result: RunResult,
    targets: Sequence[TargetFacts],
    ceiling: Ceiling | None,
    machine: MachineFacts,
    rows: Sequence[RowFigures],
    observed: Observations | None = None,
) -> tuple[Notice, ...]:
    """Return the warnings of a run without repetition, those about its validity first."""
    observed = observed or Observations()
    workers = [worker for stage in plan.stages for worker in stage.workers]
    warnings = [
        *page_cache(workers),
        *unwritten(workers, observed),
        *compressible(workers, observed),
        *in_flight(result),
        *unfinished(result),
        *(one for row in rows for one in judge_row(row, ceiling)),
        *throttling(observed.drives),
        *busy(targets, observed),
        *polling(workers, machine, targets, observed),
        *observed.fallbacks,
        *placement(plan, result, machine),
        *bookkeeping(plan, result),
        *clock(result),
        *virtual(machine, workers),
    ]
    return tuple(dict.fromkeys(warnings))


def judge_row(row: RowFigures, ceiling: Ceiling | None) -> Iterator[Notice]:
    """Judge one row by its numbers alone."""
    if unsupported := [q for q in row.quantiles if row.ios * (1 - q) < TAIL_SAMPLES * (1 - 1e-9)]:
        names = ", ".join(f"p{100 * q:.10g}" for q in sorted(unsupported))
        if row.ios:
            yield warning(Code.FEW_SAMPLES, row=row.label, ios=row.ios, quantiles=names)
    if reasons := list(_generator(row, ceiling)):
        yield warning(Code.GENERATOR_LIMITED, row=row.label, why="; ".join(reasons))
    yield from _rate(row)
    failed = dict(row.errors)
    # Those of the ramp are not among the errors.
    if bad := min(row.mismatches, failed.get(errno.EILSEQ, 0)):
        yield warning(Code.MISMATCH, row=row.label, count=bad)
        failed[errno.EILSEQ] -= bad
    failed = {number: count for number, count in failed.items() if count}
    if failed:
        counted = sorted(failed.items(), key=lambda item: (-item[1], item[0]))
        kinds = ", ".join(f"{count} {errno.errorcode.get(number, number)}" for number, count in counted)
        yield warning(Code.ERRORS, row=row.label, count=sum(failed.values()), kinds=kinds)
    if row.flagged:
        yield warning(Code.STALLED, row=row.label, count=row.flagged)


def _rate(row: RowFigures) -> Iterator[Notice]:
    if row.requested_iops and row.elapsed_s > 0:
        achieved = row.ios / row.elapsed_s
        # The standard deviation of a Poisson count is its root.
        chance = 3 / (row.requested_iops * row.elapsed_s) ** 0.5 if row.poisson else 0.0
        if achieved < row.requested_iops * (1 - RATE_SHARE - chance):
            what = (
                f"{rate(achieved)} of the {rate(row.requested_iops)} requested I/Os a second "
                f"({achieved / row.requested_iops:.1%})"
            )
            yield warning(Code.RATE_MISSED, row=row.label, what=what)
            return
    # A burst at the end leaves a few requests over.
    if row.overdue > max(TAIL_SAMPLES, row.ios * OVERDUE_SHARE):
        what = (
            f"{row.overdue} requests were due before the end and never issued: no latency counts their wait"
        )
        yield warning(Code.RATE_MISSED, row=row.label, what=what)


def _generator(row: RowFigures, ceiling: Ceiling | None) -> Iterator[str]:
    if row.scheduled:
        if row.lateness and row.lateness.value_ns > max(LATENESS_NS, row.lat_p50_ns or 0):
            yield f"lateness {row.lateness.name} is {_us(row.lateness.value_ns)}"
        if row.ios and row.late > row.ios * LATE_SHARE:
            yield f"{row.late / row.ios:.1%} of the requests started over 1 ms late"
    if row.log_wait_share > LOG_WAIT_SHARE:
        yield (
            f"it waited for its request log for {row.log_wait_share:.1%} of the time (put the log on a faster "
            "disk, or let it drop requests: log overflow drop)"
        )
    gap = row.loop_gap
    if gap and row.lat_p50_ns and gap.value_ns > max(GAP_NS, GAP_SHARE * row.lat_p50_ns):
        yield f"the loop's {gap.name} gap is {_us(gap.value_ns)} beside a median latency of {_us(row.lat_p50_ns)}"
    if ceiling and row.row_ios and row.elapsed_s > 0:
        # At depth 1 every request pays for a full round of the loop.
        shallow = row.iodepth == 1 and ceiling.shallow_iops > 0
        most = ceiling.shallow_iops if shallow else ceiling.iops
        worker_iops = row.row_ios / row.elapsed_s / row.workers
        if most > 0 and worker_iops > most:
            yield (
                f"{worker_iops:,.0f} IOPS a worker are more than the {most:,.0f} that a worker reached without a "
                "drive: something disturbed that measurement"
            )
        elif most > 0 and worker_iops > most * CEILING_SHARE:
            yield f"{worker_iops / most:.0%} of the {most:,.0f} IOPS that one worker reaches without a drive"


def page_cache(workers: Sequence[WorkerPlan]) -> Iterator[Notice]:
    """Warn of requests without O_DIRECT."""
    cached = [worker for worker in workers if not worker.engine.direct and not _null(worker)]
    for what, jobs in _by_kind(cached):
        yield warning(Code.PAGE_CACHE, what=f"{what} of {jobs}")


def unwritten(workers: Sequence[WorkerPlan], observed: Observations) -> Iterator[Notice]:
    """Warn of reads of blocks that were never written."""
    read = {file.path for worker in workers if _reads(worker) for file in worker.files}
    for path, share in observed.unwritten.items():
        if path in read and share > UNWRITTEN_SHARE:
            yield warning(Code.UNWRITTEN, path=path, share=share)


def compressible(workers: Sequence[WorkerPlan], observed: Observations) -> Iterator[Notice]:
    """Warn of zeros, compressible data and repeated data, both written and read."""
    for worker in workers:
        if not worker.pattern.rw.writes or _null(worker) or worker.verify:
            continue
        buffers = worker.buffers
        if buffers.zero:
            yield warning(Code.COMPRESSIBLE, what=f"{worker.name} writes zeros")
        elif buffers.compress_percent:
            yield warning(
                Code.COMPRESSIBLE,
                what=f"{worker.name} writes data that compresses by {buffers.compress_percent:g} %",
            )
        elif buffers.dedupe_percent:
            yield warning(
                Code.COMPRESSIBLE,
                what=f"{worker.name} repeats {buffers.dedupe_percent:g} % of what it writes",
            )
        elif buffers.pattern:
            yield warning(
                Code.COMPRESSIBLE,
                what=f"{worker.name} writes the same {len(buffers.pattern)} bytes again and again",
            )
    read = {file.path for worker in workers if _reads(worker) for file in worker.files}
    for path, sample in observed.samples.items():
        if path not in read:
            continue
        if sample.zero_share > ZERO_SHARE:
            yield warning(Code.COMPRESSIBLE, what=f"{path} is {sample.zero_share:.0%} zeros")
        elif sample.saved_share > SAVED_SHARE:
            yield warning(Code.COMPRESSIBLE, what=f"{path} compresses by {sample.saved_share:.0%}")
        elif sample.repeated_share > REPEATED_SHARE:
            yield warning(Code.COMPRESSIBLE, what=f"{path} repeats {sample.repeated_share:.0%} of its blocks")


def throttling(drives: Sequence[DriveSamples]) -> Iterator[Notice]:
    """Warn of drives that throttled, or were so warm that they may have."""
    for samples in drives:
        if what := summary(samples):
            yield warning(Code.THERMAL_THROTTLING, device=samples.device, what=what)


def busy(targets: Sequence[TargetFacts], observed: Observations) -> Iterator[Notice]:
    """Warn of other processes with the target open, and of bytes on its device that were not ours."""
    for path, users in observed.users.items():
        shown = ", ".join(users[:3]) + (f" and {len(users) - 3} more" if len(users) > 3 else "")
        yield warning(Code.BUSY_TARGET, path=path, who=f"open in {shown}")
    for device, (read, written) in observed.foreign_bytes.items():
        parts = [
            f"{amount / 1e6:.1f} MB {did}" for amount, did in ((read, "read"), (written, "written")) if amount
        ]
        if parts:
            path = next((facts.path for facts in targets if facts.device == device), device)
            yield warning(
                Code.BUSY_TARGET, path=path, who=f"{' and '.join(parts)} on {device} besides the run's own"
            )


def polling(
    workers: Sequence[WorkerPlan],
    machine: MachineFacts,
    targets: Sequence[TargetFacts],
    observed: Observations,
) -> Iterator[Notice]:
    """Warn of ``hipri`` where completions are not polled for."""
    device_of = {facts.path: facts.device for facts in targets}
    for worker in workers:
        if not worker.engine.hipri:
            continue
        if worker.engine.kind is EngineKind.PVSYNC2 and kernel_version(machine.kernel) >= (5, 19):
            yield warning(
                Code.NO_POLLING,
                what=f"{worker.name}: hipri under pvsync2",
                why="since Linux 5.19 preadv2 ignores RWF_HIPRI for polling",
                remedy="use ioengine=io_uring with hipri, on a device with poll queues",
            )
            continue
        if worker.engine.kind is EngineKind.IO_URING_CMD and kernel_version(machine.kernel) < (6, 1):
            yield warning(
                Code.NO_POLLING,
                what=f"{worker.name}: hipri under io_uring_cmd",
                why="before Linux 6.1 the kernel does not poll for commands",
                remedy="use ioengine=io_uring with hipri and direct=1, or a newer kernel",
            )
            continue
        for file in worker.files:
            device = device_of.get(file.path)
            if device is not None and observed.polls.get(device) is False:
                yield warning(
                    Code.NO_POLLING,
                    what=f"{worker.name}: hipri on {device}",
                    why="the device has no poll queues",
                    remedy="for NVMe boot with nvme.poll_queues=N, or reload the module with it",
                )


def placement(plan: RunPlan, result: RunResult, machine: MachineFacts) -> Iterator[Notice]:
    """Warn of workers that moved between CPUs or were not pinned, unless the plan says so.

    A plan leaves workers unpinned where a job names several CPUs, and where kernel threads do its requests.
    """
    planned = [worker for stage in plan.stages for worker in stage.workers]
    # A run that ended early has no results for its later stages.
    pairs = zip(result.workers, planned, strict=False)
    moved = sum(seen.migrations > 0 and not worker.handed_over for seen, worker in pairs)
    if moved:
        yield warning(Code.MIGRATION, workers=moved, total=len(result.workers))
    free = [
        stage.workers
        for stage in plan.stages
        if any(not worker.cpus and not worker.handed_over for worker in stage.workers)
    ]
    if free and any(not worker.pinned for worker in result.workers):
        most = max(free, key=len)
        pollers = sum(worker.engine.sqthread_poll for worker in most)
        polling_threads = f" with {pollers} polling threads of the kernel" if pollers else ""
        yield warning(Code.NO_PIN, workers=len(most), pollers=polling_threads, cpus=machine.cpus_allowed)


def in_flight(result: RunResult) -> Iterator[Notice]:
    """Warn of requests that never completed."""
    if result.in_flight:
        oldest = max(request.age_ns for request in result.in_flight)
        yield warning(Code.IN_FLIGHT, count=len(result.in_flight), age_s=oldest / 1e9)


def unfinished(result: RunResult) -> Iterator[Notice]:
    """Warn of workers that ended while they looked for their depth."""
    for worker in result.workers:
        if worker.latency_target and worker.latency_target.outcome == "searching" and not worker.error:
            yield warning(Code.SEARCH_UNFINISHED, worker=worker.name, depth=worker.latency_target.depth)


def bookkeeping(plan: RunPlan, result: RunResult) -> Iterator[Notice]:
    """Warn of requests that the log dropped and of intervals that were merged."""
    dropped = sum(worker.log_dropped for worker in result.workers)
    # A log that workers wait for drops requests only if it fails, and then the run fails.
    if dropped and plan.log_overflow == "drop":
        yield warning(Code.LOG_DROPPED, count=dropped)
    if late := sum(worker.late_handovers for worker in result.workers):
        yield warning(Code.INTERVALS_MERGED, count=late)


def clock(result: RunResult) -> Iterator[Notice]:
    """Warn of a clock that is slow to read or drifts."""
    facts = result.clock
    if facts.source != "tsc":
        yield warning(
            Code.CLOCK, why=f"clock_gettime instead of the TSC ({facts.reason or 'no reason given'})"
        )
    elif abs(facts.check_ppm) > DRIFT_PPM:
        yield warning(
            Code.CLOCK, why=f"the TSC ran {facts.check_ppm:+.0f} ppm off the kernel's clock during the run"
        )


def virtual(machine: MachineFacts, workers: Sequence[WorkerPlan]) -> Iterator[Notice]:
    """Warn of a virtual machine."""
    if machine.virtualised and not all(map(_null, workers)):
        yield warning(Code.VIRTUAL_MACHINE, evidence=machine.virtualised)


def kernel_version(kernel: str) -> tuple[int, int]:
    """Return the major and minor version in the output of ``uname``; (0, 0) if there is none.

    >>> kernel_version("Linux 6.8.0-45-generic x86_64")
    (6, 8)
    """
    for word in kernel.split():
        numbers = word.replace("-", ".").split(".")
        if len(numbers) > 1 and numbers[0].isdecimal() and numbers[1].isdecimal():
            return int(numbers[0]), int(numbers[1])
    return 0, 0


def _by_kind(workers: Sequence[WorkerPlan]) -> Iterator[tuple[str, str]]:
    """Yield "reads" and "writes", with the names of the jobs that do them."""
    jobs: Counter[tuple[str, str]] = Counter()
    for worker in workers:
        if _reads(worker):
            jobs["reads", worker.name] += 1
        if Direction.WRITE in worker.directions:
            jobs["writes", worker.name] += 1
    for what in ("reads", "writes"):
        if names := [name for kind, name in jobs if kind == what]:
            yield what, ", ".join(names)


def _reads(worker: WorkerPlan) -> bool:
    return Direction.READ in worker.directions and not _null(worker)


def _null(worker: WorkerPlan) -> bool:
    return worker.engine.kind is EngineKind.NULL


def _us(time_ns: int) -> str:
    return f"{time_ns / 1000:,.1f} us" if time_ns < 10**6 else f"{time_ns / 1e6:,.1f} ms"
