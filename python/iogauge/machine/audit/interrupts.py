"""Checks of the drive's interrupts: how many there are, and on which CPUs they arrive.

Linux spreads the interrupts of NVMe queues itself (managed interrupts) and lets nobody move them. Source: the kernel's
Documentation/core-api/irq/irq-affinity.rst, and kernel/irq/debugfs.c for the flags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iogauge.machine.audit.check import Check, Seen, equals, read_value, without_pci
from iogauge.machine.audit.subject import Subject
from iogauge.machine.interrupts import cpus_in, parse_interrupts
from iogauge.text.numbers import counted


def count(subject: Subject) -> Seen:
    """Look at how many interrupts the drive has."""
    assert subject.pci is not None
    path = f"/sys/bus/pci/devices/{subject.pci.name}/msi_irqs"
    return Seen(path, (str(len(subject.interrupts)),)) if subject.interrupts else Seen(path)


def affinity(subject: Subject) -> Seen:
    """Look at whether each queue's interrupt arrives on one of the CPUs that submit to the queue."""
    path = "/proc/irq/*/effective_affinity_list"
    if subject.drive is None or not subject.interrupts:
        return Seen(path, problem="the drive's interrupts are not known")
    text, why = read_value(subject.host.proc / "interrupts")
    if text is None:
        return Seen("/proc/interrupts", problem=why)
    interrupts = by_queue(text, subject.interrupts)
    elsewhere = own = 0
    for folder in (subject.drive.directory / "mq").glob("[0-9]*"):
        number = interrupts.get(int(folder.name))
        if number is None:
            continue  # a queue for polling has none
        cpus, why = read_value(folder / "cpu_list")
        arrival, why_not = read_value(subject.host.proc / f"irq/{number}/effective_affinity_list")
        if cpus is None or arrival is None:
            return Seen(path, problem=why or why_not)
        if cpus_in(cpus) & cpus_in(arrival):
            own += 1
        else:
            elsewhere += 1
    if not own + elsewhere:
        return Seen(path, problem="the interrupts' names do not say whose queue they are of")
    if elsewhere:
        return Seen(path, (f"{elsewhere} of {own + elsewhere} queues complete on other CPUs",))
    return Seen(path, ("on the queue's CPUs",), meaning=f"on the queue's CPUs: {counted(own, 'queue')}")


def by_queue(text: str, numbers: Sequence[int]) -> dict[int, int]:
    """Return the interrupt of each hardware queue, by their names: ``nvme0q1`` or ``virtio2-req.0`` is of the first."""
    interrupts: dict[int, int] = {}
    for number, line in parse_interrupts(text, numbers).items():
        if match := re.fullmatch(r"nvme\d+q(\d+)", line.name):
            interrupts[int(match[1]) - 1] = number
        elif match := re.search(r"-req\.(\d+)$", line.name):
            interrupts[int(match[1])] = number
    return interrupts


def managed(subject: Subject) -> Seen:
    """Look at whether Linux manages the affinity of the drive's interrupts, so that nobody can move them."""
    path = "/sys/kernel/debug/irq/irqs/*"
    if not subject.interrupts:
        return Seen(path, problem="the drive's interrupts are not known")
    states: set[str] = set()
    for number in subject.interrupts:
        text, why = read_value(subject.host.sys / f"kernel/debug/irq/irqs/{number}")
        if text is None:
            return Seen(path, problem=why)
        states.add("managed" if "IRQD_AFFINITY_MANAGED" in text else "movable")
    return Seen(path, tuple(sorted(states)))


def counts(subject: Subject) -> Seen:
    """Look at how many CPUs have taken interrupts of the drive since the start."""
    path = "/proc/interrupts"
    text, why = read_value(subject.host.proc / "interrupts")
    if text is None:
        return Seen(path, problem=why)
    if not subject.interrupts:
        return Seen(path, problem="the drive's interrupts are not known")
    lines = parse_interrupts(text, subject.interrupts).values()
    total = sum(count for line in lines for count in line.by_cpu.values())
    taken = {cpu for line in lines for cpu, count in line.by_cpu.items() if count}
    return Seen(path, (str(total),), meaning=f"{total:,} on {len(taken)} CPUs")


CHECKS = (
    Check(
        id="interrupts.count", weight=2, title="interrupts of the drive", look=count, excused=without_pci,
        why="one for each queue lets requests complete where they were submitted", source="irq-affinity.rst",
    ),
    Check(
        id="interrupts.affinity", weight=2,
        title="where completions arrive", look=affinity, wanted="on the queue's CPUs",
        judge=equals("on the queue's CPUs"), excused=without_pci,
        why="a completion on another CPU costs a second interrupt, and caches",
        source="Intel's evaluation guide, ladder: interrupts on the submitting CPU; irq-affinity.rst",
        change="stop irqbalance; write CPUs to /proc/irq/N/smp_affinity_list (managed interrupts cannot be moved)",
    ),
    Check(
        id="interrupts.managed", weight=1, title="managed by Linux", look=managed, excused=without_pci,
        why="managed interrupts stay on their queue's CPUs whatever irqbalance does", source="kernel/irq/debugfs.c",
    ),
    Check(
        id="interrupts.taken", volatile=True, title="interrupts since the start", look=counts, excused=without_pci,
        why="many on few CPUs show a queue that others share", source="proc_interrupts(5)",
    ),
)  # fmt: skip
