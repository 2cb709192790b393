"""Reads what Linux counted of a drive's interrupts during a run: /proc/interrupts after it, minus before it.

Each interrupt has one count for every CPU, so the difference shows which CPUs served it. Linux promises a CPU only as
the effective affinity of an interrupt: it moves managed interrupts with the CPUs that are online, and isolation by
``isolcpus=managed_irq`` is best effort. Counts include the I/O of other programs and, where drives share a controller
with its interrupts, as of SATA, that of these drives.

Sources: proc_interrupts(5); the kernel's Documentation/core-api/irq/irq-affinity.rst and kernel-parameters (isolcpus).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from iogauge.machine.stat import REQUESTS, parse_stat
from iogauge.schema import DriveInterrupts, Interrupt, TargetFacts
from iogauge.target.facts import drive_below
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, names_in, read_text

_WRAP = 1 << 32
"""The kernel's counts have 32 bits."""


@dataclass(frozen=True)
class Counted:
    """One line of /proc/interrupts, and where the interrupt may be served."""

    name: str
    by_cpu: Mapping[int, int]
    allowed: frozenset[int] | None = None
    """The CPUs of its effective affinity; None: it could not be read."""


@dataclass(frozen=True)
class Counts:
    """The counts of a drive: its interrupts by their numbers, and its I/Os."""

    interrupts: Mapping[int, Counted]
    ios: int | None = None
    """None: Linux does not count them."""


def parse_interrupts(text: str, numbers: Iterable[int]) -> dict[int, Counted]:
    """Return the lines of these interrupts; lines that cannot be understood are left out.

    >>> text = '''      CPU0  CPU2
    ...  41:    7     0  PCI-MSIX-0000:82:00.0  1-edge  nvme0q1
    ... NMI:    1     1  Non-maskable interrupts'''
    >>> parse_interrupts(text, [41])[41].by_cpu
    {0: 7, 2: 0}
    """
    lines = text.splitlines()
    cpus = [int(name[3:]) for name in lines[0].split() if name[3:].isdecimal()] if lines else []
    wanted = frozenset(numbers)
    counted = {}
    for line in lines[1:]:
        number, _, rest = line.partition(":")
        if not number.strip().isdecimal() or int(number) not in wanted:
            continue
        fields = rest.split()
        counts = fields[: len(cpus)]
        if len(fields) > len(cpus) and all(map(str.isdecimal, counts)):
            by_cpu = dict(zip(cpus, map(int, counts), strict=True))
            counted[int(number)] = Counted(fields[-1], by_cpu)
    return counted


def numbers_of(function: Path) -> tuple[int, ...]:
    """Return the numbers of the interrupts of a PCI function, by its directory."""
    return tuple(sorted(int(name) for name in names_in(function / "msi_irqs") if name.isdecimal()))


def read_interrupts(targets: Iterable[TargetFacts], host: Host = HOST) -> dict[str, Counts]:
    """Return the counts of every drive below these targets that has interrupts of its own, by kernel name."""
    numbers: dict[BlockDevice, tuple[int, ...]] = {}
    for name in dict.fromkeys(target.device for target in targets if target.device):
        device = BlockDevice.by_name(name, host)
        drive = drive_below(device) if device else None
        if drive and (own := _numbers(drive)):
            numbers[drive] = own
    text = read_text(host.proc / "interrupts") if numbers else None
    if text is None:
        return {}
    every = parse_interrupts(text, [number for own in numbers.values() for number in own])
    return {drive.name: _counts(drive, own, every, host) for drive, own in numbers.items()}


def served(
    before: Mapping[str, Counts], after: Mapping[str, Counts], host: Host = HOST
) -> tuple[DriveInterrupts, ...]:
    """Return the interrupts that each drive had between two readings."""
    return tuple(
        _drive(name, before[name], after[name], host)
        for name in before
        if name in after and after[name].interrupts
    )


def _counts(drive: BlockDevice, numbers: Iterable[int], lines: Mapping[int, Counted], host: Host) -> Counts:
    stat = read_text(drive.directory / "stat")
    columns = parse_stat(stat) if stat and drive.text("queue/iostats") != "0" else None
    return Counts(
        interrupts={
            number: replace(lines[number], allowed=_allowed(number, host))
            for number in numbers
            if number in lines
        },
        ios=None if columns is None else sum(columns[place] for place in REQUESTS),
    )


def _drive(name: str, before: Counts, after: Counts, host: Host) -> DriveInterrupts:
    interrupts = tuple(
        interrupt
        for number, line in before.interrupts.items()
        if number in after.interrupts
        and (interrupt := _difference(number, line, after.interrupts[number])).by_cpu
    )
    node, near = _home(name, host)
    cpus = sorted({cpu for interrupt in interrupts for cpu in interrupt.by_cpu})
    far = () if near is None else tuple(cpu for cpu in cpus if cpu not in near)
    known = before.ios is not None and after.ios is not None
    return DriveInterrupts(
        device=name,
        node=node,
        ios=max((after.ios or 0) - (before.ios or 0), 0) if known else None,
        far_cpus=far,
        interrupts=interrupts,
    )


def _difference(number: int, before: Counted, after: Counted) -> Interrupt:
    # A CPU that came online during the run begins at zero.
    changes = {cpu: (count - before.by_cpu.get(cpu, 0)) % _WRAP for cpu, count in after.by_cpu.items()}
    known = before.allowed is not None and after.allowed is not None
    return Interrupt(
        number=number,
        name=after.name,
        by_cpu={cpu: count for cpu, count in changes.items() if count},
        allowed=tuple(sorted((before.allowed or frozenset()) | (after.allowed or frozenset())))
        if known
        else None,
    )


def _numbers(drive: BlockDevice) -> tuple[int, ...]:
    """Return the interrupts of the nearest PCI function above a drive."""
    for folder in drive.directory.parents:
        if (folder / "msi_irqs").is_dir():
            return numbers_of(folder)
    return ()


def _allowed(number: int, host: Host) -> frozenset[int] | None:
    text = read_text(host.proc / f"irq/{number}/effective_affinity_list")
    try:
        return None if text is None else frozenset(cpus_in(text))
    except ValueError:
        return None


def _home(name: str, host: Host) -> tuple[int | None, frozenset[int] | None]:
    """Return the NUMA node of a drive and the node's CPUs; None: not known, or the machine has one node."""
    drive = BlockDevice.by_name(name, host)
    nodes = host.sys / "devices/system/node"
    if drive is None or len([name for name in names_in(nodes) if name[4:].isdecimal()]) < 2:
        return None, None
    text = next(
        (
            read_text(folder / "numa_node")
            for folder in drive.directory.parents
            if (folder / "numa_node").exists()
        ),
        None,
    )
    if text is None or not text.isdecimal():
        return None, None
    cpus = read_text(nodes / f"node{text}/cpulist")
    try:
        return int(text), None if cpus is None else frozenset(cpus_in(cpus))
    except ValueError:
        return int(text), None


def cpus_in(text: str) -> set[int]:
    """Return the numbers in a list of ranges, as Linux writes lists of CPUs. Raises ValueError if it is none.

    >>> sorted(cpus_in("0-2, 8"))
    [0, 1, 2, 8]
    """
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first:
            cpus |= set(range(int(first), int(last or first) + 1))
    return cpus
