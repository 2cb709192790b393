"""SQL over saved reviews, for questions that no report asks.

DuckDB reads the Parquet files where they lie. Three views cover one review or several: ``steps`` (what was planned,
and whether it is complete), ``intervals`` and ``totals`` (their columns, preceded by the review and the step).
Histograms are columns of HdrHistogram bytes: decode them with ``iogauge.stats.histogram``, since percentiles cannot
be averaged in SQL.

Neither this module nor SQL changes anything on disk: a statement can only read the files of the reviews.
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
from iogauge.store.checksums import check_file
from iogauge.store.names import INTERVALS, TOTALS
from iogauge.store.review import Review
from iogauge.text.option import either

if TYPE_CHECKING:
    import duckdb

Function = tuple[Callable[..., Any], tuple[str, ...], str]
"""A Python function, and the DuckDB types of its arguments and of its result. NULL in is NULL out."""

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
    """Run a SQL query over one saved review or several.

    Args:
        path: a saved review, or several.
        sql: one statement in DuckDB's SQL over the views ``steps``, ``intervals`` and ``totals``.
        views: more views, by name: functions that make a table of the reviews, called only if the statement names it.
        functions: more SQL functions, by name.

    Returns:
        The answer as an Arrow table.

    Raises:
        IogaugeError: there is no review at a path, one of its files is damaged, or the statement fails or wants
            another file.
    """
    import duckdb  # takes a fifth of a second, so only a query imports it

    paths = [Path(directory) for directory in ([path] if isinstance(path, (str, Path)) else path)]
    steps = pa.Table.from_pylist(
        [row for directory in paths for row in _step_rows(Review.open(directory))], schema=_STEPS
    )
    # DuckDB would spill into the current directory, which can be on a measured drive.
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.register("steps", steps)
        _view(connection, "intervals", INTERVALS, tables.INTERVALS, steps)
        _view(connection, "totals", TOTALS, tables.TOTALS, steps)
        for name, make in views.items():
            # A name in a comment or a string makes the table for nothing, which only costs time.
            if re.search(rf"\b{name}\b", sql, re.IGNORECASE):
                connection.register(name, make(paths))
        for name, (function, takes, returns) in functions.items():
            connection.create_function(
                name, function, [connection.type(argument) for argument in takes], connection.type(returns)
            )
        _shut(connection, steps)
        try:
            # A readable file is writable too. EXPLAIN ANALYZE runs the statement that it explains.
            if any(
                statement.type != duckdb.StatementType.SELECT
                for statement in connection.extract_statements(sql)
            ):
                raise duckdb.PermissionException("a query may only read")
            table = interruptible_answer(connection, sql)
        except duckdb.PermissionException as error:
            raise IogaugeError(
                f"query: {error}",
                hint="ask with SELECT or DESCRIBE: a query reads the views of the named reviews, and no other file"
                + either(command="; --parquet and --csv keep its answer", library=""),
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


def interruptible_answer(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table | None:
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


def _complete(steps: pa.Table) -> list[str]:
    """Return the folders of complete steps."""
    return [step["folder"] for step in steps.to_pylist() if step["complete"]]


def _shut(connection: duckdb.DuckDBPyConnection, steps: pa.Table) -> None:
    """Restrict SQL to the files that the views read: a statement can come from somebody else."""
    files = [f"{folder}/{file}" for folder in _complete(steps) for file in (INTERVALS, TOTALS)]
    # DuckDB checks a file twice: as the pattern of the view, and as the file that matches it.
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
    folders = _complete(steps)
    if not folders:
        connection.register(name, pa.schema([*_HEAD, *schema]).empty_table())
        return
    for folder in folders:
        check_file(Path(folder, file))
    files = [glob.escape(f"{folder}/{file}") for folder in folders]
    connection.read_parquet(files, filename=True).create_view(f"{name}_files")
    connection.sql(
        f"CREATE VIEW {name} AS SELECT steps.review, steps.step, steps.position, files.* EXCLUDE (filename) "
        f"FROM {name}_files AS files JOIN steps ON files.filename = steps.folder || '/{file}'"
    )
