"""Reads power beside a run: a thread for each source, and one that asks the drive when the measured part ends.

meter = PowerMeter(sources_of(None), span_ns=(5 * 10**9, 15 * 10**9), ask=lambda: ...)
meter.start()     # the workers begin
record = meter.finish()
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from iogauge.machine.power.drive_state import DriveState
from iogauge.machine.power.sources import Source
from iogauge.schema import PowerRecord, PowerTrace

PATIENCE_S = 5.0
"""How long the end of a run waits for readings that are under way."""


class PowerMeter:
    """The power of one run. ``span_ns`` is its measured part, from the start; ``ask`` asks the drive at its end."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        span_ns: tuple[int, int],
        ask: Callable[[], DriveState],
        clock_ns: Callable[[], int] = time.monotonic_ns,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._sources = sources
        self._span_ns = span_ns
        self._ask = ask
        self._clock_ns = clock_ns
        self._patience_s = patience_s
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._readings: list[list[tuple[int, float]]] = [[] for _ in sources]
        self._state = DriveState()
        self._began_ns = 0

    def start(self) -> None:
        """Begin to read. Does nothing the second time."""
        if self._threads:
            return
        self._began_ns = self._clock_ns()
        self._threads = [
            threading.Thread(target=source.read, args=(self._stop, self._emitter(index)), daemon=True)
            for index, source in enumerate(self._sources)
        ]
        self._threads.append(threading.Thread(target=self._ask_at_the_end, daemon=True))
        for thread in self._threads:
            thread.start()

    def finish(self) -> PowerRecord:
        """End all readings and return them. A source or a drive that does not answer is left behind and named."""
        self._stop.set()
        for source in self._sources:
            source.close()
        deadline_s = time.monotonic() + self._patience_s
        for thread in self._threads:
            thread.join(max(deadline_s - time.monotonic(), 0))
        problems = [source.problem for source in self._sources if source.problem]
        # The last thread asks the drive.
        stuck = [*(source.name for source in self._sources), "the drive"]
        problems += [
            f"{name} did not answer"
            for name, thread in zip(stuck, self._threads, strict=False)
            if thread.is_alive()
        ]
        if self._state.problem:
            problems.append(self._state.problem)
        traces = [
            PowerTrace(
                source=source.name,
                of=source.of,
                at_ns=tuple(at for at, _ in readings),
                power_W=tuple(watts for _, watts in readings),
            )
            for source, readings in zip(self._sources, self._readings, strict=True)
            if readings
        ]
        if self._state.power_W is not None:
            own = PowerTrace(
                source="the drive's SMART log",
                of="target",
                at_ns=(self._span_ns[1],),
                power_W=(self._state.power_W,),
            )
            traces.append(own)
        return PowerRecord(traces=tuple(traces), state=self._state.state, problems=tuple(problems))

    def _emitter(self, index: int) -> Callable[[float], None]:
        first_ns, last_ns = self._span_ns

        def emit(watts: float) -> None:
            at_ns = self._clock_ns() - self._began_ns
            if first_ns <= at_ns <= last_ns:
                self._readings[index].append((at_ns, watts))

        return emit

    def _ask_at_the_end(self) -> None:
        left_ns = self._span_ns[1] - (self._clock_ns() - self._began_ns)
        if not self._stop.wait(max(left_ns, 0) / 1e9):
            self._state = self._ask()
