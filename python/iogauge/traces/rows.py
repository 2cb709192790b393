"""Rows of a trace in memory: NumPy arrays of the layout of crates/trace's ``Row``, and as columns of a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from iogauge.schema import Direction

ROW = np.dtype(
    [
        ("time_ns", "<i8"),
        ("offset_bytes", "<i8"),
        ("size_bytes", "<i8"),
        ("latency_ns", "<i8"),
        ("device", "<u4"),
        ("direction", "u1"),
        ("kind", "u1"),
        ("padding", "<u2"),
    ]
)
"""A request: when it arrived, where it begins, how much it moves, and how long it took (``UNKNOWN``: not recorded)."""
UNKNOWN = -1
BEGIN, END, DATA_SYNC = 1, 2, 3
"""Kinds of rows: the two events of a request, which are no requests themselves; a sync of data alone (fdatasync)."""
DIRECTIONS = tuple(Direction)
"""By the number that stands for each in a row."""

Rows = NDArray[Any]
"""An array of ``ROW``."""

_NAMES: pa.DataType = pa.dictionary(pa.int32(), pa.string())
_FIELDS: list[pa.Field[Any]] = [
    pa.field("time_ns", pa.int64(), nullable=False),
    pa.field("device", _NAMES, nullable=False),
    pa.field("direction", _NAMES, nullable=False),
    pa.field("offset_bytes", pa.int64(), nullable=False),
    pa.field("size_bytes", pa.int64(), nullable=False),
    pa.field("latency_ns", pa.int64()),
]
COLUMNS = pa.schema(_FIELDS)
"""The columns of a trace file. ``time_ns`` counts from the first request, in whose order the rows are."""


def columns_of(rows: Rows, devices: Sequence[str], *, start_ns: int) -> pa.RecordBatch:
    """Return rows as columns, with times from ``start_ns``; ``devices`` are the names of the devices by number."""
    arrays: list[Any] = [
        _numbers(rows["time_ns"] - start_ns),
        _named(rows["device"], devices),
        _named(rows["direction"], DIRECTIONS),
        _numbers(rows["offset_bytes"]),
        _numbers(rows["size_bytes"]),
        _numbers(rows["latency_ns"], gaps=True),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def _numbers(values: NDArray[np.int64], *, gaps: bool = False) -> pa.Array[Any]:
    """Return a column; with ``gaps``, ``UNKNOWN`` is null in it.

    Arrow's own conversion imports pandas where that is installed, and takes ten times as long for gaps.
    """
    valid = pa.py_buffer(np.packbits(values != UNKNOWN, bitorder="little").data) if gaps else None
    return pa.Array.from_buffers(
        pa.int64(), len(values), [valid, pa.py_buffer(np.ascontiguousarray(values).data)]
    )


def _named(codes: NDArray[Any], names: Sequence[str]) -> pa.Array[Any]:
    """Return a column of names, each by its place in ``names``."""
    encoded = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    words = pa.StringArray.from_buffers(
        len(encoded), pa.py_buffer(ends.data), pa.py_buffer(b"".join(encoded))
    )
    places = pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes.astype(np.int32).data)])
    return pa.DictionaryArray.from_arrays(places, words)


def rows_of(batch: pa.RecordBatch, numbers: dict[str, int]) -> Rows:
    """Return columns as rows. ``numbers`` has the numbers of the devices so far, and gets those of new ones."""
    rows = np.zeros(batch.num_rows, dtype=ROW)
    for name in ("time_ns", "offset_bytes", "size_bytes"):
        rows[name] = batch.column(name).to_numpy(zero_copy_only=False)
    rows["latency_ns"] = batch.column("latency_ns").fill_null(UNKNOWN).to_numpy(zero_copy_only=False)
    for name, known in (("device", numbers), ("direction", dict(_DIRECTION_NUMBERS))):
        column: Any = batch.column(name)
        words = column.dictionary.to_pylist()
        codes = np.array([known.setdefault(word, len(known)) for word in words] or [0], dtype=np.uint32)
        rows[name] = codes[column.indices.to_numpy(zero_copy_only=False)]
    return rows


_DIRECTION_NUMBERS = {direction.value: number for number, direction in enumerate(DIRECTIONS)}
