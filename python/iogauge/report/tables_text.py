"""Arrow tables as text for a terminal, and as CSV and Parquet files."""

from __future__ import annotations

import io
import sys
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iogauge.store.outputs import Output
from iogauge.text import numbers
from iogauge.text.csv_cells import csv_of
from iogauge.text.grid import aligned

GAP = 2
"""Spaces between columns."""
LONGEST = 60
"""The most characters of a cell in a terminal; a longer text is cut, and ends with ``...``."""


def aligned_table(table: pa.Table, *, columns: int = sys.maxsize) -> tuple[str, tuple[str, ...]]:
    r"""Return a table in aligned columns under their names, ending with a newline, and the names of those left out.

    The last columns are left out, as many as are needed for ``columns`` characters; the first stays. Control characters
    are escaped.

    >>> text, left_out = aligned_table(pa.table({"at": [1.0, None], "iops": [123456.7, 2.0]}))
    >>> print(text, end="")
    at     iops
    1   123,457
    -         2
    >>> aligned_table(pa.table({"at": [1.0, None], "iops": [123456.7, 2.0]}), columns=9)
    ('at\n1\n-\n', ('iops',))
    """
    rows = [[_cell(value) for value in row.values()] for row in table.to_pylist()]
    cells = [[_cut(name) for name in table.column_names], *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    ends = accumulate(width + GAP for width in widths)
    kept = max(sum(end - GAP <= columns for end in ends), 1)
    lines = aligned([row[:kept] for row in cells], gap=GAP)
    return "".join(f"{line}\n" for line in lines), tuple(table.column_names[kept:])


def csv_text(table: pa.Table) -> str:
    """Return a table as CSV with a header line; an unknown value is an empty cell.

    >>> csv_text(pa.table({"at": [1.5, None], "drive": ["a, b", "c"]}))
    'at,drive\\n1.5,"a, b"\\n,c\\n'
    """
    return csv_of(table.column_names, (row.values() for row in table.to_pylist()))


def write_csv(table: pa.Table, output: Output) -> None:
    """Write a table as CSV. Raises IogaugeError if it cannot be written."""
    output.write(csv_text(table).encode())


def write_parquet(table: pa.Table, output: Output) -> None:
    """Write a table as Parquet. Raises IogaugeError if it cannot be written."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    output.write(buffer.getvalue())


def _text(value: Any) -> str:
    """Return a value as text: bytes in hexadecimal digits, booleans as in JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.hex() if isinstance(value, bytes) else str(value)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) < 1000 and value.is_integer() else numbers.figure(value)
    return _cut(_text(value))


def _cut(text: str) -> str:
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
