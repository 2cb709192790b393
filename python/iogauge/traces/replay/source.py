"""Reads the requests of a trace that is replayed, whatever its format, in the order in which they are issued."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from iogauge.store.durable import explained
from iogauge.text.option import call
from iogauge.traces.file import Trace
from iogauge.traces.importing import Numbers, SourceFile, recognised_format
from iogauge.traces.order import in_order
from iogauge.traces.parsing import Pairing
from iogauge.traces.rows import Rows

_PARQUET = b"PAR1"
_WAITING_IOLOG = b"fio version 2"


class Source:
    """A trace that is read piece by piece."""

    def __init__(self, path: Path) -> None:
        """Find out what the file is. Raises IogaugeError if it cannot be read or is not a trace."""
        self.path = path
        self.devices: list[str] = []
        """The names of the devices in the rows so far, by number."""
        with explained("read", path), path.open("rb") as file:
            head = file.read(16)
        remedy = f"import it first, which can be told its format: {call('import_trace', path)}"
        self._format = None if head.startswith(_PARQUET) else recognised_format(path, hint=remedy)
        self.scales_time = not head.startswith(_WAITING_IOLOG)
        """Whether fio's replay_time_scale holds for it."""
        self.rounds_sizes = self._format is not None and self._format.name == "blktrace"
        """Whether fio's replay_align rounds sizes, too."""

    def batches(self) -> Iterator[Rows]:
        """Yield the requests. Raises IogaugeError where they cannot be read."""
        if self._format is None:
            with Trace(self.path) as trace:
                for rows in trace.batches():
                    self.devices = [*trace.devices]
                    yield rows
            return
        numbers = Numbers()
        self.devices = numbers.names
        requests = SourceFile(self.path, self._format, skip_bad=False).rows(numbers)
        if self._format.events:
            yield from Pairing().rows(in_order(requests, name=str(self.path)))
        elif self._format.name == "iolog":
            # As in fio: lines in the order of the file, whatever their times.
            yield from requests
        else:
            yield from in_order(requests, name=str(self.path))
