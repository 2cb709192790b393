"""Makes an index agree with a collection: it reads the parts that were added since, once each.

The index is a file of this computer, which all views ask, so none of them reads the collection. It can be removed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError
from iogauge.index.change import TABLES, delete_rows, insert_rows, replace_rows, words_of
from iogauge.index.collection.layout import DamagedPartError
from iogauge.index.collection.stored import Collection, Part
from iogauge.index.database import Database
from iogauge.index.refresh import Changes, OnProgress, Progress
from iogauge.target.ledger import xdg_directory

if TYPE_CHECKING:
    import duckdb


MEMORY = "400MB"
"""What DuckDB allows itself: saving the figures of 100,000 reviews takes more than an index of fewer has."""


def refresh(database: Database, collection: Collection, *, on_progress: OnProgress, stop: Event) -> Changes:
    """Make the index agree with a collection, until ``stop`` is set.

    Raises IogaugeError if the collection cannot be listed, and duckdb.Error if the database is damaged.
    """
    names = collection.parts()
    with database.cursor() as cursor:
        known = {name for (name,) in cursor.execute("SELECT name FROM parts").fetchall()}
    removed = 0
    if known - set(names):  # what a removed part had hidden is only in the other parts
        with database.cursor() as cursor:
            ((removed,),) = cursor.execute("SELECT count(*) FROM listed").fetchall()
        database.rebuild()
        known = set()
    due = [name for name in reversed(names) if name not in known]
    added = changed = done = 0
    if due:
        on_progress(Progress("parts", 0, len(due)))
    for name, part in collection.read_parts(due):
        if stop.is_set():
            break
        with database.changing() as cursor:
            more = _add(cursor, name, part)
        added, changed, done = added + more[0], changed + more[1], done + 1
        on_progress(Progress("parts", done, len(due)))
    if due:
        database.checkpoint()
    return Changes(added, changed, removed, interrupted=stop.is_set())


def _add(cursor: duckdb.DuckDBPyConnection, name: str, part: Part | IogaugeError) -> tuple[int, int]:
    """Add a part; return how many reviews are new, and how many have a newer version."""
    if isinstance(part, IogaugeError):
        # A damaged part stays so; one that only could not be read now is read again by the next refresh.
        if isinstance(part, DamagedPartError):
            cursor.execute("INSERT INTO parts VALUES (?)", [name])
        row = {"review": name, "problem": str(part), "hint": part.hint}
        replace_rows(cursor, "listed", [{**row, "measured": "", "noted": "", "words": words_of(row)}])
        return 0, 0
    cursor.execute("INSERT INTO parts VALUES (?)", [name])
    delete_rows(cursor, "listed", [name])  # the problem of an earlier refresh
    before = _ranks(cursor, [str(review) for review in part.reviews["review"].to_pylist()])
    rows = _newest(map(_listed, part.reviews.to_pylist()), before)
    replaced = [review for review in rows if review in before]
    for table in TABLES:
        delete_rows(cursor, table, replaced)
    import pyarrow as pa
    import pyarrow.compute as pc

    replace_rows(cursor, "listed", list(rows.values()))
    replace_rows(cursor, "headlines", list(rows.values()))
    versions = pa.array([row["measured"] for row in rows.values()], pa.string())
    figures = part.figures.filter(pc.is_in(part.figures["version"], value_set=versions))
    insert_rows(cursor, "figures", figures.drop_columns(["version"]))
    return len(rows) - len(replaced), len(replaced)


def _listed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a part as one of the tables ``listed`` and ``headlines``."""
    known = {name: value for name, value in row.items() if value is not None}
    version = known["version"]
    return {
        **known,
        "measured": version,
        "noted": f"{known['collected']:%Y-%m-%dT%H:%M:%S.%f}",
        "read_as": version,
        "running": False,
        "words": words_of(known),
    }


def _newest(rows: Iterable[dict[str, Any]], before: dict[str, tuple[int, str]]) -> dict[str, dict[str, Any]]:
    """Return the rows that are newer than what the index has of the same reviews, one of each."""
    newest: dict[str, dict[str, Any]] = {}
    ranks = dict(before)
    for row in rows:
        rank = (row["complete"], row["noted"])
        if rank > ranks.get(row["review"], (-1, "")):
            ranks[row["review"]] = rank
            newest[row["review"]] = row
    return newest


def _ranks(cursor: duckdb.DuckDBPyConnection, reviews: list[str]) -> dict[str, tuple[int, str]]:
    rows = cursor.execute(
        "SELECT review, complete, noted FROM listed WHERE review IN (SELECT unnest(?))", [reviews]
    ).fetchall()
    return {review: (complete or 0, noted) for review, complete, noted in rows}


def own_index(collection: Collection) -> Database:
    """Open the index of a collection in this user's cache; a temporary one if there is no such place."""
    place = collection.directory.resolve() if collection.directory else collection.address
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:32]
    try:
        directory = xdg_directory("XDG_CACHE_HOME", ".cache") / "iogauge-collections" / name
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # it cannot be written, or the user has no home
        return Database(Path(tempfile.gettempdir()), private=True, memory=MEMORY)
    return Database(directory, memory=MEMORY)
