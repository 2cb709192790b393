"""Checks of what Windows does on its own: services, tasks, paging and hibernation.

Wanted is what Intel's evaluation guide switches off. Sources of the names: Microsoft Learn, Win32_Service,
SystemRestoreConfig, Win32_PageFileUsage, and the package reference of Windows Embedded Standard 7 on prefetching.
"""

from __future__ import annotations

from iogauge.machine.audit.check import equals
from iogauge.machine.audit.windows.check import Reading, Values, WindowsCheck
from iogauge.machine.audit.windows.power import GUIDE
from iogauge.machine.audit.windows.readings import cim, registry, service, task

_MEMORY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
_PREFETCH = rf"{_MEMORY}\PrefetchParameters"
_PREFETCH_SET = rf"HKLM:\{_PREFETCH}"
_POWER = r"SYSTEM\CurrentControlSet\Control\Power"


def on_off(values: Values) -> tuple[Values, str]:
    """Say that 0 is off, and every other number is on."""
    (value,) = values
    return ("off" if int(value) == 0 else "on",), ""


def indexed(values: Values) -> tuple[Values, str]:
    """Count the volumes whose content is indexed."""
    states = [
        {"True": True, "False": False}[value] if value in ("True", "False") else None for value in values
    ]
    if None in states:
        raise ValueError(values)
    count = sum(map(bool, states))
    return (str(count),), f"{count} of {len(states)}"


def _service(name: str, title: str, called: str, why: str) -> WindowsCheck:
    return WindowsCheck(
        id=f"services.{name}", title=title, reading=service(called), wanted="disabled, stopped",
        judge=equals("Disabled, Stopped"), optional=True, why=why, source=f"{GUIDE}; Microsoft: Win32_Service",
        change=f"Stop-Service {called}; Set-Service {called} -StartupType Disabled",
    )  # fmt: skip


CHECKS = (
    _service("indexing", "indexing", "WSearch", "the indexer reads and writes files during a run"),
    WindowsCheck(
        id="services.indexed_volumes", title="volumes that are indexed",
        reading=cim("Win32_Volume", "IndexingEnabled", parse=indexed), why="what is not indexed is left alone",
        source="Microsoft: Win32_Volume",
    ),
    WindowsCheck(
        id="services.defragmentation", title="scheduled defragmentation",
        reading=task("\\Microsoft\\Windows\\Defrag\\", "ScheduledDefrag"), wanted="disabled", judge=equals("Disabled"),
        why="it moves or trims the data of drives when the machine is idle", source=GUIDE,
        change=r"Disable-ScheduledTask -TaskPath \Microsoft\Windows\Defrag\ -TaskName ScheduledDefrag",
    ),
    WindowsCheck(
        id="services.restore", title="system restore",
        reading=registry(
            r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\SystemRestore", "RPSessionInterval", parse=on_off
        ),
        wanted="off", judge=equals("off"), why="restore points copy what is written over",
        source=f"{GUIDE}; Microsoft: SystemRestoreConfig", change="Disable-ComputerRestore -Drive C:\\",
    ),
    WindowsCheck(
        id="services.page_files", title="page files", reading=cim("Win32_PageFileUsage", "Name"), wanted="none",
        judge=equals("none"), if_missing="none", why="paging writes to a drive during a run",
        source=f"{GUIDE}; Microsoft: Win32_PageFileUsage", change="System properties, Advanced, Virtual memory: none",
    ),
    WindowsCheck(
        id="services.prefetch", title="prefetching", reading=registry(_PREFETCH, "EnablePrefetcher", parse=on_off),
        wanted="off", judge=equals("off"), why="it reads ahead of programs that start, and writes what it saw",
        source=f"{GUIDE}; Microsoft: EnablePrefetcher",
        change=f"Set-ItemProperty '{_PREFETCH_SET}' EnablePrefetcher 0",
    ),
    WindowsCheck(
        id="services.superfetch", title="Superfetch, setting",
        reading=registry(_PREFETCH, "EnableSuperfetch", parse=on_off), wanted="off", judge=equals("off"),
        optional=True, why="it fills memory from drives when the machine is idle; newer Windows has only the service",
        source=GUIDE, change=f"Set-ItemProperty '{_PREFETCH_SET}' EnableSuperfetch 0",
    ),
    _service("sysmain", "Superfetch, service", "SysMain", "it fills memory from drives when the machine is idle"),
    WindowsCheck(
        id="services.hibernation", title="hibernation", reading=registry(_POWER, "HibernateEnabled", parse=on_off),
        wanted="off", judge=equals("off"), why="its file lies on the system drive, and fast startup needs it",
        source=f"{GUIDE}; Microsoft: powercfg /hibernate", change="powercfg /hibernate off",
    ),
    WindowsCheck(
        id="services.antivirus", title="real-time protection",
        reading=Reading("Read-Protection", "Get-MpComputerStatus: RealTimeProtectionEnabled"),
        why="each file that is opened is read first; raw disks are not scanned",
        source="Microsoft: Get-MpComputerStatus",
    ),
)  # fmt: skip
