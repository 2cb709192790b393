"""Adds reviews to a collection: only those, and only the versions, that it lacks.

Reviews are read in processes of their own, as an index reads them: a damaged one is named, and the others are added.
Each part is added as soon as it is full, so what ends in the middle loses no more than a part's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.index.collection import layout
from iogauge.index.collection.identity import Identity, identify
from iogauge.index.collection.sources import Reviews, reviews_in
from iogauge.index.collection.stored import Collection, Part
from iogauge.index.pool import FEW, results_of
from iogauge.index.read import Problem, Source, ended_early, read_figures, read_manifest

PART = 512
"""The most reviews of a part."""

OnProgress = Callable[[str, int, int], None]
"""Is called with what is done, how many reviews are done, and how many there are."""


class Skipped(NamedTuple):
    """A review that was not collected."""

    source: str
    why: str
    hint: str


@dataclass
class Counts:
    """What collecting did."""

    added: int = 0
    """Reviews, or versions of them, that the collection lacked."""
    known: int = 0
    """Reviews that it had."""
    copied: int = 0
    """Reviews whose directories were copied."""
    skipped: list[Skipped] = field(default_factory=list)


class _Reading(NamedTuple):
    """A review to read."""

    source: Source
    """Its id is that of the collection."""
    identity: Identity
    origin: str


def collect(
    sources: Sequence[str | PathLike[str]],
    collection: Collection,
    *,
    with_copies: bool = False,
    on_progress: OnProgress = lambda *_: None,
    few: int = FEW,
) -> Counts:
    """Add the reviews in and below ``sources`` to a collection.

    ``with_copies``: copy their directories, too. ``few``: up to so many reviews are read in this process. Raises
    IogaugeError if a source cannot be listed or downloaded, or the collection cannot be read or written.
    """
    counts = Counts()
    known = collection.versions()
    copied = collection.copies() if with_copies else set()
    for source in sources:
        for reviews in reviews_in(source, without=collection.directory):
            identified = list(_identified(reviews, counts, on_progress, few))
            new = [one for one in identified if one.identity.version not in known]
            new = list({one.identity.version: one for one in new}.values())
            counts.known += len(identified) - len(new)
            known |= {one.identity.version for one in new}
            lacking = [one for one in identified if with_copies and _folder(one) not in copied]
            if reviews.remote:
                reviews.remote.complete([one.source for one in {*new, *lacking}])
            _add(collection, new, counts, on_progress, few)
            for one in lacking:
                if _folder(one) not in copied:
                    _copy(collection, one, counts)
                    copied.add(_folder(one))
    return counts


def _identified(reviews: Reviews, counts: Counts, on_progress: OnProgress, few: int) -> Iterator[_Reading]:
    results = results_of(identify, reviews.sources, ended_early=ended_early, stop=Event(), few=few)
    for done, (source, result) in enumerate(results, 1):
        if isinstance(result, Problem):
            counts.skipped.append(Skipped(source.id, result.text, result.hint))
        else:
            yield _Reading(Source(result.review, source.path), result, source.id)
        on_progress("finding reviews", done, len(reviews.sources))


def _add(
    collection: Collection, new: Sequence[_Reading], counts: Counts, on_progress: OnProgress, few: int
) -> None:
    """Read reviews and add them, in parts of one month each."""
    order = sorted(new, key=lambda one: (layout.month_of(one.identity.created), one.origin))
    by_source = {one.source: one for one in order}
    results = results_of(_read, list(by_source), ended_early=ended_early, stop=Event(), few=few)
    month = ""
    rows: list[dict[str, Any]] = []
    tables: list[pa.Table] = []

    def save() -> None:
        if rows:
            reviews = pa.Table.from_pylist(rows, schema=layout.REVIEWS)
            collection.add(month, Part(reviews, pa.concat_tables(tables)))
            counts.added += len(rows)
            rows.clear()
            tables.clear()

    for done, (source, result) in enumerate(results, 1):
        one = by_source[source]
        if isinstance(result, Problem):
            counts.skipped.append(Skipped(one.origin, result.text, result.hint))
        else:
            if len(rows) == PART or month != layout.month_of(one.identity.created):
                save()
            month = layout.month_of(one.identity.created)
            row, table = result
            now = datetime.now(UTC).replace(tzinfo=None)
            rows.append(
                {**row, "version": one.identity.version, "source": one.origin[-500:], "collected": now}
            )
            versions = pa.array([one.identity.version] * len(table), pa.string())
            tables.append(table.add_column(0, layout.FIGURES.field(0), versions))
        on_progress("reading reviews", done, len(order))
    save()


def _read(source: Source) -> tuple[dict[str, Any], pa.Table] | Problem:
    """Return a review's row, with its main figure, and its figures."""
    row = read_manifest(source)
    if isinstance(row, Problem):
        return row
    figures = read_figures(source)
    if isinstance(figures, Problem):
        return figures
    return {**row, **(figures.headline or {})}, figures.table


def _copy(collection: Collection, one: _Reading, counts: Counts) -> None:
    identity = one.identity
    try:
        path = Path(one.source.path)
        counts.copied += collection.add_copy(path, review=identity.review, version=identity.version)
    except OSError as error:  # a file of the review is gone or cannot be read
        problem = IogaugeError(f"{one.origin}: cannot be copied: {error}", hint="collect it again")
        counts.skipped.append(Skipped(one.origin, str(problem), problem.hint or ""))


def _folder(one: _Reading) -> str:
    return layout.copy_of(one.identity.review, one.identity.version)
