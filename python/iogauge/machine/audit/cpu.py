"""Checks of the processors: frequency, idle states, and who else wants them.

Sources: the kernel's Documentation/admin-guide/pm (cpufreq.rst, cpuidle.rst, intel_pstate.rst, amd-pstate.rst,
intel_uncore_frequency_scaling.rst) and Documentation/ABI/testing/sysfs-devices-system-cpu; tuned's profile
latency-performance; Intel's evaluation guide for Linux, the ladder's rungs.
"""

from __future__ import annotations

from iogauge.machine.audit.check import (
    Check,
    Look,
    Seen,
    all_of,
    at_most,
    equals,
    file,
    files,
    read_value,
    spans,
)
from iogauge.machine.audit.subject import Subject

_CPU = "sys/devices/system/cpu"
SHALLOW_US = 3
"""The exit latency that tuned's latency-performance allows."""


def _without_frequency(subject: Subject) -> str:
    scaled = any((subject.host.sys / "devices/system/cpu/cpufreq").glob("policy*"))
    return "" if scaled or not subject.hypervisor else "the hypervisor sets the frequency"


def _without_idle_states(subject: Subject) -> str:
    states = any((subject.host.sys / "devices/system/cpu").glob("cpu*/cpuidle/state*"))
    return "" if states or not subject.hypervisor else "the hypervisor sets the idle states"


def _not_intel(subject: Subject) -> str:
    return "" if subject.vendor in ("", "GenuineIntel") else f"the CPU is {subject.vendor}'s"


def _not_virtual(subject: Subject) -> str:
    return "" if subject.hypervisor else "the machine is not virtual"


def _without_preferences(subject: Subject) -> str:
    drivers = file(f"{_CPU}/cpufreq/policy0/scaling_driver")(subject).values
    able = ("intel_pstate", "intel_cpufreq", "amd-pstate-epp")
    return "" if not drivers or drivers[0] in able else f"the frequency driver {drivers[0]} has no preference"


def idle_states(subject: Subject) -> Seen:
    """Look at the exit latencies of the idle states that CPUs may enter, in microseconds; 0: polling.

    A program that holds /dev/cpu_dma_latency keeps CPUs out of the deeper ones.
    """
    held = dma_latency(subject).values
    limit_us = int(held[0]) if held else 2**31
    base = subject.host.sys / "devices/system/cpu"
    enabled: dict[int, tuple[str, list[str]]] = {}
    path = "/sys/devices/system/cpu/cpu*/cpuidle/state*"
    for state in sorted(base.glob("cpu[0-9]*/cpuidle/state*")):
        (latency, why), (disable, why_not) = (read_value(state / name) for name in ("latency", "disable"))
        if latency is None or disable is None:
            return Seen(path, problem=why or why_not)
        if not latency.isdecimal():
            return Seen(path, (latency,))
        if disable == "0" and int(latency) <= limit_us:
            name, _ = read_value(state / "name")
            enabled.setdefault(int(latency), (name or "", []))[1].append(state.parents[1].name)
    if not enabled:
        return (
            Seen(path, problem="no such file")
            if not any(base.glob("cpu*/cpuidle/state*"))
            else Seen(path, ("0",))
        )
    states = [f"{name} {latency} us".strip() for latency, (name, _) in sorted(enabled.items())]
    return Seen(path, (str(max(enabled)),), meaning=", ".join(states))


def dma_latency(subject: Subject) -> Seen:
    """Look at the wake-up latency that programs ask of all CPUs together, in microseconds."""
    path = subject.root / "dev/cpu_dma_latency"
    try:
        raw = path.read_bytes()[:4]
    except FileNotFoundError:
        return Seen("/dev/cpu_dma_latency", problem="no such file")
    except OSError:
        return Seen("/dev/cpu_dma_latency", problem="permission denied: run as root")
    if len(raw) < 4:
        return Seen("/dev/cpu_dma_latency", problem="no value in it")
    limit = int.from_bytes(raw, "little", signed=True)
    words = "no program holds it" if limit >= 2_000_000_000 else f"a program holds it at {limit} us"
    return Seen("/dev/cpu_dma_latency", (str(limit),), meaning=words)


def frequency_range(subject: Subject) -> Seen:
    """Look at how far the lowest and the highest allowed frequency lie apart."""
    return _range(subject, "cpufreq/policy*", "scaling_min_freq", "scaling_max_freq")


def uncore_range(subject: Subject) -> Seen:
    """Look at how far the lowest and the highest frequency of the uncore lie apart."""
    return _range(subject, "intel_uncore_frequency/package_*", "min_freq_khz", "max_freq_khz")


def _range(subject: Subject, folders: str, low: str, high: str) -> Seen:
    base = subject.host.sys / "devices/system/cpu"
    path = f"/sys/devices/system/cpu/{folders}/{{{low},{high}}}"
    ranges: dict[str, list[str]] = {}
    for folder in sorted(base.glob(folders)):
        (least, why), (most, why_not) = read_value(folder / low), read_value(folder / high)
        if least is None or most is None:
            return Seen(path, problem=why or why_not)
        if not (least.isdecimal() and most.isdecimal()):
            return Seen(path, (f"{least} to {most}",))
        text = _gigahertz(int(least), int(most))
        ranges.setdefault(text, []).append(folder.name)
    meaning = (
        "; ".join(f"{text} ({spans(owners)})" for text, owners in ranges.items()) if len(ranges) > 1 else ""
    )
    return Seen(path, tuple(ranges), meaning=meaning)


def _gigahertz(least_kHz: int, most_kHz: int) -> str:
    least, most = f"{least_kHz / 1e6:.2f}", f"{most_kHz / 1e6:.2f}"
    return f"{least} GHz" if least == most else f"{least} to {most} GHz"


def frequency(subject: Subject) -> Seen:
    """Look at the lowest and the highest frequency of all CPUs now."""
    seen = files(f"{_CPU}/cpufreq/policy*/scaling_cur_freq")(subject)
    if not seen.values or not all(map(str.isdecimal, seen.values)):
        return seen
    now = list(map(int, seen.values))
    return Seen(seen.path, (_gigahertz(min(now), max(now)),))


def _fixed(text: str) -> bool:
    if not text.endswith(" GHz"):
        raise ValueError(text)
    return " to " not in text


def steal(subject: Subject) -> Seen:
    """Look at the share of time since the start that the hypervisor gave to other machines, in percent."""
    text, why = read_value(subject.host.proc / "stat")
    if text is None:
        return Seen("/proc/stat", problem=why)
    fields = text.split("\n", 1)[0].split()
    if fields[:1] != ["cpu"] or len(fields) < 9 or not all(map(str.isdecimal, fields[1:9])):
        return Seen("/proc/stat", problem="no line of all CPUs with steal in it")
    ticks = [int(field) for field in fields[1:9]]  # user nice system idle iowait irq softirq steal
    percent = f"{100 * ticks[7] / max(sum(ticks), 1):.2f}"
    return Seen("/proc/stat", (percent,), meaning=f"{percent} % of the time since the start")


def hybrid(subject: Subject) -> Seen:
    """Look at which CPUs are fast cores and which are efficient ones."""
    kinds = {
        name: read_value(subject.host.sys / f"devices/{folder}/cpus")[0]
        for name, folder in (("fast", "cpu_core"), ("efficient", "cpu_atom"))
    }
    known = {name: cpus for name, cpus in kinds.items() if cpus}
    path = "/sys/devices/cpu_{core,atom}/cpus"
    if known:
        return Seen(path, (", ".join(f"{name}: CPUs {cpus}" for name, cpus in known.items()),))
    online = file(f"{_CPU}/online")(subject)
    return Seen(path, (f"one kind: CPUs {online.values[0]}",)) if online.values else online


def mitigations(subject: Subject) -> Seen:
    """Look at which vulnerabilities of the CPU are mitigated, which costs time at each system call."""
    folder = subject.host.sys / "devices/system/cpu/vulnerabilities"
    path = "/sys/devices/system/cpu/vulnerabilities/*"
    states: dict[str, str] = {}
    for entry in sorted(folder.glob("*")):
        value, why = read_value(entry)
        if value is None:
            return Seen(path, problem=why)
        states[entry.name] = value
    active = [name for name, value in states.items() if value.startswith("Mitigation")]
    open_ = [name for name, value in states.items() if value.startswith("Vulnerable")]
    if not states:
        return Seen(path)
    words = f"{len(active)} of {len(states)} mitigated" + (
        f"; vulnerable: {', '.join(open_)}" if open_ else ""
    )
    return Seen(path, tuple(f"{name}: {value}" for name, value in states.items()), meaning=words)


def _first_cpuinfo(key: str) -> Look:
    def look(subject: Subject) -> Seen:
        value = next(subject.cpuinfo(key), None)
        return Seen("/proc/cpuinfo", (value,)) if value else Seen("/proc/cpuinfo", problem=f"no line {key!r}")

    return look


_TUNED = "tuned, profile latency-performance"
_WAKE = "a CPU that sleeps must wake before it can handle the completion of a request"

CHECKS = (
    Check(
        id="cpu.model", weight=2, title="CPU", look=_first_cpuinfo("model name"),
        why="at 10 us the CPU is half of the measurement", source="proc(5)",
    ),
    Check(
        id="cpu.microcode", weight=1, title="microcode", look=_first_cpuinfo("microcode"),
        why="microcode carries mitigations, which change the cost of a system call", source="proc(5)",
    ),
    Check(
        id="cpu.governor", weight=2, title="frequency governor", look=files(f"{_CPU}/cpufreq/policy*/scaling_governor"),
        wanted="performance", judge=equals("performance"), excused=_without_frequency,
        why="a governor that follows the load clocks down between requests",
        source="Intel's evaluation guide, ladder: governor performance; cpufreq.rst",
        change="echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
    ),
    Check(
        id="cpu.frequency_driver", weight=1, title="frequency driver",
        look=files(f"{_CPU}/cpufreq/policy*/scaling_driver"), excused=_without_frequency,
        why="the driver decides what governor and preference mean", source="cpufreq.rst",
    ),
    Check(
        id="cpu.frequency_range", weight=2, title="allowed frequencies", look=frequency_range, wanted="one frequency",
        judge=_fixed, excused=_without_frequency,
        why="a change of frequency changes the cost of each request during a run",
        source="Intel's evaluation guide, ladder: fixed frequencies; cpufreq.rst",
        change="for p in /sys/devices/system/cpu/cpufreq/policy*; "
        "do cat $p/scaling_max_freq > $p/scaling_min_freq; done",
    ),
    Check(
        id="cpu.frequency", volatile=True, title="frequency now", look=frequency,
        excused=_without_frequency, why="a low value while a load runs shows a limit", source="cpufreq.rst",
    ),
    Check(
        id="cpu.energy_preference", weight=2, title="energy preference (EPP)",
        look=files(f"{_CPU}/cpufreq/policy*/energy_performance_preference"), wanted="performance",
        judge=equals("performance"), excused=all_of(_without_frequency, _without_preferences),
        why="the CPU itself raises its frequency later with any other preference",
        source="intel_pstate.rst, amd-pstate.rst; " + _TUNED,
        change="echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
    ),
    Check(
        id="cpu.energy_bias", weight=2, title="energy bias (EPB)", look=files(f"{_CPU}/cpu*/power/energy_perf_bias"),
        wanted="0 (performance)", judge=lambda value: int(value) == 0,
        excused=all_of(_not_intel, _without_frequency),
        why="from 0, performance, to 15, power saving", source="intel_epb.rst; " + _TUNED,
        change="echo 0 | tee /sys/devices/system/cpu/cpu*/power/energy_perf_bias",
    ),
    Check(
        id="cpu.turbo_intel", weight=2, title="turbo off (Intel)", look=file(f"{_CPU}/intel_pstate/no_turbo"),
        excused=all_of(_not_intel, _without_frequency),
        why="turbo depends on heat and on other cores: the guide measures with turbo off, tuned leaves it on",
        source="intel_pstate.rst; Intel's evaluation guide, ladder: turbo off",
    ),
    Check(
        id="cpu.boost", weight=2, title="boost", look=file(f"{_CPU}/cpufreq/boost"), excused=_without_frequency,
        why="boost depends on heat and on other cores", source="cpufreq.rst",
    ),
    Check(
        id="cpu.uncore", weight=2, title="uncore frequencies", look=uncore_range, wanted="one frequency", judge=_fixed,
        excused=all_of(_not_intel, _without_frequency),
        why="caches, memory controller and PCIe lie in the uncore, which slows down on its own",
        source="intel_uncore_frequency_scaling.rst",
        change="for p in /sys/devices/system/cpu/intel_uncore_frequency/package_*; "
        "do cat $p/max_freq_khz > $p/min_freq_khz; done",
    ),
    Check(
        id="cpu.idle_driver", weight=1, title="idle driver", look=file(f"{_CPU}/cpuidle/current_driver"),
        excused=_without_idle_states, why="the driver decides which idle states there are", source="cpuidle.rst",
    ),
    Check(
        id="cpu.idle_governor", weight=1, title="idle governor", look=file(f"{_CPU}/cpuidle/current_governor_ro"),
        excused=_without_idle_states, why="the governor chooses the idle state for a gap between requests",
        source="cpuidle.rst",
    ),
    Check(
        id="cpu.idle_states", weight=3, title="idle states that CPUs enter", look=idle_states,
        wanted=f"none with an exit latency above {SHALLOW_US} us", judge=at_most(SHALLOW_US),
        excused=_without_idle_states, why=_WAKE + "; the number of a state says nothing, its exit latency does",
        source="cpuidle.rst; " + _TUNED,
        change="hold /dev/cpu_dma_latency open with the value 0 (a program must keep it open)",
    ),
    Check(
        id="cpu.dma_latency", weight=3, title="latency allowed to idle CPUs, us", look=dma_latency,
        excused=_without_idle_states, why="a program that holds it keeps CPUs out of deeper idle states",
        source="Documentation/power/pm_qos_interface.rst",
    ),
    Check(
        id="cpu.resume_latency", weight=3, title="latency allowed to single CPUs",
        look=files(f"{_CPU}/cpu*/power/pm_qos_resume_latency_us"),
        why="0: no limit; n/a: no idle state with any exit latency", source="sysfs-devices-power",
    ),
    Check(
        id="cpu.smt", weight=2, title="simultaneous multithreading", look=file(f"{_CPU}/smt/active"), wanted="0 (off)",
        judge=lambda value: int(value) == 0,
        why="two threads of a core take turns; with it on, leave the sibling of a worker's CPU idle",
        source="Intel's evaluation guide, platform; sysfs-devices-system-cpu",
        change="echo off > /sys/devices/system/cpu/smt/control",
    ),
    Check(
        id="cpu.offline", title="CPUs offline", look=file(f"{_CPU}/offline"),
        why="a drive's queues and interrupts are spread over the CPUs that are left", source="cputopology.rst",
    ),
    Check(
        id="cpu.isolated", weight=1, title="isolated CPUs", look=file(f"{_CPU}/isolated"),
        why="isolated CPUs have no other work; workers must be pinned to them", source="kernel-parameters: isolcpus",
    ),
    Check(
        id="cpu.nohz_full", weight=1, title="CPUs without timer ticks", look=file(f"{_CPU}/nohz_full"),
        why="each tick interrupts a worker", source="Documentation/timers/no_hz.rst",
    ),
    Check(
        id="cpu.hybrid", weight=2, title="kinds of core", look=hybrid,
        why="a worker on an efficient core is slower: pin workers to one kind", source="perf's hybrid PMUs in sysfs",
    ),
    Check(
        id="cpu.numa_nodes", title="NUMA nodes", look=file("sys/devices/system/node/online"),
        why="memory and interrupts of another node are farther away", source="numastat.rst",
    ),
    Check(
        id="cpu.mitigations", weight=2, title="mitigations", look=mitigations,
        why="they make system calls and interrupts slower; they must be equal where results are compared",
        source="Documentation/admin-guide/hw-vuln",
    ),
    Check(
        id="cpu.steal", volatile=True, title="time stolen by the hypervisor", look=steal, wanted="at most 0.1 %",
        judge=at_most(0.1), excused=_not_virtual,
        why="a stolen CPU cannot take a completion", source="proc_stat(5)",
    ),
)  # fmt: skip
