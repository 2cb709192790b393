"""Generates docs/audit.md from the checks, so that the page and the code agree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from iogauge.machine.audit import CHECKS, windows
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

_WINDOWS_GROUPS = {
    "power": "Windows: power scheme",
    "services": "Windows: what else runs",
    "windows": "Windows: the machine",
    "disk": "Windows: disk, driver and link",
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
| not applicable | it was read that the machine or the drive has no such setting |
| recorded | no value is better, but results are comparable only if it is equal |

A setting that differs is not a fault: what it is worth depends on the machine. Without root, more facts are unknown.
`--json` has every fact with its path, its value and its source.

On Windows, a script reads the settings; iogauge then judges them on Linux:

```console
$ iogauge audit --windows-script --output audit.ps1
PS> powershell -NoProfile -ExecutionPolicy Bypass -File .\\audit.ps1 -Disk 1 -OutFile audit.json
$ iogauge audit --import audit.json
```

The script is text that you can read first. It needs Windows PowerShell 5.1 or newer, changes nothing, and works without
an administrator; what only an administrator may read is then unknown. The wanted values are listed below, under
[Windows](#windows-power-scheme).

## With every run

A run on a real target audits the machine and the drive before its workers start; drive models have no audit. A review
keeps the audits of its beginning in `audits.json`, and with each step what changed since. A resumed review first says
which settings changed. [Reports](reports.md#the-machine) show the settings, and `iogauge compare` names those that
differ between two reviews, those that change latency most first.

The **weight** of a fact ranks such differences by published evidence:

| weight | evidence |
|---|---|
| 3 | the setting changed latency or rate by half or more, or decides whether a request waits for something to wake |
| 2 | it is a rung of the ladder in Intel's evaluation guide, or acts on every request |
| 1 | tuned's profiles for low latency set it, or it adds work |
| – | no effect is published |
| *now* | it changes by itself, as load and temperature do, and never counts as a difference |
"""


class _Row(Protocol):
    """What the page shows of a check, of Linux or of Windows."""

    @property
    def group(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def wanted(self) -> str: ...
    @property
    def why(self) -> str: ...
    @property
    def source(self) -> str: ...


def page() -> str:
    """Return the text of docs/audit.md."""
    linux = (_section(CHECKS, group, title) for group, title in _GROUPS.items())
    others = (_section(windows.CHECKS, group, title) for group, title in _WINDOWS_GROUPS.items())
    return "\n".join([_HEAD, *linux, *others])


def _section(checks: Iterable[_Row], group: str, title: str) -> str:
    rows = [(*_cells(check), *_weight(check)) for check in checks if check.group == group]
    head = ("fact", "wanted", "why", "source", "weight")[: len(rows[0])]
    return "\n".join([f"## {title}", "", _line(head), _line(["---"] * len(head)), *map(_line, rows), ""])


def _cells(check: _Row) -> tuple[str, ...]:
    return (f"{check.title} (`{check.id}`)", check.wanted or "–", check.why, check.source)


def _weight(check: _Row) -> tuple[str, ...]:
    """Return the column of the weight, which only checks of Linux have."""
    if not isinstance(check, Check):
        return ()
    return ("*now*" if check.volatile else str(check.weight or "–"),)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
