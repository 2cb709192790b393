"""The DuckDB file of an index: opened, made, and made again if it is damaged or of another version.

The file lies in the directory whose reviews it lists. If that directory cannot be written, or another process has the
file open, this process works on a private copy, which ends with it. DuckDB locks the file against other processes. A
copy must not be made while a change is written, so changes and copies hold a lock of their own.

DuckDB is opened without access to any other file, and its settings are locked: the tables hold texts of strangers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError
from iogauge.store import durable

if TYPE_CHECKING:
    import duckdb

NAME = ".iogauge-index.duckdb"
LOCK = ".iogauge-index.lock"
VERSION = 2
"""Raised when the tables below, or the columns of ``results.tables.FIGURES``, change."""
MEMORY = "160MB"
THREADS = 2

_TABLES = """
CREATE TABLE versions (version INTEGER);
CREATE TABLE listed (
    review VARCHAR, measured VARCHAR, noted VARCHAR, created TIMESTAMP, drives VARCHAR[], targets VARCHAR[],
    host VARCHAR, cpu VARCHAR, suites VARCHAR[], pace VARCHAR, state VARCHAR, seed UBIGINT, repeats INTEGER,
    planned INTEGER, complete INTEGER, running BOOLEAN, modelled BOOLEAN, tags VARCHAR[], notes VARCHAR,
    problem VARCHAR, hint VARCHAR, words VARCHAR, source VARCHAR
);
CREATE TABLE headlines (
    review VARCHAR, read_as VARCHAR, metric VARCHAR, value DOUBLE, unit VARCHAR, low DOUBLE, high DOUBLE,
    sentence VARCHAR, spark DOUBLE[], problem VARCHAR, hint VARCHAR
);
CREATE TABLE parts (name VARCHAR);
CREATE VIEW reviews AS
    SELECT listed.review, created, drives, targets, host, cpu, suites, pace, state, seed, repeats, planned, complete,
        running, modelled, tags, notes, metric, value, unit, low, high, sentence AS headline, spark,
        coalesce(starts_with(read_as, measured), false) AS figures_read,
        coalesce(listed.problem, headlines.problem) AS problem, coalesce(listed.hint, headlines.hint) AS hint,
        source
    FROM listed LEFT JOIN headlines ON headlines.review = listed.review;
"""


def connect(path: Path, *, memory: str = MEMORY, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file, which can then read and write nothing else. Raises duckdb.Error."""
    import duckdb  # takes a fifth of a second

    return duckdb.connect(
        path,
        read_only=read_only,
        config={
            "enable_external_access": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
            "temp_directory": "",  # it would spill beside the reviews, perhaps onto a measured drive
            "memory_limit": memory,
            "threads": THREADS,
            "lock_configuration": True,
        },
    )


def copy_database(source: Path, to: Path) -> None:
    """Copy a database that another process may be changing. Raises OSError."""
    with _locked(source.with_name(LOCK), fcntl.LOCK_SH):
        durable.copy_file(source, to)
        log = _log(source)
        if log.exists():
            durable.copy_file(log, _log(to))


def private_copy(source: Path, directory: Path) -> Path:
    """Return the copy of a database in ``directory``, which is made if it is missing. Raises OSError.

    The process that has the database open must not call it: closing the file again would end DuckDB's lock on it.
    """
    if not directory.exists():
        own = Path(tempfile.mkdtemp(dir=directory.parent))
        try:
            copy_database(source, own / NAME)
            own.rename(directory)
        except BaseException as error:
            durable.remove_tree(own)
            if not isinstance(error, OSError) or not directory.exists():
                raise
    return directory / NAME


class Database:
    """The open database of an index. Each use has a cursor of its own, so threads can share it."""

    def __init__(self, directory: Path, *, private: bool = False, memory: str = MEMORY) -> None:
        """Open the database of a directory, or a private copy of it; with ``private``, an empty one of this process.

        ``memory`` is what DuckDB allows itself.
        """
        self._memory = memory
        self.path = directory / NAME
        self.generation = 0
        """Counts the changes by this process."""
        self._private: tempfile.TemporaryDirectory[str] | None = None
        self._cursors = Lock()
        self._connection = (None if private else self._own()) or self._copy(empty=private)

    @property
    def is_private(self) -> bool:
        """Whether it is a copy that ends with this object."""
        return self._private is not None

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor."""
        with self._cursors:
            cursor = self._connection.cursor()
        try:
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def changing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor in a transaction, which is committed unless an error ends it."""
        with _locked(self.path.with_name(LOCK), fcntl.LOCK_EX), self.cursor() as cursor:
            cursor.begin()
            try:
                yield cursor
            except BaseException:
                cursor.rollback()
                raise
            cursor.commit()
            self.generation += 1

    def checkpoint(self) -> None:
        """Move the changes from DuckDB's log into the file, if no other thread reads just now."""
        import duckdb

        with (
            _locked(self.path.with_name(LOCK), fcntl.LOCK_EX),
            self.cursor() as cursor,
            contextlib.suppress(duckdb.TransactionException),
        ):
            cursor.execute("CHECKPOINT")

    def rebuild(self) -> None:
        """Make the database anew, empty. Raises IogaugeError if it cannot be removed."""
        self.close()
        _remove(self.path)
        self._connection = _made(self.path, self._memory)
        self.generation += 1

    def close(self) -> None:
        """Close the file; a private copy stays until ``discard``."""
        with self._cursors:
            self._connection.close()

    def discard(self) -> None:
        """Close the file, and remove it if it is a private copy."""
        self.close()
        if self._private is not None:
            self._private.cleanup()

    def _own(self) -> duckdb.DuckDBPyConnection | None:
        """Open the file beside the reviews; None: it cannot be written, or another process has it."""
        import duckdb

        if not os.access(self.path.parent, os.W_OK) or not _is_regular(self.path):
            return None
        try:
            with _locked(self.path.with_name(LOCK), fcntl.LOCK_EX):
                return _opened(self.path, self._memory)
        except (OSError, IogaugeError, duckdb.Error):
            return None

    def _copy(self, *, empty: bool) -> duckdb.DuckDBPyConnection:
        """Open a private copy of the file, or a new one if it is to be empty or cannot be copied."""
        source = self.path
        self._private = tempfile.TemporaryDirectory(prefix="iogauge-index-")
        self.path = Path(self._private.name, NAME)
        if not empty and source.is_file() and _is_regular(source):
            with contextlib.suppress(OSError):
                copy_database(source, self.path)
        connection = _opened(self.path, self._memory)
        if connection is None:
            raise IogaugeError(f"{self.path}: another process opened this file", hint="try again")
        return connection


def _opened(path: Path, memory: str = MEMORY) -> duckdb.DuckDBPyConnection | None:
    """Open a database, and make it anew if it is missing, damaged or of another version; None: it cannot be opened now.

    An error that says nothing of the file leaves it as it is: without memory, a good one cannot be read.
    """
    import duckdb

    if path.exists():
        try:
            connection = connect(path, memory=memory)
            if _is_current(connection):
                return connection
            connection.close()
        except duckdb.Error as error:
            if not is_damage(error):
                return None
    _remove(path)
    return _made(path, memory)


def _is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Return whether a database has the tables of this version. Raises duckdb.Error."""
    import duckdb

    try:
        current = connection.sql("SELECT version FROM versions").fetchall() == [(VERSION,)]
        connection.sql("SELECT count(*) FROM reviews").fetchall()
    except (duckdb.CatalogException, duckdb.BinderException):
        return False
    return current


def is_damage(error: duckdb.Error) -> bool:
    """Return whether an error says that the file of a database is damaged."""
    import duckdb

    outside = ("Could not set lock", "Cannot open file", "No space left")
    if any(reason in str(error) for reason in outside):
        return False
    damages = (
        duckdb.IOException,
        duckdb.SerializationException,
        duckdb.InternalException,
        duckdb.FatalException,
    )
    # A block with a wrong checksum is an error of no special kind.
    return isinstance(error, damages) or type(error) is duckdb.Error


def _made(path: Path, memory: str) -> duckdb.DuckDBPyConnection:
    from iogauge.results.tables import FIGURES

    connection = connect(path, memory=memory)
    connection.execute(_TABLES)
    connection.register("columns", FIGURES.empty_table())
    connection.execute("CREATE TABLE figures AS SELECT * FROM columns")
    connection.unregister("columns")
    connection.execute("INSERT INTO versions VALUES (?)", [VERSION])
    connection.execute("CHECKPOINT")
    return connection


def _remove(path: Path) -> None:
    for file in (path, _log(path)):
        with durable.explained("remove", file):
            file.unlink(missing_ok=True)


def _log(path: Path) -> Path:
    """Return the log of changes that DuckDB keeps beside a file."""
    return path.with_name(f"{path.name}.wal")


def _is_regular(path: Path) -> bool:
    """Return whether a path leads to no other file than it says: a link could lead to one of value."""
    try:
        status = path.lstat()
    except OSError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


@contextmanager
def _locked(path: Path, how: int) -> Iterator[None]:
    """Hold a lock while changes are written or a copy is made; a directory that cannot be written has no changes."""
    try:
        descriptor = durable.open_lock(path)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
