"""An audit: the settings of a machine and of the path to a drive that change its latency."""

from __future__ import annotations

from typing import Literal

from iogauge.schema.base import Model

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
    """The shell command that sets the wanted value until the next start; empty: there is none."""


class Audit(Model):
    """The facts of a machine, and of a drive if one was named."""

    target: str | None
    """As the user named it; None: the machine alone."""
    device: str | None
    """The kernel's name of the drive."""
    at: str
    """UTC, ISO 8601."""
    kernel: str
    facts: tuple[AuditFact, ...]
