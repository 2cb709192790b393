"""What latencies after idle gaps say of sleep: how much a gap costs, whose part it is, and which state fits.

Pure functions of medians by gap; ``wake_latency`` measures them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, log

from iogauge.schema import IdleState
from iogauge.stats.figure import Figure
from iogauge.stats.figures import Difference, difference, ratio
from iogauge.text import numbers

JUMP = 1.1
"""The least ratio of neighbours that is a jump, besides an interval above 1."""
SLACK = 1.2
"""A gap this much longer or shorter, or a step this much larger, still fits what is declared."""
NEAR = 3.0
"""A step within this factor of an exit latency is near it, where a state declares no idle time."""
ALL, MOSTLY = 0.9, 0.5
"""Shares of the increase: nearly all of it, and most of it."""

Medians = Mapping[int, Figure]
"""The median after each gap, by the gap in nanoseconds, the shortest first."""


@dataclass(frozen=True)
class Jump:
    """Two neighbouring gaps between which latency rises."""

    before_ns: int
    after_ns: int
    step: Difference

    def __str__(self) -> str:
        between = f"between {numbers.span(self.before_ns)} and {numbers.span(self.after_ns)} of idleness"
        size = numbers.ranged(self.step.value, self.step.low, self.step.high, numbers.duration)
        return f"{between}, by {size}"


def findings(asleep: Medians, awake: Medians, states: Sequence[IdleState]) -> Iterator[str]:
    """Yield what the two series say; ``awake`` is that of a CPU that spins in the gaps."""
    if len(asleep) < 2:
        return
    yield _headline(asleep, awake)
    for jump in jumps(awake):
        yield f"with the CPU kept awake, latency jumps {jump}: {fit(jump, states, ('drive', 'link'))}"
    for jump in jumps(asleep):
        if not {jump.before_ns, jump.after_ns} <= set(awake):
            continue
        own = difference(awake[jump.after_ns], awake[jump.before_ns])
        rest = replace(jump, step=difference(_figure(jump.step), _figure(own)))
        if rest.step.low is not None and rest.step.low > 0:
            yield f"only while the CPUs may sleep, latency jumps {rest} more: {fit(rest, states, ('CPU',))}"


def jumps(medians: Medians) -> list[Jump]:
    """Return where a median is higher than after the gap before: by its interval, and by at least ``JUMP``."""
    rises = []
    for before_ns, after_ns in pairwise(medians):
        before, after = medians[before_ns], medians[after_ns]
        more = ratio(after, before)
        if more.low is not None and more.low > 1 and more.value >= JUMP:
            rises.append(Jump(before_ns, after_ns, difference(after, before)))
    return rises


def fit(jump: Jump, states: Iterable[IdleState], parts: Sequence[str]) -> str:
    """Say which declared state of ``parts`` fits a jump.

    A state that declares an idle time fits by that, another one by its exit latency. Declared latencies are upper
    bounds, so a step may be smaller.
    """
    whose = "the CPUs" if "CPU" in parts else "the drive or its link"
    possible = [state for state in states if state.part in parts and state.enabled is not False]
    if not possible:
        return f"which state it is, is unknown: none of {whose} is known to be enabled"
    timed = [state for state in possible if state.after_ns is not None and _between(state.after_ns, jump)]
    if timed:
        # Several states may begin between two gaps; the deepest is the one that is left.
        state = max(timed, key=lambda state: state.after_ns or 0)
        return _timed(state, jump)
    near = [
        (abs(log(state.exit_ns / jump.step.value)), state.name, state.exit_ns)
        for state in possible
        if state.exit_ns and state.after_ns is None
    ]
    distance, name, exit_ns = min(near, default=(inf, "", 0))
    if distance <= log(NEAR):
        return f"near the exit latency of {name} ({numbers.span(exit_ns)})"
    return f"no declared state of {whose} fits"


def _figure(step: Difference) -> Figure:
    return Figure(step.value, step.low, step.high)


def _between(idle_ns: int, jump: Jump) -> bool:
    return jump.before_ns / SLACK <= idle_ns <= jump.after_ns * SLACK


def _timed(state: IdleState, jump: Jump) -> str:
    entered = f"{state.name}, entered after {numbers.span(state.after_ns or 0)}"
    if state.exit_ns is None:
        return f"fits {entered}, whose exit latency is not declared"
    entry_ns = state.entry_ns or 0
    entry = f"{numbers.span(entry_ns)} to enter and " if entry_ns else ""
    most = f"which takes at most {entry}{numbers.span(state.exit_ns)} to leave"
    if jump.step.value > SLACK * (entry_ns + state.exit_ns):
        return f"more than {entered}, {most}"
    return f"fits {entered}, {most}"


def _headline(asleep: Medians, awake: Medians) -> str:
    """Return how much longer a read takes after the longest gap than after the shortest, and whose part that is."""
    (shortest_ns, usual), (longest_ns, late) = (list(asleep.items())[end] for end in (0, -1))
    gap, least = numbers.span(longest_ns), numbers.span(shortest_ns)
    more = ratio(late, usual)
    compared = (
        f"after {gap} of idleness a read takes {numbers.times(more.value, more.low, more.high)} as long as after "
        f"{least} (median {numbers.marked(late)} instead of {numbers.marked(usual)})"
    )
    if more.low is None:
        return f"{compared}: whether anything sleeps cannot be determined"
    if more.low <= 1 or more.value < JUMP:
        return f"{compared}: no sleep shows"
    if shortest_ns not in awake or longest_ns not in awake:
        return compared
    own = ratio(awake[longest_ns], awake[shortest_ns])
    return (
        f"{compared}; with the CPU kept awake {numbers.times(own.value, own.low, own.high)}: "
        f"{_whose(difference(late, usual), difference(awake[longest_ns], awake[shortest_ns]))}"
    )


def _whose(more: Difference, own: Difference) -> str:
    """Say whose part an increase is; ``own`` is the part that is left with the CPU kept awake."""
    low, high = (None if bound is None else bound / more.value for bound in (own.low, own.high))
    if low is not None and low >= ALL:
        return "nearly all of it is the drive's or its link's"
    if low is not None and low >= MOSTLY:
        return "most of it is the drive's or its link's"
    if high is not None and high <= 1 - ALL:
        return "nearly all of it is the CPU's"
    if high is not None and high <= MOSTLY:
        return "most of it is the CPU's"
    return "which part is the CPU's cannot be determined"
