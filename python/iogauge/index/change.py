"""Changes the rows of reviews in an index, within a transaction of ``Database.changing``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

TABLES = ("listed", "headlines", "figures")
"""The tables with rows of reviews."""


def words_of(row: Mapping[str, Any]) -> str:
    """Return the text in which a search looks for words."""
    texts = [row["review"], *(row.get(name, "") for name in ("host", "notes", "problem", "source"))]
    for name in ("drives", "targets", "suites", "tags"):
        texts += row.get(name, ())
    return "\n".join(texts).lower()


def replace_rows(cursor: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    """Replace the rows of some reviews; columns that they lack are null."""
    import pyarrow as pa

    delete_rows(cursor, table, [row["review"] for row in rows])
    schema = cursor.table(table).limit(0).to_arrow_table().schema
    insert_rows(cursor, table, pa.Table.from_pylist(rows, schema=schema))


def delete_rows(cursor: duckdb.DuckDBPyConnection, table: str, reviews: Sequence[str]) -> None:
    """Delete the rows of some reviews."""
    if reviews:
        cursor.execute(f"DELETE FROM {table} WHERE review IN (SELECT unnest(?))", [list(reviews)])


def insert_rows(cursor: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Insert rows, whose columns are those of the table or some of them."""
    cursor.register("batch", rows)
    cursor.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batch")
    cursor.unregister("batch")
