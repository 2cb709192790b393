"""Reads which states a drive, its link and the CPUs may enter when idle, and how long each takes to leave.

A drive model declares its own. Nothing is changed. What cannot be read is left out, with the reason.

Source: NVM Express Base Specification (power states, Autonomous Power State Transition); Serial ATA 3.0 (Partial is
left within 10 us, Slumber within 10 ms); PCI Express Base Specification 5.0, 7.5.3.6 (exit latency of L1); the kernel's
Documentation/admin-guide/pm/cpuidle.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge import catalog
from iogauge.errors import IogaugeError
from iogauge.machine.audit import nvme, pcie, sata
from iogauge.machine.audit.check import read_value
from iogauge.machine.audit.pcie import link_capabilities, states_of_link
from iogauge.machine.audit.subject import Subject
from iogauge.machine.drive import Drive, read_drive
from iogauge.machine.nvme.read import Nvme
from iogauge.schema import IdleState, TargetFacts
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

_US, _MS = 10**3, 10**6
_PARTIAL = IdleState(part="link", name="SATA Partial", enabled=True, exit_ns=10 * _US)
_SLUMBER = IdleState(part="link", name="SATA Slumber", enabled=True, exit_ns=10 * _MS)
_POLICIES = {
    "max_performance": (),
    "medium_power": (_PARTIAL,),
    "med_power_with_dipm": (_PARTIAL, _SLUMBER),
    "min_power_with_partial": (_PARTIAL, _SLUMBER),
    "min_power": (_PARTIAL, _SLUMBER),
}
"""The states that a policy of the kernel's libata lets a link enter."""
_SLEEP = ("nvme.apst", "pcie.aspm_policy", "sata.link_power")
"""Checks of the settings that let a drive or its link sleep."""
_DRIVE = "the drive's idle states are unknown:"
_LINK = "the link's idle states are unknown:"
_L1_EXIT_US = (1, 2, 4, 8, 16, 32, 64)
"""Upper bounds of the L1 exit latency by its code; code 7 has none."""


@dataclass(frozen=True)
class Declared:
    """The idle states that are declared, and why others are unknown."""

    states: tuple[IdleState, ...]
    unknown: tuple[str, ...]
    """One clause each, without a full stop."""
    changes: tuple[str, ...] = ()
    """Shell commands that keep drive and link from sleeping; iogauge runs none of them here."""

    def __add__(self, other: Declared) -> Declared:
        return Declared(
            self.states + other.states, self.unknown + other.unknown, self.changes + other.changes
        )


def idle_states(target: TargetFacts, host: Host = HOST) -> Declared:
    """Return the idle states of a target, of its link and of the CPUs; of a drive model those of the model alone."""
    if target.modelled:
        return Declared(tuple(_of_model(target.path)), ())
    try:
        drive = read_drive(target.path, host)
    except IogaugeError as error:
        return Declared(*_of_cpus(host)) + Declared(
            (), (f"{_DRIVE} {error}", f"{_LINK} its drive is unknown")
        )
    return declared_by(drive, host)


def declared_by(drive: Drive, host: Host = HOST) -> Declared:
    """Return the idle states of a drive, of its link and of the CPUs, in this order."""
    own, why = of_drive(drive)
    link, why_not = _of_link(drive, host)
    unknown = [f"{_DRIVE} {why}"] if why else []
    unknown += [f"{_LINK} {why_not}"] if why_not else []
    changes = tuple(_changes(drive, host)) if any(state.enabled for state in (*own, *link)) else ()
    return Declared((*own, *link), tuple(unknown), changes) + Declared(*_of_cpus(host))


def _changes(drive: Drive, host: Host) -> Iterator[str]:
    """Yield the commands of the audit for settings that let the drive or its link sleep."""
    subject = Subject(host=host, drive=BlockDevice.by_name(drive.facts.device or "", host))
    for check in (*nvme.CHECKS, *pcie.CHECKS, *sata.CHECKS):
        if check.id in _SLEEP and (fact := check.fact(subject)).verdict == "differs" and fact.change:
            yield fact.change


def of_drive(drive: Drive) -> tuple[tuple[IdleState, ...], str]:
    """Return the power states that a drive declares, and why they are unknown; empty: they are not."""
    if drive.nvme is not None and drive.nvme.controller is not None:
        return tuple(_of_nvme(drive.nvme)), ""
    if drive.ata is not None:
        return (), "SATA drives do not declare any"
    return (), drive.unread[0].why if drive.unread else drive.restriction or "the drive does not say"


def _of_model(path: str) -> Iterator[IdleState]:
    """Yield the low-power states of a drive model."""
    power = catalog.pair(path)[0].parameters["power"]
    for number, state in enumerate(power["states"], 1):
        yield IdleState(
            part="drive",
            name=f"low-power state {number}",
            enabled=True,
            after_ns=round(state["after_ns"]),
            entry_ns=round(state["entry_ns"]),
            exit_ns=round(state["exit_ns"]),
            power_W=state["idle_W"],
        )


def _of_nvme(nvme: Nvme) -> Iterator[IdleState]:
    """Yield the power states of an NVMe drive. Those that it enters by itself follow one another from state 0."""
    assert nvme.controller is not None
    apst = nvme.features.apst
    known = apst is not None or not nvme.controller.apst
    after_ms: dict[int, int] = {}
    steps = {step.from_state: step for step in apst.transitions} if apst and apst.enabled else {}
    state, idle_ms = 0, 0
    while state in steps and steps[state].to_state not in after_ms:
        idle_ms += steps[state].idle_ms
        state = steps[state].to_state
        after_ms[state] = idle_ms
    for declared in nvme.controller.power_states:
        after = after_ms.get(declared.state)
        yield IdleState(
            part="drive",
            name=f"power state {declared.state}",
            operational=declared.operational,
            enabled=after is not None if known else None,
            after_ns=None if after is None else after * _MS,
            entry_ns=None if declared.entry_us is None else declared.entry_us * _US,
            exit_ns=None if declared.exit_us is None else declared.exit_us * _US,
            power_W=declared.idle_W if declared.idle_W is not None else declared.max_W,
        )


def _of_link(drive: Drive, host: Host) -> tuple[tuple[IdleState, ...], str]:
    """Return the states that the drive's link may enter, and why they are unknown."""
    if drive.ata is not None:
        policy = drive.ata.link_policy
        if policy not in _POLICIES:
            return (), "Linux does not say how the SATA link is managed"
        return _POLICIES[policy], ""
    if drive.restriction:
        return (), ""
    subject = Subject(host=host, drive=BlockDevice.by_name(drive.facts.device or "", host))
    if subject.pci is None:
        return (), "the drive's PCI function is not known"
    seen = states_of_link(subject)
    if not seen.values:
        return (), "Linux does not show how its power is managed"
    names = () if seen.values[0] == "none" else seen.values[0].split(", ")
    register, _ = link_capabilities(subject)
    code = 7 if register is None else register >> 15 & 7
    exit_ns = _L1_EXIT_US[code] * _US if code < len(_L1_EXIT_US) else None
    return tuple(
        IdleState(part="link", name=f"PCIe {name}", enabled=True, exit_ns=exit_ns if name == "L1" else None)
        for name in names
    ), ""


def _of_cpus(host: Host) -> tuple[tuple[IdleState, ...], tuple[str, ...]]:
    """Return the idle states of the first CPU that has some, and why they are unknown. Polling is no such state."""
    cpus = sorted(
        (host.sys / "devices/system/cpu").glob("cpu[0-9]*/cpuidle"),
        key=lambda path: int(path.parent.name.removeprefix("cpu")),
    )
    states = []
    for directory in sorted(cpus[0].glob("state[0-9]*")) if cpus else ():
        exit_us, disabled = _number(directory / "latency"), _number(directory / "disable")
        if exit_us:
            name, _ = read_value(directory / "name")
            states.append(
                IdleState(
                    part="CPU",
                    name=f"CPU idle state {name or directory.name}",
                    enabled=None if disabled is None else not disabled,
                    exit_ns=exit_us * _US,
                )
            )
    return tuple(states), () if states else ("the CPUs' idle states are unknown: Linux shows none",)


def _number(path: Path) -> int | None:
    text, _ = read_value(path)
    return int(text) if text and text.isdecimal() else None
