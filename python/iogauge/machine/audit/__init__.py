"""Audits a machine and the path to a drive: each setting that changes latency, what it is, and what it should be.

Nothing is changed. ``CHECKS`` has every check, group by group; ``check`` says what one is, ``subject`` what it reads.
"""

from __future__ import annotations

from datetime import UTC, datetime

from iogauge.machine.audit import block, cpu, interrupts, kernel, nvme, nvme_answers, pcie, sata
from iogauge.machine.audit.check import Check, read_value
from iogauge.machine.audit.subject import Subject
from iogauge.schema.audit import Audit

CHECKS: tuple[Check, ...] = (
    *cpu.CHECKS,
    *kernel.CHECKS,
    *pcie.CHECKS,
    *interrupts.CHECKS,
    *block.CHECKS,
    *nvme.CHECKS,
    *nvme_answers.CHECKS,
    *sata.CHECKS,
)


def audit(subject: Subject, *, target: str | None = None) -> Audit:
    """Return the facts of a machine, and of the drive of ``subject`` if it has one."""
    kernel_, _ = read_value(subject.host.proc / "sys/kernel/osrelease")
    return Audit(
        target=target,
        device=subject.drive.name if subject.drive else None,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kernel=kernel_ or "",
        facts=tuple(check.fact(subject) for check in CHECKS),
    )
