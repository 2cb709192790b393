"""SQL over saved reviews, for questions that no report asks.

DuckDB reads the Parquet files where they lie. Three views cover one review or several: ``steps`` (what was planned,
and whether it is complete), ``intervals`` and ``totals`` (their columns, preceded by the review and the step).
Histograms are columns of HdrHistogram bytes: decode them with ``iogauge.stats.histogram``, since percentiles cannot
be averaged in SQL.

This module changes nothing on disk, and SQL can neither: no statement reads or writes another file than a review's.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from threading import Event, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.store import tables
from iogauge.store.checksums import check_seal
from iogauge.store.names import INTERVALS, TOTALS
from iogauge.store.review import Review

if TYPE_CHECKING:
    import duckdb

Function = tuple[Callable[..., Any], tuple[str, ...], str]
"""A function of Python's, DuckDB's types of what it takes, and of what it returns. NULL in is NULL out."""

_HEAD: list[pa.Field[Any]] = [
    pa.field("review", pa.string()),
    pa.field("step", pa.string()),
    pa.field("position", pa.float64()),
]
_STEPS = pa.schema(
    [
        *_HEAD,
        pa.field("target", pa.string()),
        pa.field("suite", pa.string()),
        pa.field("series", pa.string()),
        pa.field("label", pa.string()),
        pa.field("unit", pa.string()),
        pa.field("repeat", pa.int64()),
        pa.field("state_group", pa.string()),
        pa.field("complete", pa.bool_()),
        pa.field("folder", pa.string()),
    ]
)


def query(
    path: Path | str | Iterable[Path | str],
    sql: str,
    *,
    views: Mapping[str, Callable[[list[Path]], pa.Table]] = MappingProxyType({}),
    functions: Mapping[str, Function] = MappingProxyType({}),
) -> pa.Table:
    """Answer a question about one review or several.

    Args:
        path: a saved review, or several.
        sql: one statement in DuckDB's SQL over the views ``steps``, ``intervals`` and ``totals``.
        views: more of them, by name: tables made of the reviews, which are only made where the statement names them.
        functions: what SQL may call besides its own, by name.

    Returns:
        The answer as an Arrow table.

    Raises:
        IogaugeError: there is no review at a path, one of its files is damaged, or the statement fails or wants
            another file.
    """
    import duckdb  # a fifth of a second, which no command waits for that asks nothing

    paths = [Path(each) for each in ([path] if isinstance(path, (str, Path)) else path)]
    steps = pa.Table.from_pylist(
        [row for each in paths for row in _step_rows(Review.open(each))], schema=_STEPS
    )
    # It would spill what it sorts into the current directory, which may be on a drive that is measured.
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.register("steps", steps)
        _view(connection, "intervals", INTERVALS, tables.INTERVALS, steps)
        _view(connection, "totals", TOTALS, tables.TOTALS, steps)
        for name, make in views.items():
            # Named in a comment or a string, it is made for nothing, which costs time alone.
            if re.search(rf"\b{name}\b", sql, re.IGNORECASE):
                connection.register(name, make(paths))
        for name, (function, takes, returns) in functions.items():
            connection.create_function(
                name, function, [connection.type(each) for each in takes], connection.type(returns)
            )
        _shut(connection, steps)
        try:
            # The files that may be read could be written too. EXPLAIN ANALYZE runs what it explains.
            if any(each.type != duckdb.StatementType.SELECT for each in connection.extract_statements(sql)):
                raise duckdb.PermissionException("a query asks, and changes nothing")
            table = _answer(connection, sql)
        except duckdb.PermissionException as error:
            raise IogaugeError(
                f"query: {error}",
                hint="ask with SELECT or DESCRIBE: a query reads the views of the named reviews, and no other file; "
                "--parquet and --csv keep its answer",
            ) from error
        except duckdb.OutOfMemoryException as error:
            raise IogaugeError(
                f"query: {error}", hint="ask for less at a time: fewer reviews, or sums instead of rows"
            ) from error
        except duckdb.Error as error:
            raise IogaugeError(
                f"query: {error}",
                hint=f"the views are {', '.join(('steps', 'intervals', 'totals', *views))}; "
                "DESCRIBE intervals lists the columns of one",
            ) from error
        if table is None:
            raise IogaugeError("query: this statement has no answer", hint="ask with SELECT or DESCRIBE")
        return table


def _answer(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table | None:
    """Run a statement on another thread, since DuckDB keeps its own from looking for signals; an interrupt ends it."""
    answer: Future[pa.Table | None] = Future()
    begun, ended = Event(), Event()

    def run() -> None:
        begun.set()
        try:
            relation = connection.sql(sql)
            answer.set_result(relation.to_arrow_table() if relation is not None else None)
        except BaseException as error:
            answer.set_exception(error)
        finally:
            ended.set()

    try:
        Thread(target=run).start()
        # A wait without end would miss a signal that comes just before it.
        while not ended.wait(0.1):
            pass
    except BaseException:
        # The interrupt may have come while the thread was started: only the thread knows whether it runs. DuckDB
        # ignores an interrupt that arrives before the statement starts, so repeat it.
        if begun.wait(1):
            while not ended.wait(0.05):
                connection.interrupt()
        raise
    return answer.result()


def _whole(steps: pa.Table) -> list[str]:
    """Return the folders of complete steps."""
    return [step["folder"] for step in steps.to_pylist() if step["complete"]]


def _shut(connection: duckdb.DuckDBPyConnection, steps: pa.Table) -> None:
    """Leave a statement nothing but the files that the views read: SQL may come from somebody else."""
    files = [f"{folder}/{file}" for folder in _whole(steps) for file in (INTERVALS, TOTALS)]
    # DuckDB asks for a file twice: as the pattern that the view has, and then as the file found.
    allowed = (name.replace("'", "''") for file in files for name in dict.fromkeys((file, glob.escape(file))))
    names = ", ".join(f"'{name}'" for name in allowed)
    connection.execute(f"SET allowed_paths = [{names}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _step_rows(review: Review) -> list[dict[str, object]]:
    return [
        {
            "review": str(review.path),
            "target": ", ".join(plan.targets),
            "suite": plan.suite,
            "series": step.series,
            "label": step.label,
            "step": step.id,
            "position": step.at,
            "unit": plan.axis.unit,
            "repeat": step.repeat,
            "state_group": step.state_group,
            "complete": review.has(step.id),
            "folder": str(review.step_path(step.id)),
        }
        for plan in review.manifest.plans
        for step in plan.steps
    ]


def _view(
    connection: duckdb.DuckDBPyConnection, name: str, file: str, schema: pa.Schema, steps: pa.Table
) -> None:
    whole = _whole(steps)
    if not whole:
        connection.register(name, pa.schema([*_HEAD, *schema]).empty_table())
        return
    for folder in whole:
        check_seal(Path(folder, file))
    files = [glob.escape(f"{folder}/{file}") for folder in whole]
    connection.read_parquet(files, filename=True).create_view(f"{name}_files")
    connection.sql(
        f"CREATE VIEW {name} AS SELECT steps.review, steps.step, steps.position, files.* EXCLUDE (filename) "
        f"FROM {name}_files AS files JOIN steps ON files.filename = steps.folder || '/{file}'"
    )
