"""``Index``: the reviews below a directory, or of a collection, to be listed, searched, compared and asked by SQL."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Several
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Event, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from iogauge.errors import IogaugeError
from iogauge.index import compare, explore, select, sql
from iogauge.index.collection.place import is_collection
from iogauge.index.database import Database, is_damage
from iogauge.index.refresh import Changes, OnProgress, refresh
from iogauge.index.rows import Choice, Page, ReviewRow

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from iogauge.index.collection.stored import Collection

COMPARED = ("iops", "rate_Bps", "mean_ns", "p50_ns", "p99_ns", "p99.9_ns")
"""The figures that are compared by default."""


class Index:
    """The index of the reviews below a directory, or of a collection's: a context manager for any number of threads.

    It answers from what it has: ``refresh`` makes it agree with the reviews, and its answers are there while it runs.
    """

    def __init__(
        self,
        directory: Path,
        database: Database,
        only: frozenset[str] | None = None,
        collection: Collection | None = None,
    ) -> None:
        self.directory = directory
        """Where the reviews are, or the index of a collection is."""
        self.collection = collection
        """What it reads instead of reviews; None: reviews."""
        self._database = database
        self._only = only
        self._refreshing = Lock()
        self._copying = Lock()
        self._asked: Counter[Path] = Counter()
        self._copies = tempfile.TemporaryDirectory(prefix="iogauge-sql-")
        self._damaged = False

    @classmethod
    def open(cls, directory: Path | str, *, say: Callable[[str], None] = lambda _: None) -> Self:
        """Open the index of a directory or a collection, or make an empty one. Nothing is read from the reviews yet.

        ``say`` is called if the index is private to this process: the directory cannot be written, or another process
        has its index open. Raises IogaugeError if there is no such directory or collection.
        """
        if is_collection(directory):
            from iogauge.index.collection.refresh import own_index
            from iogauge.index.collection.stored import Collection

            collection = Collection.open(directory)
            database = own_index(collection)
            return cls(database.path.parent, database, collection=collection)
        directory = _existing(directory)
        database = Database(directory)
        if database.is_private:
            say(
                f"{directory}: its index is in use or cannot be written: this one is kept only while it is open"
            )
        return cls(directory, database)

    @classmethod
    def of(cls, directory: Path | str, ids: Several[str]) -> Self:
        """Return an index of only these reviews below a directory, which ends with this process.

        Raises IogaugeError if there is no such directory.
        """
        directory = _existing(directory)
        return cls(directory, Database(directory, private=True), frozenset(ids))

    def refresh(self, *, on_progress: OnProgress = lambda _: None, stop: Event | None = None) -> Changes:
        """Make the index agree with the reviews, and return what changed.

        Manifests are read first, then figures, both the newest first; those that are not cached beside a review are
        computed, which can take seconds a review. ``on_progress`` is called as it goes on; setting ``stop`` ends it,
        and the next refresh continues. Only one refresh runs at a time.

        Raises IogaugeError if the directory cannot be listed or the index cannot be written.
        """
        import duckdb

        stop = stop or Event()
        with self._refreshing:
            try:
                try:
                    if not self._damaged:
                        return self._refresh(on_progress, stop)
                except duckdb.Error as error:
                    if not is_damage(error):
                        raise
                    # The file holds nothing that the reviews do not.
                self._database.rebuild()
                self._damaged = False
                return self._refresh(on_progress, stop)
            except duckdb.Error as error:
                raise IogaugeError(
                    f"{self._database.path}: the index cannot be written: {error}",
                    hint="free some memory and space; this file can be removed: it is made again",
                ) from error

    @property
    def place(self) -> str:
        """What it is the index of: a directory, or the address of a collection."""
        return self.collection.address if self.collection else str(self.directory)

    def _refresh(self, on_progress: OnProgress, stop: Event) -> Changes:
        if self.collection:
            from iogauge.index.collection import refresh as collected

            return collected.refresh(self._database, self.collection, on_progress=on_progress, stop=stop)
        return refresh(self._database, self.directory, only=self._only, on_progress=on_progress, stop=stop)

    def reviews(
        self,
        search: str = "",
        *,
        drive: str | None = None,
        host: str | None = None,
        suite: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        tag: str | None = None,
        order: str = "-created",
        offset: int = 0,
        limit: int = 100,
    ) -> Page:
        """Return a part of the list of reviews.

        Args:
            search: words that must all be in the path, drives, targets, host, suites, tags or notes, in any case.
            drive: one of the drives' models.
            host: the host's name.
            suite: one of the suites.
            since: the earliest time at which a review began; without a zone, it is UTC.
            until: the time before which it began.
            tag: one of the tags.
            order: a name of ``select.ORDERS``, after ``-`` for the largest first.
            offset: how many reviews to leave out first.
            limit: the most rows.

        Raises UsageError for another order.
        """
        with self._cursor() as cursor:
            return select.reviews(
                cursor,
                search=search,
                drive=drive,
                host=host,
                suite=suite,
                since=since,
                until=until,
                tag=tag,
                order=order,
                offset=offset,
                limit=limit,
            )

    def choices(self) -> Mapping[str, tuple[Choice, ...]]:
        """Return the values of the filters ``drive``, ``host``, ``suite`` and ``tag``, the most frequent first."""
        with self._cursor() as cursor:
            return select.choices(cursor)

    def row(self, review: str) -> ReviewRow | None:
        """Return the row of the review with this id; None: there is no such review."""
        with self._cursor() as cursor:
            return select.row(cursor, review)

    def rows(self, reviews: Sequence[str]) -> dict[str, ReviewRow]:
        """Return the rows of the reviews that there are among these ids, by id, in their order."""
        with self._cursor() as cursor:
            return select.rows_of(cursor, reviews)

    def path(self, review: str) -> Path | None:
        """Return the directory of the review with this id; None: there is no such review, or it was not copied here.

        No other path leaves the index, whatever text is passed.
        """
        if self.collection is None:
            return self.directory / review if self.row(review) else None
        with self._cursor() as cursor:
            rows = cursor.execute("SELECT measured FROM listed WHERE review = ?", [review]).fetchall()
        return self.collection.path_of_copy(review, rows[0][0]) if rows else None

    def figures(self, ids: Sequence[str], metrics: Several[str] = COMPARED) -> pa.Table:
        """Return the figures of reviews: a row for each complete step and direction, with the bounds of each metric.

        Latencies are in nanoseconds; ``position`` is in the column ``unit``. Raises UsageError for an unknown metric.
        """
        with self._cursor() as cursor:
            return compare.figures(cursor, ids, metrics)

    def compare(self, ids: Sequence[str], baseline: str, metrics: Several[str] = COMPARED) -> pa.Table:
        """Return the figures of 2 to 50 reviews beside those of one of them, at equal positions.

        There is a row for each review, target, position, direction and metric: ``value``, ``low`` and ``high``, the
        baseline's value, the ``ratio`` to it, and whether the intervals overlap. The last three are null where the
        baseline has no such position, ``overlaps`` also where an interval is not known. The baseline's first target
        stands for it. Positions are in the baseline's order.

        Raises UsageError for fewer or more reviews, or an unknown metric, and IogaugeError if the baseline has no
        figures.
        """
        with self._cursor() as cursor:
            return compare.compare(cursor, ids, baseline, metrics)

    def loads(self, ids: Sequence[str] = ()) -> list[explore.Load]:
        """Return the loads that reviews ran, or all of them: suites, series, directions, and positions."""
        with self._cursor() as cursor:
            return explore.loads(cursor, ids)

    def explore(
        self,
        load: explore.Load,
        metric: str,
        *,
        over: str = "position",
        group: str = "drive",
        at: float | None = None,
        ids: Sequence[str] = (),
    ) -> explore.Exploration:
        """Return a metric of a load as the points of a chart, over the reviews named or over all.

        Args:
            load: one of ``loads``.
            metric: one of ``results.tables.METRICS``.
            over: ``position``, ``date`` (when reviews began) or ``drive``.
            group: what the lines are: ``drive``, ``host``, ``review`` or ``all``.
            at: the position, where points are over dates or drives; by default the first.
            ids: the reviews.

        Raises UsageError for another name.
        """
        with self._cursor() as cursor:
            return explore.explore(cursor, load, metric, over=over, group=group, at=at, ids=ids)

    def sql(self, statement: str, *, most_rows: int = 10_000, timeout_s: float = 10.0) -> pa.Table:
        """Return the answer to a SELECT or DESCRIBE over the tables ``reviews`` and ``figures``, in DuckDB's SQL.

        A statement may come from a stranger: it runs in a process of its own, without access to files, on a copy of
        the index, and ends at ``timeout_s`` or if it needs too much memory. Rows after ``most_rows`` are left out.

        Raises IogaugeError if it fails, is refused, or ends early.
        """
        with self._copy() as copies:
            return sql.answer(
                statement,
                database=self._database.path,
                copies=copies,
                most_rows=most_rows,
                timeout_s=timeout_s,
            )

    def query(self, statement: str) -> pa.Table:
        """Return the answer to a statement of this process's user, however long it takes: see ``sql``.

        Raises IogaugeError if it fails or is refused.
        """
        with self._cursor() as cursor:
            return sql.own_answer(cursor, statement)

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        """Yield the directory of the copy to ask, and remove older copies which no statement asks any more."""
        with self._copying:
            copies = Path(self._copies.name, str(self._database.generation))
            for older in copies.parent.iterdir():
                # One without a number is being made, or was left when the process that made it was ended.
                is_left = older not in self._asked if older.name.isdecimal() else not self._asked
                if is_left and older != copies:
                    shutil.rmtree(older, ignore_errors=True)
            self._asked[copies] += 1
        try:
            yield copies
        finally:
            with self._copying:
                self._asked -= Counter([copies])  # which drops those that are 0

    def close(self) -> None:
        """Close the index. Calls in other threads fail."""
        self._database.discard()
        self._copies.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor. Raises IogaugeError if the file is damaged; the next refresh makes it anew."""
        import duckdb

        try:
            with self._database.cursor() as cursor:
                yield cursor
        except duckdb.OutOfMemoryException as error:
            raise IogaugeError(
                f"the index needs more memory: {error}", hint="free some memory, or choose fewer reviews"
            ) from error
        except (duckdb.Error, UnicodeEncodeError) as error:
            if isinstance(error, duckdb.Error) and is_damage(error):
                self._damaged = True
                raise IogaugeError(
                    f"{self._database.path}: the index is damaged: {error}",
                    hint="refresh it: it is made again",
                ) from error
            raise IogaugeError(
                f"the index has no answer: {error}", hint="choose other reviews or another figure"
            ) from error


def _existing(directory: Path | str) -> Path:
    """Return the directory. Raises IogaugeError if it does not exist, or is a file."""
    path = Path(directory)
    if not path.is_dir():
        why = "is no directory" if path.exists() else "no such directory"
        raise IogaugeError(f"{path}: {why}", hint="name a directory that holds reviews")
    return path
