"""The default report of a run: a table in plain text, 100 columns wide, readable without colour.

Every row and direction has its rates and how they varied, its latencies side by side, and what went wrong. Requests
with a schedule also have their response, and what makes it differ from lat. Below them are what the workers did and
cost.

``~`` marks a quantile that its sample cannot support: n (1 - q) < 10. Devices, ceiling and warnings are in
``surroundings.py``.

Source: fio 3.33's normal output for the terms.
"""

from __future__ import annotations

import errno
import re

from iogauge.execution.plans.priorities import CLASS_SHIFT, LEVEL
from iogauge.report.run import endings, fio_buckets, surroundings
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.report.run.rows import Row, Stream, fraction, left_out, rows, supported
from iogauge.schema import BlockSize, Direction, EngineKind, Job, Kind, RunRecord, WorkerResult
from iogauge.stats.histogram import Histogram
from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled

PERCENTILES = (1, 10, 50, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""The percentiles of a job that names none; json+ has all of fio's default list."""
_DEFAULT_LIST = Job(name="default").percentile_list


def render(record: RunRecord, stats: IntervalStats) -> str:
    """Return the report of a run, without its warnings: see ``surroundings.warnings``."""
    lines: list[str] = []
    for row in rows(record):
        lines += [*_row(row, stats), ""]
        for sentence in (endings.of_latency_target(row), endings.of_steady_state(row)):
            if sentence:
                lines[-1:] = [*labelled("", sentence, indent="  ", width=0), ""]
    lines += surroundings.lines(record)
    notes = []
    if any(row.scheduled(direction) for row in rows(record) for direction in row.streams):
        notes.append("response counts from when a request was due: queued + lateness + lat")
    if any(row.commits(direction) for row in rows(record) for direction in row.streams):
        notes.append(
            "a sync's response counts from the first write that it makes durable: the latency of a commit"
        )
    if any(re.search(r"~\d", line) for line in lines):
        notes.append(
            "~ fewer than 10 samples are expected beyond this quantile: the true value may be higher"
        )
    if notes:
        lines += ["", *(line for note in notes for line in labelled("", note, indent="", width=0))]
    return "\n".join(lines).rstrip() + "\n"


def _row(row: Row, stats: IntervalStats) -> list[str]:
    lines = _heading(row)
    if not row.directions:
        lines.append("  nothing completed")
    for direction in row.streams:
        lines += _direction(row, direction, stats)
    return lines + _queue(row) + _cost(row) + _workers(row)


def _heading(row: Row) -> list[str]:
    lines = labelled("", title(row), indent="", width=0)
    return [*lines, "-" * max(map(len, lines))]


def title(row: Row) -> str:
    """Return what a row's workers did: pattern, block sizes, engine, depth, workers and time."""
    job = row.job
    # Neither the null engine nor NVMe commands know a page cache, and no machine model has one.
    uncached = (EngineKind.NULL, EngineKind.IO_URING_CMD)
    cached = job.ioengine not in uncached and row.record.result.clock.source != "virtual"
    parts = [
        job.rw.value,
        _blocks(job),
        job.ioengine.value,
        *(["direct" if job.direct else "buffered"] if cached else []),
        f"iodepth {row.plans[0].iodepth}",
        numbers.counted(len(row.workers), "worker"),
        f"{row.seconds:.3f} s measured",
    ]
    if len(row.record.plan.stages) > 1:
        parts.append(f"stage {row.result.stage + 1}")
    return f"{row.name}: {', '.join(parts)}"


def _blocks(job: Job) -> str:
    """Return the block sizes of the directions that the job issues: one text if they are equal."""

    def size_text(sizes: BlockSize) -> str:
        if sizes.split:
            return "/".join(numbers.block(share.size_bytes) for share in sizes.split)
        ends = [numbers.block(sizes.minimum_bytes), numbers.block(sizes.maximum_bytes)]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)

    issued = [direction for direction in Direction if direction in job.rw.directions]
    texts = {direction.value: size_text(getattr(job.bs, direction.value)) for direction in issued}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{name} {text}" for name, text in texts.items())


def _direction(row: Row, direction: Stream, stats: IntervalStats) -> list[str]:
    tally = row.tally(direction)
    parts = [f"{numbers.rate(row.iops(direction))} IOPS"]
    if tally.bytes:
        rate_Bps = row.bandwidth_Bps(direction)
        parts.append(f"{numbers.bandwidth(rate_Bps)} = {numbers.bandwidth_binary(rate_Bps)}")
    total = f"{tally.ios:,} I/Os"
    parts.append(f"{total}, {numbers.size(tally.bytes)}" if tally.bytes else total)
    lines = labelled(direction.value, "   ".join(parts))
    spread = stats.iops(stage=row.result.stage, row=row.result.row, direction=direction)
    if spread.samples > 1:
        figures = ", ".join(
            f"{name} {numbers.rate(value)}"
            for name, value in (
                ("min", spread.minimum),
                ("mean", spread.mean),
                ("max", spread.maximum),
                ("stddev", spread.stddev),
            )
        )
        every = numbers.duration(row.record.plan.interval_ns)
        lines += labelled("", f"IOPS over {spread.samples} intervals of {every}: {figures}")
    return lines + _latencies(row, direction) + _trouble(row, direction)


def _kinds(row: Row, direction: Stream) -> list[Kind]:
    """Return the latencies to show: lat, those that the job requests, and those of a schedule."""
    job = row.job
    kinds = [Kind.LAT]
    if direction is not Direction.SYNC:
        kinds += [Kind.CLAT] if job.clat_percentiles else []
        kinds += [Kind.SLAT] if job.slat_percentiles and row.histogram(direction, Kind.SLAT) else []
    if row.scheduled(direction):
        kinds += [Kind.RESPONSE, Kind.QUEUED, Kind.LATENESS]
    elif row.commits(direction):
        kinds += [Kind.RESPONSE]
    return [kind for kind in kinds if not left_out(job, kind)]


def _latencies(row: Row, direction: Stream) -> list[str]:
    if not row.lat(direction).count:
        return _reported(row, direction)
    kinds = _kinds(row, direction)
    if not kinds:
        return labelled("latency", "left out, as the job requests", indent=" " * 4)
    columns = [row.histogram(direction, kind) or Histogram.empty() for kind in kinds]
    percentiles = row.job.percentile_list
    if percentiles == _DEFAULT_LIST:
        # One quantile that the sample cannot support is shown; higher ones would add nothing.
        lat = row.lat(direction)
        first = min((p for p in PERCENTILES if not supported(lat, fraction(p))), default=100)
        percentiles = tuple(percentile for percentile in PERCENTILES if percentile <= first)
    by_priority = row.priorities(direction)
    columns += [histogram for _, histogram in by_priority]
    names = [f"{row.priority_kind} of {priority_words(priority)}" for priority, _ in by_priority]
    table = [["", *(kind.value for kind in kinds), *names]]
    for name in ("mean", "stddev", "min"):
        table.append([name, *(_cell(getattr(histogram, name)) for histogram in columns)])
    for percentile in percentiles:
        q = fraction(percentile)
        table.append([f"p{percentile:.12g}", *(_quantile(histogram, q) for histogram in columns)])
    table.append(["max", *(_cell(histogram.max) for histogram in columns)])
    return aligned(table, indent=" " * 4, gap=4)


def priority_words(priority: int) -> str:
    """Return the words for an I/O priority.

    >>> priority_words(1 << 13 | 2), priority_words(0)
    ('real-time 2', 'no priority')
    """
    if not priority:
        return "no priority"
    words = {1: "real-time", 2: "best-effort", 3: "idle"}
    return f"{words[priority >> CLASS_SHIFT]} {priority & LEVEL}"


def _reported(row: Row, direction: Stream) -> list[str]:
    """Return the latencies that another program reported without samples, at the percentiles of the job."""
    lines = []
    for latency in row.record.reported:
        if (latency.stage, latency.row, latency.direction) == (row.result.stage, row.result.row, direction):
            quantiles = ((f"p{p:.12g}", fraction(p)) for p in row.job.percentile_list)
            figures = [
                ("mean", latency.mean_ns),
                *((name, latency.quantiles_ns.get(q)) for name, q in quantiles),
                ("max", latency.max_ns),
            ]
            text = ", ".join(
                f"{name} {numbers.duration(value)}" for name, value in figures if value is not None
            )
            lines += labelled(latency.kind.value, f"{text}; reported without samples")
    return lines


def _quantile(histogram: Histogram, q: float) -> str:
    if not histogram.count:
        return "-"
    mark = "" if supported(histogram, q) else "~"
    return mark + _cell(histogram.quantile(q))


def _cell(value_ns: float) -> str:
    """Return a time whose unit is two characters wide, so that the numbers of a column line up."""
    number, _, unit = numbers.duration(value_ns).partition(" ")
    return f"{number} {unit:>2}" if unit else number


def _trouble(row: Row, direction: Stream) -> list[str]:
    """Return the lines of errors by name, and of completions that were short, flagged or late."""
    tally = row.tally(direction)
    lines = []
    if tally.errors:
        named = ", ".join(
            f"{errno.errorcode.get(number, f'errno {number}')} {count:,}"
            for number, count in sorted(tally.errors.items(), key=lambda item: -item[1])
        )
        lines += labelled("errors", f"{sum(tally.errors.values()):,}: {named}", indent=" " * 4)
    for label, count, text in (
        ("short", tally.short, "moved fewer bytes than requested"),
        (
            "flagged",
            tally.flagged,
            "were in flight while their worker stalled: latency may include it",
        ),
        ("late", tally.late, "started over 1 ms after they were ready"),
    ):
        if count:
            share = numbers.percent(count / max(tally.ios, 1))
            lines += labelled(label, f"{count:,} ({share}) {text}", indent=" " * 4)
    return lines


def _queue(row: Row) -> list[str]:
    workers = row.workers
    depths = fio_buckets.added(worker.depth for worker in workers)
    if not sum(depths):
        return []
    mean = sum(worker.depth_mean for worker in workers)
    text = f"mean {mean:.1f} in flight of {sum(plan.iodepth for plan in row.plans)}; seen {_powers(depths)}"
    lines = labelled("depth", text)
    ios = sum(row.tally(direction).ios + sum(row.tally(direction).errors.values()) for direction in Direction)
    submits = sum(worker.submit_calls for worker in workers)
    reaps = sum(worker.reap_calls for worker in workers)
    batches = [
        f"{ios / calls:.1f} I/Os a {name}"
        for calls, name in ((submits, "submission"), (reaps, "reap"))
        if calls
    ]
    if batches:
        lines += labelled("batches", ", ".join(batches))
    overdue = sum(worker.overdue for worker in workers)
    if overdue:
        lines += labelled("overdue", f"{overdue:,} requests were due before the end and never issued")
    return lines


def _powers(counts: list[int]) -> str:
    """Return counts by powers of two as shares: ``1: 2.0 %, 16-31: 98.0 %``."""
    total = sum(counts)
    names = ["1" if power == 0 else f"{1 << power}-{(2 << power) - 1}" for power in range(len(counts))]
    shares = [
        f"{name}: {numbers.percent(count / total)}"
        for name, count in zip(names, counts, strict=True)
        if count
    ]
    return ", ".join(shares)


def _cost(row: Row) -> list[str]:
    ios = sum(row.tally(direction).ios for direction in Direction)
    user_ns = sum(worker.user_ns for worker in row.workers)
    system_ns = sum(worker.system_ns for worker in row.workers)
    lines = []
    if ios and user_ns + system_ns:
        cost = f"{numbers.duration(round(user_ns / ios))} user + {numbers.duration(round(system_ns / ios))} system"
        without = "; kernel threads not included" if _kernel_threads(row) else ""
        lines += labelled("CPU per I/O", f"{cost}{without}")
    gap = row.loop_gap
    if gap.count:
        ends = f"p99 {_quantile(gap, 0.99)}, max {_cell(gap.max)}".replace("  ", " ")
        lines += labelled("loop gap", f"{ends} between two rounds of a worker")
    return lines


def _kernel_threads(row: Row) -> bool:
    """Return whether threads of the kernel did part of the work: polled the ring, or blocked in place of the worker."""
    rings = [plan for plan in row.plans if plan.engine.kind.has_ring]
    return any(plan.handed_over or plan.engine.sqthread_poll for plan in rings)


def _workers(row: Row) -> list[str]:
    table = [["worker", "on CPU", "usr", "sys", "switches", "forced", "migrations", "depth"]]
    table += [_worker(worker) for worker in row.workers]
    lines = aligned(table, indent="  ", left=2)
    if any(plan.handed_over and not plan.cpus for plan in row.plans):
        lines += labelled(
            "not pinned", "kernel threads (io-wq) execute its requests, and would share its CPU"
        )
    for worker in row.workers:
        if worker.error:
            lines += labelled("error", f"{worker.name}: {worker.error}")
        if worker.stuck:
            lines += labelled("stuck", f"{worker.name} was still inside the kernel when the run ended")
    return lines


def _worker(worker: WorkerResult) -> list[str]:
    span_ns = max(worker.end_ns - worker.start_ns, 1)
    cpus = ",".join(map(str, worker.cpus[:4])) + (",..." if len(worker.cpus) > 4 else "")
    cells = [
        worker.name,
        f"{cpus}{' pinned' if worker.pinned else ''}" if cpus else "-",
        numbers.percent(worker.user_ns / span_ns),
        numbers.percent(worker.system_ns / span_ns),
        f"{worker.voluntary_switches:,}",
        f"{worker.involuntary_switches:,}",
        f"{worker.migrations:,}",
        f"{worker.depth_mean:.1f}",
    ]
    # A worker without calls and CPU time ran in another program, which did not report them.
    measured = worker.submit_calls or worker.reap_calls or worker.user_ns + worker.system_ns
    return cells if measured else [*cells[:2], *("-" for _ in cells[2:])]
