"""What was concluded of a fleet: what is slow, by how much and how sure; what cannot be told; all drives as points."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

BOUND = 1.96
"""Standard errors from a value to the bounds of its 95 % interval."""


class Suspect(StrEnum):
    """What is slow, the widest first."""

    MODEL = "model"
    FIRMWARE = "firmware"
    HOST = "host"
    SLOT = "slot"
    DRIVE = "drive"


@dataclass(frozen=True)
class Finding:
    """One slow thing. ``ratio`` is its latency over that of its peers, with the 95 % interval."""

    suspect: Suspect
    name: str
    ratio: float
    low: float
    high: float
    p: float
    q: float
    """The smallest false discovery rate of all findings at which this is one."""
    drives: tuple[str, ...]
    """The drives that it explains."""
    why: str
    """What its name does, without a full stop: the reason, to follow the name and a colon."""
    host: str = ""
    """The host of a drive."""
    at_times: bool = False
    """Whether a drive is slow at times rather than throughout."""
    in_tail: bool = False
    """Whether it is slow in its slowest requests rather than throughout; ``ratio`` is of a high quantile then."""


@dataclass(frozen=True)
class DrivePoint:
    """One drive of the picture. Ratios are to the drives of its kind; ``None``: it has too few peers."""

    drive: str
    host: str
    model: str
    firmware: str
    slot: str
    latency_ratio: float | None
    iops_ratio: float | None
    low: float | None
    """The lower bound of the 95 % interval of ``latency_ratio``."""
    high: float | None
    slow_share: float
    """Share of its batches that are slow beside its own level, in events."""
    p: float
    q: float
    suspect: Suspect | None
    """The finding that explains why it is slow; None: it is not."""
    tail_ratio: float | None = None
    """Its tail's latency (``batches.TAIL``) over that of its peers; None: too few peers or requests."""
    in_tail: bool = False
    """Whether ``suspect`` is slow in its tail."""


@dataclass(frozen=True)
class SlowDrives:
    """All findings, the widest first, and of each kind the slowest first."""

    findings: tuple[Finding, ...]
    cannot_tell: tuple[str, ...]
    """What this fleet cannot show, in sentences."""
    points: tuple[DrivePoint, ...]
    rate: float
    """The false discovery rate of all findings."""
    drive_spread: float | None
    """Standard deviation of the logarithm between healthy drives of a kind in one host; None: nothing was judged."""
    host_spread: float | None
    """The same between healthy hosts; None: hosts were not judged."""
    detectable: float | None
    """The ratio at which a drive that is slow throughout is found in 95 of 100 cases, if one drive in a hundred is."""

    def of(self, suspect: Suspect) -> tuple[Finding, ...]:
        """Return the findings of one kind."""
        return tuple(finding for finding in self.findings if finding.suspect is suspect)
