"""How far a row is from a steady state while it runs: the figure that the core compares with the job's limit.

The core decides, and says so only in its result. The figure follows from the intervals alone, so it is computed from
them a second time, as ``crates/core/src/steady.rs`` does.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from iogauge.schema import Direction, Interval, Kind, SteadyPlan


class Steadiness:
    """The criterion of one row."""

    def __init__(self, plan: SteadyPlan) -> None:
        self.plan = plan
        self._elapsed_ns = self._length_ns = 0
        self._ios = self._bytes = self._lat_sum_ns = self._lat_count = 0
        self._samples: deque[float] = deque(maxlen=max(plan.duration_ns // plan.interval_ns, 1))

    def add(self, interval: Interval) -> float | None:
        """Take an interval; return the criterion if it is known anew, in the unit of the limit."""
        length_ns = interval.end_ns - interval.start_ns
        if interval.ramp:
            return None
        self._elapsed_ns += length_ns
        if self._elapsed_ns <= self.plan.ramp_ns:
            return None
        self._length_ns += length_ns
        for direction, tally in interval.tallies.items():
            if direction is Direction.SYNC:
                continue
            self._ios += tally.ios
            self._bytes += tally.bytes
            # A clat that was not recorded did not differ from lat.
            if exact := tally.exact.get(Kind.CLAT) or tally.exact.get(Kind.LAT):
                self._lat_sum_ns += exact.sum_ns
                self._lat_count += exact.count
        if self._length_ns < self.plan.interval_ns:
            return None
        self._samples.append(self._figure())
        self._length_ns = self._ios = self._bytes = self._lat_sum_ns = self._lat_count = 0
        return self._criterion() if len(self._samples) == self._samples.maxlen else None

    def _figure(self) -> float:
        match self.plan.figure:
            case "iops":
                return self._ios * 1e9 / self._length_ns
            case "bw":
                return self._bytes * 1e9 / self._length_ns
            case "lat":
                return self._lat_sum_ns / max(self._lat_count, 1)

    def _criterion(self) -> float | None:
        """Return the largest deviation from the mean, or the slope; None: it is a share of nothing."""
        samples = np.array(self._samples)
        mean = float(samples.mean())
        if self.plan.slope:
            middle = np.arange(len(samples)) - (len(samples) - 1) / 2
            squares = float(middle @ middle)
            value = float(middle @ (samples - mean)) / squares if squares else 0.0
        else:
            value = float(np.abs(samples - mean).max())
        if not self.plan.percent:
            return value
        return 100 * value / mean if mean > 0 else None

    @property
    def unit(self) -> str:
        """The unit of the criterion and its limit."""
        return "%" if self.plan.percent else {"iops": "IOPS", "bw": "B/s", "lat": "ns"}[self.plan.figure]
