"""The rates of a drive model, from a short simulation: up to 2000 requests of each kind, one kind after the other.

It takes a tenth of a second of CPU time; for flash half a second, most of it to prepare the state in which runs begin.
"""

from __future__ import annotations

from functools import cache

from iogauge import workload
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.reviews.drive_rates import DriveRates
from iogauge.schema import Direction, RowResult, State, TargetFacts
from iogauge.suites.suite import job_text
from iogauge.target.modelled import open_model
from iogauge.workload.options.patterns import file_text

_WAYS = (Direction.READ, Direction.WRITE)
_LARGE_BYTES = 128 << 10
_SEED = 1
_GLOBAL = {
    "ioengine": "libaio",
    "thread": 1,
    "direct": 1,
    "norandommap": 1,
    "group_reporting": 1,
    "stonewall": 1,
    "runtime": "1s",  # a disk needs longer for some kinds
}


def model_rates(target: TargetFacts) -> DriveRates:
    """Return the rates of a modelled target, in the state in which its runs begin."""
    assert target.modelled is not None
    return _measured(target.path, target.modelled.begun_as or "as-is")


@cache
def _measured(path: str, state: State) -> DriveRates:
    opened = open_model(path, state=state)
    jobs = workload.parse(_job_text(path), source="rates")
    with Interrupts() as interrupts:
        drives = {path: opened.drive.parameters}
        result = simulate(jobs, drives, opened.machine.parameters, seed=_SEED, interrupts=interrupts)
    rows = {row.name: row for row in result.rows}
    iops = {way: _per_second(rows[f"many-{way}"], way) for way in _WAYS}
    alone_ns = {way: 1e9 / _per_second(rows[f"alone-{way}"], way) for way in _WAYS}
    synced_ns, gathered_ns = (
        1e9 / _per_second(rows[name], Direction.WRITE) for name in ("synced", "gathered")
    )
    return DriveRates(
        latency_ns={way: max(alone_ns[way] - 1e9 / iops[way], 0) for way in _WAYS},
        iops=iops,
        bandwidth_Bps={way: _LARGE_BYTES * _per_second(rows[f"order-{way}"], way) for way in _WAYS},
        sync_ns=max(synced_ns - gathered_ns, 0),
        basis="the model's own rates",
    )


def _job_text(path: str) -> str:
    jobs: dict[str, dict[str, object]] = {}
    for way in _WAYS:
        jobs[f"alone-{way}"] = {"rw": f"rand{way}", "bs": "4k", "number_ios": 400}
        jobs[f"many-{way}"] = {
            "rw": f"rand{way}",
            "bs": "4k",
            "number_ios": 2000,
            "iodepth": 32,
            "numjobs": 4,
        }
        jobs[f"order-{way}"] = {"rw": way, "bs": _LARGE_BYTES, "number_ios": 1000, "iodepth": 32}
    # In order, as logs are written: a disk gathers such writes, and waits for a turn after each sync.
    jobs["gathered"] = {"rw": "write", "bs": "4k", "number_ios": 200}
    jobs["synced"] = {**jobs["gathered"], "fdatasync": 1}
    return job_text(global_={"filename": file_text(path), **_GLOBAL}, **jobs)


def _per_second(row: RowResult, way: Direction) -> float:
    return row.tallies[way].ios / (row.end_ns - row.start_ns) * 1e9
