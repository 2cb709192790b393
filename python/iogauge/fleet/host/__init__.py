"""A host of a fleet: runs its part of a review in a process of its own, under a lease. It knows no Dask.

``Host`` is what a controller talks to, one for each computer. ``child`` is the process that runs the review: it must
end when its lease ends, whatever becomes of the host's process and the controller, and it alone holds the locks on the
drives. ``messages`` has all that they say to each other.
"""

from __future__ import annotations

from iogauge.fleet.host.clock import HostClock
from iogauge.fleet.host.host import Host
from iogauge.fleet.host.messages import (
    GRACE_S,
    HostEvent,
    HostFacts,
    HostRequest,
    Lease,
    PlannedStep,
    Refusal,
    SavedFile,
)

__all__ = [
    "GRACE_S",
    "Host",
    "HostClock",
    "HostEvent",
    "HostFacts",
    "HostRequest",
    "Lease",
    "PlannedStep",
    "Refusal",
    "SavedFile",
]
