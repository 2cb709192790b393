"""Says what a drive's interrupts did during a run: how many for an I/O, and on which CPUs they were served.

These are facts, not warnings. An interrupt on another CPU than the worker's costs a wake-up across CPUs, on another
NUMA node also a way between processors; Linux does not promise otherwise (``machine.interrupts``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iogauge.schema import DriveInterrupts, Interrupt
from iogauge.text.numbers import counted, listed, percent


def sentence(drive: DriveInterrupts, workers: Iterable[int]) -> str:
    """Return how many interrupts a drive had, and the CPUs that served them and those of the workers.

    >>> from iogauge.schema import DriveInterrupts, Interrupt
    >>> interrupt = Interrupt(number=41, name="nvme0q1", by_cpu={4: 1000, 6: 20}, allowed=(4,))
    >>> drive = DriveInterrupts(device="nvme0n1", node=1, ios=1000, far_cpus=(), interrupts=(interrupt,))
    >>> sentence(drive, [4])
    '1,020 interrupts, 1.02 an I/O, on CPUs 4 and 6; the workers ran on CPU 4'
    """
    ran = cpu_list(workers)
    where = f"; the workers ran on {ran}" if ran else ""
    total = count(drive)
    if not total:
        return f"no interrupts{where}"
    ratio = per_io(drive)
    share = f", {ratio} an I/O" if ratio else ""
    return f"{counted(total, 'interrupt')}{share}, on {cpu_list(cpus(drive))}{where}"


def remarks(drive: DriveInterrupts) -> Iterator[str]:
    """Yield what was otherwise than Linux means it: CPUs outside an effective affinity, or far from the drive.

    >>> from iogauge.schema import DriveInterrupts, Interrupt
    >>> interrupt = Interrupt(number=41, name="nvme0q1", by_cpu={4: 1000, 0: 20}, allowed=(4,))
    >>> drive = DriveInterrupts(device="nvme0n1", node=1, ios=1000, far_cpus=(0,), interrupts=(interrupt,))
    >>> list(remarks(drive))[0]
    'nvme0q1: CPU 0 served 20 of 1,020, outside its effective affinity, CPU 4'
    >>> list(remarks(drive))[1]
    '2.0 % were served by CPU 0, of another NUMA node than the drive (node 1)'
    """
    for interrupt in drive.interrupts:
        if outside := _outside(interrupt):
            served = sum(interrupt.by_cpu[cpu] for cpu in outside)
            yield (
                f"{interrupt.name}: {cpu_list(outside)} served {served:,} of {interrupt.count:,}, outside its "
                f"effective affinity, {cpu_list(interrupt.allowed or ())}"
            )
    if drive.far_cpus:
        far = sum(interrupt.by_cpu.get(cpu, 0) for interrupt in drive.interrupts for cpu in drive.far_cpus)
        yield (
            f"{percent(far / count(drive))} were served by {cpu_list(drive.far_cpus)}, of another NUMA node than the "
            f"drive (node {drive.node})"
        )


def count(drive: DriveInterrupts) -> int:
    """Return how many interrupts a drive had."""
    return sum(interrupt.count for interrupt in drive.interrupts)


def per_io(drive: DriveInterrupts) -> str:
    """Return the interrupts for each I/O of the drive; empty: its I/Os are not known."""
    return f"{count(drive) / drive.ios:.3g}" if drive.ios else ""


def cpus(drive: DriveInterrupts) -> tuple[int, ...]:
    """Return the CPUs that served interrupts of a drive."""
    return tuple(sorted({cpu for interrupt in drive.interrupts for cpu in interrupt.by_cpu}))


def cpu_list(numbers: Iterable[int]) -> str:
    """Return CPUs in words, neighbours as a range; empty: there are none.

    >>> cpu_list([3]), cpu_list([8, 0, 1, 2]), cpu_list([])
    ('CPU 3', 'CPUs 0-2 and 8', '')
    """
    spans: list[list[int]] = []
    every = sorted(set(numbers))
    for cpu in every:
        if spans and spans[-1][-1] == cpu - 1:
            spans[-1].append(cpu)
        else:
            spans.append([cpu])
    texts = [
        text for span in spans for text in ([f"{span[0]}-{span[-1]}"] if len(span) > 2 else map(str, span))
    ]
    return f"{'CPU' if len(every) == 1 else 'CPUs'} {listed(texts)}" if texts else ""


def _outside(interrupt: Interrupt) -> list[int]:
    if interrupt.allowed is None:
        return []
    return [cpu for cpu in interrupt.by_cpu if cpu not in interrupt.allowed]
