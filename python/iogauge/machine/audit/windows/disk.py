"""Checks of the disk, its driver and its link.

Sources: Microsoft Learn, Win32_DiskDrive, MSFT_PhysicalDisk, Get-StorageAdvancedProperty, Enabling Message-Signaled
Interrupts in the Registry; pciprop.h of the Windows Driver Kit, for the properties of the link.
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge.machine.audit.check import equals
from iogauge.machine.audit.windows.check import Parse, Reading, Values, WindowsCheck
from iogauge.machine.audit.windows.readings import (
    advanced,
    controller,
    controller_registry,
    drive,
    drive_registry,
    physical_disk,
)

_BUSES = {
    1: "SCSI", 2: "ATAPI", 3: "ATA", 4: "IEEE 1394", 5: "SSA", 6: "Fibre Channel", 7: "USB", 8: "RAID", 9: "iSCSI",
    10: "SAS", 11: "SATA", 12: "SD", 13: "MMC", 15: "file-backed virtual", 16: "storage spaces", 17: "NVMe",
}  # fmt: skip
"""MSFT_PhysicalDisk's BusType."""
_DRIVERS = {
    "stornvme": "stornvme, Windows' inbox driver of NVMe",
    "storahci": "storahci, Windows' inbox driver of SATA",
    "iastorac": "iaStorAC, Intel's (RST)",
    "iastorvd": "iaStorVD, Intel's (VMD)",
    "iastorv": "iaStorV, Intel's (RAID)",
    "ianvme": "iaNVMe, Intel's driver of NVMe",
}
_SPEEDS = {1: "2.5 GT/s", 2: "5 GT/s", 3: "8 GT/s", 4: "16 GT/s", 5: "32 GT/s", 6: "64 GT/s"}
"""DevProp_PciExpressDevice_LinkSpeed."""
_PCI = "the WDK's pciprop.h"


def bus(values: Values) -> tuple[Values, str]:
    """Name a bus."""
    (value,) = values
    return values, _BUSES.get(int(value), "")


def driver(values: Values) -> tuple[Values, str]:
    """Name a driver by its service."""
    (value,) = values
    return values, _DRIVERS.get(value.lower(), "")


def compared(words: Callable[[int], str]) -> Parse:
    """Compare what a link has with the most that the drive can: ``8 GT/s``, or ``8 GT/s of 16 GT/s``."""

    def parse(values: Values) -> tuple[Values, str]:
        now, most = map(int, values)
        if min(now, most) <= 0:
            raise ValueError(values)
        return (words(now) if now >= most else f"{words(now)} of {words(most)}",), ""

    return parse


def _full(text: str) -> bool:
    return " of " not in text


def _recorded(
    name: str,
    title: str,
    reading: Reading,
    why: str,
    source: str,
    *,
    if_missing: str = "",
    optional: bool = False,
) -> WindowsCheck:
    return WindowsCheck(
        id=f"disk.{name}", title=title, reading=reading, why=why, source=source, if_missing=if_missing,
        optional=optional,
    )  # fmt: skip


CHECKS = (
    _recorded("model", "disk", drive("Model"), "drives of one name differ by model", "Microsoft: Win32_DiskDrive"),
    _recorded(
        "firmware", "firmware", drive("FirmwareRevision"), "a new firmware is another drive",
        "Microsoft: Win32_DiskDrive",
    ),
    _recorded(
        "bus", "bus", physical_disk("BusType", parse=bus), "a RAID driver hides an NVMe drive behind it",
        "Microsoft: MSFT_PhysicalDisk",
    ),
    _recorded(
        "driver", "driver", controller("DEVPKEY_Device_Service", parse=driver),
        "Intel measured with its own driver; the inbox driver has other latencies",
        "Intel's evaluation guide, software; Microsoft: Get-PnpDeviceProperty",
    ),
    _recorded(
        "driver_provider", "provider of the driver", controller("DEVPKEY_Device_DriverProvider"),
        "Microsoft's is the inbox driver", "Microsoft: Get-PnpDeviceProperty",
    ),
    _recorded(
        "driver_version", "version of the driver", controller("DEVPKEY_Device_DriverVersion"),
        "results are comparable only where it is equal", "Microsoft: Get-PnpDeviceProperty",
    ),
    _recorded(
        "driver_file", "file of the driver", controller("DEVPKEY_Device_DriverInfPath"),
        "oem*.inf was installed later, others came with Windows", "Microsoft: Get-PnpDeviceProperty",
    ),
    _recorded(
        "write_cache", "write cache of the drive", advanced("IsDeviceCacheEnabled"),
        "writes return before they are durable; PTS wants it off", "Microsoft: Get-StorageAdvancedProperty",
    ),
    _recorded(
        "power_protected", "write cache keeps its data without power", advanced("IsPowerProtected"),
        "Windows then asks for no flush", "Microsoft: Get-StorageAdvancedProperty",
    ),
    _recorded(
        "cache_policy", "write cache, policy", drive_registry(r"Device Parameters\Disk", "UserWriteCacheSetting"),
        "1: on, 0: off by a user", "Microsoft: Device Manager, policies", if_missing="the drive's own",
    ),
    _recorded(
        "flush_policy", "flushes switched off, policy",
        drive_registry(r"Device Parameters\Disk", "CacheIsPowerProtected"),
        "1: Windows flushes no cache of this drive, so a sync costs nothing", "Microsoft: Device Manager, policies",
        if_missing="no",
    ),
    WindowsCheck(
        id="disk.msi", title="message-signalled interrupts", wanted="1 (on)", judge=equals("1"), optional=True,
        reading=controller_registry(r"Device Parameters\Interrupt Management\MessageSignaledInterruptProperties",
                                    "MSISupported"),
        why="without them all queues share one interrupt",
        source="Microsoft: Enabling Message-Signaled Interrupts in the Registry",
    ),
    WindowsCheck(
        id="disk.link_speed", title="link speed", wanted="the drive's maximum", judge=_full, optional=True,
        reading=controller("DEVPKEY_PciDevice_CurrentLinkSpeed", "DEVPKEY_PciDevice_MaxLinkSpeed",
                           parse=compared(lambda code: _SPEEDS.get(code, f"speed {code}"))),
        why="a slower link takes longer for each transfer and limits the rate", source=_PCI,
    ),
    WindowsCheck(
        id="disk.link_width", title="link width", wanted="the drive's maximum", judge=_full, optional=True,
        reading=controller("DEVPKEY_PciDevice_CurrentLinkWidth", "DEVPKEY_PciDevice_MaxLinkWidth",
                           parse=compared(lambda lanes: f"x{lanes}")),
        why="fewer lanes limit the rate", source=_PCI,
    ),
    _recorded(
        "numa_node", "NUMA node of the drive", controller("DEVPKEY_Device_Numa_Node"),
        "requests from another node cross the link between processors", "Microsoft: DEVPKEY_Device_Numa_Node",
        optional=True,
    ),
)  # fmt: skip
