"""What the controller knows of one host while its review runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum

from iogauge.fleet.clock import Phase as ClockPhase
from iogauge.fleet.control.link import Link
from iogauge.fleet.host.messages import HostRequest, Lease, PlannedStep
from iogauge.fleet.progress import FleetProgress
from iogauge.schema.fleet import FleetEvent, HostOutcome


class Phase(Enum):
    """How far a host is."""

    BEGINNING = "its review is to begin, or to continue"
    RUNNING = "its review runs"
    ENDED = "its review has ended, and is being fetched"
    CLOSED = "nothing more is expected of it"


@dataclass(eq=False)
class HostRun:
    """One host of a running fleet. Instants are seconds of the controller's clock."""

    name: str
    link: Link
    request: HostRequest
    lease: Lease
    resumes: bool = False
    """Whether it continues what it saved before."""
    goes_on: bool = False
    """Whether its review goes on by itself once its lease has ended: it only reads, and is to go on."""
    phase: Phase = Phase.BEGINNING
    outcome: HostOutcome = HostOutcome.PLANNED
    why: str = ""
    seen: int = 0
    """The number of its last event that was handled."""
    steps: dict[str, PlannedStep] = field(default_factory=dict)
    """Its steps by id, as far as they are planned, in their order."""
    completed: set[str] = field(default_factory=set)
    """Ids of its complete steps."""
    deadlines: dict[str, float] = field(default_factory=dict)
    """The calls that it has not answered, and when it is lost without an answer; ``heartbeat``: after a heartbeat that
    failed; ``any``: after any other call that failed."""
    broken: str = ""
    """Why the last call failed that did."""
    beat_at: float = 0.0
    poll_at: float = 0.0
    renewed_at: float = 0.0
    """When its lease was given or renewed last, if the host got it."""
    quiet_at: float = 0.0
    """When it no longer uses its drives, if it was lost while it could use them."""
    retry_at: float | None = None
    """When it resumes again after it was refused; None: it was not."""
    retry_s: float = 1.0
    """How long after a refusal it resumes again; longer each time."""
    comparing: ClockPhase | None = None
    """The phase of the comparison of its clock that runs; None: none does."""
    fetches: bool = False
    """Whether what it saved is being fetched."""
    fetch_at: float | None = None
    """When to fetch what it saved next; None: there is nothing new."""
    start: tuple[str, int] | None = None
    """The step that it must still be told to start, and the instant by its own clock, ns."""
    sent: tuple[str, int] | None = None
    """The start that it was told last."""
    planned_ns: dict[str, int] = field(default_factory=dict)
    """Planned starts of steps that are not recorded yet, by the controller's clock."""
    achieved_ns: dict[str, int] = field(default_factory=dict)
    """Achieved starts of these, by its own clock."""

    @property
    def is_open(self) -> bool:
        """Whether anything is still expected of it."""
        return self.phase is not Phase.CLOSED

    @property
    def is_disturbed(self) -> bool:
        """Whether it does something for the controller that should not happen while it measures."""
        return self.is_open and (self.comparing is not None or self.fetches or self.fetch_at is not None)

    def wait_longer(self, seconds: float) -> None:
        """Move its deadlines by this time."""
        for call in self.deadlines:
            self.deadlines[call] += seconds

    def is_overdue(self, now: float) -> bool:
        """Return whether it should have answered by now."""
        return any(deadline < now for deadline in self.deadlines.values())


def state_of(
    hosts: Sequence[HostRun], waiting: Collection[str], *, label: str, event: FleetEvent | None
) -> FleetProgress:
    """Return the state of a fleet. ``waiting``: the hosts that wait; ``label``: the step that began last."""
    live = [host for host in hosts if host.phase in (Phase.BEGINNING, Phase.RUNNING)]
    lost = sum(host.outcome is HostOutcome.LOST for host in hosts)
    planned = [host for host in live if host.steps]
    left_s = [
        sum(step.expected_s for step in host.steps.values() if step.id not in host.completed)
        for host in planned
    ]
    return FleetProgress(
        hosts=len(hosts),
        running=len(live) - len(waiting),
        waiting=len(waiting),
        ended=len(hosts) - len(live) - lost,
        lost=lost,
        label=label,
        steps_done=min((len(host.completed) for host in planned), default=0),
        steps=max((len(host.steps) for host in planned), default=0),
        left_s=max(left_s, default=None),
        event=event,
    )
