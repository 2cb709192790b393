"""Records the requests of a disk as a trace file, with the kernel's events, for as long as a context lasts.

A thread takes what the kernel recorded several times a second, puts the events of all CPUs in order, pairs arrivals
with completions and writes the requests. Events that the kernel's buffers lost are counted, and the trace is marked
lossy.

Source: the kernel's include/trace/events/block.h.
"""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import IO, Self

import numpy as np

from iogauge.errors import IogaugeError
from iogauge.machine.trace.device_events import BUFFER_KIB, DeviceEvents
from iogauge.machine.trace.events import Events, Kind
from iogauge.machine.trace.tracefs import refused
from iogauge.schema import Direction
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of
from iogauge.traces.file import Facts, TraceFile
from iogauge.traces.order import in_order
from iogauge.traces.parsing import Pairing
from iogauge.traces.rows import BEGIN, DIRECTIONS, END, ROW, UNKNOWN, Rows

SOURCE = "recorded"
_TAKE_S = 0.02
"""How long the kernel's buffers fill before they are emptied."""
_SECTOR_BYTES = 512
_KINDS = {Kind.QUEUE: BEGIN, Kind.COMPLETE: END}
_LETTERS = {"R": Direction.READ, "W": Direction.WRITE, "D": Direction.TRIM}


def disk_of(target: str, host: Host = HOST) -> BlockDevice:
    """Return the disk that a target names. Raises IogaugeError if it is no whole disk."""
    hint = "name a disk, such as /dev/nvme0n1"
    try:
        status = Path(target).stat()
    except (OSError, ValueError) as error:
        raise IogaugeError(f"{target}: {getattr(error, 'strerror', error)}", hint=hint) from None
    number = number_of(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None
    device = BlockDevice.by_number(number, host) if number else None
    if device is None:
        raise IogaugeError(f"{target}: is no block device", hint=hint)
    if device.disk.number != device.number:
        raise IogaugeError(
            f"{target}: is a partition, and the kernel's events are of disks",
            hint=f"record the disk: /dev/{device.disk.name}",
        )
    return device


def holds(disk: BlockDevice, path: Path) -> bool:
    """Return whether a new file of this path would lie on the disk, as far as the kernel says."""
    try:
        below = BlockDevice.by_number(number_of(path.resolve().parent.stat().st_dev), disk.host)
    except OSError:
        return False
    return below is not None and below.disk.number == disk.number


class Recording:
    """A recording, which lasts from the start of a context to its end; ``facts`` are known after it."""

    def __init__(self, disk: BlockDevice, sink: IO[bytes], *, buffer_kib: int = BUFFER_KIB) -> None:
        """Prepare a recording of a disk into a trace file. Raises IogaugeError if it cannot be traced here."""
        self._sink = sink
        self._name = disk.name
        self._events = DeviceEvents(disk.name, kinds=tuple(_KINDS), host=disk.host, buffer_kib=buffer_kib)
        self._ended = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="iogauge-record", daemon=True)
        self.facts: Facts | None = None
        """What the trace says of itself; None until the recording is over."""

    def __enter__(self) -> Self:
        try:
            self._events.switch(on=True)
        except OSError as error:
            self._events.close()
            raise refused(error) from None
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        """End the recording and complete the file. Raises IogaugeError if it could not be written."""
        self._ended.set()
        self._thread.join()
        self._events.close()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            # The events' clock is the monotonic one.
            offset_ns = time.time_ns() - time.monotonic_ns()
            pairing = Pairing()
            with TraceFile(self._sink) as file:
                for rows in pairing.rows(in_order(self._batches(), name=self._name)):
                    file.write(rows, [self._name])
                if (start_ns := file.start_ns) is None:
                    raise IogaugeError(
                        f"no request reached {self._name} while it was recorded", hint="record for longer"
                    )
                self.facts = file.close(
                    Facts(
                        source=SOURCE,
                        start_unix_ns=start_ns + offset_ns,
                        unmatched=pairing.unmatched,
                        lost=self._events.lost(),
                    )
                )
        except OSError as error:
            self._failure = refused(error)
        except BaseException as error:
            self._failure = error

    def _batches(self) -> Iterator[Rows]:
        while not self._ended.wait(_TAKE_S):
            yield rows_of_events(self._events.take())
        self._events.switch(on=False)
        yield rows_of_events(self._events.take())


def rows_of_events(events: Events) -> Rows:
    """Return arrivals and completions as rows. A write of nothing is a flush; what moves nothing else is left out."""
    rows = np.zeros(len(events.time_ns), dtype=ROW)
    kept = np.zeros(len(rows), dtype=bool)
    rows["time_ns"] = events.time_ns
    rows["offset_bytes"] = events.sector * _SECTOR_BYTES
    rows["size_bytes"] = events.sectors * _SECTOR_BYTES
    rows["latency_ns"] = UNKNOWN
    for letter, direction in _LETTERS.items():
        mine = events.direction == ord(letter)
        rows["direction"][mine] = DIRECTIONS.index(direction)
        kept |= mine & (events.sectors > 0)
    flush = (events.direction == ord("W")) & (events.sectors == 0)
    rows["direction"][flush] = DIRECTIONS.index(Direction.SYNC)
    rows["offset_bytes"][flush] = 0
    for kind, meaning in _KINDS.items():
        rows["kind"][events.kind == kind] = meaning
    requests: Rows = rows[kept | flush]
    return requests
