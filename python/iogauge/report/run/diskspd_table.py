"""A run in the layout of DiskSpd's text: CPUs, then Total, Read and Write by thread, then percentiles.

For people and scripts that know DiskSpd. A row is one thread on one target; threads are numbered in order. IopsStdDev
is the deviation over the run's intervals, divided by their number as in DiskSpd. Latencies are lat in milliseconds:
from before the submission to the completion, as DiskSpd stamps them.

Deliberate differences from DiskSpd:

- latencies and deviations are always shown, without -L and -D;
- ``~`` marks a percentile that its sample cannot support;
- the CPU table shows the time of the workers alone, each on the CPU that it stayed on. The run does not record what
  else those CPUs did, so idle is ``-``.

Source: DiskSpd 2.2 (ResultParser.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from iogauge.report.run import surroundings
from iogauge.report.run.diskspd_rates import BOTH, READS, WRITES, Directions, DiskspdRates
from iogauge.report.run.rows import Row, rows, supported
from iogauge.schema import RunRecord, WorkerResult
from iogauge.stats.histogram import Histogram
from iogauge.text.grid import labelled

PERCENTILES = (
    ("25th", 0.25), ("50th", 0.5), ("75th", 0.75), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99),
    ("3-nines", 0.999), ("4-nines", 0.9999), ("5-nines", 0.99999), ("6-nines", 0.999999), ("7-nines", 0.9999999),
    ("8-nines", 0.99999999), ("9-nines", 0.999999999),
)  # fmt: skip
_HEAD = "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file"
_RULE = "-" * 114
_UNITS = ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB"))


def render(record: RunRecord, rates: DiskspdRates, *, command: str) -> str:
    """Return the report of a run; ``command`` is the command line that started it, as the user typed it."""
    every = list(rows(record))
    seconds = max((row.seconds for row in every), default=0.0)
    lines = ["", f"Command Line: {command}", "", "Results for timespan 1:", "*" * 79, ""]
    lines += [f"actual test time:\t{seconds:.2f}s", f"thread count:\t\t{len(record.result.workers)}", ""]
    lines += _cpus(record.result.workers)
    for title, directions in (("Total", BOTH), ("Read", READS), ("Write", WRITES)):
        lines += ["", f"{title} IO", *_section(every, directions, rates, seconds=seconds)]
    lines += ["", "Total latency distribution:", *_distribution(every)]
    if "~" in "".join(lines[-len(PERCENTILES) - 1 :]):
        lines.append(
            "~ fewer than 10 samples are expected beyond this percentile: the true value may be higher"
        )
    lines += ["", *surroundings.lines(record)]
    return "\n".join(lines) + "\n"


def size_text(size_bytes: int) -> str:
    """Return a target's size as DiskSpd writes it.

    >>> size_text(1 << 30), size_text(2_000 * 1024), size_text(512)
    ('1GiB', '1.95MiB', '512')
    """
    for shift, name in _UNITS:
        if size_bytes >> shift:
            exact = size_bytes % (1 << shift) == 0
            return f"{size_bytes >> shift}{name}" if exact else f"{size_bytes / (1 << shift):.2f}{name}"
    return str(size_bytes)


def _cpus(workers: Sequence[WorkerResult]) -> list[str]:
    if not any(worker.cpus for worker in workers):
        return ["virtual time: no worker used a CPU"]
    lines = ["CPU |  Usage |  User  | Kernel |  Idle", "-" * 40]
    used: dict[int, list[float]] = {}
    moved = 0
    for worker in workers:
        span_ns = max(worker.end_ns - worker.start_ns, 1)
        if len(worker.cpus) != 1:
            moved += 1
            continue
        user, kernel = used.setdefault(worker.cpus[0], [0.0, 0.0])
        used[worker.cpus[0]] = [
            user + 100 * worker.user_ns / span_ns,
            kernel + 100 * worker.system_ns / span_ns,
        ]
    for cpu, (user, kernel) in sorted(used.items()):
        lines.append(f"{cpu:4}| {user + kernel:6.2f}%| {user:6.2f}%| {kernel:6.2f}%|      -")
    lines.append("-" * 40)
    note = (
        "CPU time of the workers alone; what else ran on these CPUs, and the load of the others, is unknown"
    )
    if moved:
        note += f"; {moved} of {len(workers)} workers moved between CPUs and {'is' if moved == 1 else 'are'} left out"
    return lines + labelled("", note, indent="", width=0)


def _section(
    every: Sequence[Row], directions: Directions, rates: DiskspdRates, *, seconds: float
) -> list[str]:
    lines = [_HEAD, _RULE]
    for thread, row in enumerate(every):
        deviation = rates.of_row(stage=row.result.stage, row=row.result.row, directions=directions)
        lines.append(f"{thread:6} | {_cells([row], directions, deviation, seconds=seconds)} | {_files(row)}")
    return [*lines, _RULE, f"total:   {_cells(every, directions, rates.of_all(directions), seconds=seconds)}"]


def _cells(some: Sequence[Row], directions: Directions, iops_deviation: float, *, seconds: float) -> str:
    moved = sum(row.tally(direction).bytes for row in some for direction in directions)
    ios = sum(row.tally(direction).ios for row in some for direction in directions)
    lat = _lat(some, directions)
    mean = _ms(lat.mean) if lat.count else 0.0
    # DiskSpd divides by the number of samples, not by one less.
    deviation = f"{_ms(lat.stddev) * math.sqrt(1 - 1 / lat.count):9.3f}" if lat.count > 1 else f"{'N/A':>9}"
    return (
        f"{moved:15} | {ios:12} | {moved / 2**20 / seconds if seconds else 0:10.2f} | "
        f"{ios / seconds if seconds else 0:10.2f} | {mean:8.3f} | {iops_deviation:10.2f} | {deviation}"
    )


def _lat(some: Sequence[Row], directions: Directions) -> Histogram:
    return Histogram.merge(row.lat(direction) for row in some for direction in directions)


def _files(row: Row) -> str:
    sizes = {facts.path: facts.size_bytes for facts in row.record.targets}
    paths = dict.fromkeys(file.path for plan in row.plans for file in plan.files)
    return ", ".join(f"{path} ({size_text(sizes[path])})" if path in sizes else path for path in paths)


def _distribution(every: Sequence[Row]) -> list[str]:
    columns = [_lat(every, directions) for directions in (READS, WRITES, BOTH)]
    lines = ["  %-ile |  Read (ms) | Write (ms) | Total (ms)", "-" * 46]
    lines.append(_line("min", [f"{_ms(lat.min):.3f}" if lat.count else "N/A" for lat in columns]))
    for name, q in PERCENTILES:
        lines.append(_line(name, [_percentile(lat, q) for lat in columns]))
    return [*lines, _line("max", [f"{_ms(lat.max):.3f}" if lat.count else "N/A" for lat in columns])]


def _line(name: str, cells: Sequence[str]) -> str:
    return f"{name:>7} | " + " | ".join(f"{cell:>10}" for cell in cells)


def _percentile(histogram: Histogram, q: float) -> str:
    if not histogram.count:
        return "N/A"
    return f"{'' if supported(histogram, q) else '~'}{_ms(histogram.quantile(q)):.3f}"


def _ms(value_ns: float) -> float:
    return value_ns / 1e6
