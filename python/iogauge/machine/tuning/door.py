"""The one place that changes the machine: reads and writes its settings, each by the name of a place.

A place is a file below /sys or /proc by its path on the machine, ``process:PID:START`` (a process that may be stopped,
by its number and the time of its start), or ``feature:NVME:SERIAL:NUMBER`` (a feature of an NVMe controller). A place
that is on no list of this file is refused, so no profile and no journal can lead to a write anywhere else.

Nothing but the standard library is imported before a feature is used: the guardian must stay small.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import struct
from pathlib import Path

from iogauge.machine.tuning.owner import start_of, state_of

_CPU = r"/sys/devices/system/cpu"
_DEVICE = r"/sys/devices(?:/[A-Za-z0-9_:.!@-]+)+"
_FILES = re.compile(
    "|".join(
        [
            rf"{_CPU}/cpufreq/policy\d+/scaling_(?:governor|min_freq|max_freq)",
            rf"{_CPU}/cpufreq/policy\d+/energy_performance_preference",
            rf"{_CPU}/cpufreq/boost",
            rf"{_CPU}/intel_pstate/no_turbo",
            rf"{_CPU}/cpu\d+/power/(?:energy_perf_bias|pm_qos_resume_latency_us)",
            rf"{_CPU}/cpu\d+/cpuidle/state\d+/disable",
            rf"{_CPU}/smt/control",
            r"/sys/module/pcie_aspm/parameters/policy",
            rf"{_DEVICE}/link/(?:clkpm|l0s_aspm|l1_aspm|l1_1_aspm|l1_2_aspm|l1_1_pcipm|l1_2_pcipm)",
            rf"{_DEVICE}/power/(?:control|pm_qos_latency_tolerance_us)",
            rf"{_DEVICE}/link_power_management_policy",
            rf"{_DEVICE}/queue/(?:scheduler|nomerges|rq_affinity|wbt_lat_usec|add_random)",
            r"/proc/irq/\d+/smp_affinity_list",
            r"/proc/sys/kernel/(?:nmi_watchdog|timer_migration|numa_balancing)",
            r"/proc/sys/vm/(?:stat_interval|swappiness)",
        ]
    )
)
"""Every file that may be written."""
_PROCESS = re.compile(r"process:(\d+):(\d+)")
_STOPPABLE = ("irqbalance",)
"""The names of the processes that may be stopped."""
_FEATURE = re.compile(r"feature:(nvme\d+):([^:]*):(0x[0-9a-f]{2})")


class ForbiddenError(ValueError):
    """A place that is not on the list of what may be changed."""


class Door:
    """Reads and writes settings of the machine whose /sys and /proc are mounted at ``sys`` and ``proc``."""

    def __init__(self, sys: Path, proc: Path) -> None:
        self.sys = sys
        self.proc = proc

    def read(self, place: str) -> str:
        """Return the value of a place; of ``[none] mq-deadline`` the word in brackets.

        Raises OSError, and ForbiddenError for a place on no list.
        """
        if match := _PROCESS.fullmatch(place):
            return self._process(int(match[1]), int(match[2]))
        if match := _FEATURE.fullmatch(place):
            return self._feature(match[1], match[2], int(match[3], 16), None)
        text = self._path(place).read_bytes().decode("utf-8", "replace").strip(" \t\r\n\0")
        return next(iter(re.findall(r"\[([^]]+)\]", text)), text)

    def write(self, place: str, value: str) -> None:
        """Write the value of a place, by one call of the system. Raises OSError, ForbiddenError."""
        if match := _PROCESS.fullmatch(place):
            self._signal(int(match[1]), int(match[2]), value)
        elif match := _FEATURE.fullmatch(place):
            self._feature(match[1], match[2], int(match[3], 16), value)
        else:
            self._write(self._path(place), value)

    def _write(self, path: Path, value: str) -> None:
        # Neither created nor cut: the kernel's files need neither, and no other file may be harmed.
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(descriptor, value.encode() + b"\n")
        finally:
            os.close(descriptor)

    def hold_latency(self, most_us: int) -> int:
        """Keep all CPUs out of idle states with a longer exit latency; return the descriptor that holds it.

        The kernel releases it when the descriptor is closed, however its process ends. Raises OSError.
        """
        path = self.sys.parent / "dev/cpu_dma_latency"
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.write(descriptor, struct.pack("=i", most_us))
            (held_us,) = struct.unpack("=i", os.pread(descriptor, 4, 0))
            if held_us > most_us:
                raise OSError(errno.EIO, f"the kernel holds {held_us} us")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def place_of(self, path: Path) -> str:
        """Return the place of a file of this machine: its path as it is on the machine, without links."""
        real = path.parent.resolve() / path.name
        for base, name in ((self.sys, "/sys"), (self.proc, "/proc")):
            if real.is_relative_to(base.resolve()):
                return f"{name}/{real.relative_to(base.resolve())}"
        raise ForbiddenError(f"{path}: is not below /sys or /proc")

    def _path(self, place: str) -> Path:
        if _FILES.fullmatch(place) is None or ".." in place.split("/"):
            raise ForbiddenError(f"{place}: may not be changed")
        base, _, rest = place[1:].partition("/")
        return {"sys": self.sys, "proc": self.proc}[base] / rest

    def _process(self, pid: int, start: int) -> str:
        if start_of(pid, self.proc) != start:
            raise ProcessLookupError(errno.ESRCH, "the process has ended")
        return "stopped" if state_of(pid, self.proc) in ("T", "t") else "running"

    def _signal(self, pid: int, start: int, value: str) -> None:
        if self.proc != Path("/proc"):
            raise OSError(errno.EROFS, "the process is of a recorded machine")
        # The descriptor names the process: its number cannot become another's between looking and sending.
        descriptor = os.pidfd_open(pid)
        try:
            self._process(pid, start)
            name = (self.proc / str(pid) / "comm").read_text().strip()
            if name not in _STOPPABLE:
                raise ForbiddenError(f"{name}: may not be stopped")
            number = {"stopped": signal.SIGSTOP, "running": signal.SIGCONT}[value]
            signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)

    def _feature(self, controller: str, serial: str, number: int, value: str | None) -> str:
        from iogauge.machine.nvme.set_feature import feature_value

        folder = self.sys / "class/nvme" / controller
        if (folder / "serial").read_text().strip() != serial:
            raise FileNotFoundError(errno.ENOENT, "the controller has another name now")
        return feature_value(self.sys.parent / "dev" / controller, number, value)
