"""Checks of the kernel and of what else runs: timers, memory, limits, services, and how long the machine has been up.

Sources: the kernel's Documentation/admin-guide (sysctl/kernel.rst, sysctl/vm.rst, sysctl/fs.rst, kernel-parameters) and
Documentation/accounting/psi.rst; tuned's profiles latency-performance and network-latency; proc(5).
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge.machine.audit.check import Check, Look, Seen, at_least, at_most, equals, file, read_value
from iogauge.machine.audit.subject import Subject
from iogauge.machine.facts import cgroup_limits
from iogauge.target.users.mounts import mounts_of

_NETWORK_LATENCY = "tuned, profile network-latency"
POWERED_S = 3 * 3600
"""How long 3D XPoint refreshes faster after it was stored long or hot."""
_NOISY = (
    "fstrim", "smartd", "updatedb", "plocate-build", "updatedb.plocat", "multipathd", "mdadm", "mdcheck", "thermald",
    "power-profiles-", "tlp", "apt", "unattended-upgr", "dnf", "packagekitd", "snapd", "btrfs",
)  # fmt: skip
"""Names of processes, as the kernel cuts them, that read drives or change settings on their own."""


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


def pressure(resource: str) -> Look:
    """Look at the share of the last 10 s in which a task waited for a resource, in percent."""

    def look(subject: Subject) -> Seen:
        path = f"/proc/pressure/{resource}"
        text, why = read_value(subject.host.proc / "pressure" / resource)
        if text is None:
            return Seen(path, problem=why)
        fields = dict(word.partition("=")[::2] for word in text.splitlines()[0].split()[1:]) if text else {}
        share = fields.get("avg10")
        return Seen(path, (share,), meaning=f"{share} %") if share else Seen(path, problem="no avg10 in it")

    return look


def processes(named: Callable[[str], bool]) -> Look:
    """Look at which processes of these names run."""

    def look(subject: Subject) -> Seen:
        # The kernel's own thread is visible where all processes are: not in a container, nor where others are hidden.
        if read_value(subject.host.proc / "2/comm")[0] != "kthreadd":
            return Seen("/proc/*/comm", problem="not all processes of the machine are visible")
        every = (read_value(folder / "comm")[0] for folder in subject.host.proc.glob("[0-9]*"))
        names = {name for name in every if name and named(name)}
        return Seen("/proc/*/comm", tuple(sorted(names)) or ("none",))

    return look


def uptime(subject: Subject) -> Seen:
    """Look at how long the machine has been up, in seconds; its drives are powered at least as long."""
    text, why = read_value(subject.host.proc / "uptime")
    seconds = (text or "").split(".", 1)[0]
    if not seconds.isdecimal():
        return Seen("/proc/uptime", problem=why or "not a number")
    return Seen("/proc/uptime", (seconds,), meaning=f"{int(seconds) / 3600:.1f} h")


def limits(*prefixes: str) -> Look:
    """Look at the cgroup limits of iogauge's own process whose names begin with one of ``prefixes``."""

    def look(subject: Subject) -> Seen:
        for name in ("cgroup", "mountinfo"):
            text, why = read_value(subject.host.proc / "self" / name)
            if not text:
                return Seen(f"/proc/self/{name}", problem=why or "empty")
        if not any(mount.kind in ("cgroup", "cgroup2") for mount in mounts_of(subject.host)):
            return Seen("/proc/self/mountinfo", problem="no cgroups are mounted")
        own = tuple(limit for limit in cgroup_limits(subject.host) if limit.startswith(prefixes))
        return Seen("/proc/self/cgroup", own or ("none",))

    return look


def hypervisor(subject: Subject) -> Seen:
    """Look at the evidence that the machine is virtual."""
    if subject.hypervisor:
        return Seen("/proc/cpuinfo", (subject.hypervisor,))
    if not next(subject.cpuinfo("flags"), ""):
        return Seen("/proc/cpuinfo", problem="the CPU does not say whether a hypervisor runs it")
    return Seen("/proc/cpuinfo", ("no",))


def _load(subject: Subject) -> Seen:
    text, why = read_value(subject.host.proc / "loadavg")
    if not text:
        return Seen("/proc/loadavg", problem=why or "empty")
    load, cpus = text.split()[0], sum(1 for _ in subject.cpuinfo("processor"))
    if not cpus:
        return Seen("/proc/loadavg", problem="the number of CPUs is not known")
    share = f"{100 * float(load) / cpus:.0f}"
    return Seen("/proc/loadavg", (share,), meaning=f"{load} in the last minute, {share} % of {cpus} CPUs")


_SETS = "sysctl -w {}"
CHECKS = (
    Check(
        id="kernel.version", title="kernel", look=file("proc/sys/kernel/osrelease"),
        why="drivers and block layer differ from version to version", source="proc(5)",
    ),
    Check(
        id="kernel.command_line", title="kernel command line", look=file("proc/cmdline"),
        why="options such as intel_idle.max_cstate, mitigations, isolcpus and iommu are set there",
        source="kernel-parameters",
    ),
    Check(
        id="kernel.preemption", title="preemption", look=preemption,
        why="it decides how long a completion waits for a kernel task", source="kernel-parameters: preempt",
    ),
    Check(
        id="kernel.realtime", title="real-time kernel", look=file("sys/kernel/realtime"),
        why="interrupts run as threads there", source="the kernel's PREEMPT_RT",
    ),
    Check(
        id="kernel.clocksource", title="clock source",
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
        id="kernel.nmi_watchdog", title="NMI watchdog", look=sysctl("kernel.nmi_watchdog"), wanted="0",
        judge=lambda value: int(value) == 0, why="it interrupts every CPU and takes a performance counter",
        source=_NETWORK_LATENCY + "; sysctl/kernel.rst", change=_SETS.format("kernel.nmi_watchdog=0"),
    ),
    Check(
        id="kernel.timer_migration", title="timer migration", look=sysctl("kernel.timer_migration"), wanted="0",
        judge=lambda value: int(value) == 0, why="timers of idle CPUs move to those of the workers",
        source=_NETWORK_LATENCY, change=_SETS.format("kernel.timer_migration=0"),
    ),
    Check(
        id="kernel.stat_interval", title="seconds between counts of memory", look=sysctl("vm.stat_interval"),
        wanted="at least 10", judge=at_least(10), why="each CPU is interrupted to add up its counters",
        source=_NETWORK_LATENCY + "; sysctl/vm.rst", change=_SETS.format("vm.stat_interval=10"),
    ),
    Check(
        id="kernel.numa_balancing", title="NUMA balancing", look=sysctl("kernel.numa_balancing"), wanted="0",
        judge=lambda value: int(value) == 0, excused=_one_node,
        why="it unmaps pages to see who uses them, which costs page faults during a run",
        source=_NETWORK_LATENCY + "; sysctl/kernel.rst", change=_SETS.format("kernel.numa_balancing=0"),
    ),
    Check(
        id="kernel.huge_pages", title="transparent huge pages",
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
    Check(
        id="load.irqbalance", title="irqbalance", look=processes(lambda name: name == "irqbalance"), wanted="stopped",
        judge=equals("none"), why="it moves the interrupts of the drive during a run",
        source="Intel's evaluation guide, ladder: irqbalance off", change="systemctl stop irqbalance",
    ),
    Check(
        id="load.services", title="services that use drives", look=processes(lambda name: name in _NOISY),
        wanted="none", judge=equals("none"), why="they read drives, or change settings, during a run",
        source="Intel's evaluation guide; ezFIO", change="systemctl stop them for the time of the review",
    ),
    Check(
        id="load.average", title="load, % of the CPUs", look=_load, wanted="at most 5", judge=at_most(5),
        why="other work takes CPUs and caches", source="proc(5)",
    ),
    Check(
        id="load.pressure_cpu", title="waiting for a CPU", look=pressure("cpu"), wanted="at most 1 %",
        judge=at_most(1), why="a worker that waits for a CPU is not measuring the drive", source="psi.rst",
    ),
    Check(
        id="load.pressure_io", title="waiting for I/O", look=pressure("io"), wanted="at most 1 %", judge=at_most(1),
        why="somebody else uses a drive", source="psi.rst",
    ),
    Check(
        id="load.pressure_memory", title="waiting for memory", look=pressure("memory"), wanted="at most 1 %",
        judge=at_most(1), why="pages are reclaimed during the run", source="psi.rst",
    ),
    Check(
        id="load.uptime", title="time since the start, s", look=uptime, wanted="at least 3 h",
        judge=at_least(POWERED_S),
        why="3D XPoint that was stored long or hot refreshes faster for about three hours",
        source="Intel's evaluation guide, preconditioning",
    ),
    Check(
        id="virtual.hypervisor", title="virtual machine", look=hypervisor, wanted="no", judge=equals("no"),
        why="the hypervisor's share of each request cannot be told from the drive's", source="proc(5), cpuinfo flags",
    ),
    Check(
        id="virtual.cgroup_cpu", title="cgroup limits on CPU time", look=limits("cpu."), wanted="none",
        judge=equals("none"), why="a throttled worker waits for its next period", source="cgroup-v2.rst",
    ),
    Check(
        id="virtual.cgroup_io", title="cgroup limits on I/O", look=limits("io.", "blkio."), wanted="none",
        judge=equals("none"), why="the limit is measured, not the drive", source="cgroup-v2.rst",
    ),
)  # fmt: skip
