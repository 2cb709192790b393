"""The offset between two clocks: the truth is always within the bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.fleet.clock import FEWEST_EXCHANGES, ClockLine, Exchange, measured
from iogauge.schema import ClockBatch

DELAY_NS = st.integers(0, 5_000_000)
DELAYS = st.lists(
    st.tuples(DELAY_NS, DELAY_NS, DELAY_NS, DELAY_NS),
    min_size=FEWEST_EXCHANGES,
    max_size=FEWEST_EXCHANGES + 2,
)
OFFSET_NS = st.integers(-(10**16), 10**16)
DRIFT = st.integers(-500_000, 500_000).map(lambda ppb: Fraction(ppb, 10**9))
START_NS = st.integers(0, 10**15)


class Host:
    """A host whose clock is off, and drifts."""

    def __init__(
        self, offset_ns: int, drift: Fraction, wander: Fraction = Fraction(0), start_ns: int = 0
    ) -> None:
        self.offset_ns, self.drift, self.wander, self.start_ns = offset_ns, drift, wander, start_ns

    def offset_at(self, controller_ns: int) -> Fraction:
        """Return the true offset: the drift grows by ``wander`` each nanosecond."""
        after = controller_ns - self.start_ns
        return self.offset_ns + self.drift * after + self.wander * after**2 / 2

    def read(self, controller_ns: int) -> int:
        """Return its clock."""
        return controller_ns + int(self.offset_at(controller_ns) // 1)

    def exchanges(self, at_ns: int, delays: list[tuple[int, int, int, int]]) -> list[Exchange]:
        """Ask it again and again; ``delays`` of the question, in the host, of the answer, and until the next one."""
        exchanges = []
        for question, inside, answer, pause in delays:
            received, answered = at_ns + question, at_ns + question + inside
            returned = answered + answer
            exchanges.append(Exchange(at_ns, self.read(received), self.read(answered), returned))
            at_ns = returned + pause
        return exchanges


def holds(line: ClockLine, host: Host, at_ns: int) -> bool:
    offset = line.offset_at(at_ns)
    return abs(offset.ns - host.offset_at(at_ns)) <= offset.bound_ns + 1  # clocks show whole nanoseconds


@settings(max_examples=30)
@given(offset=OFFSET_NS, drift=DRIFT, delays=DELAYS, start=START_NS)
def test_the_offset_is_within_the_bound(
    offset: int, drift: Fraction, delays: list[tuple[int, int, int, int]], start: int
) -> None:
    host = Host(offset, drift, start_ns=start)
    batch = measured("a", "before", host.exchanges(start, delays))
    assert abs(batch.offset_ns - host.offset_at(batch.at_ns)) <= batch.bound_ns + 1
    assert batch.exchanges == len(delays)


@settings(max_examples=30)
@given(offset=OFFSET_NS, delays=DELAYS)
def test_the_bound_is_at_most_half_of_the_shortest_round_trip(
    offset: int, delays: list[tuple[int, int, int, int]]
) -> None:
    exchanges = Host(offset, Fraction(0)).exchanges(0, delays)
    batch = measured("a", "before", exchanges)
    shortest = min(exchange.round_trip_ns for exchange in exchanges)
    longest = max(exchange.returned_ns - exchange.sent_ns for exchange in exchanges)
    assert batch.bound_ns <= shortest / 2 + longest * 500e-6 + 2


def test_one_sided_delays_are_told_apart_by_exchanges_that_are_slow_the_other_way() -> None:
    slow_there = [(1_000_000, 0, 10, 10)] * 10
    slow_back = [(10, 0, 1_000_000, 10)] * 10
    batch = measured("a", "before", Host(123, Fraction(0)).exchanges(0, slow_there + slow_back))
    # 20 exchanges last 20 ms, in which clocks drift apart by 10 us at most.
    assert batch.bound_ns < 12_000


@settings(max_examples=30)
@given(
    offset=OFFSET_NS,
    drift=DRIFT,
    batches=st.lists(st.tuples(st.integers(1, 60 * 10**9), DELAYS), min_size=1, max_size=4),
    places=st.lists(st.integers(-(10**10), 3 * 10**11), min_size=1, max_size=5),
    start=START_NS,
)
def test_a_clock_that_drifts_is_within_the_bound_at_any_instant(
    offset: int,
    drift: Fraction,
    batches: list[tuple[int, list[tuple[int, int, int, int]]]],
    places: list[int],
    start: int,
) -> None:
    host = Host(offset, drift, start_ns=start)
    at_ns, taken = start, []
    for pause, delays in batches:
        exchanges = host.exchanges(at_ns, delays)
        taken.append(measured("a", "during", exchanges))
        at_ns = exchanges[-1].returned_ns + pause
    line = ClockLine(taken)
    for place in places:
        instant = start + place
        assert holds(line, host, instant)
        there = line.to_host(instant)
        assert abs(there.ns - (instant + host.offset_at(instant))) <= there.bound_ns + 1
        back = line.to_controller(host.read(instant))
        assert abs(back.ns - instant) <= back.bound_ns + 2


@settings(max_examples=30)
@given(
    drift=st.integers(-400_000, 400_000).map(lambda ppb: Fraction(ppb, 10**9)),
    wander=st.integers(-1000, 1000).map(lambda ppb_per_s: Fraction(ppb_per_s, 10**18)),
    place=st.integers(-(10**10), 3 * 10**10),
)
def test_a_clock_whose_drift_changes_is_within_the_bound(
    drift: Fraction, wander: Fraction, place: int
) -> None:
    host = Host(5, drift, wander)
    quick = [(1000, 10, 1000, 100)] * FEWEST_EXCHANGES
    line = ClockLine(
        measured("a", "during", host.exchanges(at_ns, quick)) for at_ns in (0, 10_000_000_000, 20_000_000_000)
    )
    assert holds(line, host, place)


def test_between_two_measurements_the_bound_stays_small() -> None:
    host = Host(50_000_000, Fraction(20, 10**6))
    quick = [(100_000, 10_000, 100_000, 1000)] * FEWEST_EXCHANGES
    line = ClockLine(measured("a", "during", host.exchanges(at_ns, quick)) for at_ns in (0, 10_000_000_000))
    assert line.offset_at(5_000_000_000).bound_ns < 130_000
    assert line.offset_at(60_000_000_000).bound_ns > 1_000_000


def test_a_clock_that_was_set_is_refused() -> None:
    quick = [(1000, 0, 1000, 100)] * 10
    before, after = Host(0, Fraction(0)), Host(10_000_000, Fraction(0))
    exchanges = [*before.exchanges(0, quick), *after.exchanges(100_000, quick)]
    with pytest.raises(IogaugeError, match="its clock moved") as refused:
        measured("db1", "before", exchanges)
    assert refused.value.hint


def test_too_few_exchanges_are_a_defect() -> None:
    with pytest.raises(ValueError, match="20 exchanges"):
        measured("a", "before", Host(0, Fraction(0)).exchanges(0, [(1, 1, 1, 1)] * 19))


def test_a_line_without_measurements_is_a_defect() -> None:
    with pytest.raises(ValueError, match="needs a measurement"):
        ClockLine([])


def test_a_clock_that_was_set_between_measurements_keeps_to_the_one_before() -> None:
    batches = [
        ClockBatch(host="a", phase="during", at_ns=at_ns, offset_ns=offset_ns, bound_ns=10, exchanges=20)
        for at_ns, offset_ns in ((0, 0), (1_000_000_000, 50_000_000))
    ]
    assert abs(ClockLine(batches).offset_at(0).ns) <= 10
