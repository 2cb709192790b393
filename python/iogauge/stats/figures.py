"""The figures of one step: what its reader waited, what pressed at it, and both over time.

A suite's verdict and the report's charts call the same function on the same stored run, so that they cannot differ.
Ramp time is left out. Rates are over the measured time of each reported row.

Does not know a suite, an axis or a drive. Source: methods.md WP-1 (only the reader is analysed) and section 3.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Kind, RowResult, RunRecord, Tally
from iogauge.stats.histogram import Histogram
from iogauge.stats.quantiles import Estimate, Sample

QUANTILES = (0.5, 0.99, 0.999, 0.9999)
"""Median and tail, as the write-pressure chart offers them."""

Rows = frozenset[tuple[int, int]]
"""Reported rows by (stage, row)."""


@dataclass(frozen=True)
class Moment:
    """One interval of a step. Latencies are in nanoseconds, ``None`` where the reader completed nothing."""

    start_s: float
    end_s: float
    ios: int
    p50_ns: float | None
    p99_ns: float | None
    max_ns: float | None
    pressure_bytes: int
    flagged: int

    @property
    def iops(self) -> float:
        """The reader's completions per second."""
        return self.ios / (self.end_s - self.start_s)

    @property
    def pressure_Bps(self) -> float:
        """Bytes per second of the jobs that press."""
        return self.pressure_bytes / (self.end_s - self.start_s)


@dataclass(frozen=True)
class StepFigures:
    """What one step measured. Estimates are ``None`` where the reader completed nothing."""

    kind: Kind
    duration_s: float
    ios: int
    iops: float
    whole: Histogram
    mean: Estimate | None
    quantiles: dict[float, Estimate | None]
    pressure_Bps: float
    errors: int
    flagged: int
    late: int
    in_flight: int
    loop_gap_max_ns: int
    device_mean_ns: float | None
    """Mean time of a read in block layer and device, by the kernel's own count; ``None`` where it keeps none."""
    moments: tuple[Moment, ...]


def step_figures(
    record: RunRecord,
    intervals: Iterable[Interval],
    *,
    reader: str,
    pressure: str | None,
    kind: Kind = Kind.LAT,
    quantiles: Sequence[float] = QUANTILES,
) -> StepFigures:
    """Return the figures of one step.

    ``reader`` names the job whose latency counts, ``pressure`` the jobs that press at it; a run without such jobs
    is one without pressure. ``kind`` is the latency taken; where the recorder left it out because it equals lat,
    lat is.

    Raises IogaugeError where the run has no reader, or reports it in one row with others of its direction.
    """
    readers, reading = _rows(record, reader)
    pressed_on = any(job.name == pressure for job in record.jobs.jobs)
    pressers, pressing = _rows(record, pressure) if pressure and pressed_on else (frozenset(), frozenset())
    kept = [interval for interval in intervals if not interval.ramp]
    moments, slices = _moments(kept, readers, reading, pressers, pressing, kind)
    rows = [row for row in record.result.rows if (row.stage, row.row) in readers]
    pressed = [row for row in record.result.rows if (row.stage, row.row) in pressers]
    tallies = _tallies(rows, reading)
    sample = Sample(slices, whole=_latencies(tallies, kind), seed=record.plan.seed)
    return StepFigures(
        kind=kind,
        duration_s=max((_seconds(row) for row in rows), default=0.0),
        ios=sum(tally.ios for tally in tallies),
        iops=sum(_rate(row, sum(tally.ios for tally in _tallies([row], reading))) for row in rows),
        whole=sample.whole,
        mean=sample.mean(),
        quantiles={q: sample.quantile(q) for q in quantiles},
        pressure_Bps=sum(
            _rate(row, sum(tally.bytes for tally in _tallies([row], pressing))) for row in pressed
        ),
        errors=sum(
            count for row in record.result.rows for t in row.tallies.values() for count in t.errors.values()
        ),
        flagged=sum(tally.flagged for tally in tallies),
        late=sum(tally.late for tally in tallies),
        in_flight=len(record.result.in_flight),
        loop_gap_max_ns=max((Histogram.decode(row.loop_gap).max for row in rows if row.loop_gap), default=0),
        device_mean_ns=_device_mean(record),
        moments=moments,
    )


def _rows(record: RunRecord, name: str) -> tuple[Rows, frozenset[Direction]]:
    """Return the reported rows of a job and the directions it issues there, alone in each row."""
    issues = {job.name: job.rw.directions for job in record.jobs.jobs}
    directions = issues.get(name, frozenset())
    rows = frozenset((worker.stage, worker.row) for worker in record.result.workers if worker.name == name)
    if not rows or not directions:
        raise IogaugeError(
            f"the run has no job named {name!r}, only {', '.join(map(repr, sorted(issues)))}",
            hint="the saved review is damaged, or its plan names another job than its job files",
        )
    for worker in record.result.workers:
        others = issues.get(worker.name, frozenset())
        if worker.name != name and (worker.stage, worker.row) in rows and others & directions:
            raise IogaugeError(
                f"job {name!r} is reported in one row with {worker.name!r}, and both issue the same direction",
                hint="give them groups of their own in the job file: new_group, or no group_reporting",
            )
    return rows, directions


def _moments(
    intervals: Iterable[Interval],
    readers: Rows,
    reading: frozenset[Direction],
    pressers: Rows,
    pressing: frozenset[Direction],
    kind: Kind,
) -> tuple[tuple[Moment, ...], list[Histogram]]:
    """Add up the parts of each interval, over rows too; return them in order, with the reader's histograms."""
    parts: dict[tuple[int, int], list[Interval]] = defaultdict(list)
    stages = {stage for stage, _ in readers}
    for interval in intervals:
        if interval.stage in stages and (interval.stage, interval.row) in readers | pressers:
            parts[interval.stage, interval.index].append(interval)
    moments, slices = [], []
    for _, found in sorted(parts.items()):
        mine = _tallies([part for part in found if (part.stage, part.row) in readers], reading)
        others = _tallies([part for part in found if (part.stage, part.row) in pressers], pressing)
        latencies = _latencies(mine, kind)
        start_ns, end_ns = min(part.start_ns for part in found), max(part.end_ns for part in found)
        if end_ns <= start_ns:
            continue
        slices.append(latencies)
        moments.append(
            Moment(
                start_s=start_ns / 1e9,
                end_s=end_ns / 1e9,
                ios=sum(tally.ios for tally in mine),
                p50_ns=latencies.quantile(0.5) if latencies.count else None,
                p99_ns=latencies.quantile(0.99) if latencies.count else None,
                max_ns=latencies.max if latencies.count else None,
                pressure_bytes=sum(tally.bytes for tally in others),
                flagged=sum(tally.flagged for tally in mine),
            )
        )
    return tuple(moments), slices


def _tallies(holders: Iterable[RowResult | Interval], directions: frozenset[Direction]) -> list[Tally]:
    return [tally for holder in holders for way, tally in holder.tallies.items() if way in directions]


def _latencies(tallies: Iterable[Tally], kind: Kind) -> Histogram:
    return Histogram.merge(_histogram(tally, kind) for tally in tallies)


def _histogram(tally: Tally, kind: Kind) -> Histogram:
    """Return the histogram of a kind, or ``lat``'s where the recorder left the kind out as equal to it."""
    if kind not in tally.histograms and kind in (Kind.RESPONSE, Kind.CLAT):
        kind = Kind.LAT
    data = tally.histograms.get(kind)
    return Histogram.empty() if data is None else Histogram.decode(data, tally.exact.get(kind))


def _seconds(row: RowResult) -> float:
    return (row.end_ns - row.start_ns) / 1e9


def _rate(row: RowResult, amount: int) -> float:
    return amount / _seconds(row) if row.end_ns > row.start_ns else 0.0


def _device_mean(record: RunRecord) -> float | None:
    ios = sum(stat.read_ios for stat in record.device_stats)
    return sum(stat.read_ns for stat in record.device_stats) / ios if ios else None


@dataclass(frozen=True)
class Ratio:
    """How many times one figure is another, with the 95 % interval; ``None`` where a bound is missing."""

    value: float
    low: float | None
    high: float | None


def ratio(after: Estimate, before: Estimate) -> Ratio:
    """Return ``after / before`` of two independent samples.

    The interval recovers variances from the two intervals' own widths, on the scale of logarithms (MOVER: Zou and
    Donner, Statistics in Medicine 27, 2008), so it needs no shape of distribution and may be lopsided.

    >>> def figure(low, value, high):
    ...     return Estimate(value, low, high, supported=True, needed=0, count=100, dependence=True)
    >>> ratio(figure(390, 400, 410), figure(95, 100, 106)).value
    4.0
    """
    value = after.value / before.value if before.value > 0 else math.inf

    def distance(near: float | None, far: float | None) -> float | None:
        return math.log(far / near) if near and far and near > 0 and far > 0 else None

    down = (distance(after.low, after.value), distance(before.value, before.high))
    up = (distance(after.value, after.high), distance(before.low, before.value))
    low, high = (
        None if None in pair else math.hypot(*(d for d in pair if d is not None)) for pair in (down, up)
    )
    return Ratio(
        value,
        None if low is None else value * math.exp(-low),
        None if high is None else value * math.exp(high),
    )
