"""A review on many hosts: its manifest, what was measured of the hosts' clocks and starts, and what happened.

Instants without another word are of CLOCK_MONOTONIC. The controller is the computer that runs ``iogauge fleet review``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from iogauge.schema.base import SCHEMA_VERSION, Model, NonNegative

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""The name of a host in its fleet; the directory of its review has it."""


class FleetMode(StrEnum):
    """When the hosts of a fleet start their steps."""

    TOGETHER = "together"
    """Every step starts at the same instant on all hosts."""
    STAGGERED = "staggered"
    """The same, but each host starts a fixed time after the one before it."""
    INDEPENDENT = "independent"
    """Every host starts its steps as it is ready."""


class Reach(StrEnum):
    """How the controller reaches the hosts of a fleet."""

    LOCAL = "local"
    """They are processes of its own computer."""
    SSH = "ssh"
    SCHEDULER = "scheduler"
    """They are the workers of a Dask scheduler."""


class HostOutcome(StrEnum):
    """What became of a host's part of a fleet's review."""

    PLANNED = "planned"
    """It has not ended."""
    DONE = "done"
    LOST = "lost"
    """The controller could not reach it any more."""
    REFUSED = "refused"
    """It began nothing."""
    FAILED = "failed"
    """Some of its steps did not complete."""
    INTERRUPTED = "interrupted"
    """It was stopped, by Ctrl-C or because its lease ended."""


class FleetHost(Model):
    """A computer of a fleet, and what became of its review."""

    name: HostName
    targets: tuple[str, ...]
    """As its review names them."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Words of the user's, such as its zone, rack or instance type."""
    slots: dict[str, str] = Field(default_factory=dict)
    """Where its drives sit, by target; the same word on several hosts means the same place. Empty: it is not known."""
    address: str = ""
    """Where it is reached; empty: it is a process of the controller's computer, or a scheduler knows it."""
    outcome: HostOutcome = HostOutcome.PLANNED
    why: str = ""
    """Why its outcome is not ``done``."""
    seed: NonNegative
    """The seed of its review: of its requests, its data and its drive models."""
    hostname: str = ""
    """This and the following as the host said before its review began; empty: it did not answer."""
    kernel: str = ""
    cpu: str = ""
    version: str = ""
    """Version of its iogauge."""


class FleetManifest(Model):
    """The manifest of a review on many hosts."""

    schema_version: int = SCHEMA_VERSION
    id: str
    """Unique; what hosts save belongs to a fleet by this id."""
    created: str
    """UTC, ISO 8601."""
    reach: Reach = Reach.LOCAL
    mode: FleetMode = FleetMode.TOGETHER
    stagger_ns: NonNegative = 0
    """Time between the starts of two hosts, if they are staggered."""
    seed: NonNegative
    """The seeds of the hosts derive from it. If they start together, it also decides the order of all hosts' steps."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The options of every host's review, such as ``suites`` and ``pace``."""
    hosts: tuple[FleetHost, ...]
    """In the order in which they start, if they are staggered."""

    def host(self, name: str) -> FleetHost:
        """Return one of its hosts. Raises KeyError if there is none of this name."""
        return {host.name: host for host in self.hosts}[name]

    def with_host(self, changed: FleetHost) -> FleetManifest:
        """Return the manifest with a host in place of the one of its name."""
        hosts = tuple(changed if host.name == changed.name else host for host in self.hosts)
        return self.model_copy(update={"hosts": hosts})


class ClockBatch(Model):
    """A host's clock beside the controller's, measured by some exchanges."""

    host: HostName
    phase: Literal["before", "during", "after"]
    """When it was measured: before the first step, during the review, or after the last step."""
    at_ns: int
    """The instant for which it holds, by the controller's clock."""
    offset_ns: int
    """The host's clock minus the controller's."""
    bound_ns: NonNegative
    """The offset is within ``offset_ns`` plus or minus this."""
    exchanges: NonNegative
    """Pairs of readings of both clocks."""


class Start(Model):
    """The start of a step on a host. Instants are by the controller's clock."""

    host: HostName
    step: str
    """Id of the step."""
    planned_ns: int
    achieved_ns: int | None
    """When the first request was issued; None: none was, or the step runs in virtual time."""
    bound_ns: NonNegative
    """How far ``achieved_ns`` may be from the truth, since the clocks are known to within a bound."""


class FleetEvent(Model):
    """Something that happened to a fleet, or to one of its hosts."""

    at: str
    """UTC, ISO 8601."""
    host: str = ""
    """Empty: it concerns the fleet."""
    kind: str
    """Such as ``lost``, ``resumed``, ``refused``, ``lease-ended``, ``warning`` or ``message``."""
    text: str
