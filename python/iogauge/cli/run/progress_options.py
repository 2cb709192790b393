"""fio's ``--eta`` and ``--eta-interval``: whether and how often progress is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from iogauge.cli.terminal import status
from iogauge.library.quantities import time_ns

SHORTEST_NS = 250 * 10**6
"""As in fio."""


class Eta(StrEnum):
    """When to show progress. ``always`` equals ``auto``: without a terminal, progress is printed as lines."""

    ALWAYS = "always"
    NEVER = "never"
    AUTO = "auto"


@dataclass(frozen=True)
class ProgressOptions:
    """Settings of ``Progress``."""

    quiet: bool
    every_s: float | None


def chosen(eta: Eta, *, every: str | None) -> ProgressOptions:
    """Return the settings. Raises UsageError if the time is invalid or too short."""
    every_ns = None if every is None else time_ns(every, name="eta_interval")
    if every_ns is not None and every_ns < SHORTEST_NS:
        raise status.UsageError(f"--eta-interval: {every!r} is shorter than 250 ms", hint="use 250ms or more")
    return ProgressOptions(quiet=eta is Eta.NEVER, every_s=every_ns / 1e9 if every_ns else None)
