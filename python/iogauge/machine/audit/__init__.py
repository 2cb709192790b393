"""Audits a machine and the path to a drive: each setting that changes latency, what it is, and what it should be.

Nothing is changed. ``CHECKS`` has every check, group by group; ``check`` says what one is, ``subject`` what it reads.

The weight of a check ranks differences between machines. It follows published evidence:

3. It changed latency or rate by half or more, or it decides whether a request waits for something to wake. IOMMU:
   0.57 million IOPS in strict mode, 1.93 in lazy mode, 5.01 without translation, on an Optane drive (A. Gupta,
   linux-nvme, 24 November 2025). Idle states of CPUs, drives and links: their exit latencies, of microseconds to
   milliseconds, are added to a request (cpuidle.rst; nvme-cli issue 878; AnandTech: SATA links wake in 10 us to
   10 ms). Polling instead of interrupts, and interrupts held back. A write cache (SNIA PTS). Limits of cgroups, and
   a hypervisor: they are measured instead of the drive.
2. A rung of the ladder in Intel's evaluation guide, or a part of a request's way: governor, irqbalance, affinity of
   interrupts, turbo and fixed frequencies changed the mean latency of an Optane drive by 1 to 16 %, and single
   quantiles up to tenfold. With them: simultaneous multithreading, mitigations, distance, link, scheduler, merging.
1. tuned's profiles for low latency set it, or it adds work that nobody published as a figure.
0. No effect is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from iogauge.machine.audit import (
    block,
    cpu,
    interrupts,
    kernel,
    load,
    nvme,
    nvme_answers,
    pcie,
    sata,
    virtual,
)
from iogauge.machine.audit.check import Check, read_value
from iogauge.machine.audit.subject import Subject
from iogauge.machine.drive import read_disk
from iogauge.schema import Audit, TargetFacts
from iogauge.target.facts import drive_below
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

MACHINE: tuple[Check, ...] = (*cpu.CHECKS, *kernel.CHECKS, *load.CHECKS, *virtual.CHECKS)
"""The checks of a machine, whatever drive is used."""
DRIVE: tuple[Check, ...] = (
    *load.DRIVE_CHECKS,
    *virtual.DRIVE_CHECKS,
    *pcie.CHECKS,
    *interrupts.CHECKS,
    *block.CHECKS,
    *nvme.CHECKS,
    *nvme_answers.CHECKS,
    *sata.CHECKS,
)
"""The checks of a drive and of the path to it."""
CHECKS = (*MACHINE, *DRIVE)


def audit(subject: Subject, *, target: str | None = None, checks: Sequence[Check] = CHECKS) -> Audit:
    """Return the facts of a machine, and of the drive of ``subject`` if it has one."""
    kernel_, _ = read_value(subject.host.proc / "sys/kernel/osrelease")
    return Audit(
        target=target,
        device=subject.drive.name if subject.drive else None,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        kernel=kernel_ or "",
        facts=tuple(check.fact(subject) for check in checks),
    )


def audits_of(targets: Iterable[TargetFacts], host: Host = HOST) -> tuple[Audit, ...]:
    """Return the facts of the machine, then those of the drive of each target: a drive once, whatever lies on it.

    None if there is no real target. A drive that cannot be looked at has no audit.
    """
    real = [target for target in targets if target.kind in ("block", "file")]
    if not real:
        return ()
    machine = Subject(host)
    audits = {"": audit(machine, checks=MACHINE)}
    for target in real:
        device = BlockDevice.by_name(target.device, host) if target.device else None
        drive = Subject.of(read_disk(drive_below(device), host), host) if device else None
        if drive and drive.drive and drive.drive.name not in audits:
            audits[drive.drive.name] = audit(drive, target=target.path, checks=DRIVE)
    return tuple(audits.values())
