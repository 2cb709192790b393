"""Trace files: Parquet with the columns of ``rows.COLUMNS``, and facts of the trace in the footer.

Any program that reads Parquet reads them. Rows are written and read in groups, in bounded memory.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from iogauge.errors import IogaugeError
from iogauge.schema.base import Model, NonNegative
from iogauge.store.durable import explained
from iogauge.text.option import call
from iogauge.traces.rows import COLUMNS, Rows, columns_of, rows_of

VERSION = 1
"""Raise it when a column or a fact changes its meaning."""
GROUP_ROWS = 1 << 18
_KEY = "iogauge_trace"


class Facts(Model):
    """What a trace file says of itself."""

    version: int = VERSION
    source: str
    """The format that it was imported from, or ``recorded``."""
    files: tuple[str, ...] = ()
    """The names of the files that it was imported from."""
    requests: NonNegative = 0
    resolution_ns: int = Field(default=1, ge=1)
    """The step of its clock: times are multiples of it."""
    start_unix_ns: int | None = None
    """When its first request arrived; None if the source does not say."""
    skipped: NonNegative = 0
    """Lines or records of the source that were left out."""
    unmatched: NonNegative = 0
    """Completions of requests whose arrival the source does not have."""
    lost: NonNegative = 0
    """Events that are known to be missing. A trace that lost some is lossy: it has too few requests."""


class TraceFile:
    """Writes a trace file; a context manager. The file is readable once ``close`` was called."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._writer = pq.ParquetWriter(
            sink,
            COLUMNS,
            compression="zstd",
            compression_level=1,
            use_dictionary=["device", "direction", "size_bytes"],  # type: ignore[arg-type]  # the stubs know only a bool
            column_encoding={"time_ns": "DELTA_BINARY_PACKED"},
        )
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0
        self.requests = 0
        """How many rows were written."""
        self.start_ns: int | None = None
        """The time of the first of them, from which the file counts."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if self._writer.is_open:
            # What it still writes goes to a file that the error removes.
            with contextlib.suppress(OSError, pa.ArrowException, IogaugeError):
                self._writer.close()

    def write(self, rows: Rows, devices: Sequence[str]) -> None:
        """Add rows, which are in the order of their times; ``devices`` are the names of their devices by number."""
        if not len(rows):
            return
        if self.start_ns is None:
            self.start_ns = int(rows["time_ns"][0])
        self.requests += len(rows)
        self._waiting.append(columns_of(rows, devices, start_ns=self.start_ns))
        self._waiting_rows += len(rows)
        if self._waiting_rows >= GROUP_ROWS:
            self._flush()

    def close(self, facts: Facts) -> Facts:
        """Write what waits, the facts, and the footer that makes the file readable.

        Return the facts with the number of requests.
        """
        self._flush()
        facts = facts.model_copy(update={"requests": self.requests})
        self._writer.add_key_value_metadata({_KEY: facts.model_dump_json()})
        self._writer.close()
        return facts

    def _flush(self) -> None:
        if self._waiting:
            # Pieces may know different devices; a column of a group has one list of them.
            self._writer.write_table(pa.Table.from_batches(self._waiting, COLUMNS).unify_dictionaries())
        self._waiting, self._waiting_rows = [], 0


class Trace:
    """A trace file that is read; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open a trace file. Raises IogaugeError if it cannot be read, or is none."""
        self.path = path
        self.devices: dict[str, int] = {}
        """The numbers of the devices in the rows that were read so far."""
        with explained("read", path):
            self._sink = path.open("rb")
        try:
            self._file = pq.ParquetFile(self._sink, read_dictionary=["device", "direction"])
            self.facts = _facts(self._file)
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            self._sink.close()
            raise _no_trace(path) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        self._sink.close()

    @property
    def span_ns(self) -> int:
        """From the first request to the last."""
        groups = self._file.metadata.num_row_groups
        last: Any = self._file.metadata.row_group(groups - 1).column(0).statistics if groups else None
        return int(last.max) if last is not None and last.has_min_max else 0

    def batches(self) -> Iterator[Rows]:
        """Yield the rows, group by group."""
        try:
            for batch in self._file.iter_batches(batch_size=GROUP_ROWS, columns=COLUMNS.names):
                yield rows_of(batch, self.devices)
        except (pa.ArrowException, OSError) as error:
            raise IogaugeError(
                f"{self.path}: the trace is damaged: {error}", hint="import or record it again"
            ) from None


def _facts(file: pq.ParquetFile) -> Facts:
    stored = (file.metadata.metadata or {}).get(_KEY.encode())
    if stored is None or file.schema_arrow.names != COLUMNS.names:
        raise ValueError("no facts of a trace")
    if json.loads(stored).get("version") != VERSION:
        raise ValueError("another version")
    return Facts.model_validate_json(stored)


def _no_trace(path: Path) -> IogaugeError:
    return IogaugeError(
        f"{path}: is not a trace of this version of iogauge",
        hint=f"make one of what another program recorded: {call('import_trace', 'FILE', output='TRACE')}",
    )
