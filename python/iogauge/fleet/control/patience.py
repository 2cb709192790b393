"""How long the controller waits for hosts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from iogauge.fleet.host.messages import GRACE_S


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How often the controller does what, and how long it waits; seconds."""

    preflight_s: float = 300.0
    """For what hosts say before anything runs; they measure the generator's ceiling meanwhile."""
    lost_s: float = 5.0
    """How long a host's connection may be broken before the host is lost."""
    silent_s: float = 5.0
    """How long a host may owe an answer before it is lost."""
    lease_s: float = 15.0
    """How long a host may go on without hearing of the controller. Longer than ``silent_s``."""
    end_s: float = GRACE_S
    """How long its review may take to end after that."""
    renew_s: float = 1.0
    poll_s: float = 0.2
    clock_s: float = 10.0
    """Between two comparisons of a host's clock."""
    stop_s: float = 8.0
    """How long hosts may take to end and be fetched after Ctrl-C."""


PATIENCE = Patience()


def patience_on_one_computer(hosts: int) -> Patience:
    """Return the patience with hosts that are all processes of this computer: many on few CPUs are slow to answer.

    The controller learns at once that such a process has ended, or that its connection is broken. So it can wait longer
    for one that does not answer.
    """
    crowding = max(1.6, hosts / len(os.sched_getaffinity(0)) / 2)
    return replace(PATIENCE, silent_s=PATIENCE.silent_s * crowding, lease_s=PATIENCE.lease_s * crowding)
