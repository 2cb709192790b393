"""What a controller, its hosts and their processes say to each other. Every message is JSON."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from iogauge.schema import Audit, HostOutcome, MachineFacts, Model, TargetFacts
from iogauge.schema.base import NonNegative
from iogauge.schema.fleet import HostName

FleetId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$")]
"""The id of a fleet; hosts keep its reviews in directories of this name."""

GRACE_S = 10.0
"""How long a review may take to end after its lease has ended, or it was stopped; then the kernel kills it."""


class HostRequest(Model):
    """The part of a fleet's review that one host runs."""

    fleet_id: FleetId
    host: HostName
    targets: tuple[str, ...]
    destroy: tuple[str, ...] = ()
    """Serial numbers of drives, or paths, whose content may be lost."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Those of ``iogauge.ReviewOptions``, without the seed."""
    seed: NonNegative
    order_seed: NonNegative | None = None
    """Of the order of its steps alone; None: ``seed`` is."""
    waits: bool = True
    """Whether every step waits until ``Host.start`` says when it begins."""
    reads_go_on: bool = False
    """Whether a review that only reads goes on by itself after its lease has ended."""
    for_command: bool = False
    """Whether messages name the options of the command line; otherwise those of the library."""


class Lease(Model):
    """The right to use drives of a host, until it ends unless it is renewed."""

    id: str
    """Unique. A lease is used once."""
    fleet_id: FleetId
    host: HostName
    drives: tuple[str, ...]
    """What ``HostFacts.drives`` called them."""
    generation: NonNegative
    """Above that of all earlier leases of the fleet on this host."""
    seconds: Annotated[float, Field(gt=0)]
    """How long it lasts from when it is given, and from each renewal."""
    begin_by_ns: int | None = None
    """The instant by the host's clock until which the review must begin; None: at any time."""


class Refusal(Model):
    """Why a host cannot run its review."""

    text: str
    hint: str = ""
    in_use: bool = False
    """Whether the host's earlier review of the fleet still runs: once it has ended, the host may not refuse."""


class Space(Model):
    """The space that a review takes on a filesystem."""

    filesystem: str
    """Unique among all computers; several hosts can be processes of one."""
    path: str
    """A place on it."""
    free_bytes: NonNegative
    needed_bytes: NonNegative
    """At most, estimated."""


class HostFacts(Model):
    """What a host is, and whether it can run its review."""

    version: str
    """Of its iogauge."""
    machine: MachineFacts
    audits: tuple[Audit, ...] = ()
    """The settings that change latency: the machine's, then those of each drive. Empty for drive models."""
    targets: tuple[TargetFacts, ...] = ()
    drives: tuple[str, ...] = ()
    """Unique names of the drives and files that are used; drive models have none."""
    only_reads: bool = False
    """Whether the review writes nothing."""
    expected_s: float = 0
    """How long it is likely to take, as far as the steps are known."""
    free_bytes: NonNegative
    """Free space where it keeps its review; 0 if that cannot be read."""
    spaces: tuple[Space, ...] = ()
    """The filesystems on which it takes space; first the one where it keeps its review."""
    longest_step_s: float = 0
    """How long the longest of its known steps runs, without the seconds around it; virtual time on drive models."""
    complete_steps: NonNegative = 0
    """Steps that it has saved for this fleet."""
    missing_steps: NonNegative | None = None
    """Steps that are still to be run; None: it has saved nothing for this fleet."""
    refused: tuple[Refusal, ...] = ()
    """Empty: it can run its review."""


class PlannedStep(Model):
    """A step of a host's review."""

    id: str
    label: str
    expected_s: float
    complete: bool = False
    """Whether it was saved before."""


EventKind = Literal["begun", "planned", "waiting", "started", "step_end", "progress", "notice", "end"]


class HostEvent(Model):
    """Something that happened on a host. Its fields belong to the kinds that they name."""

    number: NonNegative = 0
    """From 1, without gaps, also from one review to the next."""
    kind: EventKind
    at_ns: int
    """By the host's clock."""
    step: str = ""
    """Id of the step: ``waiting``, ``started``, ``step_end``."""
    achieved_ns: int | None = None
    """``started``: when the first request was issued, by the host's clock; None: it is not known."""
    complete: bool = False
    """``step_end``: whether the step is saved."""
    text: str = ""
    """``step_end``, ``progress``, ``notice``; of ``end``, why it is not done."""
    hint: str = ""
    """What to do about it, if anything."""
    outcome: HostOutcome | None = None
    """``end``."""
    in_use: bool = False
    """``end``: whether it is refused since another review uses a drive of it, so that it may succeed later."""
    steps: tuple[PlannedStep, ...] = ()
    """``planned``: all steps known now, in the order in which they run. It comes again when steps follow."""


class SavedFile(Model):
    """A file of a host's review."""

    path: str
    """Below the directory of the review, with ``/``."""
    bytes: NonNegative
    modified_ns: int
    """Since 1970."""


class Order(Model):
    """The first line to the process that runs a review."""

    request: HostRequest
    lease: Lease
    directory: str
    """Of the review; its parent exists."""
    until_boot_ns: int
    """When the lease ends, as ``clock.boot_ns`` counts."""


class Command(Model):
    """A further line to that process."""

    kind: Literal["renew", "start", "stop"]
    until_boot_ns: int = 0
    """``renew``: when the lease ends now."""
    step: str = ""
    """``start``"""
    at_ns: int = 0
    """``start``: by the system's CLOCK_MONOTONIC."""
