"""What a collection is made of: Parquet files in hive partitions, which any other program reads, too.

Layout::

    collection.json                          says that this is a collection, and in which version
    reviews/month=2026-11/NAME.parquet       a row for each review: what its manifest and notes say, its main figure
    figures/month=2026-11/NAME.parquet       a row for each step and direction of these reviews
    copies/REVIEW/VERSION/...                the reviews themselves, where they were asked for

``month`` is that in which reviews began. A part is a pair of files with up to a few hundred reviews: a file for each
review would make 100,000 of them, which no object store lists or reads quickly. The figures are written first; a part
counts once its reviews are there. NAME is the SHA-256 checksum of the file; a row of ``reviews`` has that of its
figures as ``part``. Nothing is ever changed: files are only added, so collectors need no lock.

The same review may be in several parts: it went on, or two collectors had it at once. Then the row with the most
complete steps counts and, among equal ones, the newest.
"""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iogauge.errors import IogaugeError
from iogauge.results.tables import FIGURES as FIGURE_COLUMNS
from iogauge.store.names import MANIFEST

VERSION = 1
"""Raised when what an older iogauge would read wrongly changes."""
REVIEWS_FOLDER = "reviews"
FIGURES_FOLDER = "figures"
COPIES_FOLDER = "copies"
MOST_PART_BYTES = 512 << 20
"""No part is larger than this in memory."""

_LISTS = {"drives": pa.string(), "targets": pa.string(), "suites": pa.string(), "tags": pa.string()}
_REVIEWS: list[pa.Field[Any]] = [
    *(pa.field(name, pa.string()) for name in ("review", "version", "source", "part")),
    pa.field("collected", pa.timestamp("us")),
    pa.field("created", pa.timestamp("us")),
    *(pa.field(name, pa.list_(kind)) for name, kind in _LISTS.items()),
    *(pa.field(name, pa.string()) for name in ("host", "cpu", "pace", "state", "notes")),
    pa.field("seed", pa.uint64()),
    *(pa.field(name, pa.int32()) for name in ("repeats", "planned", "complete")),
    pa.field("modelled", pa.bool_()),
    *(pa.field(name, pa.string()) for name in ("metric", "unit", "sentence")),
    *(pa.field(name, pa.float64()) for name in ("value", "low", "high")),
    pa.field("spark", pa.list_(pa.float64())),
]
REVIEWS = pa.schema(_REVIEWS)
"""Times are in UTC. ``source`` is where the review was, ``version`` the checksum of what it was (``identity``)."""
FIGURES = pa.schema([pa.field("version", pa.string()), *FIGURE_COLUMNS])
_MONTH = re.compile(r"month=(\d{4}-\d{2}|unknown)")
_NAME = re.compile(r"[0-9a-f]{64}\.parquet")


def month_of(created: datetime | None) -> str:
    """Return the partition of a review. No text of a review is in the name of a file.

    >>> month_of(datetime(2026, 11, 29)), month_of(None)
    ('month=2026-11', 'month=unknown')
    """
    return f"month={created:%Y-%m}" if created and created.year > 999 else "month=unknown"


def file_of(folder: str, month: str, name: str) -> str:
    """Return the file with the checksum ``name`` of a table."""
    return f"{folder}/{month}/{name}.parquet"


def is_part(file: str) -> bool:
    """Return whether a file is one of a part's, by its name.

    >>> is_part(file_of("reviews", "month=2026-11", 64 * "a")), is_part("reviews/readme.txt")
    (True, False)
    """
    parts = PurePosixPath(file).parts
    return len(parts) == 3 and bool(_MONTH.fullmatch(parts[1]) and _NAME.fullmatch(parts[2]))


def copy_of(review: str, version: str) -> str:
    """Return the folder of a copied review."""
    return f"{COPIES_FOLDER}/{review}/{version}"


def manifest_of_copy(review: str, version: str) -> str:
    """Return the file that a copy has once it is complete: it is written last."""
    return f"{copy_of(review, version)}/{MANIFEST}"


def encoded(table: pa.Table) -> tuple[str, bytes]:
    """Return a table as Parquet, after its checksum."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data = sink.getvalue().to_pybytes()
    return hashlib.sha256(data).hexdigest(), data


def decoded(file: str, data: bytes, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """Return the table in a file, or some of its columns. Raises IogaugeError if the file is damaged."""
    if hashlib.sha256(data).hexdigest() != PurePosixPath(file).stem:
        raise damaged(file, "it does not agree with the checksum in its name")
    names = columns or schema.names
    try:
        parquet = pq.ParquetFile(pa.BufferReader(data))
        groups = range(parquet.metadata.num_row_groups)
        if sum(parquet.metadata.row_group(group).total_byte_size for group in groups) > MOST_PART_BYTES:
            raise damaged(file, "it is too large for a part")
        table = parquet.read(columns=names)
        return table.select(names).cast(pa.schema([schema.field(name) for name in names]))
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        raise damaged(file, str(error)) from error


class DamagedPartError(IogaugeError):
    """No iogauge wrote a file so: reading it again does not help."""


def damaged(file: str, why: str) -> DamagedPartError:
    """Return the error of a file that no iogauge wrote so."""
    return DamagedPartError(
        f"{file}: damaged: {' '.join(why.split())}",
        hint="remove it, then collect its reviews again",
    )
