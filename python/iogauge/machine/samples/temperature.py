"""Reads a drive's temperature from the kernel's hardware monitors: NVMe's own sensor, or drivetemp for SATA.

A result of a drive that throttles describes its cooling. A drive without a sensor is not an error.
Source: the kernel's Documentation/hwmon (sysfs-interface, drivetemp) and drivers/nvme/host/hwmon.c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from iogauge.target.users.sysfs import HOST, Host, read_text

_PLACES = (
    "device/hwmon*/temp1_input",
    "device/hwmon/hwmon*/temp1_input",
    "device/device/hwmon/hwmon*/temp1_input",
)
"""Sensors below a disk's directory: of an NVMe controller in newer and older kernels, and of a SCSI device."""

_MOST_C = 200


def warmest_C(devices: Iterable[str], host: Host = HOST) -> float | None:
    """Return the temperature of the warmest disk; None if no disk has a sensor.

    ``devices`` are kernel names of disks or partitions; a partition has the sensor of its disk.
    """
    readings_C = (_celsius(sensor) for device in devices for sensor in _sensors(device, host))
    return max((reading for reading in readings_C if reading is not None), default=None)


def has_sensor(device: str, host: Host = HOST) -> bool:
    """Return whether the kernel has a sensor of a disk. The drive is not asked."""
    return next(_sensors(device, host), None) is not None


def limits_C(device: str, host: Host = HOST) -> tuple[float | None, float | None]:
    """Return the temperatures from which a disk's sensor calls it too warm, and critical; None where it has no limit.

    A limit above 200 degrees Celsius stands for none.
    """
    for sensor in _sensors(device, host):
        warm, critical = (_celsius(sensor.with_name(name)) for name in ("temp1_max", "temp1_crit"))
        return _plausible(warm), _plausible(critical)
    return None, None


def _sensors(device: str, host: Host) -> Iterator[Path]:
    directory = host.sys / "class" / "block" / device
    disk = directory.resolve().parent if (directory / "partition").exists() else directory
    for pattern in _PLACES:
        yield from disk.glob(pattern)


def _celsius(sensor: Path) -> float | None:
    text = read_text(sensor)
    return int(text) / 1000 if text and text.lstrip("-").isdigit() else None


def _plausible(limit_C: float | None) -> float | None:
    return limit_C if limit_C is not None and 0 < limit_C <= _MOST_C else None
