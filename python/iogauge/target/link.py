"""Reads the bandwidth of the link to a drive from sysfs: an upper bound for its throughput.

For PCI Express and SATA it is the trained speed, which may be lower than drive and slot support. For SAS, USB, networks
and virtual devices it is unknown. The encoding is subtracted (8b/10b up to 5 GT/s and on SATA, 128b/130b above), the
protocol's overhead is not, so a drive reaches slightly less.

Source: PCI Express Base Specification 5.0; Documentation/ABI of Linux: testing/sysfs-bus-pci (current_link_speed,
current_link_width), testing/sysfs-ata (sata_spd).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from iogauge.target.users.sysfs import BlockDevice, read_text

_EIGHT_OF_TEN_GTs = 5.0
"""Up to this rate a lane sends ten bits for eight."""


def link_Bps(disk: BlockDevice) -> int | None:
    """Return the bandwidth of a disk's link in bytes a second; None if it is unknown."""
    return _pci_Bps(disk) or next(_sata_Bps(disk), None)


def _pci_Bps(disk: BlockDevice) -> int | None:
    """Return the bandwidth of an NVMe drive's lanes: its controller is a PCI device."""
    controller = disk.directory / "device" / "device"
    rate = re.match(r"([\d.]+) GT/s", read_text(controller / "current_link_speed") or "")
    lanes = read_text(controller / "current_link_width") or ""
    if rate is None or not lanes.isdecimal():
        return None
    rate_GTs = float(rate[1])
    share = 8 / 10 if rate_GTs <= _EIGHT_OF_TEN_GTs else 128 / 130
    return round(int(lanes) * rate_GTs * 1e9 * share / 8) or None


def _sata_Bps(disk: BlockDevice) -> Iterator[int]:
    """Yield the bandwidths of the links of a disk's ATA port."""
    ports: list[Path] = [parent for parent in disk.directory.parents if re.fullmatch(r"ata\d+", parent.name)]
    for port in ports:
        for attribute in sorted(port.glob("link*/ata_link/link*/sata_spd")):
            if rate := re.match(r"([\d.]+) Gbps", read_text(attribute) or ""):
                yield round(float(rate[1]) * 1e9 * 8 / 10 / 8)
