"""Batches of a step as the judgement of drives wants them, added up in the Rust core.

They equal those of ``stats/fleet/batches.py``, which reads interval by interval and takes several times as long.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iogauge.fleet.merge.group import QUANTILES
from iogauge.fleet.merge.steps import HostStep
from iogauge.fleet.merge.timeline import Slices, Timeline, read_slices, stage_and_start
from iogauge.fleet.merge.window import Window
from iogauge.schema import Direction
from iogauge.stats.fleet.batches import BATCHES, TAIL, Batch, batches
from iogauge.stats.moments import SHORT
from iogauge.store import Review

_TAIL = QUANTILES.index(TAIL)


def batches_of(review: Review, step: HostStep) -> dict[Direction, list[Batch]]:
    """Return the batches of a complete step by direction, all that are judged, in order.

    Raises IogaugeError if one of its files is damaged, or other jobs are reported in the rows of the measured one.
    """
    slices = read_slices(step)
    moments = _moments(slices)
    seconds = _seconds(slices, moments)
    number = min(BATCHES, len(seconds))
    directions = sorted(slices.selection.directions)
    if not number:
        return {direction: [] for direction in directions}
    ends = [place * len(seconds) // number for place in range(number + 1)]
    batch_of_moment = np.repeat(np.arange(number), np.diff(ends))
    of_slices = np.where(moments >= 0, batch_of_moment[moments], -1)
    window = Window(np.arange(number), hosts=1)
    window.add(Timeline(step, slices.selection, slices.interval_ns, of_slices, slices.of_rows))
    batched: dict[Direction, list[Batch]] = {}
    for direction in directions:
        summed = window.summed.get(direction)
        batched[direction] = []
        if summed is None:
            continue
        if summed.sum_ns is None:
            batched[direction] = batches(
                review.record(step.id),
                review.intervals(step.id),
                job=step.measured_job,
                direction=direction,
                kind=step.kind,
            )
            continue
        for place in range(number):
            count, length_s = int(summed.latencies[place]), sum(seconds[ends[place] : ends[place + 1]])
            if count and length_s > 0:
                mean_ns = int(summed.sum_ns[place]) / count
                tail_ns = float(summed.quantiles_ns[place, _TAIL])
                batched[direction].append(Batch(place, count / length_s, mean_ns, tail_ns))
    return batched


def _moments(slices: Slices) -> NDArray[np.int64]:
    """Return the moment of each slice, as ``stats/moments.py`` groups them, or -1 for one without a length."""
    stages, _ = stage_and_start(slices.own, slices.interval_ns)
    begin_ns, end_ns = slices.begin_ns.tolist(), slices.end_ns.tolist()
    moments: list[int] = []
    spans: list[tuple[int, int]] = []
    shortest = SHORT * slices.interval_ns
    for at, stage in enumerate(stages.tolist()):
        begin, end = begin_ns[at], end_ns[at]
        if spans and stages[at - 1] == stage:
            first, last = spans[-1]
            if min(end - begin, last - first) < shortest:
                spans[-1] = (min(first, begin), max(last, end))
                moments.append(len(spans) - 1)
                continue
        spans.append((begin, end))
        moments.append(len(spans) - 1)
    lengthy = np.array([last > first for first, last in spans], dtype=np.bool_)
    numbered = np.where(lengthy, np.cumsum(lengthy) - 1, -1)
    return numbered[np.array(moments, dtype=np.int64)]


def _seconds(slices: Slices, moments: NDArray[np.int64]) -> list[float]:
    """Return the length of each moment, s."""
    count = int(moments.max(initial=-1)) + 1
    starts, ends = np.full(count, math.inf), np.zeros(count)
    inside = moments >= 0
    np.minimum.at(starts, moments[inside], slices.begin_ns[inside] / 1e9)
    np.maximum.at(ends, moments[inside], slices.end_ns[inside] / 1e9)
    lengths: list[float] = (ends - starts).tolist()
    return lengths
