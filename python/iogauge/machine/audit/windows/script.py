"""Writes the PowerShell script that reads on Windows what the checks judge here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from iogauge.machine.audit.windows.check import WindowsCheck
from iogauge.machine.audit.windows.readings import quoted

_TEMPLATE = Path(__file__).with_name("script.ps1")
_FACTS = re.compile(r"^FACTS\n", re.MULTILINE)


def script(checks: Iterable[WindowsCheck]) -> str:
    """Return the script: ``script.ps1`` with a line for each check."""
    lines = "".join(f"    {line}\n" for line in _lines(checks))
    return _FACTS.sub(lambda _: lines, _TEMPLATE.read_text(encoding="ascii"))


def _lines(checks: Iterable[WindowsCheck]) -> Iterator[str]:
    for check in checks:
        note = "  # needs administrator" if check.reading.administrator else ""
        yield f"Read-Fact {quoted(check.id)} {{ {check.reading.command} }}{note}"
