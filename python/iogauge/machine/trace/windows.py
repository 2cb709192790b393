"""Decides how long to trace and how long to pause, so that tracing costs a run less than a hundredth of its rate.

Every event costs its request about 0.4 us, and half of that if a filter drops it; switching events on and off stops
all CPUs for a moment. So a fast device is traced in short windows, and a slow one nearly all the time. Requests that
enter in the first part of a window are the sample; in the second part they may come back. Their number does not depend
on how long they take, so slow ones are not under-represented.
"""

from __future__ import annotations

from dataclasses import dataclass

EVENT_NS = 400
"""What an event costs the thread in which it happens. Measured: 350 ns (AMD EPYC, virtual, Linux 6.18)."""
SWITCH_NS = 1_000_000
"""What a window costs beside its events: switching them on and off. Measured: 1.5 ms at half the rate."""
BUDGET = 0.0075
"""The share of a CPU's time that tracing may cost: the goal of a hundredth, with a margin."""
PERIOD_NS = 10**9
"""A window begins about this often."""
FIRST_NS = 10**7
"""The first window, which shows how many events there are."""
LONGEST_NS = 500_000_000
LEAST_DRAIN_NS = 2_000_000
MOST_DRAIN_NS = 250_000_000


@dataclass(frozen=True)
class Window:
    """The next window: how long requests are sampled, how long they may take to come back, and the pause before it."""

    sample_ns: int
    drain_ns: int
    pause_ns: int

    @property
    def length_ns(self) -> int:
        """How long events are recorded."""
        return self.sample_ns + self.drain_ns


FIRST = Window(sample_ns=FIRST_NS // 2, drain_ns=FIRST_NS // 2, pause_ns=PERIOD_NS // 2)


def next_window(*, events: int, traced_ns: int, slowest_ns: int) -> Window:
    """Return the next window and the pause before it, by the last one's events and length and the slowest request.

    A thread that sleeps may wake late: on a busy machine a window lasts longer than it was to. The pause pays for what
    the last window did cost, if that is more than the next one will.

    >>> busy = next_window(events=8_000, traced_ns=10_000_000, slowest_ns=100_000)
    >>> busy.sample_ns / 1e6, busy.drain_ns / 1e6
    (18.3125, 2.0)
    """
    drain_ns = min(max(2 * slowest_ns, LEAST_DRAIN_NS), MOST_DRAIN_NS)
    cost = EVENT_NS * events / max(traced_ns, 1)
    """Of a moment that is traced, the share that tracing takes."""
    affordable_ns = (BUDGET * PERIOD_NS - SWITCH_NS) / max(cost, 1e-9)
    length_ns = int(min(max(affordable_ns, 2 * drain_ns), LONGEST_NS))
    spent_ns = SWITCH_NS + max(cost * length_ns, EVENT_NS * events)
    pause_ns = max(int(spent_ns / BUDGET) - length_ns, 0)
    drain_ns = min(drain_ns, length_ns // 2)
    return Window(sample_ns=length_ns - drain_ns, drain_ns=drain_ns, pause_ns=pause_ns)
