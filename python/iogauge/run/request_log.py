"""Every request of a run to Parquet, written by a thread of its own while the run goes on.

Workers put requests into bounded queues and never wait; what does not fit because this thread fell behind is
counted by the worker as dropped. One row group a batch, so memory does not grow with the run.
"""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iogauge import _core
from iogauge.errors import IogaugeError

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
"""A request as the core hands it over: ``LogRecord`` in crates/engine/src/exchange.rs. Times since the stage's start."""

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
"""``result``: bytes moved, or the negative errno. ``issued_ns`` is null where it is not known (sync engines, SQPOLL)."""

_BATCH = 1 << 17
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
    """Context manager around a run: drains the handle's queues into ``path`` until they are empty.

    Leaving it raises IogaugeError where the file could not be written; the run itself is not disturbed by that.
    """

    def __init__(self, handle: _core.RunHandle, path: Path) -> None:
        self._handle = handle
        self._path = path
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._drain, name="iogauge-log", daemon=True)

    def __enter__(self) -> RequestLog:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._failure is not None and error is None:
            raise IogaugeError(
                f"{self._path}: the request log could not be written: {self._failure}",
                hint="free space, or log to another place; the run itself was not disturbed",
            )

    def _drain(self) -> None:
        try:
            with pq.ParquetWriter(self._path, SCHEMA, compression="zstd", compression_level=1) as writer:
                while True:
                    over = self._over.is_set()
                    data = self._handle.requests(_BATCH)
                    if data:
                        writer.write_batch(to_batch(data))
                    elif over:
                        return
                    else:
                        self._over.wait(_PAUSE_S)
        except Exception as error:
            self._failure = error
