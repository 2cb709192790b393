"""Every request of a run to Parquet, written by a thread of its own while the run goes on.

Workers put requests into bounded queues and never wait; what does not fit because this thread fell behind is
counted by the worker as dropped. What was written is no longer held; row groups are large, since the file's index
of them is, until its end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iogauge.run.core import Handle

LOG_RECORD = np.dtype(
    [
        ("intended_ns", "<u8"),
        ("ready_ns", "<u8"),
        ("start_ns", "<u8"),
        ("issued_ns", "<u8"),
        ("done_ns", "<u8"),
        ("offset_bytes", "<u8"),
        ("length_bytes", "<u4"),
        ("result", "<i4"),
        ("worker", "<u4"),
        ("target", "<u4"),
        ("row", "<u4"),
        ("direction", "u1"),
        ("ramp", "u1"),
        ("stage", "<u2"),
    ]
)
"""A request as the core hands it over: ``LogRecord`` in crates/engine/src/exchange.rs. Times since the stage began."""

DIRECTIONS = ("read", "write", "trim", "sync")

SCHEMA = pa.schema(
    [
        pa.field("stage", pa.uint16(), nullable=False),
        pa.field("row", pa.uint32(), nullable=False),
        pa.field("worker", pa.uint32(), nullable=False),
        pa.field("direction", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("ramp", pa.bool_(), nullable=False),
        pa.field("target", pa.uint32(), nullable=False),
        pa.field("offset_bytes", pa.uint64(), nullable=False),
        pa.field("length_bytes", pa.uint32(), nullable=False),
        pa.field("intended_ns", pa.uint64(), nullable=False),
        pa.field("ready_ns", pa.uint64(), nullable=False),
        pa.field("start_ns", pa.uint64(), nullable=False),
        pa.field("issued_ns", pa.uint64()),
        pa.field("done_ns", pa.uint64(), nullable=False),
        pa.field("result", pa.int32(), nullable=False),
    ]
)
"""``result``: bytes moved, or the negative errno. ``issued_ns`` is null where unknown (sync engines, SQPOLL)."""

_BATCH = 1 << 17
_GROUP = 1 << 18
"""Requests in a row group, 19 MB before compression."""
_PAUSE_S = 0.005


def to_batch(data: bytes) -> pa.RecordBatch:
    """Turn the core's bytes into rows of ``SCHEMA``.

    >>> to_batch(bytes(2 * LOG_RECORD.itemsize)).num_rows
    2
    """
    records = np.frombuffer(data, dtype=LOG_RECORD)
    issued = records["issued_ns"]
    special = {
        "direction": pa.DictionaryArray.from_arrays(records["direction"].astype(np.int8), list(DIRECTIONS)),
        "ramp": pa.array(records["ramp"].astype(bool)),
        "issued_ns": pa.array(issued, mask=issued == np.iinfo(np.uint64).max),
    }
    columns = [
        special[name] if name in special else pa.array(np.ascontiguousarray(records[name]))
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


class RequestLog:
    """Every request of a run into the Parquet file ``path``.

    A file that cannot be written disturbs neither the run nor its results: ``failure`` says why, once it is over.
    """

    def __init__(self, path: Path) -> None:
        self.failure: str | None = None
        self._path = path
        self._over = threading.Event()

    @contextmanager
    def draining(self, handle: Handle) -> Iterator[None]:
        """Drain the handle's queues for as long as this is entered, and then until they are empty."""
        thread = threading.Thread(target=self._drain, args=(handle,), name="iogauge-log", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _drain(self, handle: Handle) -> None:
        try:
            with pq.ParquetWriter(self._path, SCHEMA, compression="zstd", compression_level=1) as writer:
                for data in self._groups(handle):
                    writer.write_batch(to_batch(data), row_group_size=_GROUP + _BATCH)
        except Exception as error:
            self.failure = f"{self._path}: the request log could not be written: {error}"
            for _ in self._groups(handle):
                pass  # a run in virtual time waits for its reader

    def _groups(self, handle: Handle) -> Iterator[bytes]:
        """Yield the requests, a row group at a time, until the run is over and the queues are empty."""
        parts: list[bytes] = []
        waiting = 0
        while True:
            over = self._over.is_set()
            data = handle.requests(_BATCH)
            if data:
                parts.append(data)
                waiting += len(data) // LOG_RECORD.itemsize
            ended = over and not data
            if waiting >= _GROUP or (ended and waiting):
                yield b"".join(parts)
                parts, waiting = [], 0
            if ended:
                return
            if not data:
                self._over.wait(_PAUSE_S)
