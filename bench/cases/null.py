"""What iogauge itself costs per I/O: the null engine, which completes everything at once, on one core.

The whole process is kept on that core, so whatever other threads do is part of the cost. Both with full statistics:
fio's defaults (its own clock, all latencies, percentiles of clat), iogauge as always.
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
    """IOPS of both, and the nanoseconds of one core that an I/O takes."""
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
