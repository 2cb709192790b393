"""How warm a drive is, as the kernel's hardware monitors say: NVMe's own sensor, or drivetemp's of a SATA drive.

A drive that slows down because it is warm measures its cooling. Reads only, and a drive without a sensor is no error.
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
"""Below a disk's directory: of a namespace's controller, in newer and older kernels, and of a SCSI device."""


def warmest_C(devices: Iterable[str], host: Host = HOST) -> float | None:
    """Return the temperature of the warmest of some disks, by their kernel names; None where none says.

    Of a partition's name the disk's directory is the parent's.
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
