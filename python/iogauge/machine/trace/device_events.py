"""The events of one device's requests: which of the kernel's events tell them, switched on and off, and read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.machine.stat import without_requests
from iogauge.machine.trace.events import KINDS, Events, Kind, parse_events, usable
from iogauge.machine.trace.formats import Format, lost_events, page_bytes, parse_format
from iogauge.machine.trace.tracefs import Instance, mounted, refused
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

BUFFER_KIB = 65_536
"""The buffers of all CPUs together; each has an eighth of it at most, and a mebibyte at least."""


class DeviceEvents:
    """The events of one device, in a tracefs instance of its own, until ``close``."""

    def __init__(
        self,
        device: str,
        *,
        kinds: Collection[Kind],
        calls: Collection[str] = (),
        root: Path | None = None,
        host: Host = HOST,
        buffer_kib: int = BUFFER_KIB,
    ) -> None:
        """Make the instance. ``calls`` are the system calls that submit requests, of ``events.CALLS``.

        Raises IogaugeError if requests of the device cannot be traced here.
        """
        block_device = BlockDevice.by_name(device, host)
        if block_device is None:
            raise IogaugeError(f"{device} is no block device whose requests can be traced")
        self.device = block_device
        self.with_requests = not without_requests([device], host)
        """Whether its driver has requests; otherwise bios are all there is."""
        self._instance = Instance(mounted() if root is None else root)
        self._pages: list[int] = []
        self._switches: list[str] = []
        self._formats: dict[Kind, list[Format]] = {}
        try:
            self._set_up(kinds, calls, buffer_kib)
        except (OSError, ValueError) as error:
            self.close()
            raise refused(error) if isinstance(error, OSError) else IogaugeError(str(error)) from None
        except BaseException:
            self.close()
            raise

    def switch(self, *, on: bool) -> None:
        """Begin or end recording. Raises OSError."""
        value = "1" if on else "0"
        if on:
            self._instance.write("tracing_on", value)
        for name in self._switches:
            self._instance.write(name, value)
        if not on:
            self._instance.write("tracing_on", value)

    def take(self) -> Events:
        """Return what was recorded and not taken yet. Raises OSError."""
        pages = []
        for descriptor in self._pages:
            with contextlib.suppress(BlockingIOError):
                while page := os.read(descriptor, self._page_bytes):
                    pages.append(page.ljust(self._page_bytes, b"\0"))
        return parse_events(b"".join(pages), self._formats, page_bytes=self._page_bytes)

    def lost(self) -> int:
        """Return how many events the buffers lost so far."""
        lost = 0
        with contextlib.suppress(OSError):
            stats = (self._instance.read(f"per_cpu/{cpu}/stats") for cpu in self._instance.cpus())
            lost = sum(map(lost_events, stats))
        return lost

    def close(self) -> None:
        """Remove the instance."""
        for descriptor in self._pages:
            os.close(descriptor)
        self._pages = []
        self._instance.close()

    def _set_up(self, kinds: Collection[Kind], calls: Collection[str], buffer_kib: int) -> None:
        instance = self._instance
        self._page_bytes = page_bytes(instance.read("events/header_page"))
        cpus = instance.cpus()
        share_kib = min(max(buffer_kib // max(len(cpus), 1), 1024), 8192)
        instance.write("trace_clock", "mono")
        instance.write("buffer_size_kb", str(min(share_kib, buffer_kib)))
        numbers = {self.device.number, self.device.disk.number}
        condition = " || ".join(f"dev == {_kernel_number(number)}" for number in sorted(numbers))
        for name, kind in KINDS.items():
            of_driver = kind not in (Kind.ISSUE, Kind.COMPLETE)
            if kind in kinds and (of_driver or name.startswith("block_rq") == self.with_requests):
                self._add_event(f"block/{name}", kind, condition)
        for call in calls:
            self._add_event(f"syscalls/sys_enter_{call}", Kind.ENTER)
        self._pages = [instance.open_pages(cpu) for cpu in cpus]

    def _add_event(self, name: str, kind: Kind, condition: str = "") -> None:
        """Make an event one of those that ``switch`` switches, if the kernel has it."""
        instance, directory = self._instance, f"events/{name}"
        if not instance.has(f"{directory}/format"):
            if kind in (Kind.MERGE, Kind.ENTER):
                return
            raise IogaugeError(
                f"the kernel has no trace event {name}", hint="use a kernel with CONFIG_BLK_DEV_IO_TRACE"
            )
        layout = parse_format(instance.read(f"{directory}/format"))
        if not usable(layout, kind):
            raise IogaugeError(f"the kernel's trace event {name} has other fields than this iogauge knows")
        self._formats.setdefault(kind, []).append(layout)
        if condition:
            instance.write(f"{directory}/filter", condition)
        if kind is Kind.MERGE:
            # Rare: on for the whole run, because switching takes longer.
            instance.write(f"{directory}/enable", "1")
        else:
            self._switches.append(f"{directory}/enable")


def _kernel_number(number: str) -> int:
    """Return ``major:minor`` as the number that events hold.

    >>> _kernel_number("8:1")
    8388609
    """
    major, minor = map(int, number.split(":"))
    return major << 20 | minor
