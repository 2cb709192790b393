"""When to trace: within the budget, and long enough for slow requests to come back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.trace.windows import BUDGET, EVENT_NS, LONGEST_NS, MOST_DRAIN_NS, SWITCH_NS, next_window


@given(st.integers(0, 10**7), st.integers(1, 10**9), st.integers(0, 10**11))
def test_a_window_and_its_pause_keep_to_the_budget(events: int, traced_ns: int, slowest_ns: int) -> None:
    window = next_window(events=events, traced_ns=traced_ns, slowest_ns=slowest_ns)
    cost_ns = SWITCH_NS + EVENT_NS * events / traced_ns * window.length_ns
    assert cost_ns <= BUDGET * (window.length_ns + window.pause_ns) + 1
    assert 0 < window.length_ns <= max(LONGEST_NS, 2 * MOST_DRAIN_NS)
    assert window.sample_ns > 0
    assert window.drain_ns <= window.sample_ns


@given(st.integers(0, 10**7), st.integers(1, 10**10))
def test_the_pause_pays_for_a_window_that_lasted_too_long(events: int, traced_ns: int) -> None:
    window = next_window(events=events, traced_ns=traced_ns, slowest_ns=0)
    cost_ns = SWITCH_NS + EVENT_NS * events
    assert cost_ns <= BUDGET * (window.length_ns + window.pause_ns) + 1


@given(st.integers(1, 120_000_000))
def test_requests_have_twice_as_long_as_the_slowest_took(slowest_ns: int) -> None:
    window = next_window(events=10**6, traced_ns=10**9, slowest_ns=slowest_ns)
    assert window.drain_ns >= 2 * slowest_ns


def test_a_slow_device_is_traced_most_of_the_time() -> None:
    window = next_window(events=300, traced_ns=10**9, slowest_ns=10**6)
    assert window.length_ns > 0.7 * (window.length_ns + window.pause_ns)
