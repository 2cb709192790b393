"""What a drive said last, for whoever watches a run: from two readings that the run takes anyway."""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.schema import DriveReading

_COUNTERS = ("light_throttles", "heavy_throttles", "light_throttled_s", "heavy_throttled_s")


@dataclass(frozen=True)
class DriveNews:
    """The state of a drive at its last reading."""

    device: str
    """Kernel name of the disk."""
    temperature_C: float | None
    throttled: bool | None
    """Whether it throttled since the reading before; None: it does not count that."""
    hot: bool
    """Whether it is at or above the temperature from which it warns, or says so itself."""


def news_of(
    device: str, before: DriveReading, after: DriveReading, *, limit_C: float | None = None
) -> DriveNews:
    """Return what two readings in a row say.

    >>> cool = DriveReading(temperature_C=40, light_throttles=3)
    >>> warm = DriveReading(temperature_C=80, light_throttles=4)
    >>> news_of("nvme0n1", cool, warm, limit_C=75)
    DriveNews(device='nvme0n1', temperature_C=80.0, throttled=True, hot=True)
    """
    counts = [(getattr(before, name), getattr(after, name)) for name in _COUNTERS]
    known = [(earlier or 0, later) for earlier, later in counts if later is not None]
    temperature_C = after.temperature_C
    beyond = limit_C is not None and temperature_C is not None and temperature_C >= limit_C
    return DriveNews(
        device=device,
        temperature_C=temperature_C,
        throttled=any(later > earlier for earlier, later in known) if known else None,
        hot=beyond or bool(after.temperature_alarm),
    )
