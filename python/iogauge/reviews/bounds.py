"""Bounds of what a job can move: its own amount and rate, the size of its target, and the link of its drive.

Source for the link: PCI Express 5.0, four lanes of 32 GT/s with 128b/130b encoding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from iogauge.schema import Direction, Job, TargetFacts

LINK_Bps = 4 * 32e9 * 128 / 130 / 8
"""The most that a drive with four lanes can take, bytes a second."""
_DEVIATIONS = 5
"""A Poisson process exceeds its mean by more than this many standard deviations once in some million steps."""


def amounts(job: Job, sizes: Mapping[str, int]) -> Iterator[int]:
    """Yield the most bytes that a job's clones move together, one value for every amount that can end the job.

    ``sizes`` are those of the targets, by path.
    """
    if job.number_ios:
        largest = job.bs.write if job.rw.writes else job.bs.read
        yield job.number_ios * largest.maximum_bytes * job.numjobs
    if job.time_based:
        return
    amount, times = (job.io_size, 1) if job.io_size else (job.size, job.loops)
    if amount is not None and amount.size_bytes:
        yield amount.size_bytes * times * job.numjobs
    elif sizes.keys() >= {*job.filenames}:
        targets_bytes = sum(sizes[name] for name in job.filenames)
        yield (amount.of(targets_bytes) if amount and amount.percent else targets_bytes) * times * job.numjobs


def most_written(job: Job, sizes: Mapping[str, int]) -> tuple[int, bool]:
    """Return the most that a job writes, all clones together, and whether the job itself limits it."""
    if not writes(job):
        return 0, True
    seconds = (job.runtime_ns + job.ramp_time_ns) / 1e9
    block_bytes = job.bs.write.maximum_bytes
    limits: list[float] = []
    if job.rate_Bps.write:
        limits.append(_paced(job, job.rate_Bps.write / block_bytes * seconds) * block_bytes)
    if job.rate_iops.write:
        limits.append(_paced(job, job.rate_iops.write * seconds) * block_bytes)
    limits += amounts(job, sizes)
    # A job with neither time nor amount ends with its target. If the size is unknown, the amount that it writes is too.
    link = LINK_Bps * seconds * max(len(job.filenames), 1) if seconds else math.inf
    least = min([*limits, link])
    return (round(least) if math.isfinite(least) else 0), bool(limits) and least < link


def _paced(job: Job, requests: float) -> float:
    """Return the most requests that all clones of a job issue, if the rate of each allows ``requests``.

    One more for each clone, since its first is due at once. Of a Poisson process, ``_DEVIATIONS`` more.
    """
    chance = _DEVIATIONS * math.sqrt(requests) if job.rate_process == "poisson" else 0
    return job.numjobs * (requests + 1 + chance)


def writes(job: Job) -> bool:
    """Return whether a job writes anything."""
    only_reads = Direction.READ in job.rw.directions and job.rwmix_read_percent == 100
    return Direction.WRITE in job.rw.directions and not only_reads


def link_Bps(target: TargetFacts | None) -> float:
    """Return the bandwidth of a target's link, bytes a second."""
    return target.link_Bps if target and target.link_Bps else LINK_Bps
