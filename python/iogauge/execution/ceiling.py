"""Measures the generator's ceiling: its rate without a drive, and the latency that it adds to every request.

It runs on the CPUs of the run's first worker. The result is printed beside the run's figures and never subtracted. Of
several short probes the best counts, since a disturbance only makes a probe slower. Source: docs/latency.md, on what
the machine itself costs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from iogauge import _core
from iogauge.execution.core import run_plan
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.plans.placement import assign, worker_requests
from iogauge.execution.plans.planning import make_plan
from iogauge.schema import (
    BlockSize,
    Ceiling,
    Direction,
    EngineKind,
    Job,
    JobFile,
    Kind,
    PerDirection,
    RowResult,
    Rw,
    Tally,
)

_PROBE_NS = 20_000_000
_PROBES = 3
"""Per depth. Depths take turns, so that a disturbance does not hit all probes of one depth."""
_TRIES = 5
"""The most attempts on a machine so busy that a probe's thread did not run; every attempt doubles the time."""

Best = tuple[float, float]
"""IOPS, and mean lat in ns."""


def measure_ceiling(job_file: JobFile | None = None) -> Ceiling:
    """Measure the null engine at depth 32 and at depth 1, and the timer. Takes about a quarter of a second.

    ``job_file``: probe on the CPUs of its first worker; None: on the last CPU that this process may use. Raises
    IogaugeError if the job names a CPU that this process may not use.
    """
    cpus = _cpus(job_file)
    deep, shallow = _probe(cpus=cpus)
    clock = json.loads(_core.clock_facts())
    return Ceiling(
        iops=deep[0],
        shallow_iops=shallow[0],
        lat_mean_ns=shallow[1],
        clock_source=clock["source"],
        clock_read_ns=clock["read_cost_ns"],
        sleep_slack_ns=_core.sleep_slack_ns(),
    )


def _cpus(job_file: JobFile | None) -> Sequence[int]:
    allowed = _core.allowed_cpus()
    return assign(worker_requests(job_file)[0], allowed)[0].cpus or allowed if job_file else allowed


def _probe(*, cpus: Sequence[int]) -> tuple[Best, Best]:
    """Return the best of one pinned worker at depth 32 and at depth 1; zeros if it never ran."""
    best: dict[int, Best] = {}
    for attempt in range(_TRIES):
        for _ in range(_PROBES):
            for iodepth in (32, 1):
                row = _run(iodepth=iodepth, runtime_ns=_PROBE_NS << attempt, cpus=cpus)
                tally = row.tallies.get(Direction.READ, Tally())
                if tally.ios and row.end_ns > row.start_ns:
                    exact = tally.exact[Kind.LAT]
                    iops = tally.ios / (row.end_ns - row.start_ns) * 1e9
                    iops_before, lat_before = best.get(iodepth, (0.0, math.inf))
                    best[iodepth] = max(iops, iops_before), min(exact.sum_ns / exact.count, lat_before)
        if len(best) == 2:
            break
    return best.get(32, (0.0, 0.0)), best.get(1, (0.0, 0.0))


def _run(*, iodepth: int, runtime_ns: int, cpus: Sequence[int]) -> RowResult:
    block = BlockSize(minimum_bytes=4096, maximum_bytes=4096)
    job = Job(
        name="ceiling",
        ioengine=EngineKind.NULL,
        rw=Rw.RANDREAD,
        bs=PerDirection[BlockSize].same(block),
        iodepth=iodepth,
        norandommap=True,
        time_based=True,
        runtime_ns=runtime_ns,
        ramp_time_ns=runtime_ns // 10,
    )
    plan = make_plan(
        JobFile(jobs=(job,), source="ceiling", options=({},)),
        {},
        seed=0,
        interval_ns=10 * runtime_ns,
        give_up_ns=10**10,
        request_log=False,
        cpus=cpus,
    )
    with Interrupts() as interrupts:
        result = run_plan(plan, interrupts=interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    return result.rows[0]
