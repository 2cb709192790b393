"""The kinds of thing that the script reads. Each is a call of a function of ``script.ps1``.

Everything that is parsed is a number, a GUID or a name of an interface, so it is the same in every language of Windows.
Sources: Microsoft Learn, powercfg command-line options, Win32_Service, MSFT_ScheduledTask, Get-PnpDeviceProperty.
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.machine.audit.windows.check import Parse, Reading, Values, as_they_are


def power_setting(
    subgroup: str, setting: str, *, names: Mapping[int, str] | None = None, unit: str = ""
) -> Reading:
    """Read a setting of the active power scheme, on mains and on battery. The one on mains is judged."""

    def parse(numbers: Values) -> tuple[Values, str]:
        # The last two are the values; before them stand the limits of settings that are numbers.
        mains, battery = (int(number, 16) for number in numbers[-2:])
        words = [(names or {}).get(value, f"{value} {unit}".strip()) for value in (mains, battery)]
        return (str(mains),), words[0] if mains == battery else f"{words[0]}; on battery {words[1]}"

    return Reading(
        f"Read-PowerSetting {quoted(subgroup)} {quoted(setting)}",
        f"powercfg /qh SCHEME_CURRENT {subgroup} {setting}",
        parse,
    )


def registry(key: str, name: str, *, parse: Parse = as_they_are) -> Reading:
    """Read a value below HKEY_LOCAL_MACHINE."""
    return Reading(f"Read-Registry {quoted(key)} {quoted(name)}", rf"HKLM\{key}, {name}", parse)


def service(name: str) -> Reading:
    """Read how a service starts, and whether it runs: ``Disabled, Stopped``."""
    return Reading(f"Read-Service {quoted(name)}", f"Win32_Service, {name}: StartMode, State")


def task(folder: str, name: str) -> Reading:
    """Read the state of a scheduled task: ``Disabled``, ``Ready`` or ``Running``."""
    return Reading(f"Read-Task {quoted(folder)} {quoted(name)}", f"Get-ScheduledTask {folder}{name}: State")


def cim(
    class_: str,
    *properties: str,
    namespace: str = r"root\cimv2",
    parse: Parse = as_they_are,
    administrator: bool = False,
) -> Reading:
    """Read properties of every instance of a class; several of a property stand side by side, one property per call."""
    calls = [f"Read-Cim {quoted(namespace)} {quoted(class_)} {quoted(name)}" for name in properties]
    return Reading("; ".join(calls), f"{class_}: {', '.join(properties)}", parse, administrator)


def drive(property_: str) -> Reading:
    """Read a property of the disk, as ``Win32_DiskDrive`` has it."""
    return Reading(f"Read-Drive {quoted(property_)}", f"Win32_DiskDrive: {property_}")


def physical_disk(property_: str, *, parse: Parse = as_they_are) -> Reading:
    """Read a property of the disk, as ``MSFT_PhysicalDisk`` has it."""
    return Reading(f"Read-PhysicalDisk {quoted(property_)}", f"MSFT_PhysicalDisk: {property_}", parse)


def advanced(property_: str) -> Reading:
    """Read what the disk says of its cache."""
    return Reading(
        f"Read-Advanced {quoted(property_)}", f"Get-StorageAdvancedProperty: {property_}", administrator=True
    )


def drive_registry(key: str, name: str) -> Reading:
    """Read a value below the registry key of the disk."""
    return Reading(f"Read-DriveRegistry {quoted(key)} {quoted(name)}", rf"HKLM\...\Enum\DISK\{key}, {name}")


def controller(*keys: str, parse: Parse = as_they_are) -> Reading:
    """Read properties of the controller of the disk."""
    calls = [f"Read-Controller {quoted(key)}" for key in keys]
    return Reading("; ".join(calls), f"Get-PnpDeviceProperty CONTROLLER: {', '.join(keys)}", parse)


def controller_registry(key: str, name: str) -> Reading:
    """Read a value below the registry key of the disk's controller."""
    return Reading(
        f"Read-ControllerRegistry {quoted(key)} {quoted(name)}", rf"HKLM\...\Enum\CONTROLLER\{key}, {name}"
    )


def quoted(text: str) -> str:
    """Return a text in single quotes, between which PowerShell replaces nothing.

    Raises ValueError for a text that would end the quotes.
    """
    if not text.isascii() or "'" in text or not text.isprintable():
        raise ValueError(text)
    return f"'{text}'"
