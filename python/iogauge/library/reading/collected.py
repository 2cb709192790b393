"""A collection of many reviews' figures, as a script or a notebook asks it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from iogauge.errors import IogaugeError, UsageError
from iogauge.index.collection.place import is_address, is_collection
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.results.tabular import Tabular
from iogauge.text.numbers import counted
from iogauge.text.option import call, either

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.index import Index

COMPARED = ("iops", "mean_ns", "p99_ns")
"""The figures that are compared by default."""
SHOWN = [
    "review",
    "suite",
    "series",
    "label",
    "direction",
    "metric",
    "value",
    "baseline",
    "ratio",
    "overlaps",
]
"""The columns of a comparison that its text has."""
NOTE = "These intervals come from single runs, and nothing was tested. Tests need the reviews themselves."


@public
def open_collection(collection: StrPath) -> ReviewCollection:
    """Open a collection that ``collect`` made; what was added to it since is read first.

    Args:
        collection: its directory, or its address in an object store.

    Raises IogaugeError if there is no collection, or it cannot be read.
    """
    from iogauge.index import Index

    if not is_collection(collection):
        makes = call("collect", "DIRECTORY", output=fspath(collection))
        raise IogaugeError(f"{fspath(collection)}: no collection is here", hint=f"{makes} makes one")
    index = Index.open(fspath(collection))
    try:
        index.refresh()
    except BaseException:
        index.close()
        raise
    return ReviewCollection(index)


class ReviewCollection(Tabular):
    """The figures of many reviews: found, asked in SQL and compared. A context manager; ``close`` ends it."""

    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def address(self) -> str:
        """Its directory, or its address in an object store."""
        return self._index.place

    def __len__(self) -> int:
        return self._index.reviews(limit=0).total

    @public
    def reviews(
        self,
        search: str = "",
        *,
        drive: str | None = None,
        host: str | None = None,
        suite: str | None = None,
        tag: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> list[str]:
        """Return the ids of the reviews with all words of ``search`` and each value that is named, the newest first.

        ``since`` and ``until`` bound when they began.
        """
        page = self._index.reviews(
            search, drive=drive, host=host, suite=suite, tag=tag, since=since, until=until, limit=limit
        )
        return [row.id for row in page.rows]

    @public
    def query(self, sql: str) -> pa.Table:
        """Run one statement of DuckDB's SQL over the tables ``reviews`` and ``figures``.

        Raises IogaugeError if the statement fails.
        """
        return self._index.query(sql)

    @public
    def compare(
        self, reviews: Sequence[str], *, baseline: str | None = None, figures: Sequence[str] = COMPARED
    ) -> FigureComparison:
        """Return the figures of 2 to 50 reviews, named by their ids, beside those of one, by default the first.

        Raises UsageError for another number or an unknown figure, and IogaugeError if one is not in the collection.
        """
        names = list(dict.fromkeys(reviews))
        self._require(names)
        base = baseline or next(iter(names), "")
        return FigureComparison(self._index.compare(names, base, figures), base)

    @public
    def path(self, review: str) -> Path | None:
        """Return the directory to which a review was copied; None: the collection has only its figures.

        Raises IogaugeError if it is not in the collection.
        """
        self._require([review])
        return self._index.path(review)

    def _require(self, names: Sequence[str]) -> None:
        rows = self._index.rows(names)
        for name in names:
            if name not in rows:
                raise IogaugeError(
                    f"{self.address}: has no review {name!r}",
                    hint="SELECT review FROM reviews lists their names",
                )

    def to_arrow(self) -> pa.Table:
        """Return a row for each review: what its manifest says, where it was collected from, and its main figure."""
        return self._index.query("SELECT * FROM reviews ORDER BY created, review")

    def close(self) -> None:
        """Close it."""
        self._index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ReviewCollection {self.address}>"


class FigureComparison(Tabular):
    """Figures of reviews beside those of a baseline, without tests. ``str()`` is a table."""

    def __init__(self, table: pa.Table, baseline: str) -> None:
        self._table = table
        self.baseline = baseline
        """The id of the review that the others are compared with."""

    @property
    def answer(self) -> str:
        """The figure that differs most, in a sentence."""
        rows = [row for row in self._table.to_pylist() if row["ratio"] and row["overlaps"] is False]
        if not rows:
            return f"No figure differs from those of {self.baseline}: all intervals overlap."
        row = max(rows, key=lambda row: max(row["ratio"], 1 / row["ratio"]))
        place = ", ".join(str(row[name]) for name in ("suite", "series", "label", "direction") if row[name])
        return (
            f"{counted(len(rows), 'figure')} of {len(self._table):,} differ from those of {self.baseline}; most: "
            f"{row['metric']} of {row['review']} is {row['ratio']:.3g}x ({place})."
        )

    def to_arrow(self) -> pa.Table:
        """Return a row for each review, position, direction and figure, with its interval and its ratio."""
        return self._table

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the same as data that JSON can hold."""
        rows: list[dict[str, Any]] = self._table.to_pylist()
        return rows

    def to_text(self) -> str:
        """Return the answer, a table of the other reviews, and what it rests on."""
        import pyarrow as pa

        from iogauge.report.tables_text import aligned_table

        others = [row for row in self.to_dict() if row["review"] != self.baseline]
        text, _ = aligned_table(pa.Table.from_pylist(others, schema=self._table.schema).select(SHOWN))
        return f"{self.answer}\n\n{text}\n{NOTE}\n"

    def __str__(self) -> str:
        return self.to_text()


class Member(NamedTuple):
    """A review that is named as ``COLLECTION/ID``."""

    collection: str
    review: str


def member(name: StrPath) -> Member | None:
    """Return the collection and the id of a review that is named by both; None: it is named otherwise."""
    collection, slash, review = fspath(name).rstrip("/").rpartition("/")
    if not slash or not review or fspath(name).startswith("published:"):
        return None
    return Member(collection, review) if is_address(name) or is_collection(collection or "/") else None


def located(names: Sequence[StrPath]) -> list[str]:
    """Return where reviews are: those of collections are where they were copied to.

    Raises IogaugeError if one was not copied: the collection has its figures only.
    """
    return [fspath(name) if member(name) is None else _located(name) for name in names]


def _located(name: StrPath) -> str:
    one = member(name)
    assert one is not None
    with open_collection(one.collection) as collection:
        path = collection.path(one.review)
    if path is None:
        raise IogaugeError(
            f"{fspath(name)}: the collection has the figures of this review, and this needs the review itself",
            hint=either(
                command="name its directory; reviews of one collection are compared by their figures",
                library=f"name its directory, or use {call('open_collection', one.collection)}.compare()",
            ),
        )
    return str(path)


def compare_figures(names: Sequence[StrPath], *, baseline: str | None = None) -> FigureComparison | None:
    """Compare reviews of one collection by their figures; ``baseline`` is one of the names.

    None: not all are of one collection, or all were copied into it, so that they are compared as reviews are.
    """
    members = [one for one in map(member, names) if one is not None]
    if len(members) < len(names) or len({one.collection for one in members}) != 1:
        return None
    base = member(baseline) if baseline else members[0]
    if base is None:
        raise UsageError(
            f"{baseline}: is no review of the collection",
            hint=f"use one of {', '.join(fspath(name) for name in names)}",
        )
    with open_collection(members[0].collection) as collection:
        ids = [one.review for one in members]
        if all(collection.path(review) for review in ids):
            return None
        return collection.compare(ids, baseline=base.review)
