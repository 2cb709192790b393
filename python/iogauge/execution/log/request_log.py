"""Writes the request log: a Parquet file with a row for every request and a column for every instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from iogauge.execution.log.spill import NO_INSTANT
from iogauge.store.outputs import Output

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
        pa.field("priority", pa.uint16(), nullable=False),
    ]
)
"""``result``: bytes moved, or the negative errno. ``issued_ns`` is null where unknown (sync engines, SQPOLL).
``priority``: the I/O priority as ioprio_set takes it; 0: none."""

_GROUP = 1 << 18
"""Requests in a row group, 19 MB before compression: the file's index of them is in memory until its end."""


def to_batch(records: NDArray[np.void]) -> pa.RecordBatch:
    """Turn requests into rows of ``SCHEMA``.

    >>> from iogauge.execution.log.spill import LOG_RECORD
    >>> to_batch(np.zeros(2, dtype=LOG_RECORD)).num_rows
    2
    """
    issued = np.ascontiguousarray(records["issued_ns"])
    special = {
        "direction": pa.DictionaryArray.from_arrays(
            records["direction"].astype(np.int8), pa.array(DIRECTIONS)
        ),
        "ramp": pa.array(records["ramp"].astype(bool)),
        "target": pa.array(records["target"].astype(np.uint32)),
        "issued_ns": pa.array(issued, mask=issued == NO_INSTANT),
    }
    columns = [
        special[name] if name in special else pa.array(np.ascontiguousarray(records[name]))
        for name in SCHEMA.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@contextmanager
def request_log(output: Output) -> Iterator[Callable[[NDArray[np.void]], None]]:
    """Write a Parquet file atomically; yield the function that adds requests to it. Raises IogaugeError."""
    waiting: list[pa.RecordBatch] = []

    with (
        output.atomic() as file,
        pq.ParquetWriter(file, SCHEMA, compression="zstd", compression_level=1) as writer,
    ):

        def write() -> None:
            if waiting:
                writer.write_table(pa.Table.from_batches(waiting), row_group_size=2 * _GROUP)
                waiting.clear()

        def add(records: NDArray[np.void]) -> None:
            waiting.append(to_batch(records))
            if sum(batch.num_rows for batch in waiting) >= _GROUP:
                write()

        yield add
        write()
