"""What a run says of a row's steadystate and of its latency_target, in fio's JSON and in words.

Source: fio 3.33's stat.c.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from iogauge.report.run.rows import Row
from iogauge.schema import SteadyResult
from iogauge.text import numbers


def criterion(row: Row) -> str:
    """Return the criterion as a job file has it, without its limit; empty without one."""
    wanted = row.job.steadystate
    return f"{wanted.figure}{'_slope' if wanted.slope else ''}" if wanted else ""


def steady_state(row: Row) -> dict[str, Any]:
    """Return fio's section ``steadystate``, by its key; nothing for a job without one."""
    wanted, result = row.job.steadystate, row.result.steady
    if wanted is None or result is None:
        return {}
    unit = "%" if wanted.percent else ""
    return {
        "steadystate": {
            "ss": f"{criterion(row)}:{wanted.limit:f}{unit}",
            "duration": row.job.steadystate_duration_ns // 10**9,
            "attained": int(result.attained),
            "criterion": f"{result.criterion:f}{unit}",
            "max_deviation": result.deviation,
            "slope": result.slope,
            "data": _data(
                result,
                length=row.job.steadystate_duration_ns // row.job.steadystate_interval_ns,
                with_lat=wanted.figure == "lat",
            ),
        }
    }


def _data(result: SteadyResult, *, length: int, with_lat: bool) -> dict[str, Any]:
    """Return the samples and their means as fio does: zeros fill up to ``length`` samples, and the means count them."""
    bw = _padded((sample.bw_Bps for sample in result.samples), length)
    iops = _padded((sample.iops for sample in result.samples), length)
    lat_ns = _padded((sample.lat_ns for sample in result.samples), length)
    lat = {"lat_mean": sum(lat_ns) // length, "lat_ns": lat_ns} if with_lat else {}
    return {"bw_mean": sum(bw) // length, "iops_mean": sum(iops) // length, **lat, "iops": iops, "bw": bw}


def _padded(values: Iterable[float], length: int) -> list[int]:
    samples = [int(value) for value in values]
    return [*samples, *[0] * (length - len(samples))]


def latency_target(row: Row) -> dict[str, Any]:
    """Return fio's keys of a latency_target, which every job has. The depth of a group is its largest."""
    return {
        "latency_depth": max(_depths(row), default=row.job.iodepth),
        "latency_target": row.job.latency_target_ns,
        "latency_percentile": row.job.latency_percentile,
        "latency_window": row.job.latency_window_ns // 1000,
    }


def _depths(row: Row) -> list[int]:
    """Return the depths at which the row's workers ended."""
    return [worker.latency_target.depth for worker in row.workers if worker.latency_target]


def depth_measured(row: Row) -> str | None:
    """Return at which depth a latency_target was measured, in words; None where the search did not come to that."""
    outcomes = {worker.latency_target.outcome for worker in row.workers if worker.latency_target}
    if not outcomes or not outcomes <= {"kept", "missed"} or any(worker.error for worker in row.workers):
        return None
    depths = sorted(set(_depths(row)))
    where = f"{'depth' if len(depths) == 1 else 'depths'} {numbers.listed([str(depth) for depth in depths])}"
    if "missed" in outcomes:
        return f"{where} kept {_target(row)} in the search, but not when it was measured"
    return f"{where} {'keeps' if len(depths) == 1 else 'keep'} {_target(row)}"


def _target(row: Row) -> str:
    job = row.job
    share = "all I/Os" if job.latency_percentile == 100 else f"{job.latency_percentile:g} % of the I/Os"
    return f"{share} within {numbers.span(job.latency_target_ns)}"


def of_latency_target(row: Row) -> str | None:
    """Return what became of the row's latency_target, in a sentence; None for a job without one."""
    if measured := depth_measured(row):
        return f"{row.name}: {measured}, of at most {row.job.iodepth}"
    if not (depths := sorted(set(_depths(row)))):
        return None
    ended = "" if row.job.latency_run else "the search did not end; "
    last = numbers.listed([str(depth) for depth in depths])
    return f"{row.name}: {_target(row)}: {ended}last depth {last} of at most {row.job.iodepth}"


def of_steady_state(row: Row) -> str | None:
    """Return whether the row became steady; None for a job without steadystate."""
    wanted, result = row.job.steadystate, row.result.steady
    if wanted is None or result is None:
        return None
    unit = " %" if wanted.percent else ""
    state = "attained" if result.attained else "not attained"
    figure = f"{criterion(row)} {result.criterion:.3g}{unit}, limit {wanted.limit:g}{unit}"
    return f"{row.name}: steady state {state}: {figure}"
