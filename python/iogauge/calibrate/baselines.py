"""Predicts figures without a model of a drive: what a model has to beat to be worth its numbers.

Both baselines see the rows of a drive that a fit without the table sees. They predict rates and latencies; ratios,
depths and watts need a model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from iogauge.calibrate.kinds import FigureKind, kind_of
from iogauge.calibrate.observe import threads_depth
from iogauge.catalog.published import Point

_BYTES = {"GB/s": 1e9, "MB/s": 1e6}


def in_flight(point: Point) -> int:
    """Return how many requests of a row are in flight."""
    threads, depth = threads_depth(point)
    return threads * depth


def block(point: Point) -> int:
    """Return a row's block size in bytes: 4 KiB if it has none, or 1 MiB if it only says that requests are large."""
    return point.block_bytes or (1 << 20 if point.workload == "rand_unaligned" else 4096)


def _rate_Bps(point: Point) -> float:
    """Return a rate in bytes a second, whichever its unit."""
    return point.value * _scale(point)


def _scale(point: Point) -> float:
    return _BYTES.get(point.unit, block(point))


def _of_direction(rows: Sequence[Point], point: Point) -> list[Point]:
    """Return the rows of a row's direction; all rows if there is none of it."""
    writes = point.read_percent == 0
    return [row for row in rows if (row.read_percent == 0) == writes] or list(rows)


def constant(rows: Sequence[Point], point: Point) -> float | None:
    """Return a row's figure for a drive whose every request takes the same time; None if the rows do not show it.

    The time is the mean of the drive's means and rates at depth 1 in the row's direction. The rate follows by Little's
    law, up to the drive's highest rate in that direction in bytes a second.
    """
    alone = []
    simple = [row for row in rows if row.workload == "rand" and in_flight(row) == 1]
    for row in _of_direction(simple, point):
        kind = kind_of(row)
        if kind is FigureKind.MEAN:
            alone.append(row.value)
        elif kind is FigureKind.RATE:
            alone.append(block(row) / _rate_Bps(row) * 1e6)
    latency_us = float(np.mean(alone)) if alone else None
    kind = kind_of(point)
    if kind is FigureKind.OTHER:
        return None
    if kind is not FigureKind.RATE:
        return latency_us
    rates = [_rate_Bps(row) for row in _of_direction(_rates(rows), point)]
    # Writers that press are added until the rate no longer rises.
    bounded = latency_us is not None and point.workload != "write_pressure"
    little = in_flight(point) * block(point) / latency_us * 1e6 if latency_us and bounded else math.inf
    least = min([*([max(rates)] if rates else []), little])
    return least / _scale(point) if math.isfinite(least) else None


def _rates(rows: Sequence[Point]) -> list[Point]:
    return [row for row in rows if kind_of(row) is FigureKind.RATE]


def linear(rows: Sequence[Point], point: Point) -> float | None:
    """Return a row's figure by least squares on the rows of its kind; None if there is no such row.

    The logarithm of a latency, or of a rate in bytes a second, is linear in the logarithms of depth and size, in the
    share of reads, in whether writers press, and in the host. Without more rows than coefficients the hosts are left
    out, then everything: the mean remains.
    """
    kind = kind_of(point)
    alike = [row for row in rows if kind_of(row) is kind]
    if kind is FigureKind.OTHER or not alike:
        return None
    rate = kind is FigureKind.RATE
    known = np.log([_rate_Bps(row) if rate else row.value for row in alike])
    hosts = sorted({row.host for row in alike})
    for kept_hosts in (hosts[1:], []):
        matrix = np.array([_features(row, kept_hosts) for row in alike])
        varies = np.ptp(matrix, axis=0) > 0
        if np.count_nonzero(varies) + 1 < len(alike):
            middle = matrix.mean(axis=0)
            weights = np.linalg.lstsq((matrix - middle)[:, varies], known - known.mean())[0]
            logarithm = float(
                (np.array(_features(point, kept_hosts)) - middle)[varies] @ weights + known.mean()
            )
            break
    else:
        logarithm = float(known.mean())
    value = math.exp(logarithm)
    return value / _scale(point) if rate else value


def _features(point: Point, hosts: Sequence[str]) -> list[float]:
    reads = 100 if point.read_percent is None else point.read_percent
    return [
        math.log(in_flight(point)),
        math.log(block(point)),
        reads / 100,
        float(point.workload == "write_pressure"),
        *(float(point.host == host) for host in hosts),
    ]
