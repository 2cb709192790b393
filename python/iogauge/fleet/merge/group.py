"""What merging returns: hosts as one, over time and in all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.schema import Direction
from iogauge.stats.histogram import Histogram

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
"""The quantiles of merged latencies over time."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """The requests of one direction over time: arrays with a figure for each interval.

    A figure is NaN in an interval in which not all hosts were running, and a quantile where the sample is too small.
    """

    ios: Numbers
    bytes: Numbers
    quantiles_ns: dict[float, Numbers]
    """By quantile, those of ``QUANTILES``."""


@dataclass(frozen=True, eq=False)
class Moments:
    """A step over time, interval by interval: arrays of one length, and courses of as many figures."""

    stage: NDArray[np.int64]
    """The stage of the run; nearly all steps have one."""
    start_ns: NDArray[np.int64]
    """Since the first host started the stage, with its ramp."""
    hosts_running: NDArray[np.int64]
    included: NDArray[np.bool_]
    """Whether all hosts of the group were running, so that the interval has figures."""
    directions: dict[Direction, Course]


@dataclass(frozen=True, eq=False)
class MergedGroup:
    """A step of some hosts, merged: every percentile is read from the merged histogram."""

    name: str
    """A host, model, firmware or value of a label; empty: all hosts, or those that have none."""
    hosts: tuple[str, ...]
    """Those whose requests are counted."""
    missing: tuple[str, ...]
    """Those that would be counted, but did not complete the step. A host of which nothing was saved is missing in every
    group by model or firmware: nobody knows which it has."""
    apart: tuple[str, ...]
    """Those that completed the step at another time than most, or nobody knows when, in a fleet that starts together:
    not counted."""
    interval_ns: int
    aligned_within_ns: int | None
    """How far intervals that count as one may be apart on the controller's clock; None: unknown, or each host started
    when it was ready, and intervals count from its own start."""
    moments: Moments
    total: dict[Direction, Histogram]
    """All requests of the included intervals, by direction; empty histograms where no interval is included."""
    requests: dict[Direction, dict[str, int]]
    """How many of them each host issued."""

    @property
    def excluded_s(self) -> tuple[float, ...]:
        """The starts of the intervals in which some hosts were running but not all: no figure has them."""
        starts: list[int] = self.moments.start_ns[~self.moments.included].tolist()
        return tuple(start / 1e9 for start in starts)
