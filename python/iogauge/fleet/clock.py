"""How a host's clock compares with the controller's: an offset, and a bound that it is within.

In an exchange the controller reads its clock, asks, the host reads its own clock twice, when the question came and when
its answer leaves, and the controller reads its clock again. The network may take any time in either direction. The
question was sent before it came, and the answer left before it returned, so each exchange bounds the offset by an
interval as wide as the round trip. The offset lies in the intersection of the intervals of many exchanges.

Two clocks drift apart. That they do so by at most ``MOST_DRIFT`` widens what an old measurement says. Between two
measurements their drift changes little, so the offset lies near a straight line; ``MOST_WANDER`` says how near.

Everything here is exact: integers, rounded outward. Source: D. Mills, RFC 5905, and K. Marzullo, "Maintaining the time
in a distributed system" (1984), for the intersection of intervals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from iogauge.errors import IogaugeError
from iogauge.schema import ClockBatch

FEWEST_EXCHANGES = 20
"""Exchanges of one measurement."""
_PPM = 1_000_000
MOST_DRIFT_PPM = 500
"""How fast two clocks drift apart at most: the kernel slews a clock by up to 500 ppm."""
MOST_WANDER_PPM_PER_S = 1
"""How fast their drift changes at most."""

Phase = Literal["before", "during", "after"]


@dataclass(frozen=True)
class Exchange:
    """One question to a host and its answer, each read on the clock of the computer where it happened."""

    sent_ns: int
    """By the controller's clock."""
    received_ns: int
    """By the host's clock."""
    answered_ns: int
    """By the host's clock, not before ``received_ns``."""
    returned_ns: int
    """By the controller's clock."""

    @property
    def round_trip_ns(self) -> int:
        """How long question and answer were under way together."""
        return (self.returned_ns - self.sent_ns) - (self.answered_ns - self.received_ns)


@dataclass(frozen=True)
class Offset:
    """A host's clock minus the controller's; or an instant. It is off by ``bound_ns`` at most."""

    ns: int
    bound_ns: int


def measured(host: str, phase: Phase, exchanges: Sequence[Exchange]) -> ClockBatch:
    """Return the offset of a host's clock from at least ``FEWEST_EXCHANGES`` exchanges, at the instant of the shortest.

    Raises:
        IogaugeError: no offset agrees with all of them: one of the clocks was set, or the computer was suspended.
    """
    if len(exchanges) < FEWEST_EXCHANGES:
        raise ValueError(f"a measurement of a clock needs {FEWEST_EXCHANGES} exchanges, not {len(exchanges)}")
    shortest = min(exchanges, key=lambda exchange: exchange.round_trip_ns)
    at_ns = (shortest.sent_ns + shortest.returned_ns) // 2
    # The host read its clock no earlier than the question was sent, and no later than its answer returned.
    low = max(
        exchange.answered_ns - exchange.returned_ns - _drift(at_ns - exchange.returned_ns)
        for exchange in exchanges
    )
    high = min(
        exchange.received_ns - exchange.sent_ns + _drift(at_ns - exchange.sent_ns) for exchange in exchanges
    )
    if low > high:
        raise IogaugeError(
            f"{host}: its clock moved while it was measured, or the controller's did",
            hint="end what sets the clocks of these computers in steps, and do not suspend them",
        )
    middle = (low + high) // 2
    return ClockBatch(
        host=host,
        phase=phase,
        at_ns=at_ns,
        offset_ns=middle,
        bound_ns=max(high - middle, middle - low),
        exchanges=len(exchanges),
    )


class ClockLine:
    """A host's clock over time, from its measurements: instants of one clock as instants of the other.

    Between two measurements it is a straight line, before the first and after the last the line goes on. Its bound
    holds while the clocks drift by at most ``MOST_DRIFT_PPM``, and their drift changes by at most
    ``MOST_WANDER_PPM_PER_S``.
    """

    def __init__(self, batches: Iterable[ClockBatch]) -> None:
        by_instant = {batch.at_ns: batch for batch in batches}
        self._batches = [by_instant[at_ns] for at_ns in sorted(by_instant)]
        if not self._batches:
            raise ValueError("a clock needs a measurement")
        self._instants = [batch.at_ns for batch in self._batches]

    def offset_at(self, controller_ns: int) -> Offset:
        """Return the offset of the host's clock at an instant of the controller's."""
        index = bisect_right(self._instants, controller_ns)
        near = self._batches[max(0, index - 1) : index + 1]
        intervals = [_cone(batch, controller_ns) for batch in near]
        if len(self._batches) > 1:
            first = min(max(index - 1, 0), len(self._batches) - 2)
            intervals.append(_on_line(self._batches[first], self._batches[first + 1], controller_ns))
        low, high = max(low for low, _ in intervals), min(high for _, high in intervals)
        if low > high:  # a clock was set: what the nearest measurement says is all there is
            low, high = intervals[0]
        middle = (low + high) // 2
        return Offset(middle, max(high - middle, middle - low))

    def to_host(self, controller_ns: int) -> Offset:
        """Return an instant of the controller's clock by the host's clock."""
        offset = self.offset_at(controller_ns)
        return Offset(controller_ns + offset.ns, offset.bound_ns)

    def to_controller(self, host_ns: int) -> Offset:
        """Return an instant of the host's clock by the controller's clock."""
        controller_ns = host_ns - self._batches[0].offset_ns
        for _ in range(8):  # each repetition is closer by the drift, 500 ppm
            controller_ns = host_ns - self.offset_at(controller_ns).ns
        bound_ns = self.offset_at(controller_ns).bound_ns
        # The true instant is as far away as the offset is wrong, and then the clocks have drifted a little.
        return Offset(controller_ns, bound_ns + _drift(2 * bound_ns) + 1)


def _drift(span_ns: int) -> int:
    """Return how far two clocks drift apart at most in a span of either sign, rounded up."""
    return -(-abs(span_ns) * MOST_DRIFT_PPM // _PPM)


def _interval(batch: ClockBatch) -> tuple[int, int]:
    return batch.offset_ns - batch.bound_ns, batch.offset_ns + batch.bound_ns


def _cone(batch: ClockBatch, at_ns: int) -> tuple[int, int]:
    """Return the interval that holds the offset at an instant, by one measurement and the most drift."""
    low, high = _interval(batch)
    drift = _drift(at_ns - batch.at_ns)
    return low - drift, high + drift


def _on_line(first: ClockBatch, second: ClockBatch, at_ns: int) -> tuple[int, int]:
    """Return the interval that holds the offset at an instant, by lines through two measurements and the most wander.

    A line that goes on after the second is highest if it is low at the first and high at the second, and so on.
    """
    low_first, high_first = _interval(first)
    low_second, high_second = _interval(second)
    span, after = second.at_ns - first.at_ns, at_ns - first.at_ns
    left = span - after
    # The offset at the instant is first * left / span + second * after / span; one of the weights may be negative.
    low = (low_first if left >= 0 else high_first) * left + (
        low_second if after >= 0 else high_second
    ) * after
    high = (high_first if left >= 0 else low_first) * left + (
        high_second if after >= 0 else low_second
    ) * after
    wander = -(-abs(left) * abs(after) * MOST_WANDER_PPM_PER_S // (2 * _PPM * 10**9))
    return low // span - wander, -(-high // span) + wander
