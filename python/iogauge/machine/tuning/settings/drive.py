"""Settings of the path to the drive: link, interrupts, block layer, controller.

Sources: those of the audit's checks of the same names (``machine/audit/pcie.py`` and its neighbours).
"""

from __future__ import annotations

from iogauge.machine.audit.interrupts import by_queue
from iogauge.machine.interrupts import cpus_in
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
    to_all,
    up_to,
)
from iogauge.target.users.sysfs import read_text

_MOST_US = 2_000_000_000


def _aspm(machine: Machine, _: str) -> Steps:
    """Plan to switch off every power state of the drive's link."""
    return to_all(machine, matches(machine.subject, "{pci}/link/*_aspm"), "0")


def _interrupts(machine: Machine, wanted: str) -> Steps:
    """Plan where the drive's interrupts arrive: on CPUs near it, or on those that submit to the interrupt's queue."""
    subject = machine.subject
    if not subject.interrupts:
        raise ImpossibleError("the drive's interrupts are not known")
    assert subject.pci is not None
    online = cpus_in(read_text(subject.host.sys / "devices/system/cpu/online") or "")
    near = read_text(subject.pci / "local_cpulist")
    cpus: dict[int, str] = {}
    if wanted == "local":
        if near is None:
            raise ImpossibleError("the CPUs near the drive are not known")
        cpus = dict.fromkeys(subject.interrupts, near)
    else:
        assert subject.drive is not None
        text = read_text(subject.host.proc / "interrupts") or ""
        for queue, number in by_queue(text, subject.interrupts).items():
            if listed := read_text(subject.drive.directory / f"mq/{queue}/cpu_list"):
                cpus[number] = listed
        if not cpus:
            raise ImpossibleError("the interrupts' names do not say whose queue they are of")
    changes = []
    for number, listed in cpus.items():
        allowed = cpus_in(listed) & online if online else cpus_in(listed)
        place = f"/proc/irq/{number}/smp_affinity_list"
        if not cpus_in(machine.door.read(place)) <= allowed:
            changes.append((place, spans_of(allowed)))
    return Steps(tuple(changes))


def spans_of(cpus: set[int]) -> str:
    """Return numbers as the kernel lists them.

    >>> spans_of({0, 1, 2, 8})
    '0-2,8'
    """
    starts = sorted(cpu for cpu in cpus if cpu - 1 not in cpus)
    ends = sorted(cpu for cpu in cpus if cpu + 1 not in cpus)
    return ",".join(
        f"{low}" if low == high else f"{low}-{high}" for low, high in zip(starts, ends, strict=True)
    )


def _feature(number: int, value: str) -> Plan:
    """Plan the value of a feature of the NVMe controller, until it is reset."""

    def plan(machine: Machine, _: str) -> Steps:
        nvme = machine.subject.nvme
        if nvme is None:
            raise ImpossibleError("the drive's controller is not known")
        serial = read_text(nvme / "serial") or ""
        if not serial or ":" in serial:
            raise ImpossibleError("the controller has no serial number")
        place = f"feature:{nvme.name}:{serial}:{number:#04x}"
        if number == _APST and not _has_apst(machine):
            raise InapplicableError("the drive has no APST")
        return Steps(((place, value),))

    return plan


_COALESCING = 0x08
_APST = 0x0C


def _has_apst(machine: Machine) -> bool:
    """Return whether the drive can sleep on its own; not known counts as yes."""
    answers = machine.subject.answers
    return answers is None or answers.controller is None or answers.features.apst is not None


def _number(name: str, most: int) -> Setting:
    return Setting(
        id=f"block.{name}", values=f"0 to {most}", accepts=up_to(most), plan=files(f"{{queue}}/{name}")
    )


SETTINGS = (
    Setting(
        id="pcie.aspm_policy", values="default, performance, powersave or powersupersave",
        accepts=one_of("default", "performance", "powersave", "powersupersave"),
        plan=files("sys/module/pcie_aspm/parameters/policy"),
    ),
    Setting(id="pcie.aspm", values="none", accepts=one_of("none"), plan=_aspm),
    Setting(
        id="pcie.runtime_power", values="on or auto", accepts=one_of("on", "auto"), plan=files("{pci}/power/control"),
    ),
    Setting(
        id="interrupts.affinity", values="local or queues", accepts=one_of("local", "queues"), plan=_interrupts,
    ),
    Setting(
        id="block.scheduler", values="a scheduler such as none", accepts=matching(r"[a-z][a-z0-9_-]*"),
        plan=files("{queue}/scheduler"),
    ),
    _number("nomerges", 2),
    _number("rq_affinity", 2),
    _number("add_random", 1),
    _number("wbt_lat_usec", _MOST_US),
    Setting(
        id="nvme.apst", values="a latency in us, auto or any",
        accepts=lambda value: value in ("auto", "any") or up_to(_MOST_US)(value),
        plan=files("{nvme}/power/pm_qos_latency_tolerance_us"),
    ),
    Setting(id="nvme.sleeps_alone", values="off", accepts=one_of("off"), plan=_feature(_APST, "off")),
    Setting(id="nvme.coalescing", values="0", accepts=one_of("0"), plan=_feature(_COALESCING, "0x0")),
    Setting(
        id="sata.link_power", values="a policy such as max_performance", accepts=matching(r"[a-z_]+"),
        plan=files("{ata}/link_power_management_policy"),
    ),
)  # fmt: skip
