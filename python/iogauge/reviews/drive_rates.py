"""The rates that a target likely reaches if nothing limits its load; ``likely`` estimates a step from them.

Those of a drive model are measured on the model (``model_rates``). Of a real target only its media and its link are
known before it is measured, so its rates are usual ones of its class, right within a factor of a few.

Source of the classes: data sheets of drives in use (PM9A3, P4800X, 870 EVO, Exos X16), sustained rates rather than
those of an empty drive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from iogauge.schema import Direction, TargetFacts
from iogauge.target.media import media_of

BLOCK_BYTES = 4096
"""The size of the small requests whose rates are known."""


@dataclass(frozen=True, kw_only=True)
class DriveRates:
    """The rates of a drive with 4 KiB requests one at a time and many at once, and with large requests in order."""

    latency_ns: Mapping[Direction, float]
    """The latency of one 4 KiB request at a time, without the time for which it occupies the drive."""
    iops: Mapping[Direction, float]
    """4 KiB at random, many at once."""
    bandwidth_Bps: Mapping[Direction, float]
    """Large requests in order, many at once."""
    sync_ns: float
    """The latency that an fsync adds after each write."""
    basis: str
    """Where the rates come from, in a few words."""

    def service_ns(self, direction: Direction, size_bytes: float, *, random: bool) -> float:
        """Return how long a request occupies the drive, which bounds the rate of many at once."""
        moved_ns = size_bytes / self.bandwidth_Bps[direction] * 1e9
        return max(moved_ns, 1e9 / self.iops[direction]) if random else moved_ns


def _rates(
    basis: str,
    *,
    latency_us: tuple[float, float],
    iops: tuple[float, float],
    MBps: tuple[float, float],
    sync_us: float,
) -> DriveRates:
    """Return rates; pairs are those of reads and of writes."""
    both = (Direction.READ, Direction.WRITE)
    return DriveRates(
        latency_ns={direction: us * 1e3 for direction, us in zip(both, latency_us, strict=True)},
        iops=dict(zip(both, iops, strict=True)),
        bandwidth_Bps={direction: rate * 1e6 for direction, rate in zip(both, MBps, strict=True)},
        sync_ns=sync_us * 1e3,
        basis=basis,
    )


_DISK = _rates("usual rates of disks", latency_us=(50, 50), iops=(180, 300), MBps=(200, 200), sync_us=8000)
_SATA = _rates(
    "usual rates of SATA flash", latency_us=(120, 40), iops=(90e3, 40e3), MBps=(540, 450), sync_us=1000
)
_FLASH = _rates(
    "usual rates of NVMe flash", latency_us=(80, 15), iops=(600e3, 150e3), MBps=(5000, 2000), sync_us=500
)
_XPOINT = _rates(
    "usual rates of 3D XPoint", latency_us=(10, 10), iops=(550e3, 500e3), MBps=(2500, 2200), sync_us=2
)
_MEMORY = _rates(
    "usual rates of memory", latency_us=(3, 3), iops=(400e3, 300e3), MBps=(4000, 3000), sync_us=1
)
_BY_MEDIA = {"disk": _DISK, "flash": _FLASH, "3D XPoint": _XPOINT, "memory": _MEMORY, None: _FLASH}
_SATA_Bps = 600_000_000
"""The bandwidth of the fastest SATA link: flash behind a slower or equal link is a SATA drive."""


def rates_of(target: TargetFacts) -> DriveRates:
    """Return the rates of a target: measured on a model; of a real one, those of its class, limited by its link.

    >>> rates_of(TargetFacts(path="/dev/sda", kind="block", size_bytes=1, rotational=True, model="ST16000NM")).basis
    'usual rates of disks'
    """
    if target.modelled:
        from iogauge.reviews.model_rates import model_rates

        return model_rates(target)
    media = media_of(target)
    rates = _BY_MEDIA[media]
    if media in ("flash", None) and target.link_Bps and target.link_Bps <= _SATA_Bps:
        rates = _SATA
    if not target.link_Bps:
        return rates
    within = {way: min(rate, target.link_Bps) for way, rate in rates.bandwidth_Bps.items()}
    return replace(rates, bandwidth_Bps=within)
