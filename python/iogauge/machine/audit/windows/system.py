"""Checks of the machine and of Windows itself: versions, processors, hypervisor, protection by virtualization.

Sources: Microsoft Learn, Win32_OperatingSystem, Win32_Processor, Win32_ComputerSystem; Enable memory integrity, for
Win32_DeviceGuard; KB4073119, for the mitigations' registry values.
"""

from __future__ import annotations

from iogauge.machine.audit.check import equals
from iogauge.machine.audit.windows.check import Reading, Values, WindowsCheck
from iogauge.machine.audit.windows.readings import cim, registry

_CURRENT = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
_MEMORY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
_GUARD = r"root\Microsoft\Windows\DeviceGuard"
_INTEGRITY = "Microsoft: Enable virtualization-based protection of code integrity"


def threads(values: Values) -> tuple[Values, str]:
    """Say how many threads a core runs: the first half of the numbers are cores, the second threads of all sockets."""
    numbers = [int(value) for value in values]
    half = len(numbers) // 2
    cores, logical = sum(numbers[:half]), sum(numbers[half:])
    if len(numbers) % 2 or not 0 < cores <= logical:
        raise ValueError(values)
    return ("off" if cores == logical else "on",), f"{cores} cores, {logical} threads"


def protection(values: Values) -> tuple[Values, str]:
    """Name the state of virtualization-based security."""
    (value,) = values
    return values, {"0": "off", "1": "on, not running", "2": "running"}.get(value, "")


def integrity(values: Values) -> tuple[Values, str]:
    """Say whether memory integrity is among the services that run: number 2."""
    services = {int(number) for value in values for number in value.split()}
    return ("running" if 2 in services else "not running",), ""


def yes_no(values: Values) -> tuple[Values, str]:
    """Turn True and False into words. Raises ValueError for anything else."""
    words = {"True": "yes", "False": "no"}
    if unknown := set(values) - words.keys():
        raise ValueError(unknown)
    return tuple(dict.fromkeys(words[value] for value in values)), ""


def seconds(values: Values) -> tuple[Values, str]:
    """Turn seconds into hours."""
    (value,) = values
    return values, f"{int(value) / 3600:.1f} h"


def _recorded(
    name: str, title: str, reading: Reading, why: str, source: str, *, if_missing: str = ""
) -> WindowsCheck:
    return WindowsCheck(
        id=f"windows.{name}", title=title, reading=reading, why=why, source=source, if_missing=if_missing
    )


CHECKS = (
    _recorded(
        "product", "product", registry(_CURRENT, "ProductName"), "servers and clients have different defaults",
        "Microsoft: Windows release information",
    ),
    _recorded(
        "version", "version", cim("Win32_OperatingSystem", "Version"),
        "drivers and storage stack differ from version to version", "Microsoft: Win32_OperatingSystem",
    ),
    _recorded(
        "revision", "update of the version", registry(_CURRENT, "UBR"),
        "each update can change drivers and mitigations",
        "Microsoft: Windows release information",
    ),
    _recorded(
        "administrator", "read as administrator", Reading("Read-Administrator", "WindowsPrincipal.IsInRole", yes_no),
        "some facts are shown to administrators only", "Microsoft: WindowsPrincipal",
    ),
    _recorded(
        "uptime", "time since Windows started",
        Reading("Read-Uptime", "Win32_OperatingSystem: LastBootUpTime", seconds),
        "3D XPoint must be powered for three hours; with fast startup, hours without power count here",
        "Intel's evaluation guide, preconditioning",
    ),
    _recorded(
        "cpu", "CPU", cim("Win32_Processor", "Name"), "at 10 us the CPU is half of the measurement",
        "Microsoft: Win32_Processor",
    ),
    WindowsCheck(
        id="windows.smt", title="simultaneous multithreading",
        reading=cim("Win32_Processor", "NumberOfCores", "NumberOfLogicalProcessors", parse=threads), wanted="off",
        judge=equals("off"), why="two threads of a core take turns",
        source="Intel's evaluation guide, platform; Microsoft: Win32_Processor", change="switch it off in the firmware",
    ),
    _recorded(
        "maker", "maker and model", cim("Win32_ComputerSystem", "Manufacturer", "Model"),
        "they name a virtual machine, too", "Microsoft: Win32_ComputerSystem",
    ),
    WindowsCheck(
        id="windows.hypervisor", title="hypervisor", wanted="no", judge=equals("no"),
        reading=cim("Win32_ComputerSystem", "HypervisorPresent", parse=yes_no),
        why="interrupts and memory pass through it; Windows' own Hyper-V counts, and protection by it (VBS)",
        source="Microsoft: Win32_ComputerSystem",
    ),
    _recorded(
        "vbs", "security by virtualization (VBS)",
        cim("Win32_DeviceGuard", "VirtualizationBasedSecurityStatus", namespace=_GUARD, parse=protection,
            administrator=True),
        "it costs time; it must be equal where results are compared", _INTEGRITY,
    ),
    _recorded(
        "hvci", "memory integrity (HVCI)",
        cim("Win32_DeviceGuard", "SecurityServicesRunning", namespace=_GUARD, parse=integrity, administrator=True),
        "it costs time in the kernel; it must be equal where results are compared", _INTEGRITY,
    ),
    _recorded(
        "mitigations", "override of mitigations", registry(_MEMORY, "FeatureSettingsOverride"),
        "mitigations make system calls slower; they must be equal where results are compared",
        "Microsoft: KB4073119", if_missing="none",
    ),
    _recorded(
        "mitigations_mask", "override of mitigations, mask", registry(_MEMORY, "FeatureSettingsOverrideMask"),
        "it says which bits of the override hold", "Microsoft: KB4073119", if_missing="none",
    ),
)  # fmt: skip
