"""What the generator can do with no drive at all: its ceiling, and what it adds to every request.

Measured on the CPUs of the run, printed beside its results, never subtracted. Source: DESIGN.md, invariant 7;
peers.md section 6 (e).
"""

from __future__ import annotations

import json

from iogauge import _core
from iogauge.run.core import drive
from iogauge.run.interrupts import Interrupts
from iogauge.run.planning import make_plan
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

_PROBE_NS = 60_000_000
_TRIES = 5
"""On a machine so busy that a probe's thread never ran in its time: each try takes twice as long as the one before."""


def measure_ceiling() -> Ceiling:
    """Measure the null engine at depth 32 and at depth 1, and the timer. Takes about a quarter of a second."""
    deep = _probe(iodepth=32)
    shallow = _probe(iodepth=1)
    clock = json.loads(_core.clock_facts())
    return Ceiling(
        iops=deep[0],
        lat_mean_ns=shallow[1],
        clock_source=clock["source"],
        clock_read_ns=clock["read_cost_ns"],
        sleep_slack_ns=_core.sleep_slack_ns(),
    )


def _probe(*, iodepth: int) -> tuple[float, float]:
    """Return (IOPS, mean lat in ns) of one pinned worker on the null engine; zeros where it never got to run."""
    for attempt in range(_TRIES):
        row = _run(iodepth=iodepth, runtime_ns=_PROBE_NS << attempt)
        tally = row.tallies.get(Direction.READ, Tally())
        if tally.ios and row.end_ns > row.start_ns:
            exact = tally.exact[Kind.LAT]
            return tally.ios / (row.end_ns - row.start_ns) * 1e9, exact.sum_ns / exact.count
    return 0.0, 0.0


def _run(*, iodepth: int, runtime_ns: int) -> RowResult:
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
        cpus=_core.allowed_cpus(),
    )
    with Interrupts() as interrupts:
        result = drive(plan, interrupts=interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    return result.rows[0]
