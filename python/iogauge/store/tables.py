"""Intervals and totals as Parquet: one table row per direction, with histograms in columns of their own.

Why Parquet: any tool reads it, a query touches only the columns it needs, and a column holds the HdrHistogram V2
bytes as they are, so percentiles can be computed again, exactly, by newer code.

An interval becomes one row without a direction, which carries the loop gap and exists even where nothing was
issued, followed by one row per direction. ``totals`` has the same shape over the whole run, one group of rows per
reported row. Rows are streamed out in row groups: memory does not grow with the length of a run.

``review.py`` decides where files lie and when they are complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from iogauge.schema import (
    SCHEMA_VERSION,
    Direction,
    Exact,
    Interval,
    Kind,
    PriorityTally,
    RowResult,
    SteadyResult,
    Tally,
)
from iogauge.store.checksums import check_file, damaged
from iogauge.store.durable import create_file, explained, goes_on
from iogauge.store.versions import check_version

ROW_GROUP_ROWS = 4096
ROW_GROUP_BYTES = 4 << 20
"""Rows are handed to the file when either is reached. The bytes are those of histograms; each row takes some kilobytes
of memory besides. Few large groups are read faster than many small ones."""

_KINDS = tuple(kind for kind in Kind if kind is not Kind.LOOP_GAP)
_COUNTS = ("ios", "bytes", "short", "flagged", "late")
_VERSION_KEY = b"iogauge_schema_version"
_RARE: dict[str, TypeAdapter[tuple[Any, ...]]] = {
    "steady": TypeAdapter(tuple[SteadyResult | None, ...]),
    "priorities": TypeAdapter(tuple[tuple[PriorityTally, ...], ...]),
}
"""What few rows have, so that it is no column: the file's metadata has it for each row, as ``iogauge_steady``.

A row with priorities has one histogram for each of them and direction, some kilobytes each."""

_EXACT = pa.struct([pa.field(name, pa.int64(), nullable=False) for name in Exact.model_fields])
_TALLY_FIELDS: list[pa.Field[Any]] = [
    pa.field("direction", pa.string()),
    pa.field("start_ns", pa.int64(), nullable=False),
    pa.field("end_ns", pa.int64(), nullable=False),
    *(pa.field(name, pa.int64(), nullable=False) for name in _COUNTS),
    pa.field("errors", pa.map_(pa.int32(), pa.int64()), nullable=False),
    *(pa.field(kind.value, pa.binary()) for kind in Kind),
    *(pa.field(f"{kind.value}_exact", _EXACT) for kind in _KINDS),
]
_METADATA: dict[bytes | str, bytes | str] = {_VERSION_KEY: str(SCHEMA_VERSION).encode()}
_INTERVAL_FIELDS: list[pa.Field[Any]] = [
    pa.field("stage", pa.int32(), nullable=False),
    pa.field("row", pa.int32(), nullable=False),
    pa.field("index", pa.int64(), nullable=False),
    pa.field("ramp", pa.bool_(), nullable=False),
    *_TALLY_FIELDS,
]
_TOTAL_FIELDS: list[pa.Field[Any]] = [
    pa.field("stage", pa.int32(), nullable=False),
    pa.field("row", pa.int32(), nullable=False),
    pa.field("name", pa.string(), nullable=False),
    *_TALLY_FIELDS,
]
INTERVALS = pa.schema(_INTERVAL_FIELDS, metadata=_METADATA)
TOTALS = pa.schema(_TOTAL_FIELDS, metadata=_METADATA)


class IntervalFile:
    """Streams intervals into a Parquet file, which is unreadable until ``close``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[dict[str, Any]] = []
        self._waiting_bytes = 0
        with explained("write", path, then=goes_on()):
            self._sink: IO[bytes] = create_file(path)
            self._writer = _writer(self._sink, INTERVALS)

    def write(self, interval: Interval) -> None:
        """Add one interval, in the order in which they will be read back.

        Raises:
            IogaugeError: the file cannot be written.
        """
        rows = list(_interval_rows(interval))
        self._waiting += rows
        self._waiting_bytes += sum(len(row[kind] or b"") for row in rows for kind in Kind)
        if len(self._waiting) >= ROW_GROUP_ROWS or self._waiting_bytes >= ROW_GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        """Write what waits and the footer that makes the file readable."""
        self._flush()
        with explained("write", self._path, then=goes_on()):
            self._writer.close()
            self._sink.close()

    def abandon(self) -> None:
        """Let go of the file, whatever state it is in."""
        for end in (self._writer.close, self._sink.close):
            try:
                end()
            except (OSError, ValueError):
                continue  # the file is deleted next: an error of its last write adds nothing to the first one

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def _flush(self) -> None:
        if not self._waiting:
            return
        with explained("write", self._path, then=goes_on()):
            self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=INTERVALS))
        self._waiting = []
        self._waiting_bytes = 0


def read_intervals(path: Path) -> Iterator[Interval]:
    """Yield the intervals of a file in the order of writing, a few at a time.

    Raises:
        IogaugeError: the file is missing, damaged, or of a newer version.
    """
    open_rows: list[dict[str, Any]] = []
    for row in _rows(path, INTERVALS):
        if row["direction"] is None and open_rows:
            yield _interval(open_rows)
            open_rows = []
        open_rows.append(row)
    if open_rows:
        yield _interval(open_rows)


def write_totals(path: Path, rows: Iterable[RowResult]) -> None:
    """Write the totals of a run: per reported row its loop gap, then one row per direction."""
    rows = tuple(rows)
    rare: dict[bytes | str, bytes | str] = {
        _rare_key(name): adapter.dump_json(tuple(getattr(row, name) for row in rows))
        for name, adapter in _RARE.items()
    }
    schema = TOTALS.with_metadata({**_METADATA, **rare})
    table = pa.Table.from_pylist([record for row in rows for record in _total_rows(row)], schema=schema)
    with explained("write", path), create_file(path) as sink, _writer(sink, schema) as writer:
        writer.write_table(table)


def read_totals(path: Path) -> tuple[RowResult, ...]:
    """Return the rows that ``write_totals`` wrote.

    Raises:
        IogaugeError: the file is missing, damaged, or of a newer version.
    """
    groups: list[list[dict[str, Any]]] = []
    for row in _rows(path, TOTALS):
        if row["direction"] is None or not groups:
            groups.append([])
        groups[-1].append(row)
    return tuple(
        RowResult(
            **{name: group[0][name] for name in ("stage", "row", "name", "start_ns", "end_ns")},
            loop_gap=group[0][Kind.LOOP_GAP] or b"",
            tallies=_tallies(group[1:]),
            **rare,
        )
        for group, rare in zip(groups, _rare(path, len(groups)), strict=True)
    )


def _rare_key(name: str) -> bytes:
    return f"iogauge_{name}".encode()


def _rare(path: Path, rows: int) -> list[dict[str, Any]]:
    """Return what each row has besides its columns; older files lack some of it."""
    with explained("read", path):
        metadata = pq.read_schema(path).metadata or {}
    rare: list[dict[str, Any]] = [{} for _ in range(rows)]
    for name, adapter in _RARE.items():
        text = metadata.get(_rare_key(name))
        if text is None:
            continue
        try:
            values = adapter.validate_json(text)
        except ValidationError as error:
            raise damaged(path, str(error)) from error
        if len(values) != rows:
            raise damaged(path, f"its {name} are not those of all rows")
        for row, value in zip(rare, values, strict=True):
            row[name] = value
    return rare


def _writer(sink: IO[bytes], schema: pa.Schema) -> pq.ParquetWriter:
    # Statistics of binary columns would copy histograms into the footer, which is held in memory.
    counted = [
        name for name in schema.names if not pa.types.is_binary(schema.field(name).type) and name != "errors"
    ]
    return pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=["direction"],  # type: ignore[arg-type]  # the stubs know only a bool
        write_statistics=counted,
    )


def _interval_rows(interval: Interval) -> Iterator[dict[str, Any]]:
    place = interval.model_dump(include={"stage", "row", "index", "ramp", "start_ns", "end_ns"})
    yield {**place, **_tally_row(None, Tally()), Kind.LOOP_GAP.value: interval.loop_gap}
    for direction, tally in interval.tallies.items():
        yield {**place, **_tally_row(direction, tally)}


def _total_rows(row: RowResult) -> Iterator[dict[str, Any]]:
    place = row.model_dump(include={"stage", "row", "name", "start_ns", "end_ns"})
    yield {**place, **_tally_row(None, Tally()), Kind.LOOP_GAP.value: row.loop_gap}
    for direction, tally in row.tallies.items():
        yield {**place, **_tally_row(direction, tally)}


def _tally_row(direction: Direction | None, tally: Tally) -> dict[str, Any]:
    return {
        "direction": direction and direction.value,
        **{name: getattr(tally, name) for name in _COUNTS},
        "errors": list(tally.errors.items()),
        **{kind.value: tally.histograms.get(kind) for kind in Kind},
        **{
            f"{kind.value}_exact": exact.model_dump() if (exact := tally.exact.get(kind)) else None
            for kind in _KINDS
        },
    }


def _interval(rows: list[dict[str, Any]]) -> Interval:
    head = rows[0]
    return Interval(
        **{name: head[name] for name in ("stage", "row", "index", "ramp", "start_ns", "end_ns")},
        loop_gap=head[Kind.LOOP_GAP],
        tallies=_tallies(rows[1:]),
    )


def _tallies(rows: Iterable[Mapping[str, Any]]) -> dict[Direction, Tally]:
    return {
        Direction(row["direction"]): Tally(
            **{name: row[name] for name in _COUNTS},
            errors=dict(row["errors"]),
            histograms={kind: row[kind] for kind in _KINDS if row[kind] is not None},
            exact={kind: exact for kind in _KINDS if (exact := row[f"{kind.value}_exact"]) is not None},
        )
        for row in rows
    }


def _rows(path: Path, schema: pa.Schema) -> Iterator[dict[str, Any]]:
    """Yield table rows, after checking the file's checksum, its version and its columns."""
    check_file(path)
    try:
        with explained("read", path), pq.ParquetFile(path) as file:
            _check_columns(path, file.schema_arrow, schema)
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise damaged(path, str(error)) from error


def _check_columns(path: Path, actual: pa.Schema, wanted: pa.Schema) -> None:
    version = (actual.metadata or {}).get(_VERSION_KEY, b"")
    if not version.isdigit():
        raise damaged(path, "it does not say which version of the schema it follows")
    check_version(path, int(version))
    if not actual.equals(wanted):
        missing = sorted(set(wanted.names) - set(actual.names))
        raise damaged(
            path, f"columns missing: {', '.join(missing)}" if missing else "its columns are not ours"
        )
