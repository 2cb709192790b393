"""Makes an index agree with the reviews: reads what changed, removes what is gone.

Manifests are read first, the newest first, so that a list of thousands of reviews is there within seconds; then the
figures. Every batch is saved as it is read, so an interrupted refresh goes on where it stopped. Figures that an earlier
version of iogauge computed stay until they are computed again, which comes last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal, TypeVar

from iogauge.index.change import TABLES, delete_rows, insert_rows, replace_rows, words_of
from iogauge.index.database import Database
from iogauge.index.pool import results_of
from iogauge.index.running import is_running, locked_files
from iogauge.index.scan import Place, scan

_BATCH = 256
"""The most reviews that are saved at once."""
_FIGURES_HERE = 0
"""Of how many reviews this process reads the figures itself: of none, since nobody knows what that takes."""
_BATCH_S = 2.0
"""So long after the last batch, the next is saved."""

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """How far a refresh is."""

    reading: Literal["manifests", "figures", "parts"]
    done: int
    """Reviews, or parts of a collection."""
    total: int


@dataclass(frozen=True)
class Changes:
    """What a refresh did."""

    added: int
    """Reviews."""
    changed: int
    removed: int
    interrupted: bool = False
    """Whether it was stopped before it had read everything."""


OnProgress = Callable[[Progress], None]


def refresh(
    database: Database,
    directory: Path,
    *,
    only: frozenset[str] | None,
    on_progress: OnProgress,
    stop: Event,
) -> Changes:
    """Make the index agree with the reviews in and below ``directory``, until ``stop`` is set.

    ``only``: the ids of the reviews that it lists; None: all.

    Raises IogaugeError if the directory cannot be listed, and duckdb.Error if the database is damaged.
    """
    places = scan(directory)
    if only is not None:
        places = {review: place for review, place in places.items() if review in only}
    with database.cursor() as cursor:
        rows = cursor.execute("SELECT review, measured, noted FROM listed").fetchall()
    known = {review: (measured, noted) for review, measured, noted in rows}
    removed = [review for review in known if review not in places]
    if removed:
        with database.changing() as cursor:
            for table in TABLES:
                delete_rows(cursor, table, removed)
    changed = [
        review for review, place in places.items() if known.get(review) != (place.measured, place.notes)
    ]
    _read_manifests(database, places, changed, on_progress, stop)
    _mark_running(database, places)  # figures can take long
    _read_figures(database, places, on_progress, stop)
    _mark_running(database, places)
    if changed or removed:
        database.checkpoint()
    added = sum(review not in known for review in changed)
    return Changes(added, len(changed) - added, len(removed), interrupted=stop.is_set())


def _read_manifests(
    database: Database,
    places: Mapping[str, Place],
    changed: Sequence[str],
    on_progress: OnProgress,
    stop: Event,
) -> None:
    if not changed:
        return
    from iogauge.index.read import Problem, Source, ended_early, read_manifest

    sources = [Source(review, places[review].path) for review in _newest_first(changed, places)]
    done = 0
    on_progress(Progress("manifests", done, len(sources)))
    for batch in _batches(results_of(read_manifest, sources, ended_early=ended_early, stop=stop)):
        rows = [
            {"review": source.id, "problem": result.text, "hint": result.hint}
            if isinstance(result, Problem)
            else result
            for source, result in batch
        ]
        for row in rows:
            place = places[row["review"]]
            row |= {"measured": place.measured, "noted": place.notes}
            row |= {"running": False, "words": words_of(row)}
        with database.changing() as cursor:
            replace_rows(cursor, "listed", rows)
            damaged = [row["review"] for row in rows if row.get("problem")]
            for table in TABLES[1:]:
                delete_rows(cursor, table, damaged)
        done += len(batch)
        on_progress(Progress("manifests", done, len(sources)))


def _read_figures(
    database: Database, places: Mapping[str, Place], on_progress: OnProgress, stop: Event
) -> None:
    due = _due(database, places)
    if not due or stop.is_set():
        return
    import pyarrow as pa

    from iogauge.index.read import Problem, Source, ended_early, read_figures

    sources = [Source(review, places[review].path) for review in due]
    done = 0
    on_progress(Progress("figures", done, len(sources)))
    read = results_of(read_figures, sources, ended_early=ended_early, stop=stop, few=_FIGURES_HERE)
    for batch in _batches(read):
        headlines, tables = [], []
        for source, result in batch:
            row = {"review": source.id, "read_as": due[source.id]}
            if isinstance(result, Problem):
                row |= {"problem": result.text, "hint": result.hint}
            else:
                row |= result.headline or {}
                tables.append(result.table)
            headlines.append(row)
        with database.changing() as cursor:
            replace_rows(cursor, "headlines", headlines)
            delete_rows(cursor, "figures", [source.id for source, _ in batch])
            if tables:
                insert_rows(cursor, "figures", pa.concat_tables(tables))
        done += len(batch)
        on_progress(Progress("figures", done, len(sources)))


def _due(database: Database, places: Mapping[str, Place]) -> dict[str, str]:
    """Return the reviews whose figures are to be read, in that order, each with what is then noted of it."""
    with database.cursor() as cursor:
        rows = cursor.execute(
            "SELECT review, measured, read_as FROM listed LEFT JOIN headlines USING (review) "
            "WHERE listed.problem IS NULL"
        ).fetchall()
    if not rows:
        return {}
    from iogauge.results.computed import code

    changed: list[str] = []
    older: list[str] = []
    read_now = {review: f"{measured} {code()}" for review, measured, _ in rows}
    for review, measured, read_as in rows:
        if review in places and read_as != read_now[review]:
            same_files = read_as is not None and read_as.startswith(f"{measured} ")
            (older if same_files else changed).append(review)
    order = [*_newest_first(changed, places), *_newest_first(older, places)]
    return {review: read_now[review] for review in order}


def _mark_running(database: Database, places: Mapping[str, Place]) -> None:
    """Note which reviews a process writes now, also of those with all steps complete: a search plans more."""
    with database.cursor() as cursor:
        rows = cursor.execute("SELECT review, running FROM listed WHERE problem IS NULL").fetchall()
    locked = locked_files()
    switched = [
        review
        for review, running in rows
        if review in places and is_running(places[review].path, locked) != running
    ]
    if switched:
        with database.changing() as cursor:
            cursor.execute(
                "UPDATE listed SET running = NOT running WHERE review IN (SELECT unnest(?))", [switched]
            )


def _newest_first(reviews: Iterable[str], places: Mapping[str, Place]) -> list[str]:
    return sorted(reviews, key=lambda review: places[review].written_ns, reverse=True)


def _batches(results: Iterable[T]) -> Iterator[list[T]]:
    """Yield results in batches: none is larger than ``_BATCH``, and the first result of none waits for long."""
    batch: list[T] = []
    saved = time.monotonic()
    for result in results:
        batch.append(result)
        if len(batch) >= _BATCH or time.monotonic() - saved > _BATCH_S:
            yield batch
            batch, saved = [], time.monotonic()
    if batch:
        yield batch
