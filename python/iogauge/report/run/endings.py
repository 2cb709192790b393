"""What a run says of a row's steadystate and of its latency_target, in fio's JSON and in words.

Source: fio 3.33's stat.c.
"""

from __future__ import annotations

from collections.abc import Iterator
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
            "data": _data(result, with_lat=wanted.figure == "lat"),
        }
    }


def _data(result: SteadyResult, *, with_lat: bool) -> dict[str, Any]:
    figures = {
        "bw": [int(sample.bw_Bps) for sample in result.samples],
        "iops": [int(sample.iops) for sample in result.samples],
    }
    means = {f"{name}_mean": sum(values) // max(len(values), 1) for name, values in figures.items()}
    if not with_lat:
        return {**means, **figures}
    lat_ns = [int(sample.lat_ns) for sample in result.samples]
    return {**means, "lat_mean": sum(lat_ns) // max(len(lat_ns), 1), "lat_ns": lat_ns, **figures}


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


def depth_kept(row: Row) -> str | None:
    """Return which depth keeps the latency_target, in words; None where no search has arrived at one."""
    searches = [worker.latency_target for worker in row.workers if worker.latency_target]
    if not searches or row.job.latency_run or not all(search.arrived for search in searches):
        return None
    depths = sorted({search.depth for search in searches})
    several = len(depths) > 1
    return (
        f"{'depths' if several else 'depth'} {numbers.listed([str(depth) for depth in depths])} "
        f"{'keep' if several else 'keeps'} {_target(row)}"
    )


def _target(row: Row) -> str:
    job = row.job
    share = "all I/Os" if job.latency_percentile == 100 else f"{job.latency_percentile:g} % of the I/Os"
    return f"{share} within {numbers.span(job.latency_target_ns)}"


def sentences(row: Row) -> Iterator[str]:
    """Yield a sentence each about the row's latency_target and its steadystate, if it has them."""
    depths = sorted(set(_depths(row)))
    if kept := depth_kept(row):
        yield f"{row.name}: {kept}, of at most {row.job.iodepth}"
    elif depths:
        last = numbers.listed([str(depth) for depth in depths])
        ended = "" if row.job.latency_run else "the search did not end; "
        yield f"{row.name}: {_target(row)}: {ended}last depth {last} of at most {row.job.iodepth}"
    if steady := _of_steady_state(row):
        yield steady


def _of_steady_state(row: Row) -> str | None:
    """Return whether the row became steady; None for a job without steadystate."""
    wanted, result = row.job.steadystate, row.result.steady
    if wanted is None or result is None:
        return None
    unit = " %" if wanted.percent else ""
    state = "attained" if result.attained else "not attained"
    figure = f"{criterion(row)} {result.criterion:.3g}{unit}, limit {wanted.limit:g}{unit}"
    return f"{row.name}: steady state {state}: {figure}"
