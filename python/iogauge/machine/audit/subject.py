"""What is audited: the machine, and the drive whose path is looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from iogauge.machine.drive import Drive
from iogauge.machine.facts import virtualised
from iogauge.machine.interrupts import numbers_of
from iogauge.machine.nvme.read import Nvme
from iogauge.machine.tuning.owner import state_of
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, read_text

_PCI_FUNCTION = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class Subject:
    """A machine, and one of its drives."""

    host: Host = HOST
    drive: BlockDevice | None = None
    answers: Nvme | None = None
    """What an NVMe drive says of itself; None: nothing could be read."""
    silence: str = ""
    """Why there are no answers, or not all."""
    cpus: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    """The CPUs that iogauge may use."""
    controller: Path | None = None
    """The NVMe controller whose path is looked at, of a drive that has several."""

    @property
    def root(self) -> Path:
        """The machine's root directory."""
        return self.host.sys.parent

    @cached_property
    def numbers(self) -> frozenset[str]:
        """``major:minor`` of the drive, of its disk, and of the devices that it is made of; empty: not known."""
        if self.drive is None:
            return frozenset()
        devices = [self.drive, self.drive.disk]
        for device in devices:
            devices += [
                part for slave in device.slaves for part in (slave, slave.disk) if part not in devices
            ]
        return frozenset(device.number for device in devices if device.number)

    @classmethod
    def of(cls, drive: Drive, host: Host = HOST) -> Subject:
        """Return a machine with a drive that was read."""
        return cls(
            host,
            drive=BlockDevice.by_name(drive.facts.device or "", host),
            answers=drive.nvme,
            silence=drive.unread[0].why if drive.unread else "",
        )

    @cached_property
    def pci_path(self) -> tuple[Path, ...]:
        """The directories of the PCI functions from the root port to the drive's controller."""
        if self.drive is None:
            return ()
        directories = [self._controller_or_drive, *self._controller_or_drive.parents]
        return tuple(path for path in reversed(directories) if _PCI_FUNCTION.fullmatch(path.name))

    @property
    def pci(self) -> Path | None:
        """The directory of the drive's PCI function; None: it has none."""
        return self.pci_path[-1] if self.pci_path else None

    @cached_property
    def controllers(self) -> tuple[Path, ...]:
        """The directories of the NVMe controllers by which the drive is reached; several: it is multipath."""
        if self.drive is None:
            return ()
        for path in self.drive.directory.parents:
            if re.fullmatch(r"nvme\d+", path.name):
                return (path,)
            if re.fullmatch(r"nvme-subsys\d+", path.name):
                links = (link for link in path.glob("nvme*") if re.fullmatch(r"nvme\d+", link.name))
                return tuple(link.resolve() for link in sorted(links, key=lambda link: int(link.name[4:])))
        return ()

    @property
    def nvme(self) -> Path | None:
        """The directory of the drive's NVMe controller; None: it has none, or several."""
        if self.controller is not None:
            return self.controller
        return self.controllers[0] if len(self.controllers) == 1 else None

    @cached_property
    def by_path(self) -> tuple[Subject, ...]:
        """The subject once for each controller by which its drive is reached; itself, if there are not several."""
        if self.controller is not None or len(self.controllers) < 2:
            return (self,)
        return tuple(replace(self, controller=controller) for controller in self.controllers)

    @cached_property
    def ata_port(self) -> Path | None:
        """The directory of the SCSI host of the drive's ATA port; None: it has none."""
        if self.drive is None or not any(
            re.fullmatch(r"ata\d+", path.name) for path in self.drive.directory.parents
        ):
            return None
        host = next(
            (path for path in self.drive.directory.parents if re.fullmatch(r"host\d+", path.name)), None
        )
        return host and host / "scsi_host" / host.name

    @property
    def is_nvme(self) -> bool:
        """Whether the drive's name is that of an NVMe namespace."""
        return self.drive is not None and re.match(r"nvme\d", self.drive.name) is not None

    @cached_property
    def hypervisor(self) -> str | None:
        """The evidence that the machine is virtual; None: there is none."""
        return virtualised(self.host)

    @cached_property
    def vendor(self) -> str:
        """The maker of the CPU as Linux names it, such as ``GenuineIntel``; empty: Linux does not."""
        return next(self.cpuinfo("vendor_id"), "")

    @cached_property
    def processes(self) -> tuple[str, ...] | None:
        """The names of all processes that are not stopped; None where others may be hidden, as in a container."""
        proc = self.host.proc
        # The kernel's own thread is visible where all processes are.
        if read_text(proc / "2/comm") != "kthreadd":
            return None
        named = ((folder.name, read_text(folder / "comm")) for folder in proc.glob("[0-9]*"))
        # A process that is stopped, as a tuning stops it, does nothing.
        return tuple(name for number, name in named if name and state_of(int(number), proc) != "T")

    @cached_property
    def interrupts(self) -> tuple[int, ...]:
        """The numbers of the drive's interrupts."""
        return numbers_of(self.pci) if self.pci else ()

    @property
    def _controller_or_drive(self) -> Path:
        assert self.drive is not None
        return self.nvme or self.drive.directory

    def cpuinfo(self, key: str) -> Iterator[str]:
        """Yield the values of a line of /proc/cpuinfo, CPU by CPU."""
        for line in (read_text(self.host.proc / "cpuinfo") or "").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                yield value.strip()

    @cached_property
    def command_line(self) -> dict[str, str]:
        """The options that the kernel was started with; an option without a value has an empty one."""
        words = (read_text(self.host.proc / "cmdline") or "").split()
        return {name: value for name, _, value in (word.partition("=") for word in words)}
