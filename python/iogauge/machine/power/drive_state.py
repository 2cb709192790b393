"""Asks a drive once for its power state, and for its power if it measures that. The question may wake the drive.

An NVMe drive answers Get Features 02h, and newer ones have their power in the SMART log; a SATA drive answers CHECK
POWER MODE. Source: NVM Express Base Specification; ACS-5.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from iogauge.errors import IogaugeError
from iogauge.machine.ata.command import AtaDevice, Command, parse_power_mode
from iogauge.machine.ata.port import is_ata
from iogauge.machine.nvme import logs
from iogauge.machine.nvme.admin import Admin, NvmeDevice
from iogauge.machine.nvme.features import Feature, parse_power
from iogauge.schema import TargetFacts
from iogauge.target.facts import drive_below
from iogauge.target.users.sysfs import HOST, BlockDevice, Host


@dataclass(frozen=True)
class DriveState:
    """What a drive answered."""

    state: str | None = None
    """Such as ``power state 4``; None: unknown."""
    power_W: float | None = None
    """Its own measurement; None: it has none."""
    problem: str = ""


def drive_state(target: TargetFacts, host: Host = HOST) -> DriveState:
    """Ask the drive that a target is on."""
    device = BlockDevice.by_name(target.device, host) if target.device else None
    if device is None:
        return DriveState(problem="the drive's power state is unknown: Linux does not name the drive")
    disk = drive_below(device)
    nvme = re.fullmatch(r"nvme\d+n\d+", disk.name) is not None
    if not nvme and not is_ata(disk):
        return DriveState(problem="the drive's power state is unknown: it is neither NVMe nor SATA")
    try:
        fd = os.open(f"/dev/{disk.name}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return DriveState(problem=f"the drive's power state is unknown: {error.strerror} (run as root)")
    try:
        if nvme:
            return of_nvme(NvmeDevice(fd))
        return DriveState(parse_power_mode(AtaDevice(fd).registers(Command.CHECK_POWER_MODE)))
    except IogaugeError as error:
        return DriveState(problem=f"the drive's power state is unknown: {error}")
    finally:
        os.close(fd)


def of_nvme(drive: Admin) -> DriveState:
    """Ask an NVMe drive: the state first, since the log may wake it. Raises IogaugeError if it does not answer."""
    state = parse_power(drive.feature(Feature.POWER_MANAGEMENT)[0]).state
    power_W = logs.interval_power_W(drive.log_page(logs.SMART, logs.PAGE_BYTES))
    return DriveState(f"power state {state}", power_W)
