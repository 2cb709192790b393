"""The content of a report of a fleet, as plain data. Times are in nanoseconds, rates in requests a second.

Whoever reads a fleet fills it (``iogauge.fleet.shown``); text, Markdown and the page are written from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any


class Standing(StrEnum):
    """What was concluded of one drive."""

    NORMAL = "as its peers"
    SLOW = "slow drive"
    SLOW_TAIL = "slow tail"
    OF_HOST = "of a slow host"
    OF_SLOT = "in a slow slot"
    OF_MODEL = "of a slow model or firmware"


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host of the fleet, and how its review ended."""

    name: str
    outcome: str
    """``planned``, ``done``, ``lost``, ``refused``, ``failed`` or ``interrupted``."""
    why: str = ""
    targets: tuple[str, ...] = ()
    labels: dict[str, str]
    """Such as ``{"zone": "a", "rack": "12"}``."""
    kernel: str = ""
    cpu: str = ""
    version: str = ""
    steps: int = 0
    """How many steps it completed."""
    offset_ns: int | None = None
    """Its clock minus the controller's, as last measured."""
    bound_ns: int | None = None
    """The true offset is at most this far from ``offset_ns``."""

    @property
    def missing(self) -> bool:
        """Whether its figures are missing, all or some."""
        return self.outcome != "done"


@dataclass(frozen=True, kw_only=True)
class ReadyHost:
    """What a host has before a fleet begins. None: it is not known."""

    name: str
    free_bytes: int
    """Where it keeps its review."""
    needed_bytes: int | None
    """What its review takes there at most, estimated."""
    offset_ns: int | None
    """Its clock minus the controller's."""
    bound_ns: int | None
    """The true offset is at most this far from ``offset_ns``."""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One drive beside its peers: the drives of its kind, at the same steps."""

    name: str
    """Unique in the fleet, such as a serial number."""
    host: str
    model: str = ""
    firmware: str = ""
    slot: str = ""
    slowness: float | None
    """Its latency, as a multiple of that of its peers; None: it has too few peers."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval of ``slowness``; None: there is none."""
    rate: float | None
    """Its requests a second, as a multiple of those of its peers; None: it has too few."""
    tail: float | None = None
    """Its p99 latency, as a multiple of that of its peers; None: it has too few, or too few requests."""
    slow_share: float = 0.0
    """In which share of its time it is slow beside its own usual latency."""
    standing: Standing = Standing.NORMAL

    @property
    def excess(self) -> float:
        """How slow it is, as a multiple of its peers: by its tail if that is what is slow, else by its mean latency."""
        return (self.tail if self.standing is Standing.SLOW_TAIL else self.slowness) or 0.0


KINDS = ("model", "firmware", "host", "slot", "drive")
"""What can be slow, the widest first."""


@dataclass(frozen=True, kw_only=True)
class Slow:
    """Something that is slow: a discovery at the fleet's rate of false ones."""

    kind: str
    """One of ``KINDS``."""
    name: str
    """Without the kind: ``SERIAL of host r7``, ``r9``, ``PM9A3 GDC5602Q``."""
    slowness: float
    low: float | None = None
    high: float | None = None
    drives: int = 1
    """How many drives it is about."""
    why: str = ""
    """The reason, to follow the name and a colon, without a full stop."""
    at_times: bool = False
    """Whether it is slow at times, not throughout."""
    in_tail: bool = False
    """Whether ``slowness`` is that of its p99: its mean latency is as usual, or far less slow."""


@dataclass(frozen=True, kw_only=True)
class Moment:
    """The fleet's requests of one direction in one interval of a step, merged over its hosts."""

    step: str
    direction: str
    start_s: float
    hosts_running: int
    hosts: int
    iops: float | None
    """This and the following: None unless all hosts ran, or too few requests for a percentile."""
    bytes_per_s: float | None
    p50_ns: float | None
    p99_ns: float | None
    p999_ns: float | None
    p9999_ns: float | None = None


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one host contributed to a group."""

    host: str
    iops: float


@dataclass(frozen=True, kw_only=True)
class Group:
    """The requests of one direction in one step, merged over hosts or drives that have something in common."""

    by: str
    """``fleet``, ``host``, ``model``, ``firmware`` or a label."""
    name: str
    step: str
    direction: str
    hosts: int
    missing: tuple[str, ...] = ()
    requests: int
    iops: float | None = None
    """This and the following: None if its hosts never ran all at the same time, or for too few requests."""
    mean_ns: float | None = None
    p50_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    p9999_ns: float | None = None
    excluded_s: float = 0.0
    """For how long not all hosts were running; these seconds are not in the figures."""
    lowest: Share | None = None
    highest: Share | None = None
    """The hosts with the fewest and the most requests a second while all were running; None: they never were."""


@dataclass(frozen=True, kw_only=True)
class Start:
    """How far from the plan one host began one step."""

    host: str
    step: str
    late_ns: float
    """After the planned instant; negative: before it."""
    bound_ns: float
    """The true lateness is at most this far from ``late_ns``."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One fact that is not the same on all hosts, with the hosts of each value, the commonest first."""

    fact: str
    values: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened while the fleet ran."""

    at: str
    host: str
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True)
class FleetView:
    """Everything that a report of a fleet shows."""

    path: str
    """The directory of the fleet."""
    created: str
    mode: str
    options: dict[str, Any]
    """Such as ``{"suites": ("mixed",), "pace": "quick"}``."""
    hosts: tuple[Host, ...]
    drives: tuple[Drive, ...] = ()
    slow: tuple[Slow, ...] = ()
    undecided: tuple[str, ...] = ()
    """Sentences: what the fleet could not tell apart, and why."""
    false_rate: float = 0.05
    """The greatest expected share of false discoveries."""
    detectable: float | None = None
    """How slow a drive must be beside its peers to be found in 95 of 100 cases; None: unknown."""
    moments: tuple[Moment, ...] = ()
    thinned: int = 1
    """How many intervals a moment stands for: it has the highest percentiles of them."""
    groups: tuple[Group, ...] = ()
    starts: tuple[Start, ...] = ()
    differences: tuple[Difference, ...] = ()
    events: tuple[Event, ...] = ()

    @cached_property
    def missing(self) -> tuple[Host, ...]:
        """The hosts whose figures are missing, all or some."""
        return tuple(host for host in self.hosts if host.missing)

    @cached_property
    def outliers(self) -> tuple[Drive, ...]:
        """The drives that are slow, by themselves or for what they share with others; the slowest first."""
        slow = [drive for drive in self.drives if drive.standing is not Standing.NORMAL]
        return tuple(sorted(slow, key=lambda drive: -drive.excess))

    @cached_property
    def judged(self) -> tuple[Drive, ...]:
        """The drives that have enough peers to be judged."""
        return tuple(drive for drive in self.drives if drive.slowness is not None)

    def slow_of(self, kind: str) -> tuple[Slow, ...]:
        """Return what is slow of one kind, the slowest first."""
        return tuple(sorted((slow for slow in self.slow if slow.kind == kind), key=lambda it: -it.slowness))

    def groups_by(self, by: str) -> Sequence[Group]:
        """Return the groups of one kind, in their order."""
        return [group for group in self.groups if group.by == by]

    @property
    def title(self) -> str:
        """What the report is about, in a few words."""
        from iogauge.text.numbers import counted

        return f"A fleet of {counted(len(self.hosts), 'host')}"
