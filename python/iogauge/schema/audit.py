"""An audit: the settings of a machine and of the path to a drive that change its latency.

A review stores its audits once, when it begins, and each step only what changed since. ``interrupts`` of a run are
beside them: what Linux counted of the drive's interrupts, and where they were served.
"""

from __future__ import annotations

from typing import Literal

from iogauge.schema.base import SCHEMA_VERSION, Model, NonNegative

Verdict = Literal["pass", "differs", "unknown", "not applicable", "recorded"]
"""``recorded``: no value is wanted of it, but results are only comparable where it is the same."""


class AuditFact(Model):
    """One setting: its value, and what low latency wants of it."""

    id: str
    """Such as ``cpu.governor``."""
    group: str
    title: str
    path: str
    """What was read: a file, or several by a pattern."""
    value: str | None
    """As it was read; None: it could not be read, or does not apply."""
    meaning: str
    """The value in words, or why there is none."""
    verdict: Verdict
    wanted: str
    """Empty: no value is wanted."""
    why: str
    source: str
    change: str
    """The shell command that sets the wanted value until the next start, on Windows for good; empty: there is none."""
    weight: NonNegative = 0
    """How much the setting changes latency by published evidence, from 3 (most) to 1; 0: there is no such evidence."""
    volatile: bool = False
    """Whether the value changes by itself, as a temperature does, so that a difference means nothing."""


class Audit(Model):
    """The facts of a machine, of a drive and the path to it, or of both."""

    target: str | None
    """The drive as the user named it; None: the machine alone."""
    device: str | None
    """The kernel's name of the drive."""
    at: str
    """UTC, ISO 8601."""
    kernel: str
    facts: tuple[AuditFact, ...]


class StoredAudits(Model):
    """The audits of a review from when it began: the machine first, then each drive."""

    schema_version: int = SCHEMA_VERSION
    audits: tuple[Audit, ...]


class AuditChange(Model):
    """A setting that is not what it was when the review began."""

    target: str | None
    """The drive, as the user named it; None: the setting is one of the machine."""
    id: str
    """Of its fact."""
    old: str
    """The value in words, when the review began."""
    new: str
    verdict: Verdict
    """Of the new value."""


class Interrupt(Model):
    """One interrupt of a drive during a run."""

    number: NonNegative
    name: str
    """As Linux has it, such as ``nvme0q1``, which is that of the first I/O queue."""
    by_cpu: dict[int, int]
    """How often each CPU served it; CPUs that did not are left out."""
    allowed: tuple[int, ...] | None
    """The CPUs of its effective affinity before and after the run; None: it could not be read."""

    @property
    def count(self) -> int:
        """How often it was served."""
        return sum(self.by_cpu.values())


class DriveInterrupts(Model):
    """The interrupts of a drive during a run, ramps and the I/O of other programs included."""

    device: str
    """The kernel's name of the drive."""
    node: NonNegative | None
    """The drive's NUMA node; None: Linux does not say, or the machine has one node."""
    ios: NonNegative | None = None
    """I/Os that Linux counted on the whole drive meanwhile; None: it does not count them."""
    far_cpus: tuple[int, ...] = ()
    """CPUs of other nodes that served its interrupts."""
    interrupts: tuple[Interrupt, ...]
    """Those that were served during the run."""
