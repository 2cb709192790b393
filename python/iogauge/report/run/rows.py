"""A row of a run as reports read it: its job, its workers, and its histograms, each decoded once.

A stored record omits a histogram that equals another one (see ``Tally`` in ``schema``). ``Row.histogram`` restores it,
in one place for the table, the JSON and the conditions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

import numpy as np

from iogauge.schema import Direction, Job, Kind, Pacing, RowResult, RunRecord, Tally, WorkerPlan, WorkerResult
from iogauge.stats.histogram import Histogram

DATA = (Direction.READ, Direction.WRITE, Direction.TRIM)
"""The directions that move or discard data, in the order of fio's output."""


class Unified(StrEnum):
    """fio's ``unified_rw_reporting``: reads, writes and trims reported as one."""

    MIXED = "mixed"


MIXED = Unified.MIXED
Stream = Direction | Unified
"""A part of a row that has its own figures in a report."""


@dataclass(frozen=True)
class Row:
    """One row of ``record``. A histogram is decoded when it is first read, and kept."""

    record: RunRecord
    result: RowResult
    plans: tuple[WorkerPlan, ...]
    """The plans of the workers that are merged into this row."""
    workers: tuple[WorkerResult, ...]
    """The results of the same workers."""

    @property
    def name(self) -> str:
        """The name of the job or group."""
        return self.result.name

    @property
    def seconds(self) -> float:
        """The measured time."""
        return self.result.seconds(self.workers)

    @property
    def job_index(self) -> int:
        """The index of its first section in the job file."""
        return self.plans[0].job

    @property
    def job(self) -> Job:
        """Its section of the job file: the first, if several share the row."""
        return self.record.jobs.jobs[self.job_index]

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All sections of the job file that share the row."""
        return tuple(self.record.jobs.jobs[index] for index in dict.fromkeys(p.job for p in self.plans))

    @cached_property
    def directions(self) -> tuple[Direction, ...]:
        """The directions in which any request completed or failed."""
        return tuple(
            direction for direction in Direction if (tally := self.tally(direction)).ios or tally.errors
        )

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The directions to report, merged as the job's unified_rw_reporting says."""
        unified = self.job.unified_rw_reporting
        data = tuple(direction for direction in self.directions if direction in DATA)
        if unified == "none" or not data:
            return self.directions
        apart = data if unified == "both" else ()
        return (*apart, MIXED, *(direction for direction in self.directions if direction not in DATA))

    def tally(self, direction: Stream) -> Tally:
        """Return the counts of one direction: zeros if it was not used. Those of ``MIXED`` have no histograms."""
        if direction is not MIXED:
            return self.result.tallies.get(direction) or Tally()
        parts = [self.tally(direction) for direction in DATA]
        errors = sum((Counter(part.errors) for part in parts), Counter[int]())
        counts = {
            name: sum(getattr(part, name) for part in parts)
            for name in ("ios", "bytes", "short", "flagged", "late")
        }
        return Tally(**counts, errors=dict(errors))

    def scheduled(self, direction: Stream) -> bool:
        """Return whether requests of this direction had a schedule: a rate, think time, or that of a trace."""
        if any(plan.thinktime_ns for plan in self.plans):
            return True
        if any(plan.replay and plan.replay.pacing is not Pacing.CLOSED for plan in self.plans):
            return True
        if direction is MIXED:
            return any(self.scheduled(direction) for direction in DATA)
        if direction is Direction.SYNC:
            return False
        schedules = [getattr(plan.schedule, direction.value) for plan in self.plans]
        return any(schedule.rate_iops or schedule.rate_Bps for schedule in schedules)

    def commits(self, direction: Stream) -> bool:
        """Return whether these are syncs whose response was recorded: since the first write that each makes durable."""
        return direction is Direction.SYNC and Kind.RESPONSE in self.tally(direction).histograms

    def seconds_of(self, direction: Stream) -> float:
        """Return the measured time in which requests of a direction could be issued.

        In a group, this is the time of the jobs that issue them, from the first start to the last end. While a job
        reads back what it wrote, it writes nothing; one that only writes reads at no other time.
        """
        seconds = self._seconds_of_jobs(direction)
        reading = sum(worker.verify.reading_ns for worker in self.workers if worker.verify)
        if not reading or direction is MIXED:
            return seconds
        reading_s = reading / len(self.workers) / 1e9
        if direction is not Direction.READ:
            return max(seconds - reading_s, 0.0)
        only_then = all(Direction.READ not in job.rw.directions for job in self.jobs)
        backlog = any(job.verify_backlog for job in self.jobs)
        return reading_s if only_then and not backlog else seconds

    def _seconds_of_jobs(self, direction: Stream) -> float:
        if len(self.workers) != len(self.plans):  # A run of another program has no workers.
            return self.seconds
        jobs = self.record.jobs.jobs
        issuing = [
            worker
            for plan, worker in zip(self.plans, self.workers, strict=True)
            if direction in jobs[plan.job].rw.directions
        ]
        if not 0 < len(issuing) < len(self.workers):
            return self.seconds
        start_ns = min(worker.start_ns for worker in issuing)
        return (max(worker.end_ns for worker in issuing) - start_ns) / 1e9

    def iops(self, direction: Stream) -> float:
        """Return completed I/Os a second over the measured time of their direction."""
        seconds = self.seconds_of(direction)
        return self.tally(direction).ios / seconds if seconds else 0.0

    def bandwidth_Bps(self, direction: Stream) -> float:
        """Return bytes a second over the measured time of their direction."""
        seconds = self.seconds_of(direction)
        return self.tally(direction).bytes / seconds if seconds else 0.0

    @cached_property
    def _decoded(self) -> dict[tuple[Stream, Kind], Histogram | None]:
        return {}

    def histogram(self, direction: Stream, kind: Kind) -> Histogram | None:
        """Return the histogram of one kind of latency in nanoseconds; None if it is unknown.

        A response or clat that was not recorded equals lat; queued and lateness are then zeros. Only slat can be
        unknown: with SQPOLL there is no call for submission.
        """
        key = (direction, kind)
        if key not in self._decoded:
            self._decoded[key] = self._decode(direction, kind)
        return self._decoded[key]

    def _decode(self, direction: Stream, kind: Kind) -> Histogram | None:
        if kind is Kind.LOOP_GAP:
            return self.loop_gap
        if direction is MIXED:
            parts = [part for data in DATA if (part := self.histogram(data, kind)) is not None]
            return Histogram.merge(parts) if parts else None
        recorded = histogram_of(self.tally(direction), kind)
        if recorded is not None:
            return recorded
        if kind is Kind.LAT:
            return Histogram.empty()
        if kind in (Kind.RESPONSE, Kind.CLAT):
            return self.histogram(direction, Kind.LAT)
        if kind in (Kind.QUEUED, Kind.LATENESS):
            return _zeros(self.lat(direction).count)
        return None

    def priorities(self, direction: Stream) -> list[tuple[int, Histogram]]:
        """Return the I/O priorities that requests of a direction had, with their latencies, the most urgent first.

        Empty unless there are several. The latency is lat with lat_percentiles, and otherwise clat.
        """
        if direction not in self._priorities:
            self._priorities[direction] = self._decode_priorities(direction)
        return self._priorities[direction]

    @cached_property
    def _priorities(self) -> dict[Stream, list[tuple[int, Histogram]]]:
        return {}

    def _decode_priorities(self, direction: Stream) -> list[tuple[int, Histogram]]:
        if left_out(self.job, self.priority_kind):
            return []
        parts = defaultdict(list)
        for tally in self.result.priorities:
            if direction in (tally.direction, MIXED):
                parts[tally.priority].append(Histogram.decode(tally.histogram, tally.exact))
        # No class, 0, is the last: such requests have what the kernel gives to every thread.
        urgent = sorted(parts, key=lambda priority: (not priority, priority))
        return [(priority, Histogram.merge(parts[priority])) for priority in urgent] if len(parts) > 1 else []

    @property
    def priority_kind(self) -> Kind:
        """The latency that is reported by I/O priority."""
        return Kind.LAT if self.job.lat_percentiles else Kind.CLAT

    def lat(self, direction: Stream) -> Histogram:
        """Return the histogram of lat: empty if nothing completed."""
        return self.histogram(direction, Kind.LAT) or Histogram.empty()

    @cached_property
    def loop_gap(self) -> Histogram:
        """The gaps between two rounds of its workers' loops, which belong to no direction."""
        return Histogram.decode(self.result.loop_gap) if self.result.loop_gap else Histogram.empty()


def histogram_of(tally: Tally, kind: Kind) -> Histogram | None:
    """Return the histogram that a tally recorded of one kind of latency; None if it recorded none."""
    data = tally.histograms.get(kind)
    return None if data is None else Histogram.decode(data, tally.exact.get(kind))


def _zeros(count: int) -> Histogram:
    if not count:
        return Histogram.empty()
    zero = np.zeros(1, dtype=np.int64)
    return Histogram(zero, zero, np.array([count], dtype=np.int64))


def left_out(job: Job, kind: Kind) -> bool:
    """Return whether a job leaves a latency out of its reports (disable_lat, disable_clat, disable_slat).

    >>> left_out(Job(name="a", disable_clat=True), Kind.CLAT), left_out(Job(name="a"), Kind.LAT)
    (True, False)
    """
    return {Kind.LAT: job.disable_lat, Kind.CLAT: job.disable_clat, Kind.SLAT: job.disable_slat}.get(
        kind, False
    )


def total(record: RunRecord, kind: Kind) -> Histogram:
    """Return the histogram of one kind of latency over all reads, writes and trims of a run."""
    parts = [
        row.histogram(direction, kind)
        for row in rows(record)
        for direction in row.directions
        if direction in DATA
    ]
    return Histogram.merge([part for part in parts if part is not None])


def rows(record: RunRecord) -> Iterator[Row]:
    """Yield the rows of ``record`` in the order in which they are reported."""
    plans, workers = defaultdict(list), defaultdict(list)
    for stage, plan in enumerate(record.plan.stages):
        for planned in plan.workers:
            plans[stage, planned.row].append(planned)
    for worker in record.result.workers:
        workers[worker.stage, worker.row].append(worker)
    for result in record.result.rows:
        key = (result.stage, result.row)
        yield Row(record, result, plans=tuple(plans[key]), workers=tuple(workers[key]))


def supported(histogram: Histogram, q: float) -> bool:
    """Return whether the sample supports the ``q``-quantile; no sample supports the maximum.

    >>> supported(Histogram.of(range(1000)), 0.99), supported(Histogram.of(range(1000)), 1.0)
    (True, False)
    """
    return q < 1 and histogram.supports(q)


def fraction(percentile: float) -> float:
    """Return a percentile as a quantile, exact in decimals: 99.9 / 100 is 0.9990000000000001 in floating point.

    >>> fraction(99.9)
    0.999
    """
    return float(Decimal(str(percentile)).scaleb(-2))
