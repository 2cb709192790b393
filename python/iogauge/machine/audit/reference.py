"""Generates docs/audit.md from the checks, so that the page and the code agree."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.machine.audit import CHECKS
from iogauge.machine.audit.check import Check

_GROUPS = {
    "cpu": "Processors",
    "kernel": "Kernel",
    "load": "What else runs",
    "virtual": "Virtual machines and cgroups",
    "pcie": "PCIe, IOMMU and NUMA",
    "interrupts": "Interrupts",
    "block": "Block layer",
    "nvme": "NVMe",
    "sata": "SATA",
}

_HEAD = """\
# Audit

`iogauge audit [TARGET]` compares the settings of a machine, and of the path to a drive, with what low latency wants. It
changes nothing. Each fact has a verdict:

| verdict | meaning |
|---|---|
| pass | the setting is as wanted |
| differs | it is not; the audit shows the command that changes it until the next start |
| unknown | it could not be read, with the reason. What could not be read never passes |
| not applicable | the machine or the drive has no such setting, which was read, too |
| recorded | no value is wanted of it, but results are comparable only where it is equal |

A setting that differs is not a fault: what it is worth depends on the machine. Without root, more facts are unknown.
`--json` has every fact with its path, its value and its source.
"""


def page() -> str:
    """Return the text of docs/audit.md."""
    return "\n".join([_HEAD, *(_section(group, title) for group, title in _GROUPS.items())])


def _section(group: str, title: str) -> str:
    return "\n".join(
        [f"## {title}", "", "| fact | wanted | why | source |", "|---|---|---|---|", *_rows(group), ""]
    )


def _rows(group: str) -> Iterator[str]:
    for check in CHECKS:
        if check.group == group:
            yield _row(check)


def _row(check: Check) -> str:
    cells = (f"{check.title} (`{check.id}`)", check.wanted or "–", check.why, check.source)
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
