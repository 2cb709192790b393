"""Traces the requests of one device while a run lasts: a thread that opens and closes windows.

The thread sleeps nearly all the time. It reads a window's events when the window is over, so nothing of this machine
but the kernel's own recording goes on while requests are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Event, Thread

from iogauge.machine.stat import parse_stat
from iogauge.machine.trace.device_events import BUFFER_KIB, DeviceEvents
from iogauge.machine.trace.events import Kind
from iogauge.machine.trace.matching import Requests, match
from iogauge.machine.trace.windows import FIRST, next_window
from iogauge.schema import LatencyTrace
from iogauge.target.users.sysfs import HOST, Host

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
        self._events = DeviceEvents(
            device, kinds=tuple(Kind), calls=calls, root=root, host=host, buffer_kib=buffer_kib
        )
        self._device, self._collect = self._events.device, collect
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
            lost = self._events.lost()
            self._events.close()
            self._result = LatencyTrace(
                device=self._device.name,
                requests=self._events.with_requests,
                windows=self._windows,
                traced_ns=self._traced_ns,
                elapsed_ns=elapsed_ns,
                lost_events=lost,
                stopped=self._stopped,
                **self._counts,
            )
        return self._result

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
            self._events.switch(on=True)
            begin_ns = time.monotonic_ns()
            self._ended.wait(sample_ns / _NS)
            last_ns = time.monotonic_ns()
            self._ended.wait(drain_ns / _NS)
            end_ns = time.monotonic_ns()
            lasted = not self._ended.is_set()
        finally:
            self._events.switch(on=False)
            self._closed_ns, self._at_closing = time.monotonic_ns(), self._completed()
        threads |= _own_threads()
        events = self._events.take()
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

    def _completed(self) -> int:
        """Return how many reads and writes the device has completed since the machine started."""
        counters = parse_stat(self._device.text("stat") or "")
        return counters[0] + counters[4]


def _rate(ios: int, elapsed_ns: int) -> float:
    return ios * _NS / max(elapsed_ns, 1)


def _own_threads() -> set[int]:
    return {int(path.name) for path in Path("/proc/self/task").iterdir()}
