"""Traces the requests of one device while a run lasts: a thread that opens and closes windows.

The thread sleeps nearly all the time. It reads a window's events when the window is over, so nothing of this machine
but the kernel's own recording goes on while requests are measured.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Event, Thread

from iogauge.errors import IogaugeError
from iogauge.machine.stat import parse_stat, without_requests
from iogauge.machine.trace.events import KINDS, Kind, parse_events, usable
from iogauge.machine.trace.formats import Format, lost_events, page_bytes, parse_format
from iogauge.machine.trace.matching import Requests, match
from iogauge.machine.trace.tracefs import Instance, mounted, refused
from iogauge.machine.trace.windows import FIRST, next_window
from iogauge.schema import LatencyTrace
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

BUFFER_KIB = 65_536
"""The buffers of all CPUs together; each has an eighth of it at most, and a mebibyte at least."""
_NS = 10**9


class Tracer:
    """Windows of tracing on one device. ``prepare`` before the run, ``start`` as it begins, ``stop`` at its end."""

    def __init__(
        self,
        device: str,
        collect: Callable[[Requests], None],
        *,
        calls: Collection[str] = (),
        root: Path | None = None,
        host: Host = HOST,
        buffer_kib: int = BUFFER_KIB,
    ) -> None:
        """Make the tracefs instance. ``collect`` gets each window's requests, in the tracer's thread.
        ``calls`` are the system calls that submit requests, of ``events.CALLS``.

        Raises IogaugeError if latencies of the device cannot be traced here.
        """
        block_device = BlockDevice.by_name(device, host)
        if block_device is None:
            raise IogaugeError(f"{device} is no block device whose requests can be traced")
        self._device, self._collect = block_device, collect
        self._with_requests = not without_requests([device], host)
        self._instance = Instance(mounted() if root is None else root)
        self._pages: list[int] = []
        self._switches: list[str] = []
        self._formats: dict[Kind, list[Format]] = {}
        try:
            self._set_up(buffer_kib, calls)
        except (OSError, ValueError) as error:
            self._close()
            raise refused(error) if isinstance(error, OSError) else IogaugeError(str(error)) from None
        except BaseException:
            self._close()
            raise
        self._ended = Event()
        self._thread: Thread | None = None
        self._windows = self._traced_ns = self._begun_ns = 0
        self.rates: list[tuple[float, float]] = []
        """Of every whole window: requests a second that the device completed in it, and in the pause before it."""
        self._counts = dict.fromkeys(("matched", "cut", "unmatched", "foreign"), 0)
        self._slowest_ns = 0
        self._stopped = ""
        self._result: LatencyTrace | None = None

    def start(self, *, delay_ns: int) -> None:
        """Begin to trace after a delay, which leaves a ramp out."""
        self._thread = Thread(target=self._run, args=(delay_ns,), name="iogauge-trace", daemon=True)
        self._thread.start()

    def stop(self) -> LatencyTrace:
        """End the tracing, remove the instance, and return what was counted, without the distributions."""
        if self._result is None:
            self._ended.set()
            if self._thread is not None:
                self._thread.join()
            elapsed_ns = time.monotonic_ns() - self._begun_ns if self._begun_ns else 0
            lost = 0
            with contextlib.suppress(OSError):
                stats = (self._instance.read(f"per_cpu/{cpu}/stats") for cpu in self._instance.cpus())
                lost = sum(map(lost_events, stats))
            self._close()
            self._result = LatencyTrace(
                device=self._device.name,
                requests=self._with_requests,
                windows=self._windows,
                traced_ns=self._traced_ns,
                elapsed_ns=elapsed_ns,
                lost_events=lost,
                stopped=self._stopped,
                **self._counts,
            )
        return self._result

    def _set_up(self, buffer_kib: int, calls: Collection[str]) -> None:
        instance = self._instance
        self._page_bytes = page_bytes(instance.read("events/header_page"))
        cpus = instance.cpus()
        share_kib = min(max(buffer_kib // max(len(cpus), 1), 1024), 8192)
        instance.write("trace_clock", "mono")
        instance.write("buffer_size_kb", str(min(share_kib, buffer_kib)))
        numbers = {self._device.number, self._device.disk.number}
        condition = " || ".join(f"dev == {_kernel_number(number)}" for number in sorted(numbers))
        for name, kind in KINDS.items():
            if kind not in (Kind.ISSUE, Kind.COMPLETE) or name.startswith("block_rq") == self._with_requests:
                self._add_event(f"block/{name}", kind, condition)
        for call in calls:
            self._add_event(f"syscalls/sys_enter_{call}", Kind.ENTER)
        self._pages = [instance.open_pages(cpu) for cpu in cpus]

    def _add_event(self, name: str, kind: Kind, condition: str = "") -> None:
        """Make an event one of those that windows switch, if the kernel has it."""
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

    def _run(self, delay_ns: int) -> None:
        try:
            self._ended.wait(delay_ns / _NS)
            self._begun_ns = closed_ns = time.monotonic_ns()
            counter = self._completed()
            window = FIRST
            # A window after every pause: a pause that the end of the run cuts short has idle time at its end.
            while not self._ended.wait(window.pause_ns / _NS):
                opened_ns, at_opening = time.monotonic_ns(), self._completed()
                paused = _rate(at_opening - counter, opened_ns - closed_ns)
                events, lasted = self._trace(window.sample_ns, window.drain_ns)
                closed_ns, counter = time.monotonic_ns(), self._completed()
                self._traced_ns += self._closed_ns - opened_ns
                if lasted:
                    in_window = _rate(self._at_closing - at_opening, self._closed_ns - opened_ns)
                    self.rates.append((in_window, paused))
                window = next_window(
                    events=events, traced_ns=self._closed_ns - opened_ns, slowest_ns=self._slowest_ns
                )
        except (OSError, ValueError) as error:
            self._stopped = str(error)

    def _trace(self, sample_ns: int, drain_ns: int) -> tuple[int, bool]:
        """Trace one window. Return how many events it had, and whether the run lasted until its end."""
        threads = _own_threads()
        try:
            self._switch("1")
            begin_ns = time.monotonic_ns()
            self._ended.wait(sample_ns / _NS)
            last_ns = time.monotonic_ns()
            self._ended.wait(drain_ns / _NS)
            end_ns = time.monotonic_ns()
            lasted = not self._ended.is_set()
        finally:
            self._switch("0")
            self._closed_ns, self._at_closing = time.monotonic_ns(), self._completed()
        threads |= _own_threads()
        events = parse_events(self._take(), self._formats, page_bytes=self._page_bytes)
        requests = match(events, begin_ns=begin_ns, last_ns=last_ns, end_ns=end_ns, threads=threads)
        self._windows += 1
        complete = int(requests.complete.sum())
        for name, count in (
            ("matched", len(requests.complete)),
            ("cut", len(requests.complete) - complete),
            ("unmatched", requests.unmatched),
            ("foreign", requests.foreign),
        ):
            self._counts[name] += count
        if len(requests.block_ns):
            self._slowest_ns = max(self._slowest_ns, int(requests.block_ns.max()))
        self._collect(requests)
        return len(events.time_ns), lasted

    def _switch(self, value: str) -> None:
        if value == "1":
            self._instance.write("tracing_on", "1")
        for name in self._switches:
            self._instance.write(name, value)
        if value == "0":
            self._instance.write("tracing_on", "0")

    def _take(self) -> bytes:
        """Return all pages that were recorded, and so empty the buffers."""
        pages = []
        for descriptor in self._pages:
            with contextlib.suppress(BlockingIOError):
                while page := os.read(descriptor, self._page_bytes):
                    pages.append(page.ljust(self._page_bytes, b"\0"))
        return b"".join(pages)

    def _completed(self) -> int:
        """Return how many reads and writes the device has completed since the machine started."""
        counters = parse_stat(self._device.text("stat") or "")
        return counters[0] + counters[4]

    def _close(self) -> None:
        for descriptor in self._pages:
            os.close(descriptor)
        self._pages = []
        self._instance.close()


def _rate(ios: int, elapsed_ns: int) -> float:
    return ios * _NS / max(elapsed_ns, 1)


def _kernel_number(number: str) -> int:
    """Return ``major:minor`` as the number that events hold.

    >>> _kernel_number("8:1")
    8388609
    """
    major, minor = map(int, number.split(":"))
    return major << 20 | minor


def _own_threads() -> set[int]:
    return {int(path.name) for path in Path("/proc/self/task").iterdir()}
