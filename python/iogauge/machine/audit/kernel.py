"""Checks of the kernel: preemption, timers, memory and limits.

Sources: the kernel's Documentation/admin-guide (sysctl/kernel.rst, sysctl/vm.rst, sysctl/fs.rst, kernel-parameters);
tuned's profiles latency-performance and network-latency; proc(5).
"""

from __future__ import annotations

from iogauge.machine.audit.check import Check, Look, Seen, at_least, at_most, equals, file, read_value
from iogauge.machine.audit.subject import Subject

_NETWORK_LATENCY = "tuned, profile network-latency"


def _one_node(subject: Subject) -> str:
    nodes, _ = read_value(subject.host.sys / "devices/system/node/online")
    return "the machine has one NUMA node" if nodes == "0" else ""


def _not_x86(subject: Subject) -> str:
    return "the CPU is not x86" if next(subject.cpuinfo("Features"), "") else ""


def sysctl(name: str) -> Look:
    """Look at a setting by its sysctl name, such as ``vm.swappiness``."""
    return file(f"proc/sys/{name.replace('.', '/')}")


def preemption(subject: Subject) -> Seen:
    """Look at how the kernel preempts itself: from debugfs, or else from the kernel's version."""
    value, why = read_value(subject.host.sys / "kernel/debug/sched/preempt")
    if value:
        chosen = [word.strip("()") for word in value.split() if word.startswith("(")]
        return Seen("/sys/kernel/debug/sched/preempt", (chosen[0] if chosen else value,))
    version, _ = read_value(subject.host.proc / "version")
    for word in ("PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"):
        if version and word in version.split():
            meaning = f"{word}; which mode it is in needs root" if word == "PREEMPT_DYNAMIC" else ""
            return Seen("/proc/version", (word,), meaning=meaning)
    return Seen(
        "/sys/kernel/debug/sched/preempt",
        problem=why if version is None else "the kernel's version does not say",
    )


def stable_tsc(subject: Subject) -> Seen:
    """Look at whether the time-stamp counter keeps its rate in all states of frequency and idleness."""
    flags = next(subject.cpuinfo("flags"), "").split()
    if not flags:
        return Seen("/proc/cpuinfo", problem="no line 'flags'")
    there = [flag for flag in ("constant_tsc", "nonstop_tsc") if flag in flags]
    return Seen("/proc/cpuinfo", (" ".join(there) or "neither constant_tsc nor nonstop_tsc",))


def swaps(subject: Subject) -> Seen:
    """Look at what is swapped to."""
    text, why = read_value(subject.host.proc / "swaps")
    if text is None:
        return Seen("/proc/swaps", problem=why)
    names = [line.split()[0] for line in text.splitlines()[1:] if line.split()]
    return Seen("/proc/swaps", tuple(names) or ("none",))


def memlock(subject: Subject) -> Seen:
    """Look at how much memory iogauge may lock, which registered buffers need on older kernels."""
    text, why = read_value(subject.host.proc / "self/limits")
    for line in (text or "").splitlines():
        if line.startswith("Max locked memory"):
            return Seen("/proc/self/limits", (line.split()[3],), meaning=" ".join(line.split()[3:]))
    return Seen("/proc/self/limits", problem=why or "no line of locked memory")


_SETS = "sysctl -w {}"
CHECKS = (
    Check(
        id="kernel.version", weight=1, title="kernel", look=file("proc/sys/kernel/osrelease"),
        why="drivers and block layer differ from version to version", source="proc(5)",
    ),
    Check(
        id="kernel.command_line", title="kernel command line", look=file("proc/cmdline"),
        why="options such as intel_idle.max_cstate, mitigations, isolcpus and iommu are set there",
        source="kernel-parameters",
    ),
    Check(
        id="kernel.preemption", weight=2, title="preemption", look=preemption,
        why="it decides how long a completion waits for a kernel task", source="kernel-parameters: preempt",
    ),
    Check(
        id="kernel.realtime", weight=2, title="real-time kernel", look=file("sys/kernel/realtime"),
        why="interrupts run as threads there", source="the kernel's PREEMPT_RT",
    ),
    Check(
        id="kernel.clocksource", weight=2, title="clock source",
        look=file("sys/devices/system/clocksource/clocksource0/current_clocksource"),
        wanted="tsc, or arch_sys_counter on Arm", judge=equals("tsc", "arch_sys_counter"),
        why="other clocks take a system call or a read of a device for every time stamp",
        source="Documentation/virt/kvm/x86/timekeeping.rst",
        change="echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    Check(
        id="kernel.tsc", title="time-stamp counter", look=stable_tsc, wanted="constant_tsc nonstop_tsc",
        judge=equals("constant_tsc nonstop_tsc"), excused=_not_x86,
        why="a counter that changes its rate cannot be a clock", source="Documentation/virt/kvm/x86/timekeeping.rst",
    ),
    Check(
        id="kernel.nmi_watchdog", weight=1, title="NMI watchdog", look=sysctl("kernel.nmi_watchdog"), wanted="0",
        judge=lambda value: int(value) == 0, why="it interrupts every CPU and takes a performance counter",
        source=_NETWORK_LATENCY + "; sysctl/kernel.rst", change=_SETS.format("kernel.nmi_watchdog=0"),
    ),
    Check(
        id="kernel.timer_migration", weight=1,
        title="timer migration", look=sysctl("kernel.timer_migration"), wanted="0",
        judge=lambda value: int(value) == 0, why="timers of idle CPUs move to those of the workers",
        source=_NETWORK_LATENCY, change=_SETS.format("kernel.timer_migration=0"),
    ),
    Check(
        id="kernel.stat_interval", weight=1, title="seconds between counts of memory", look=sysctl("vm.stat_interval"),
        wanted="at least 10", judge=at_least(10), why="each CPU is interrupted to add up its counters",
        source=_NETWORK_LATENCY + "; sysctl/vm.rst", change=_SETS.format("vm.stat_interval=10"),
    ),
    Check(
        id="kernel.numa_balancing", weight=1, title="NUMA balancing", look=sysctl("kernel.numa_balancing"), wanted="0",
        judge=lambda value: int(value) == 0, excused=_one_node,
        why="it unmaps pages to see who uses them, which costs page faults during a run",
        source=_NETWORK_LATENCY + "; sysctl/kernel.rst", change=_SETS.format("kernel.numa_balancing=0"),
    ),
    Check(
        id="kernel.huge_pages", weight=1, title="transparent huge pages",
        look=file("sys/kernel/mm/transparent_hugepage/enabled", chosen=True),
        why="khugepaged copies pages in the background; tuned's network-latency sets never", source=_NETWORK_LATENCY,
    ),
    Check(
        id="kernel.swaps", title="swap", look=swaps, wanted="none", judge=equals("none"),
        why="swapping writes to a drive during a run", source="proc(5)", change="swapoff -a",
    ),
    Check(
        id="kernel.swappiness", title="swappiness", look=sysctl("vm.swappiness"), wanted="at most 10",
        judge=at_most(10), why="a lower value keeps programs in memory longer",
        source="tuned, profile latency-performance; sysctl/vm.rst", change=_SETS.format("vm.swappiness=10"),
    ),
    Check(
        id="kernel.aio_limit", title="libaio requests of all processes", look=sysctl("fs.aio-max-nr"),
        wanted="at least 4,096", judge=at_least(4096), why="libaio fails above it", source="ezFIO; sysctl/fs.rst",
        change=_SETS.format("fs.aio-max-nr=1048576"),
    ),
    Check(
        id="kernel.io_uring", title="io_uring forbidden", look=sysctl("kernel.io_uring_disabled"), wanted="0",
        judge=lambda value: int(value) == 0, why="1 forbids it to all but one group, 2 to everybody",
        source="sysctl/kernel.rst", change=_SETS.format("kernel.io_uring_disabled=0"),
    ),
    Check(
        id="kernel.locked_memory", title="memory that may be locked, bytes", look=memlock,
        why="registered buffers count against it", source="getrlimit(2), io_uring_register(2)",
    ),
)  # fmt: skip
