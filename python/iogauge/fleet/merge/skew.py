"""How far the hosts of a fleet started their steps from the planned instants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from iogauge.schema import Start


@dataclass(frozen=True)
class Late:
    """The start of a step on a host."""

    step: str
    host: str
    late_ns: int
    """First request minus planned instant, on the controller's clock; negative: it was early."""
    bound_ns: int
    """The truth is within ``late_ns`` plus or minus this."""


@dataclass(frozen=True)
class Skew:
    """The starts of all steps on all hosts, as far as they are known."""

    rows: tuple[Late, ...]
    unknown: tuple[tuple[str, str], ...]
    """Steps and hosts whose start is unknown: nothing was issued, or it ran in virtual time."""

    @cached_property
    def p99_ns(self) -> int | None:
        """The 99th percentile of how far starts are from their plan, early or late; None: no start is known."""
        distances = sorted(abs(row.late_ns) for row in self.rows)
        return distances[math.ceil(0.99 * len(distances)) - 1] if distances else None

    @cached_property
    def bound_ns(self) -> int | None:
        """The largest bound: ``p99_ns`` is within this of the truth; None: no start is known."""
        return max((row.bound_ns for row in self.rows), default=None)


def skew(starts: Iterable[Start]) -> Skew:
    """Return how far hosts started from the planned instants; of a step that started again, the last start.

    >>> skewed = skew([Start(host="a", step="s", planned_ns=1000, achieved_ns=1100, bound_ns=5)])
    >>> skewed.p99_ns, skewed.bound_ns
    (100, 5)
    """
    last = {(start.step, start.host): start for start in starts}
    return Skew(
        rows=tuple(
            Late(start.step, start.host, start.achieved_ns - start.planned_ns, start.bound_ns)
            for start in last.values()
            if start.achieved_ns is not None
        ),
        unknown=tuple(place for place, start in last.items() if start.achieved_ns is None),
    )
