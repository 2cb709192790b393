"""Runs on drive models, timed in this process: the time to make the drive, and the time of its requests.

Starting the command would take as long as some million simulated requests. A drive is made before the handle of its run
is returned, so that the two times can be measured separately.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from iogauge import catalog, workload
from iogauge.execution.core import run_plan
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import CPUS, Virtual
from iogauge.execution.plans.planning import make_plan

THREADS = 4
DEPTH = 4
TARGET = "model:x"
INTERVAL_NS = 10**9
GIVE_UP_NS = 120 * 10**9


@dataclass(frozen=True, kw_only=True)
class Load:
    """4 KiB requests at random, four threads at depth 4 each, on a drive behind a machine."""

    rw: str
    drive: str
    machine: str

    def jobs(self, ios: int) -> str:
        """Return the job file of ``ios`` I/Os."""
        return (
            f"[load]\nfilename={TARGET}\nrw={self.rw}\nbs=4k\nnumjobs={THREADS}\niodepth={DEPTH}\n"
            f"ioengine=libaio\ndirect=1\nnorandommap=1\ngroup_reporting=1\nnumber_ios={ios // THREADS}\n"
        )


@dataclass(frozen=True, kw_only=True)
class Timed:
    """The times of one run."""

    ios: int
    made_s: float
    """The time to make the drive, filled and in its steady state."""
    ran_s: float
    """The time from the first request to the last, with every interval read."""
    write_amplification: float | None

    @property
    def ios_per_s(self) -> float:
        """Simulated I/Os per second of wall time."""
        return self.ios / self.ran_s


def timed(load: Load, ios: int, *, seed: int) -> Timed:
    """Run ``ios`` I/Os on one core, with all statistics.

    A drive in its steady state is cached by seed: a new seed makes a new drive.
    """
    virtual = Virtual(
        {TARGET: catalog.drive(load.drive).parameters}, catalog.machine(load.machine).parameters
    )
    plan = make_plan(
        workload.parse(load.jobs(ios), source="bench"),
        virtual.opened,
        seed=seed,
        interval_ns=INTERVAL_NS,
        give_up_ns=GIVE_UP_NS,
        request_log=False,
        cpus=CPUS,
    )
    with one_core(), Interrupts() as interrupts:
        began = time.perf_counter()
        handle = virtual.start(plan)
        made = time.perf_counter()
        result = run_plan(plan, start=lambda *_: handle, interrupts=interrupts)
        ended = time.perf_counter()
    done = sum(tally.ios for row in result.rows for tally in row.tallies.values())
    return Timed(
        ios=done,
        made_s=made - began,
        ran_s=ended - made,
        write_amplification=result.drives[0].write_amplification,
    )


def core() -> int:
    """Return the CPU of these runs: the last one."""
    return max(os.sched_getaffinity(0))


@contextmanager
def one_core() -> Iterator[None]:
    """Pin this thread, and those that it starts, to the CPU of these runs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core()})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
