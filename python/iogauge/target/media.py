"""Classifies the media of a target from its facts: flash, 3D XPoint, a spinning disk or memory.

Each of them needs a different preparation. The kernel tells only whether a disk spins, and for a virtual disk not even
that reliably. 3D XPoint is recognised by Intel's product names, and memory by Linux's device names. Virtual disks and
the volumes of RAID controllers are recognised by their names; their media are unknown, as are those of a device without
a name. Any other named device that does not spin is taken for flash, which is likely but not certain.

Source: Intel's order numbers of Optane SSDs (product pages); drivers/block of Linux; what hypervisors, clouds and RAID
controllers answer to an inquiry.
"""

from __future__ import annotations

import re
from typing import Literal

from iogauge.schema import TargetFacts

Media = Literal["flash", "3D XPoint", "disk", "memory"]

_XPOINT = re.compile(
    r"""optane                       # as people and our models call it
    |SSDPE(D1|21|L1|K1[AW])          # P4800X, 900P, 905P; P1600X, 800P
    |SSDPF21                         # P5800X
    |MEMPE[KI]1                      # Optane Memory
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IN_BETWEEN = re.compile(
    r"""virtual                      # Msft Virtual Disk, VMware Virtual disk, Virtual HD
    |vmware|vbox|qemu|virtio
    |amazon\ elastic               # EBS; an instance's own storage is flash
    |persistent[ ]?disk|nvme_card-pd  # Google's
    |megaraid|\bLSI\b|\bMR\d{4}|\bPERC\b|logical[ ]volume
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Names of virtual disks and RAID volumes, which hide the drives behind them."""
_MEMORY = re.compile(r"(zram|ram|pmem)\d+")


def media_of(target: TargetFacts) -> Media | None:
    """Return the media of a target, or of the drive below a file; None if they are unknown.

    >>> facts = TargetFacts(path="/dev/nvme0n1", kind="block", size_bytes=1, rotational=False)
    >>> media_of(facts.model_copy(update={"model": "INTEL SSDPED1K375GA"}))
    '3D XPoint'
    >>> media_of(facts.model_copy(update={"model": "INTEL SSDPE2MD800G4"})), media_of(facts)
    ('flash', None)
    >>> media_of(facts.model_copy(update={"model": "Amazon Elastic Block Store"}))
    """
    if target.device and _MEMORY.fullmatch(target.device):
        return "memory"
    if target.model is None or target.rotational is None or _IN_BETWEEN.search(target.model):
        return None
    if target.rotational:
        return "disk"
    return "3D XPoint" if _XPOINT.search(target.model) else "flash"
