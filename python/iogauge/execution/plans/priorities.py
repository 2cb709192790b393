"""Computes I/O priorities as the kernel takes them: of a thread, and of single requests (fio's cmdprio).

Source: ioprio_set(2); fio 3.33's engines/cmdprio.c.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from iogauge.schema import Job, PriorityPlan

REAL_TIME = 1
CLASS_SHIFT = 13


def io_priority(prioclass: int, level: int) -> int:
    """Return the number of a class and a level."""
    return prioclass << CLASS_SHIFT | level


def priorities(job: Job) -> tuple[PriorityPlan, ...]:
    """Return which requests of a job have a priority of their own."""
    return (*_of(job, 0, "read"), *_of(job, 1, "write"))


def _of(job: Job, index: int, direction: Literal["read", "write"]) -> Iterator[PriorityPlan]:
    usual = io_priority(job.cmdprio_class[index], job.cmdprio[index])
    if percent := job.cmdprio_percentage[index]:
        yield PriorityPlan(direction=direction, percent=percent, priority=usual)
    for share in job.cmdprio_bssplit[index]:
        own = usual if share.prioclass is None else io_priority(share.prioclass, share.prio or 0)
        # Class 0 is no class: such requests have the priority of their thread.
        if own:
            yield PriorityPlan(
                direction=direction, length_bytes=share.size_bytes, percent=share.percent, priority=own
            )
