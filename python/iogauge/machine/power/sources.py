"""What watts can be read from: a command that prints them, RAPL's energy counters, and sensors of the machine.

RAPL and sensors measure the computer, not the drive; every reading says whose power it is. Source: the kernel's
Documentation/power/powercap/powercap.rst and Documentation/hwmon/sysfs-interface.rst.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Literal, Protocol

from iogauge.target.users.sysfs import HOST, Host, names_in, read_text

PERIOD_S = 1.0
"""Time between two readings. Every reading wakes a CPU."""

MOST_AT_ONCE = 16
"""Lines of a meter that arrive together and count one by one; of more, their mean is one reading."""

_LEAST_S = 0.01
"""Least time between two looks at a meter's lines: one that floods gives a hundred readings a second."""
_CHUNK_BYTES = 1 << 16
_LONGEST_LINE = 200
"""Bytes of a line that can be a number."""
_LONGEST = 50
"""Characters of a meter's command that its name has."""

Emit = Callable[[float], None]
"""Takes a power in watts, measured now."""


class Source(Protocol):
    """Something that power is read from."""

    name: str
    of: Literal["target", "host"]
    """Whose power it is; a meter is believed to be at the target."""
    problem: str
    """Why it gave nothing, or not all; empty: it gave all."""

    def read(self, stop: threading.Event, emit: Emit) -> None:
        """Emit power until ``stop`` is set."""
        ...

    def close(self) -> None:
        """End a reading that waits; ``stop`` is set."""
        ...


def sources_of(meter: str | None, host: Host = HOST) -> list[Source]:
    """Return what can be read: the meter first, then counters and sensors of the machine."""
    meters: list[Source] = [Command(meter)] if meter else []
    return [*meters, *_rapl(host), *_sensors(host)]


class Command:
    """A shell command that prints watts: a number on each line. If it ends, it is run again.

    It is not trusted: what it leaves running is ended with it, lines that never end are cut, and of a flood of numbers
    only means are kept.
    """

    of: Literal["target", "host"] = "target"

    def __init__(self, command: str, *, period_s: float = PERIOD_S) -> None:
        shown = command if len(command) <= _LONGEST else f"{command[:_LONGEST]}..."
        self.name = f"the meter ({shown})"
        self.problem = ""
        self._command = command
        self._period_s = period_s
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._wake: int | None = None
        """An eventfd that ends a wait for the next line; None: nothing waits."""
        self._lock = threading.Lock()

    def read(self, stop: threading.Event, emit: Emit) -> None:
        """Emit each number that the command prints; of more than ``MOST_AT_ONCE`` at a time, their mean."""
        with self._lock:
            if self._closed:
                return
            self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            while not stop.is_set() and (process := self._start()):
                assert process.stdout is not None
                with process.stdout as pipe:
                    for lines in self._chunks(pipe.fileno(), self._wake, stop):
                        self._take(lines, emit)
                    status = self._end(process)
                if status and not stop.is_set():
                    self.problem = f"the meter ended with status {status}"
                stop.wait(self._period_s)
        finally:
            with self._lock:
                os.close(self._wake)
                self._wake = None

    def close(self) -> None:
        """End the command and what it started."""
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._kill(self._process)
            if self._wake is not None:
                os.eventfd_write(self._wake, 1)

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closed:
                return None
            self._process = subprocess.Popen(
                self._command,
                shell=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
            return self._process

    def _chunks(self, pipe: int, wake: int, stop: threading.Event) -> Iterator[list[bytes]]:
        """Yield the lines that arrive together, until the pipe ends or ``close`` wakes this thread.

        A process that left the command's session may hold the pipe for ever, so its end alone is not waited for.
        """
        poll = select.poll()
        for descriptor in (pipe, wake):
            poll.register(descriptor, select.POLLIN)
        rest, read_s = b"", -math.inf
        while wake not in dict(poll.poll()):
            chunk = os.read(pipe, _CHUNK_BYTES)
            *lines, rest = (rest + chunk).replace(b"\r", b"\n").split(b"\n")
            if not chunk:
                yield [rest]
                return
            if len(rest) > _LONGEST_LINE:
                rest = rest[: _LONGEST_LINE + 1]
                lines.append(rest)
            yield lines
            since_s, read_s = time.monotonic() - read_s, time.monotonic()
            if since_s < _LEAST_S:
                stop.wait(_LEAST_S)

    def _take(self, lines: list[bytes], emit: Emit) -> None:
        """Emit the numbers of lines that arrived together; note a line that is none."""
        watts = []
        for line in filter(None, map(bytes.strip, lines)):
            text = line.decode(errors="replace")
            number = parse_watts(text) if len(line) <= _LONGEST_LINE else None
            if number is not None:
                watts.append(number)
            else:
                self.problem = f"the meter printed {text[:40]!r}, which is no number of watts"
        for number in watts if len(watts) <= MOST_AT_ONCE else [fmean(watts)]:
            emit(number)

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Wait until the shell ends, end what it left running, and return its status."""
        # Not reaped before the kill: until then, nothing else can have the number of its group.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._lock:
            self._kill(process)
            return process.wait()

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        """End the group of a command whose shell is not reaped yet."""
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def parse_watts(line: str) -> float | None:
    """Return the power in a line: a number, perhaps with a W after it; None for anything else.

    >>> parse_watts("3.25\\n"), parse_watts(" 1e-2 W"), parse_watts("-1"), parse_watts("power: 3"), parse_watts("nan")
    (3.25, 0.01, None, None, None)
    """
    match = re.fullmatch(r"\s*(\d*\.?\d+(?:[eE][-+]?\d{1,3})?|\d+\.)\s*W?\s*", line)
    watts = float(match[1]) if match else math.inf
    return watts if math.isfinite(watts) else None


class Energy:
    """A counter of energy in microjoules: power is its growth over time."""

    of: Literal["target", "host"] = "host"

    def __init__(self, zone: Path, name: str, *, period_s: float = PERIOD_S) -> None:
        self.name = name
        self.problem = ""
        self._zone = zone
        self._period_s = period_s

    def read(self, stop: threading.Event, emit: Emit) -> None:
        """Emit the mean power of each period."""
        before, began_s = self._energy_uJ(), time.monotonic()
        while not stop.wait(self._period_s):
            after, now_s = self._energy_uJ(), time.monotonic()
            if before is not None and after is not None and now_s > began_s:
                emit(self._growth_uJ(before, after) / 1e6 / (now_s - began_s))
            before, began_s = after, now_s

    def close(self) -> None:
        """Do nothing: no reading waits."""

    def _energy_uJ(self) -> int | None:
        text = read_text(self._zone / "energy_uj")
        if text is None or not text.isdecimal():
            self.problem = f"{self.name} cannot be read: run as root"
            return None
        return int(text)

    def _growth_uJ(self, before: int, after: int) -> int:
        """Return the growth; the counter begins again at 0 after its range."""
        if after >= before:
            return after - before
        text = read_text(self._zone / "max_energy_range_uj")
        return after - before + (int(text) if text and text.isdecimal() else 0)


class Sensor:
    """A sensor of power in microwatts."""

    of: Literal["target", "host"] = "host"

    def __init__(self, path: Path, name: str, *, period_s: float = PERIOD_S) -> None:
        self.name = name
        self.problem = ""
        self._path = path
        self._period_s = period_s

    def read(self, stop: threading.Event, emit: Emit) -> None:
        """Emit what the sensor shows."""
        while not stop.wait(self._period_s):
            text = read_text(self._path)
            if text and text.isdecimal():
                emit(int(text) / 1e6)
            else:
                self.problem = f"{self.name} cannot be read"

    def close(self) -> None:
        """Do nothing: no reading waits."""


def _rapl(host: Host) -> list[Source]:
    """Return RAPL's packages and their memory; the parts of a package are in it."""
    folder = host.sys / "class" / "powercap"
    zones = [
        (folder / name, read_text(folder / name / "name") or "")
        for name in names_in(folder)
        if name.startswith("intel-rapl:")
    ]
    return [
        Energy(zone, f"RAPL {name}{f' {zone.name}' if name == 'dram' else ''}")
        for zone, name in zones
        if name == "dram" or name.startswith("package")
    ]


def _sensors(host: Host) -> list[Source]:
    """Return the sensors of power that the machine has."""
    folder = host.sys / "class" / "hwmon"
    return [
        Sensor(path, f"hwmon {read_text(folder / name / 'name') or name} {path.name.removesuffix('_input')}")
        for name in names_in(folder)
        for path in sorted((folder / name).glob("power[0-9]*_input"))
    ]
