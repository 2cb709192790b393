"""Samples what drives say of themselves: just before a run, each second during it, and just after it.

A thread for each drive reads it by a descriptor of its own. The run never waits for a drive: a thread that is stuck in
the kernel is left behind, and the samples say what is missing. A thread keeps off the CPUs of the workers if there are
others.

Intervals count from the start of their stage, which Python does not see. The start is the arrival of an interval less
the interval's end, and the earliest of these is the nearest: an interval arrives some milliseconds after its end.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable

from iogauge.machine.samples.drive_reader import DriveReader, open_reader
from iogauge.machine.samples.news import DriveNews, news_of
from iogauge.schema import SAMPLED, DriveReading, DriveSamples, RunPlan, TargetFacts
from iogauge.schema.samples import Value
from iogauge.target.facts import drive_below
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

PERIOD_S = 1.0
MOST_SAMPLES = 1 << 14
"""Of a run of over four and a half hours every other sample is dropped, and they come half as often; and so on."""
SENSORS = 8
"""An NVMe drive has at most as many."""
_NAMES = (*SAMPLED, *(f"sensor_{number}_C" for number in range(1, SENSORS + 1)))
PATIENCE_S = 2.0
"""How long a run waits for the reading before it, and for the one after it."""

Wait = Callable[[threading.Event, float], bool]
"""Waits for an event, at most so many seconds; returns whether it came."""


def readers_of(targets: Iterable[TargetFacts], host: Host = HOST) -> list[DriveReader]:
    """Return a reader for each drive below the targets that says anything of itself."""
    devices = (BlockDevice.by_name(target.device, host) for target in targets if target.device)
    drives = {drive.name: drive for drive in map(drive_below, filter(None, devices))}
    return [reader for drive in drives.values() if (reader := open_reader(drive, host))]


class Sampling:
    """The samples of one run: ``start`` it before the workers, ``finish`` it after them."""

    def __init__(
        self,
        readers: Iterable[DriveReader],
        *,
        plan: RunPlan,
        wait: Wait = threading.Event.wait,
        patience_s: float = PATIENCE_S,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        cpus = _free_cpus(plan)
        self._patience_s = patience_s
        self._now_ns = now_ns
        self._begun_ns = now_ns()
        self._starts_ns: dict[int, int] = {}
        self._threads = [_Thread(reader, cpus, wait, now_ns) for reader in readers]

    def start(self) -> None:
        """Take the readings before the run."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.in_time = thread.first.wait(self._patience_s)
        self._begun_ns = self._now_ns()

    def reached(self, stage: int, end_ns: int) -> None:
        """Note that an interval that ends so long after the start of its stage has just arrived."""
        start_ns = self._now_ns() - end_ns
        self._starts_ns[stage] = min(self._starts_ns.get(stage, start_ns), start_ns)

    def news(self) -> list[DriveNews]:
        """Return what the drives have said since the last call. No drive is asked for it."""
        return [news for thread in self._threads if (news := thread.news())]

    def finish(self) -> tuple[DriveSamples, ...]:
        """Take the readings after the run, and return the samples of every drive."""
        self.stop()
        for thread in self._threads:
            thread.join(self._patience_s)
        # Without any interval, the first stage counts as begun when the readings before it were taken.
        starts_ns = {0: self._begun_ns} | self._starts_ns
        return tuple(thread.samples(starts_ns) for thread in self._threads)

    def stop(self) -> None:
        """Let the threads end, without waiting for them."""
        for thread in self._threads:
            thread.stopped.set()


class _Thread(threading.Thread):
    """Samples one drive. It owns the reader and closes it at its end."""

    def __init__(
        self, reader: DriveReader, cpus: Collection[int], wait: Wait, now_ns: Callable[[], int]
    ) -> None:
        super().__init__(name=f"samples of {reader.device}", daemon=True)
        self.first, self.stopped = threading.Event(), threading.Event()
        self.in_time = True
        """Whether the first reading came before the run."""
        self._reader = reader
        self._cpus = cpus
        self._wait = wait
        self._now_ns = now_ns
        self._taken: list[tuple[int, int, tuple[Value, ...]]] = []
        """Monotonic time, how long it took, and the values; only complete ones."""
        self._before: DriveReading | None = None
        self._latest: DriveReading | None = None
        self._last_two: tuple[DriveReading, DriveReading] | None = None
        """The last reading, and the one before it. Another thread reads them, so they are replaced at once."""
        self._period_s = PERIOD_S

    def run(self) -> None:
        """Take a sample each second until stopped, and one more."""
        if self._cpus:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, self._cpus)  # of this thread alone
        try:
            self._reader.identify()
            self._sample()
            begun_ns = self._taken[0][0]
            self.first.set()
            due_s = 0.0
            while not self.stopped.is_set():
                # A reading that takes longer than the period leaves out those that it missed.
                passed_s = (self._now_ns() - begun_ns) / 1e9
                due_s += self._period_s
                if due_s < passed_s:
                    due_s = (int(passed_s / self._period_s) + 1) * self._period_s
                if self._wait(self.stopped, due_s - passed_s):
                    break
                self._sample()
            self._sample()
        finally:
            self.first.set()
            self._reader.close()

    def _sample(self) -> None:
        at_ns = self._now_ns()
        before, self._latest = self._latest, self._reader.read()
        self._last_two = before or self._latest, self._latest
        self._before = self._before or self._latest
        self._taken.append((at_ns, self._now_ns() - at_ns, _values(self._latest)))
        if len(self._taken) > MOST_SAMPLES:
            # A long run does not fill the memory: the counters of a drive lose nothing.
            self._taken = self._taken[::2]
            self._period_s *= 2

    def news(self) -> DriveNews | None:
        """Return what the last reading says; None if there is no new one."""
        last_two, self._last_two = self._last_two, None
        return last_two and news_of(self._reader.device, *last_two, limit_C=self._reader.limit_C)

    def samples(self, starts_ns: dict[int, int]) -> DriveSamples:
        """Return the samples on the run's clock. ``starts_ns`` has the start of every stage."""
        taken, reader, stuck = list(self._taken), self._reader, self.is_alive()
        unread = reader.unread
        if stuck:
            times = f"{len(taken)} sample{'' if len(taken) == 1 else 's'}"
            unread = f"the drive did not answer after {times}; what follows is unknown"
        stages = [_stage_at(at_ns, starts_ns) for at_ns, _, _ in taken]
        return DriveSamples(
            device=reader.device,
            warning_C=reader.warning_C,
            critical_C=reader.critical_C,
            before=self._before if self.in_time else None,
            after=self._latest if len(taken) > 1 and not stuck else None,
            stage=tuple(stages),
            at_ns=tuple(at_ns - starts_ns[stage] for stage, (at_ns, _, _) in zip(stages, taken, strict=True)),
            took_us=tuple(took_ns // 1000 for _, took_ns, _ in taken),
            columns=_columns(values for _, _, values in taken),
            unread=unread,
        )


def columns(readings: Iterable[DriveReading]) -> dict[str, tuple[Value, ...]]:
    """Return the columns of samples: a column of equal values holds one; of unknown values, it is left out.

    >>> columns([DriveReading(temperature_C=40, power_state=0), DriveReading(temperature_C=41, power_state=0)])
    {'temperature_C': (40.0, 41.0), 'power_state': (0,)}
    """
    return _columns(map(_values, readings))


def _values(reading: DriveReading) -> tuple[Value, ...]:
    """Return the values of one sample in the order of ``_NAMES``."""
    sensors = (*reading.sensors_C, *[None] * SENSORS)[:SENSORS]
    return (*(getattr(reading, name) for name in SAMPLED), *sensors)


def _columns(samples: Iterable[tuple[Value, ...]]) -> dict[str, tuple[Value, ...]]:
    return {
        name: values[:1] if len(set(values)) == 1 else values
        for name, values in zip(_NAMES, zip(*samples, strict=True), strict=False)
        if set(values) - {None}
    }


def _stage_at(at_ns: int, starts_ns: dict[int, int]) -> int:
    """Return the stage that runs at an instant; before the first, the first."""
    return max((stage for stage, start_ns in starts_ns.items() if start_ns <= at_ns), default=0)


def _free_cpus(plan: RunPlan) -> set[int]:
    """Return the allowed CPUs that no worker is pinned to; empty: there are none."""
    taken = {cpu for stage in plan.stages for worker in stage.workers for cpu in worker.cpus}
    return os.sched_getaffinity(0) - taken
