"""The list of reviews: searched, filtered, sorted and cut into pages; and what there is to filter by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.index.rows import Choice, Headline, Page, ReviewRow

if TYPE_CHECKING:
    import duckdb

ORDERS = {
    "created": "created",
    "id": "review",
    "drive": "drives",
    "host": "host",
    "suite": "suites",
    "pace": "pace",
    "complete": "complete",
    "value": "value",
}
"""By what the list can be sorted; ``-`` before a name reverses it."""
FILTERS = {
    "drive": "unnest(drives)",
    "host": "host",
    "suite": "unnest(suites)",
    "tag": "unnest(tags)",
}
"""Where the values of each filter are."""
_LONGEST_SEARCH = 1000
_COLUMNS = (
    "review, created, drives, targets, host, cpu, suites, pace, state, seed, repeats, planned, complete, running, "
    "modelled, tags, notes, metric, value, unit, low, high, headline, spark, figures_read, problem, hint, source"
)


def reviews(
    cursor: duckdb.DuckDBPyConnection,
    *,
    search: str,
    drive: str | None,
    host: str | None,
    suite: str | None,
    since: datetime | None,
    until: datetime | None,
    tag: str | None,
    order: str,
    offset: int,
    limit: int,
) -> Page:
    """Return at most ``limit`` reviews from ``offset`` on, and how many there are: see ``Index.reviews``."""
    conditions: list[str] = []
    values: list[Any] = []

    def require(condition: str, value: object) -> None:
        conditions.append(condition)
        values.append(value)

    for word in search[:_LONGEST_SEARCH].lower().split():
        require("contains(words, ?)", word)
    for name, value in (
        ("drives", drive),
        ("suites", suite),
        ("tags", tag and tag.lower().removeprefix("#")),
    ):
        if value is not None:
            require(f"list_contains(reviews.{name}, ?)", value)
    if host is not None:
        require("reviews.host = ?", host)
    if since is not None:
        require("reviews.created >= ?", _utc(since))
    if until is not None:
        require("reviews.created < ?", _utc(until))
    chosen = "FROM reviews JOIN (SELECT review, words FROM listed) USING (review)"
    if conditions:
        chosen += f" WHERE {' AND '.join(conditions)}"
    rows = cursor.execute(
        f"SELECT {_COLUMNS} {chosen} ORDER BY {_ordered(order)} LIMIT ? OFFSET ?",
        [*values, _bounded(limit), _bounded(offset)],
    ).fetchall()
    ((total,),) = cursor.execute(f"SELECT count(*) {chosen}", values).fetchall()
    return Page(tuple(map(_row, rows)), int(total))


def row(cursor: duckdb.DuckDBPyConnection, review: str) -> ReviewRow | None:
    """Return the row of one review; None: there is no such review."""
    rows = cursor.execute(f"SELECT {_COLUMNS} FROM reviews WHERE review = ?", [review]).fetchall()
    return _row(rows[0]) if rows else None


def rows_of(cursor: duckdb.DuckDBPyConnection, ids: Sequence[str]) -> dict[str, ReviewRow]:
    """Return the rows of the reviews that there are among ``ids``, by id, in their order."""
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM reviews WHERE review IN (SELECT unnest(?))", [list(ids)]
    ).fetchall()
    by_id = {row.id: row for row in map(_row, rows)}
    return {name: by_id[name] for name in ids if name in by_id}


def choices(cursor: duckdb.DuckDBPyConnection) -> Mapping[str, tuple[Choice, ...]]:
    """Return the values that each filter can have, the most frequent first."""
    return {
        name: tuple(
            Choice(str(value), int(number))
            for value, number in cursor.execute(
                f"SELECT value, count(*) AS number FROM (SELECT {values} AS value FROM reviews) "
                "WHERE value IS NOT NULL GROUP BY value ORDER BY number DESC, value"
            ).fetchall()
        )
        for name, values in FILTERS.items()
    }


def _ordered(order: str) -> str:
    name = order.removeprefix("-")
    if name not in ORDERS:
        raise UsageError(
            f"there is no order {order!r}", hint=f"use one of {', '.join(ORDERS)}; a - before it reverses it"
        )
    return f"{ORDERS[name]} {'DESC' if order.startswith('-') else 'ASC'} NULLS LAST, review"


def _bounded(number: int) -> int:
    return min(max(number, 0), 1_000_000)


def _utc(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _row(values: Sequence[Any]) -> ReviewRow:
    columns: dict[str, Any] = dict(zip(_COLUMNS.split(", "), values, strict=True))
    figure = {name: columns.pop(name) for name in ("metric", "value", "unit", "low", "high")}
    sentence, spark = columns.pop("headline"), columns.pop("spark")
    for name in ("drives", "targets", "suites", "tags"):
        columns[name] = tuple(columns[name] or ())
    for name in ("host", "cpu", "pace", "state", "notes", "problem", "hint", "source"):
        columns[name] = columns[name] or ""
    for name in ("repeats", "planned", "complete"):
        columns[name] = columns[name] or 0
    for name in ("running", "modelled", "figures_read"):
        columns[name] = bool(columns[name])
    created = columns.pop("created")
    return ReviewRow(
        id=columns.pop("review"),
        created=created and created.replace(tzinfo=UTC),
        headline=Headline(**figure, sentence=sentence, spark=tuple(spark)) if sentence is not None else None,
        **columns,
    )
