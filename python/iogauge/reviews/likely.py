"""Estimate how long a step is likely to take, and how much it is likely to write.

Jobs that run at once share their drive. A job that runs alone reaches its own rate, or what its requests in flight
allow: each takes its latency and its time on the drive. If all jobs together need more than the drive's time, each gets
the same share of what it would reach alone.

Source: the asymptotic bounds of closed queueing networks (Denning and Buzen, 1978).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iogauge.reviews.bounds import amounts
from iogauge.reviews.drive_rates import DriveRates
from iogauge.schema import BlockSize, Direction, Job, SyncMode

RatesOf = Callable[[str], DriveRates | None]
"""Returns the rates of a file's drive; None: they are unknown."""


@dataclass(frozen=True)
class Load:
    """What a job is likely to do, all its clones together."""

    job: Job
    iops: float
    """Requests a second, without syncs."""
    service_ns: float
    """How long a request occupies its drive."""

    @property
    def busy(self) -> float:
        """The share of time that it occupies the drive of each of its files."""
        return self.iops * self.service_ns / 1e9 / len(self.job.filenames)

    @property
    def moved_Bps(self) -> float:
        """Bytes that it moves a second."""
        return self.iops * sum(share * _mean_bytes(self.job, way) for way, share in shares(self.job).items())

    @property
    def written_Bps(self) -> float:
        """Bytes that it writes a second."""
        written = shares(self.job).get(Direction.WRITE, 0)
        return self.iops * written * _mean_bytes(self.job, Direction.WRITE)


@dataclass(frozen=True)
class Likely:
    """What the jobs of a step are likely to do; 0 where the rates of their drives are unknown."""

    seconds: float
    """How long they take, without the last requests."""
    drain_s: float
    """How long the requests take that are still in flight when the time of a stage is over."""
    written_bytes: float


def likely(jobs: Sequence[Job], rates_of: RatesOf, sizes: Mapping[str, int]) -> Likely:
    """Return what the jobs of a step are likely to do. ``sizes`` are those of the targets, by path."""
    total_s = drain_s = written_bytes = 0.0
    for stage in _stages(jobs):
        longest_s, in_flight_s = 0.0, 0.0
        for load in loads(stage, rates_of):
            job, moved_Bps = load.job, load.moved_Bps
            timed_s = (job.runtime_ns + job.ramp_time_ns) / 1e9
            amount = min(amounts(job, sizes), default=0)
            ends_s = amount / moved_Bps if amount and moved_Bps else 0.0
            takes_s = min(timed_s, ends_s) if timed_s and ends_s else timed_s or ends_s
            longest_s = max(longest_s, job.startdelay_ns[1] / 1e9 + takes_s)
            written_bytes += takes_s * load.written_Bps
            if timed_s and load.iops:
                requests = job.numjobs * job.iodepth
                drains_s = min(requests / load.iops, requests * load.service_ns / 1e9)
                in_flight_s += drains_s
                written_bytes += drains_s * load.written_Bps
        total_s += longest_s
        drain_s += in_flight_s
    return Likely(total_s, drain_s, written_bytes)


def loads(jobs: Iterable[Job], rates_of: RatesOf) -> Iterator[Load]:
    """Yield the likely load of each of the jobs, which run at once."""
    alone = [_alone(job, rates_of) for job in jobs]
    wanted: defaultdict[str, float] = defaultdict(float)
    for load in alone:
        for name in load.job.filenames:
            wanted[name] += load.busy
    for load in alone:
        crowded = max((wanted[name] for name in load.job.filenames), default=0)
        yield replace(load, iops=load.iops / max(crowded, 1))


def shares(job: Job) -> dict[Direction, float]:
    """Return the shares of a job's requests by their direction.

    >>> from iogauge.schema import Rw
    >>> shares(Job(name="x", rw=Rw.RANDRW, rwmix_read_percent=75))[Direction.WRITE]
    0.25
    """
    ways = job.rw.directions
    if len(ways) == 1:
        return dict.fromkeys(ways, 1.0)
    reads = job.rwmix_read_percent / 100 if Direction.READ in ways else 0.5
    return {way: reads if way is Direction.READ else 1 - reads for way in ways}


def _stages(jobs: Iterable[Job]) -> list[list[Job]]:
    """Return the jobs that run at once, stage after stage."""
    stages: list[list[Job]] = [[]]
    for job in jobs:
        if job.stonewall and stages[-1]:
            stages.append([])
        stages[-1].append(job)
    return stages


def _alone(job: Job, rates_of: RatesOf) -> Load:
    """Return what a job would do with its drives to itself."""
    drive = rates_of(job.filenames[0]) if job.filenames else None
    if drive is None:
        return Load(job, 0, 0)
    ways = {way: share for way, share in shares(job).items() if share}
    service_ns = sum(share * _service_ns(job, way, drive) for way, share in ways.items())
    waits_ns = sum(share * drive.latency_ns[_as_moved(way)] for way, share in ways.items())
    waits_ns += ways.get(Direction.WRITE, 0) * _sync_ns(job, drive)
    if job.thinktime_iotime_ns:
        waits_ns += job.thinktime_ns * waits_ns / job.thinktime_iotime_ns
    else:
        waits_ns += job.thinktime_ns / (job.thinktime_blocks or 1)
    reached = job.numjobs * job.iodepth * 1e9 / (waits_ns + service_ns)
    return Load(job, min([reached, *_limits(job, ways)]), service_ns)


def _limits(job: Job, ways: Mapping[Direction, float]) -> Iterator[float]:
    """Yield the rates to which a job limits itself, requests a second of all its clones."""
    for way, share in ways.items():
        if rate := getattr(job.rate_iops, way):
            yield rate * job.numjobs / share
        if rate := getattr(job.rate_Bps, way):
            yield rate * job.numjobs / _mean_bytes(job, way) / share


def _service_ns(job: Job, way: Direction, drive: DriveRates) -> float:
    # Several logs of which each waits for its write leave a drive nothing to gather: a disk seeks from one to the next.
    logs = job.numjobs > 1 and job.iodepth == 1 and _sync_ns(job, drive) > 0
    return drive.service_ns(_as_moved(way), _mean_bytes(job, way), random=job.rw.random or logs)


def _sync_ns(job: Job, drive: DriveRates) -> float:
    """Return the mean time that syncs add to each write."""
    every = (job.fsync, job.fdatasync, int(job.sync is not SyncMode.NONE))
    return sum(drive.sync_ns / writes for writes in every if writes)


def _as_moved(way: Direction) -> Direction:
    """Return the direction whose rates estimate a request: those of writes for a trim."""
    return Direction.READ if way is Direction.READ else Direction.WRITE


def _mean_bytes(job: Job, way: Direction) -> float:
    size: BlockSize = getattr(job.bs, way)
    if size.split:
        return sum(part.size_bytes * part.percent / 100 for part in size.split)
    return (size.minimum_bytes + size.maximum_bytes) / 2
