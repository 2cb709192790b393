"""What a run says of a row's steadystate, in fio's JSON and in words.

Source: fio 3.33's stat.c.
"""

from __future__ import annotations

from typing import Any

from iogauge.report.run.rows import Row
from iogauge.schema import SteadyResult


def criterion(row: Row) -> str:
    """Return the criterion as a job file has it, without its limit; empty without one."""
    wanted = row.job.steadystate
    return f"{wanted.figure}{'_slope' if wanted.slope else ''}" if wanted else ""


def section(row: Row) -> dict[str, Any]:
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


def sentence(row: Row) -> str | None:
    """Return whether the row became steady, in a sentence; None for a job without steadystate."""
    wanted, result = row.job.steadystate, row.result.steady
    if wanted is None or result is None:
        return None
    unit = " %" if wanted.percent else ""
    state = "attained" if result.attained else "not attained"
    figure = f"{criterion(row)} {result.criterion:.3g}{unit}, limit {wanted.limit:g}{unit}"
    return f"{row.name}: steady state {state}: {figure}"
