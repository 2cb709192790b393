"""Audits Windows from afar: a script that reads there, and what is made of its JSON here.

``CHECKS`` is the one table of both. ``check`` says what a check is, ``readings`` what the script can read;
``script.ps1`` is the script without its list of facts.
"""

from __future__ import annotations

from pathlib import Path

from iogauge.machine.audit.windows import disk, power, services, system
from iogauge.machine.audit.windows.check import WindowsCheck
from iogauge.machine.audit.windows.importer import judged_answers, read_answers
from iogauge.machine.audit.windows.script import script
from iogauge.schema.audit import Audit

CHECKS: tuple[WindowsCheck, ...] = (*power.CHECKS, *services.CHECKS, *system.CHECKS, *disk.CHECKS)


def audit_script() -> str:
    """Return the PowerShell script that reads all that the checks need."""
    return script(CHECKS)


def import_audit(path: Path) -> Audit:
    """Return the audit of the machine on which the script wrote ``path``. Raises UsageError if it did not."""
    return judged_answers(read_answers(path), CHECKS)
