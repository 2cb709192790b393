"""Collects the intervals of each row until enough of them are together for one event.

A second of a real run is four events of a row at most. Virtual time passes at any speed, so the intervals of drive
models are collected by the clock on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from iogauge.live.rows import Place
from iogauge.schema import Interval

LEAST_NS = 250 * 10**6
"""The least that an event of a real run covers, unless the row ends."""
LEAST_WALL_S = 0.2
"""The least time between two events of a row in virtual time."""
MOST = 1024
"""The most intervals that are collected: memory stays bounded, whatever the speed."""


class Pending:
    """The intervals that no event has covered yet, by row. ``clock`` returns monotonic seconds."""

    def __init__(self, *, virtual: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._virtual = virtual
        self._clock = clock
        self._collected: dict[Place, list[Interval]] = {}
        self._last_s: dict[Place, float] = {}

    def add(self, interval: Interval) -> list[list[Interval]]:
        """Take an interval; return what is now to be published: none, one or two lists of neighbours.

        Intervals of the ramp are never put together with measured ones.
        """
        place = interval.stage, interval.row
        due: list[list[Interval]] = []
        collected = self._collected.get(place)
        if collected and collected[-1].ramp != interval.ramp:
            due.append(self._collected.pop(place))
        collected = self._collected.setdefault(place, [])
        collected.append(interval)
        if self._enough(place, collected):
            self._last_s[place] = self._clock()
            due.append(self._collected.pop(place))
        return due

    def rest(self) -> list[list[Interval]]:
        """Return everything that is left, and begin anew."""
        collected = list(self._collected.values())
        self._collected, self._last_s = {}, {}
        return collected

    def _enough(self, place: Place, collected: list[Interval]) -> bool:
        if len(collected) >= MOST:
            return True
        if self._virtual:
            return self._clock() - self._last_s.get(place, float("-inf")) >= LEAST_WALL_S
        return collected[-1].end_ns - collected[0].start_ns >= LEAST_NS
