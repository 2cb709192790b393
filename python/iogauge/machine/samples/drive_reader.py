"""Reads the few values of a drive that change during a run: temperature, throttling, power state, errors, writes.

An NVMe drive answers two admin commands for one reading (SMART, and the power state). Any other drive, and an NVMe
drive without root, has only what the kernel's sensor says. A command that is refused once is not sent again: a drive
may add an entry to its error log for each. Nothing is written.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from iogauge.errors import IogaugeError
from iogauge.machine.nvme import features, identify, logs
from iogauge.machine.nvme.admin import Admin, NvmeDevice
from iogauge.machine.samples.temperature import has_sensor, limits_C, warmest_C
from iogauge.schema import DriveReading
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of

T = TypeVar("T")


@dataclass
class DriveReader:
    """Reads one drive, again and again. ``close`` it at the end."""

    device: str
    admin: Admin | None
    """None: the drive answers no admin commands."""
    host: Host = HOST
    fd: int = -1
    warning_C: float | None = None
    critical_C: float | None = None
    unread: str = ""
    """The first reason why something could not be read."""
    _refused: set[str] = field(default_factory=set)

    def identify(self) -> None:
        """Read the temperatures from which the drive warns."""
        if (admin := self.admin) is None:
            self.warning_C, self.critical_C = limits_C(self.device, self.host)
            return
        controller = self._attempt(
            "limits", lambda: identify.parse_controller(admin.identify(identify.CONTROLLER))
        )
        if controller is not None:
            self.warning_C, self.critical_C = controller.warning_C, controller.critical_C

    @property
    def limit_C(self) -> float | None:
        """The temperature from which the drive counts as hot; None: it has none."""
        return self.critical_C if self.warning_C is None else self.warning_C

    def read(self) -> DriveReading:
        """Return a reading. Never raises: what cannot be read is None."""
        if (admin := self.admin) is None:
            return DriveReading(temperature_C=warmest_C([self.device], self.host))
        power = self._attempt(
            "power state",
            lambda: features.parse_power(admin.feature(features.Feature.POWER_MANAGEMENT)[0]),
        )
        smart = self._attempt("SMART", lambda: logs.parse_smart(admin.log_page(logs.SMART, logs.PAGE_BYTES)))
        state = power.state if power else None
        if smart is None:
            return DriveReading(power_state=state, temperature_C=warmest_C([self.device], self.host))
        return DriveReading(
            power_state=state,
            temperature_alarm=logs.TEMPERATURE_ALARM in smart.critical,
            **{
                name: getattr(smart, name)
                for name in DriveReading.model_fields
                if name not in ("power_state", "temperature_alarm")
            },
        )

    def _attempt(self, what: str, answer: Callable[[], T]) -> T | None:
        """Return the answer to a command; None if it fails, and from then on."""
        if what in self._refused:
            return None
        try:
            return answer()
        except IogaugeError as error:
            self._refused.add(what)
            self.unread = self.unread or str(error)
            return None

    def close(self) -> None:
        """Close the descriptor."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)


def open_reader(disk: BlockDevice, host: Host = HOST) -> DriveReader | None:
    """Return a reader of a disk; None if it has neither admin commands nor a sensor."""
    reason = ""
    if re.fullmatch(r"nvme\d+n\d+", disk.name):
        try:
            fd = os.open(f"/dev/{disk.name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            reason = f"/dev/{disk.name}: {error.strerror}"
        else:
            if number_of(os.fstat(fd).st_rdev) == disk.number:
                return DriveReader(disk.name, NvmeDevice(fd), host, fd=fd)
            os.close(fd)
    return DriveReader(disk.name, None, host, unread=reason) if has_sensor(disk.name, host) else None
