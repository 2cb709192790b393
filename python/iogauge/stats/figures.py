"""The figures of one step: the latency of its measured job, the rate of its load jobs, and both over time.

A suite's verdict and the report's charts call the same function on the same stored run, so that they cannot differ.
Ramp time is left out. Rates are over the measured time of each reported row.

Figures that another program reported without samples have no interval; those it did not report are None.

Source: Intel's note on write pressure (only the measured job is analysed).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Kind, ReportedLatency, RowResult, RunRecord
from iogauge.stats.figure import Figure
from iogauge.stats.histogram import Histogram, needed
from iogauge.stats.moments import Moment, moments, rate_with_interval
from iogauge.stats.quantiles import Latencies, Sample
from iogauge.stats.selection import Selection, latencies


class Course(Protocol):
    """A step over time, and its rates with the intervals that follow."""

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Its intervals in order, run by run."""
        ...

    def silent(self) -> int:
        """Return the number of intervals in which the measured job completed nothing."""
        ...

    def iops(self) -> Figure:
        """Return the completions of the measured job per second."""
        ...

    def pressure(self) -> Figure:
        """Return the bytes per second of the load jobs; ``count`` is 0."""
        ...


@dataclass(frozen=True)
class StepFigures:
    """The figures of one step. Estimates are ``None`` where the measured job completed nothing.

    Figures that need the step's intervals are computed on first use, then kept.
    """

    kind: Kind
    duration_s: float
    ios: int
    iops: float
    rate_Bps: float
    """Bytes per second of the measured job alone."""
    latencies: Latencies
    """Those of the measured job."""
    course: Course
    max_ns: float | None
    """The largest latency; ``None`` where nothing completed or it is unknown."""
    pressure_Bps: float
    errors: int
    flagged: int
    late: int
    in_flight: int
    loop_gap_max_ns: int
    device_mean_ns: float | None
    """Mean time of a read in block layer and device, as the kernel counts it, with the ramp; ``None`` where the kernel
    keeps no count."""
    reported: bool = False
    """Whether another program reported the latencies without samples, so that there is no histogram and no interval."""
    runs: int = 1
    """Number of runs of the step: see ``pooled.py``."""

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The step over time, run by run."""
        return self.course.moments

    @cached_property
    def silent(self) -> int:
        """The number of intervals in which the measured job completed nothing."""
        return self.course.silent()

    @property
    def histogram(self) -> Histogram:
        """All latencies of the measured job."""
        return self.latencies.histogram

    @cached_property
    def mean(self) -> Figure | None:
        """The mean latency; ``None`` where the measured job completed nothing."""
        return self.latencies.mean()

    @cached_property
    def _quantiles(self) -> dict[float, Figure | None]:
        return {}

    def quantile(self, q: float) -> Figure | None:
        """Return the ``q``-quantile of the latency, 0 < q < 1; ``None`` where the measured job completed nothing.

        Raises IogaugeError for another ``q``.
        """
        if not 0 < q < 1:
            raise IogaugeError(f"quantile {q:g}: must be above 0 and below 1", hint="for p99.9 write 0.999")
        if q not in self._quantiles:
            self._quantiles[q] = self.latencies.quantile(q)
        return self._quantiles[q]

    @cached_property
    def iops_figure(self) -> Figure:
        """``iops`` with its interval: for several runs by how they differ, for one run by its course over time."""
        return self.course.iops()

    @cached_property
    def pressure_figure(self) -> Figure:
        """``pressure_Bps`` with an interval like that of ``iops_figure``; ``count`` is 0."""
        return self.course.pressure()

    @property
    def rate_figure(self) -> Figure:
        """``rate_Bps`` with the relative interval of ``iops``: moments hold requests, not bytes."""
        iops = self.iops_figure
        bytes_per_io = self.rate_Bps / self.iops if self.iops else 0.0
        low, high = (None if bound is None else bound * bytes_per_io for bound in (iops.low, iops.high))
        return replace(iops, value=self.rate_Bps, low=low, high=high, unit="B/s")


def step_figures(
    record: RunRecord,
    intervals: Iterable[Interval],
    *,
    measured_job: str,
    load_jobs: str | None,
    kind: Kind = Kind.LAT,
    direction: Direction | None = None,
) -> StepFigures:
    """Return the figures of one step.

    ``measured_job`` names the job whose latency counts, ``load_jobs`` the jobs that load the drive beside it; a run may
    have no load jobs. ``kind`` is the latency to analyse; the recorder leaves out kinds that equal lat, and then lat is
    used. ``direction`` restricts the measured job's requests. ``intervals`` are iterated once, when a figure first
    needs them: a mean, a quantile, or the course over time.

    Raises IogaugeError where the run has no measured job, or reports it in one row with others of its direction.
    """
    read = Selection.of(record, measured_job, direction=direction)
    pressed_on = any(job.name == load_jobs for job in record.jobs.jobs)
    press = Selection.of(record, load_jobs) if load_jobs and pressed_on else Selection()
    rows = record.result.rows
    tallies = read.tallies(rows)
    ios = sum(tally.ios for tally in tallies)
    iops = sum(_rate(row, sum(tally.ios for tally in read.tallies([row]))) for row in rows)
    pressure_Bps = sum(_rate(row, sum(tally.bytes for tally in press.tallies([row]))) for row in rows)
    interval_ns = record.plan.interval_ns
    course = RunCourse(
        lambda: moments(intervals, reader=read, pressure=press, kind=kind, interval_ns=interval_ns),
        iops=iops,
        ios=ios,
        pressure_Bps=pressure_Bps,
    )
    sample = Sample(lambda: course.histograms, histogram=latencies(tallies, kind), seed=record.plan.seed)
    latency = None if sample.histogram.count else _reported_latency(record, read, kind)
    mine = [row for row in rows if (row.stage, row.row) in read.rows]
    return StepFigures(
        kind=kind,
        duration_s=max((_seconds(row) for row in mine), default=0.0),
        ios=ios,
        iops=iops,
        rate_Bps=sum(_rate(row, sum(tally.bytes for tally in read.tallies([row]))) for row in rows),
        latencies=_Reported(latency) if latency else sample,
        course=course,
        max_ns=latency.max_ns if latency else sample.histogram.max if sample.histogram.count else None,
        pressure_Bps=pressure_Bps,
        errors=sum(sum(tally.errors.values()) for row in rows for tally in row.tallies.values()),
        flagged=sum(tally.flagged for tally in tallies),
        late=sum(tally.late for tally in tallies),
        in_flight=len(record.result.in_flight),
        loop_gap_max_ns=max((Histogram.decode(row.loop_gap).max for row in mine if row.loop_gap), default=0),
        device_mean_ns=_device_mean(record),
        reported=latency is not None,
    )


class RunCourse:
    """The course of one run, read on first use.

    ``read`` returns the moments and the measured job's latencies in each. ``iops`` and ``pressure_Bps`` are the rates
    of the whole run.
    """

    def __init__(
        self,
        read: Callable[[], tuple[tuple[Moment, ...], list[Histogram]]],
        *,
        iops: float,
        ios: int,
        pressure_Bps: float,
    ) -> None:
        self._read = read
        self._iops = iops
        self._ios = ios
        self._pressure_Bps = pressure_Bps

    @cached_property
    def _both(self) -> tuple[tuple[Moment, ...], list[Histogram]]:
        return self._read()

    @property
    def moments(self) -> tuple[Moment, ...]:
        """The intervals of the run, in order."""
        return self._both[0]

    @property
    def histograms(self) -> list[Histogram]:
        """The measured job's latencies in each moment."""
        return self._both[1]

    def silent(self) -> int:
        """Return the number of intervals in which the measured job completed nothing."""
        return sum(not moment.ios for moment in self.moments)

    def iops(self) -> Figure:
        """Return the run's rate, with the interval from its course over time."""
        return rate_with_interval(
            self._iops, [moment.iops for moment in self.moments], count=self._ios, unit="IOPS"
        )

    def pressure(self) -> Figure:
        """Return the load jobs' bytes per second, with the interval from their course over time."""
        return rate_with_interval(
            self._pressure_Bps, [moment.pressure_Bps for moment in self.moments], count=0, unit="B/s"
        )


def _reported_latency(record: RunRecord, read: Selection, kind: Kind) -> ReportedLatency | None:
    """Return the measured job's latency as another program reported it; ``None`` unless exactly one row reports it.

    Percentiles of several rows or directions cannot be combined. If only lat was reported, it stands for the response,
    as in ``selection.py``.
    """
    mine = [latency for latency in record.reported if (latency.stage, latency.row) in read.rows]
    mine = [latency for latency in mine if latency.kind is kind] or [
        latency for latency in mine if latency.kind is Kind.LAT
    ]
    candidates = [latency for latency in mine if latency.direction in read.directions]
    if len(candidates) > 1:
        candidates = [latency for latency in mine if latency.direction is None]
    return candidates[0] if len(candidates) == 1 else None


@dataclass(frozen=True)
class _Reported:
    """Latencies that another program reported without samples, so that there are no intervals."""

    reported: ReportedLatency

    @property
    def histogram(self) -> Histogram:
        return Histogram.empty()

    def mean(self) -> Figure | None:
        return self._estimate(self.reported.mean_ns, needed=0)

    def quantile(self, q: float) -> Figure | None:
        return self._estimate(self.reported.quantiles_ns.get(q), needed=needed(q))

    def _estimate(self, value_ns: float | None, *, needed: int) -> Figure | None:
        if value_ns is None:
            return None
        count = self.reported.count
        return Figure(value_ns, supported=count >= needed, needed=needed, count=count)


def _seconds(row: RowResult) -> float:
    return (row.end_ns - row.start_ns) / 1e9


def _rate(row: RowResult, amount: int) -> float:
    return amount / _seconds(row) if row.end_ns > row.start_ns else 0.0


def _device_mean(record: RunRecord) -> float | None:
    ios = sum(stat.read_ios for stat in record.device_stats)
    return sum(stat.read_ns for stat in record.device_stats) / ios if ios else None


@dataclass(frozen=True)
class Ratio:
    """The ratio of two figures, with the 95 % interval; ``None`` where a bound is missing."""

    value: float
    low: float | None
    high: float | None


def ratio(after: Figure, before: Figure) -> Ratio:
    """Return ``after / before`` of two independent samples.

    The interval recovers variances from the widths of the two intervals, on a logarithmic scale (MOVER: Zou and Donner,
    Statistics in Medicine 27, 2008). It assumes no distribution and may be lopsided.

    >>> def figure(low, value, high):
    ...     return Figure(value, low, high)
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


@dataclass(frozen=True)
class Difference:
    """The difference of two figures, with the 95 % interval; ``None`` where a bound is missing."""

    value: float
    low: float | None
    high: float | None


def difference(after: Figure, before: Figure) -> Difference:
    """Return ``after - before`` of two independent samples, with an interval by MOVER, as in ``ratio``.

    >>> def figure(low, value, high):
    ...     return Figure(value, low, high)
    >>> difference(figure(96, 100, 104), figure(57, 60, 63))
    Difference(value=40, low=35.0, high=45.0)
    """
    value = after.value - before.value

    def distance(*pairs: tuple[float, float | None]) -> float | None:
        distances = [abs(to - at) for at, to in pairs if to is not None]
        return math.hypot(*distances) if len(distances) == len(pairs) else None

    down = distance((after.value, after.low), (before.value, before.high))
    up = distance((after.value, after.high), (before.value, before.low))
    return Difference(value, None if down is None else value - down, None if up is None else value + up)


def total(estimates: Sequence[Figure]) -> Figure:
    """Return the sum of figures of independent samples, with an interval by MOVER, as in ``ratio``.

    >>> def figure(low, value, high):
    ...     return Figure(value, low, high)
    >>> both = total([figure(97, 100, 104), figure(56, 60, 63)])
    >>> both.low, both.value, both.high
    (155.0, 160, 165.0)
    """

    def reach(bounds: Sequence[float | None]) -> float | None:
        distances = [
            abs(bound - estimate.value)
            for bound, estimate in zip(bounds, estimates, strict=True)
            if bound is not None
        ]
        return math.hypot(*distances) if len(distances) == len(estimates) else None

    value = sum(estimate.value for estimate in estimates)
    down = reach([estimate.low for estimate in estimates])
    up = reach([estimate.high for estimate in estimates])
    return Figure(
        value,
        None if down is None else value - down,
        None if up is None else value + up,
        supported=all(estimate.supported for estimate in estimates),
        needed=max(estimate.needed for estimate in estimates),
        count=sum(estimate.count for estimate in estimates),
        dependence=any(estimate.dependence for estimate in estimates),
        long_enough=all(estimate.long_enough for estimate in estimates),
        unit=estimates[0].unit,
    )
