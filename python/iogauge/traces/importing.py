"""Makes a trace file of what other programs recorded.

Each stage has a thread: one reads and parses the files, one makes requests of their events where a format has these,
and one writes. Files are compressed or not; several are one trace, whose requests are put in the order of their times:
volumes of a server, or the files of blktrace, one for each CPU.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Generic, Literal, TypeVar

import numpy as np
import pyarrow as pa

from iogauge.errors import IogaugeError, UsageError
from iogauge.store.durable import explained
from iogauge.text.option import option
from iogauge.traces.file import Facts, TraceFile
from iogauge.traces.formats import TraceFormat, names, recognised
from iogauge.traces.order import in_order, merged
from iogauge.traces.parsing import FileParser, Pairing
from iogauge.traces.rows import Rows

PIECE_BYTES = 1 << 22
_HEAD_BYTES = 1 << 12
_AHEAD = 4
"""How many pieces a thread may be ahead of the next."""
_COMPRESSIONS: dict[bytes, Literal["gzip", "bz2", "zstd", "lz4"]] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
"""By how a file begins."""

T = TypeVar("T")


def import_trace(
    files: Sequence[Path],
    sink: IO[bytes],
    *,
    format: TraceFormat | None = None,  # noqa: A002 (the option's name)
    skip_bad: bool = False,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> Facts:
    """Write the requests of files to ``sink`` as a trace file. Return its facts.

    ``on_progress`` gets the bytes of the files that were read so far, and all that they have.

    Raises IogaugeError if a file cannot be read.
    """
    formats = [format or recognised_format(path) for path in files]
    first = formats[0]
    for path, other in zip(files, formats, strict=True):
        if other != first:
            raise UsageError(
                f"{path} has the format {other.name}, and {files[0]} {first.name}",
                hint="import files of one format at a time",
            )
    sources = [SourceFile(path, first, skip_bad=skip_bad) for path in files]
    total_bytes = sum(path.stat().st_size for path in files)
    numbers = Numbers()
    requests = merged([in_order(source.rows(numbers), name=str(source.path)) for source in sources])
    pairing = Pairing()
    with TraceFile(sink) as file:
        with ExitStack() as threads:
            if first.events:
                requests = pairing.rows(threads.enter_context(_ahead(requests)))
            for batch in threads.enter_context(_ahead(requests)):
                file.write(batch, numbers.names)
                on_progress(sum(source.read_bytes for source in sources), total_bytes)
        if file.start_ns is None:
            raise IogaugeError(
                f"{files[0]}: has no requests", hint=f"name the right format: {option('format', first.name)}"
            )
        return file.close(
            Facts(
                source=first.name,
                files=tuple(path.name for path in files),
                resolution_ns=first.resolution_ns,
                start_unix_ns=file.start_ns if first.absolute else None,
                skipped=sum(source.skipped for source in sources),
                unmatched=pairing.unmatched,
            )
        )


@dataclass
class Numbers:
    """The devices of all files, numbered in the order in which they appear."""

    names: list[str] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)

    def of(self, devices: Sequence[str], name: str) -> list[int]:
        """Return the numbers of devices; one without a name is called ``name``."""
        for device in (device or name for device in devices):
            if device not in self.known:
                self.known[device] = len(self.names)
                self.names.append(device)
        return [self.known[device or name] for device in devices]


class SourceFile:
    """One file that is imported."""

    def __init__(self, path: Path, format: TraceFormat, *, skip_bad: bool) -> None:  # noqa: A002
        self.path = path
        self.read_bytes = 0
        """How much of the file was read; of a compressed one, as it is compressed."""
        self._parser = FileParser(str(path), format.parser, skip_bad=skip_bad)

    @property
    def skipped(self) -> int:
        """How many lines or records were left out."""
        return self._parser.skipped

    def rows(self, numbers: Numbers) -> Iterator[Rows]:
        """Yield the rows of the file, with the numbers that devices have among those of all files."""
        name = self.path.name.partition(".")[0] or self.path.name
        own: list[int] = []
        for rows in self._parser.rows(self._pieces()):
            if not len(rows):
                continue
            devices = self._parser.devices
            if len(devices) > len(own):
                own = numbers.of(devices, name)
            if own != list(range(len(own))):
                renumbered = rows.copy()
                renumbered["device"] = np.array(own, dtype=np.uint32)[rows["device"]]
                yield renumbered
            else:
                yield rows

    def _pieces(self) -> Iterator[bytes]:
        with _opened(self.path) as (content, file):
            while piece := content.read(PIECE_BYTES):
                self.read_bytes = file.tell()
                yield piece


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.NativeFile, IO[bytes]]]:
    """Yield the content of a file, decompressed, and the file."""
    with explained("read", path), path.open("rb") as file:
        head = file.read(8)
        compression = next((name for magic, name in _COMPRESSIONS.items() if head.startswith(magic)), None)
        file.seek(0)
        source = pa.PythonFile(file, mode="r")
        if compression is None:
            yield source, file
        else:
            with pa.CompressedInputStream(source, compression) as stream:
                yield stream, file


def recognised_format(path: Path, *, hint: str = "") -> TraceFormat:
    """Return the format of a file. Raises IogaugeError, with this hint, if it is not recognised."""
    with _opened(path) as (content, _):
        head = bytes(content.read(_HEAD_BYTES))
    if head[257:262] == b"ustar":
        raise IogaugeError(f"{path}: is an archive of tar", hint="unpack it first: tar xf FILE")
    known = recognised(head)
    if known is None:
        raise IogaugeError(
            f"{path}: its format is not recognised",
            hint=hint
            or f"add {option('format')}: one of {', '.join(names())}, or the TOML file of its columns",
        )
    return known


class _Failure(Generic[T]):
    """The error with which the other thread ended."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


@contextmanager
def _ahead(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """Yield items that another thread takes from ``items``, at most ``_AHEAD`` before they are used."""
    ready: queue.Queue[T | _Failure[T] | None] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def produce() -> None:
        last: _Failure[T] | None = None
        try:
            for item in items:
                ready.put(item)
                if stopped.is_set():
                    return
        except BaseException as error:
            last = _Failure(error)
        ready.put(last)

    def taken() -> Iterator[T]:
        while (item := ready.get()) is not None:
            if isinstance(item, _Failure):
                raise item.error
            yield item

    thread = threading.Thread(target=produce, name="iogauge-import", daemon=True)
    thread.start()
    try:
        yield taken()
    finally:
        stopped.set()
        while thread.is_alive():
            try:
                ready.get(timeout=0.01)
            except queue.Empty:
                continue
