"""The names of PCI functions, as the database of pciutils has them where it is installed.

Source: pci.ids(5): lines of vendors, and below each the lines of its devices, indented by a tab.
"""

from __future__ import annotations

import re
from pathlib import Path

from iogauge.machine.audit.check import read_value

_DATABASES = ("usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids")
_CHIPSET = re.compile(r"\b(PCH|Chipset|FCH)\b|Root Port #\d+$")
_PROCESSOR = re.compile(r"\bProcessor\b")


def identity(function: Path) -> str:
    """Return vendor and device of a PCI function, such as ``8086:a298``; empty: they cannot be read."""
    parts = [read_value(function / name)[0] or "" for name in ("vendor", "device")]
    if not all(re.fullmatch(r"0x[0-9a-f]{4}", part) for part in parts):
        return ""
    return ":".join(part.removeprefix("0x") for part in parts)


def pci_name(root: Path, identity_: str) -> str:
    """Return what the database of the machine at ``root`` calls a device; empty: it does not know it."""
    vendor, _, device = identity_.partition(":")
    for database in _DATABASES:
        text, _ = read_value(root / database)
        for block in re.findall(rf"^{vendor}  .*\n((?:[\t#].*\n?)*)", text or "", re.MULTILINE):
            if match := re.search(rf"^\t{device}  (.+)$", block, re.MULTILINE):
                return str(match[1]).strip()
    return ""


def is_chipset(name: str) -> bool:
    """Return whether a port of this name belongs to the chipset. Intel numbers its ports, but not a processor's.

    >>> is_chipset("200 Series PCH PCI Express Root Port #9"), is_chipset("Sunrise Point-LP PCI Express Root Port #9")
    (True, True)
    >>> is_chipset("Xeon E5 v3/Core i7 PCI Express Root Port 2"), is_chipset("Atom Processor PCI Express Root Port #0")
    (False, False)
    """
    return _CHIPSET.search(name) is not None and _PROCESSOR.search(name) is None
