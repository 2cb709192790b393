"""The clock of a host, CLOCK_MONOTONIC, which tests can set wrong."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class HostClock:
    """The clock that a host shows to its controller: the system's, wrong by ``error_ns``."""

    error_ns: int = 0

    def now_ns(self) -> int:
        """Return the instant by the host's clock."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) + self.error_ns

    def to_system_ns(self, host_ns: int) -> int:
        """Return an instant of the host's clock by the system's CLOCK_MONOTONIC."""
        return host_ns - self.error_ns

    def from_system_ns(self, system_ns: int) -> int:
        """Return an instant of the system's CLOCK_MONOTONIC by the host's clock."""
        return system_ns + self.error_ns


def boot_ns() -> int:
    """Return the time since this computer started, also while it was suspended: leases end by it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
