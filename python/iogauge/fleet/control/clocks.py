"""Compares the hosts' clocks with the controller's, by exchanges over their links."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from iogauge.fleet.clock import FEWEST_EXCHANGES, ClockLine, Exchange, Offset, Phase, measured
from iogauge.fleet.control.link import Link
from iogauge.schema.fleet import ClockBatch

_GOOD_NS = 25_000
"""A bound that needs no further exchanges."""
_LONG_S = 0.02
"""How long further exchanges may take."""


def compare(link: Link, phase: Phase, *, timeout_s: float) -> ClockBatch:
    """Return the offset of a host's clock, by exchanges one after the other: more if the first ones were slow.

    Raises LinkError if the host does not answer one of them in time, and IogaugeError if a clock was set meanwhile.
    """
    end = time.monotonic() + _LONG_S
    exchanges: list[Exchange] = []
    while True:
        exchanges += [link.exchange(timeout_s=timeout_s) for _ in range(FEWEST_EXCHANGES)]
        batch = measured(link.name, phase, exchanges)
        if batch.bound_ns <= _GOOD_NS or time.monotonic() > end:
            return batch


class Clocks:
    """The hosts' clocks, by all that was measured of them."""

    def __init__(self, batches: Iterable[ClockBatch] = ()) -> None:
        self._batches: dict[str, list[ClockBatch]] = defaultdict(list)
        self._lines: dict[str, ClockLine] = {}
        for batch in batches:
            self.add(batch)

    def add(self, batch: ClockBatch) -> None:
        """Note a measurement."""
        self._batches[batch.host].append(batch)
        self._lines[batch.host] = ClockLine(self._batches[batch.host])

    def to_host(self, host: str, controller_ns: int) -> Offset:
        """Return an instant of the controller's clock by the host's. The host's clock was measured."""
        return self._lines[host].to_host(controller_ns)

    def to_controller(self, host: str, host_ns: int) -> Offset:
        """Return an instant of the host's clock by the controller's. The host's clock was measured."""
        return self._lines[host].to_controller(host_ns)
