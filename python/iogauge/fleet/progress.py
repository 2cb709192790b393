"""What the controller reports of a fleet while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from iogauge.report.fleet.sentences import event_line
from iogauge.schema.fleet import FleetEvent
from iogauge.text import numbers


@dataclass(frozen=True, kw_only=True)
class FleetProgress:
    """The state of a fleet, and what has just happened; ``str()`` is a line of text.

    >>> print(FleetProgress(hosts=3, running=2, lost=1, label="mixed, 70 %", steps_done=2, steps=11))
    [3/11] mixed, 70 %; 3 hosts: 2 running, 1 lost
    """

    hosts: int
    """How many hosts the fleet has; each is in one of these states, or has not begun."""
    running: int = 0
    waiting: int = 0
    """They wait until the others are ready for the next step."""
    ended: int = 0
    lost: int = 0
    label: str = ""
    """What the step is called that began last."""
    steps_done: int = 0
    """Steps that every live host has completed."""
    steps: int = 0
    """Steps of the host that has most, as far as they are planned."""
    left_s: float | None = None
    """How long the slowest host needs for its remaining steps; None: it is not known."""
    event: FleetEvent | None = None
    """What happened; None: only the state changed."""

    def __str__(self) -> str:
        if self.event is not None:
            return event_line(self.event.host, self.event.kind, self.event.text)
        place = f"[{min(self.steps_done + 1, self.steps)}/{self.steps}] " if self.steps else ""
        label = f"{self.label}; " if self.label else ""
        states = [
            f"{number:,} {state}"
            for state, number in (
                ("running", self.running),
                ("waiting", self.waiting),
                ("ended", self.ended),
                ("lost", self.lost),
            )
            if number
        ]
        return f"{place}{label}{numbers.counted(self.hosts, 'host')}: {', '.join(states)}".rstrip(": ")


OnFleetProgress = Callable[[FleetProgress], None]
"""Is called with each piece of news; ``print`` is one. An exception that it raises ends the review on all hosts."""
