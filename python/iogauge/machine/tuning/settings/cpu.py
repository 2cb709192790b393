"""Settings of the processors. Sources: those of the audit's checks of the same names (``machine/audit/cpu.py``)."""

from __future__ import annotations

from iogauge.machine.tuning.settings.setting import (
    ImpossibleError,
    InapplicableError,
    Machine,
    Plan,
    Setting,
    Steps,
    files,
    matches,
    matching,
    one_of,
    up_to,
)

_CPU = "sys/devices/system/cpu"
_MOST_US = 2_000_000_000


def _turbo(path: str, other: str, words: dict[str, str]) -> Plan:
    """Plan by one of the two files that switch turbo: a machine has the one or the other."""

    def plan(machine: Machine, wanted: str) -> Steps:
        if not matches(machine.subject, path) and matches(machine.subject, other):
            raise InapplicableError(f"this machine has /{other} for it")
        return files(path, words=words)(machine, wanted)

    return plan


def _frequency(machine: Machine, wanted: str) -> Steps:
    """Plan one frequency for all CPUs: the lowest allowed is never above the highest on the way there."""
    changes: list[tuple[str, str]] = []
    for folder in matches(machine.subject, f"{_CPU}/cpufreq/policy*"):
        lowest, highest = folder / "scaling_min_freq", folder / "scaling_max_freq"
        limits = [folder / "cpuinfo_min_freq", folder / "cpuinfo_max_freq"]
        try:
            least_kHz, most_kHz = (int(path.read_text()) for path in limits)
            now_kHz = int(highest.read_text())
        except (OSError, ValueError):
            raise ImpossibleError("the range of frequencies cannot be read") from None
        kHz = most_kHz if wanted == "highest" else int(wanted)
        if not least_kHz <= kHz <= most_kHz:
            raise ImpossibleError(f"{folder.name} has {least_kHz} to {most_kHz} kHz")
        order = (highest, lowest) if kHz >= now_kHz else (lowest, highest)
        changes += [(machine.door.place_of(path), str(kHz)) for path in order]
    if not changes:
        raise ImpossibleError("no such file")
    return Steps(tuple(changes))


def _idle_states(machine: Machine, wanted: str) -> Steps:
    """Plan to keep CPUs out of the idle states that take longer to leave: by a descriptor, or else state by state."""
    most_us = int(wanted)
    states = matches(machine.subject, f"{_CPU}/cpu[0-9]*/cpuidle/state*")
    if not states:
        raise ImpossibleError("Linux drives no idle states of these CPUs")
    if machine.may_hold and (machine.door.sys.parent / "dev/cpu_dma_latency").exists():
        return Steps(hold_us=most_us)
    changes = []
    for state in states:
        try:
            latency_us = int((state / "latency").read_text())
        except (OSError, ValueError):
            raise ImpossibleError("the exit latencies cannot be read") from None
        # By latency, never by number: which state has which number differs from CPU to CPU.
        if latency_us > most_us:
            changes.append((machine.door.place_of(state / "disable"), "1"))
    return Steps(tuple(changes))


def _setting(name: str, values: str, plan: Plan) -> Setting:
    """Return a setting whose values are words of the kernel."""
    return Setting(id=f"cpu.{name}", values=values, accepts=matching(r"[a-z][a-z_-]*"), plan=plan)


SETTINGS = (
    Setting(
        id="cpu.smt", values="on or off", accepts=one_of("on", "off"), plan=files(f"{_CPU}/smt/control"),
    ),
    Setting(
        id="cpu.turbo_intel", values="on or off", accepts=one_of("on", "off"),
        plan=_turbo(f"{_CPU}/intel_pstate/no_turbo", f"{_CPU}/cpufreq/boost", {"on": "0", "off": "1"}),
    ),
    Setting(
        id="cpu.boost", values="on or off", accepts=one_of("on", "off"),
        plan=_turbo(f"{_CPU}/cpufreq/boost", f"{_CPU}/intel_pstate/no_turbo", {"on": "1", "off": "0"}),
    ),
    Setting(
        id="cpu.frequency_range", values="a frequency in kHz, or highest", accepts=matching(r"[1-9]\d{4,7}|highest"),
        plan=_frequency,
    ),
    _setting("energy_preference", "a preference such as performance",
             files(f"{_CPU}/cpufreq/policy*/energy_performance_preference")),
    Setting(
        id="cpu.energy_bias", values="0 (performance) to 15", accepts=up_to(15),
        plan=files(f"{_CPU}/cpu[0-9]*/power/energy_perf_bias"),
    ),
    _setting("governor", "a governor such as performance", files(f"{_CPU}/cpufreq/policy*/scaling_governor")),
    Setting(
        id="cpu.idle_states", values="the longest exit latency in us", accepts=up_to(_MOST_US), plan=_idle_states,
    ),
    Setting(
        id="cpu.resume_latency", values="a latency in us, 0 for no limit, or n/a to allow no idle state",
        accepts=lambda value: value == "n/a" or up_to(_MOST_US)(value),
        plan=files(f"{_CPU}/cpu[0-9]*/power/pm_qos_resume_latency_us"),
    ),
)  # fmt: skip
