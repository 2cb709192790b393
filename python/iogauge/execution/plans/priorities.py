"""Computes I/O priorities as the kernel takes them: of a thread, and of single requests (fio's cmdprio).

Source: ioprio_set(2); fio 3.33's engines/cmdprio.c.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from iogauge.schema import Job, PriorityPlan, WorkerPlan

REAL_TIME = 1
BEST_EFFORT = 2
"""Linux's class of I/O priorities for threads that ask for none."""
CLASS_SHIFT = 13
LEVEL = 7
"""The bits of a priority that are its level within its class."""


def io_priority(prioclass: int, level: int) -> int:
    """Return the number of a class and a level."""
    return prioclass << CLASS_SHIFT | level


def priorities(job: Job) -> tuple[PriorityPlan, ...]:
    """Return which requests of a job have a priority of their own."""
    return (*_of(job, 0, "read"), *_of(job, 1, "write"))


def reported(workers: Sequence[WorkerPlan], jobs: Sequence[Job]) -> list[WorkerPlan]:
    """Return the workers of a stage with what they report by priority: all of a row whose requests have several.

    As in fio, this is lat with lat_percentiles, and otherwise clat.
    """
    own = defaultdict(set)
    for worker in workers:
        own[worker.row].add(worker.io_priority or 0)
    rows = {worker.row for worker in workers if worker.priorities or len(own[worker.row]) > 1}
    return [
        worker.model_copy(
            update={"priority_latency": "lat" if jobs[worker.job].lat_percentiles else "clat"}
            if worker.row in rows
            else {}
        )
        for worker in workers
    ]


def _of(job: Job, index: int, direction: Literal["read", "write"]) -> Iterator[PriorityPlan]:
    usual = io_priority(job.cmdprio_class[index], job.cmdprio[index])
    if percent := job.cmdprio_percentage[index]:
        yield PriorityPlan(direction=direction, percent=percent, priority=usual)
    for share in job.cmdprio_bssplit[index]:
        # As in fio, no class means best effort.
        own = usual
        if share.prioclass is not None:
            own = io_priority(share.prioclass or BEST_EFFORT, share.prio or 0)
        yield PriorityPlan(
            direction=direction, length_bytes=share.size_bytes, percent=share.percent, priority=own
        )
