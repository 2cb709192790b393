"""Reads a drive's temperature from the kernel's hardware monitors: NVMe's own sensor, or drivetemp for SATA.

A result of a drive that throttles describes its cooling. A drive without a sensor is not an error.
Source: the kernel's Documentation/hwmon (sysfs-interface, drivetemp) and drivers/nvme/host/hwmon.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from iogauge.target.users.sysfs import HOST, Host, read_text

_PLACES = (
    "device/hwmon*/temp1_input",
    "device/hwmon/hwmon*/temp1_input",
    "device/device/hwmon/hwmon*/temp1_input",
)
"""Sensors below a disk's directory: of an NVMe controller in newer and older kernels, and of a SCSI device."""


def warmest_C(devices: Iterable[str], host: Host = HOST) -> float | None:
    """Return the temperature of the warmest disk; None if no disk has a sensor.

    ``devices`` are kernel names of disks or partitions; a partition has the sensor of its disk.
    """
    readings_C = []
    for device in devices:
        directory = host.sys / "class" / "block" / device
        disk = directory.resolve().parent if (directory / "partition").exists() else directory
        for pattern in _PLACES:
            for sensor in disk.glob(pattern):
                text = read_text(sensor)
                if text and text.lstrip("-").isdigit():
                    readings_C.append(int(text) / 1000)
    return max(readings_C, default=None)
