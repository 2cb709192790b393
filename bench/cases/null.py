"""The cost of iogauge per I/O: the null engine, which completes every request at once, on one core.

The whole process is pinned to that core, so that its other threads are part of the cost. Both programs keep full
statistics: fio its defaults (its own clock, all latencies, percentiles of clat), iogauge all it has.
"""

from __future__ import annotations

import os
from functools import partial

from bench import peers
from bench.peers import Job
from bench.results import Finding, ratio_row
from bench.settings import Settings

JOB: Job = {
    "ioengine": "null",
    "rw": "randread",
    "bs": "4k",
    "iodepth": 32,
    "norandommap": 1,
    "size": "64g",
    "time_based": 1,
}


def overhead(settings: Settings) -> Finding:
    """Compare the IOPS of both, and the time of one core that an I/O takes."""
    core = max(os.sched_getaffinity(0))
    job = {**JOB, "runtime": settings.seconds(3)}
    ours, fio = settings.compare("null", partial(peers.iogauge, pin=core), partial(peers.fio, pin=core), job)
    ours_iops, fio_iops = [run.iops for run in ours], [run.iops for run in fio]
    ours_ns, fio_ns = [1e9 / iops for iops in ours_iops], [1e9 / iops for iops in fio_iops]
    return Finding(
        rows=[
            ratio_row("null randread QD32", "IOPS", ours_iops, fio_iops, at_least=3),
            ratio_row("null randread QD32", "ns per I/O", ours_ns, fio_ns),
        ],
        samples={"iogauge_iops": ours_iops, "fio_iops": fio_iops},
    )
