"""Answers SQL over an index: each statement in a process of its own, which sees a copy of the index and is limited."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import IogaugeError, UsageError
from iogauge.index.database import is_damage

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

LONGEST = 100_000
"""Characters of a statement."""
_START_S = 120.0
"""The time in which a process starts and copies the index, on a busy machine."""
_TABLES = (
    "ask with SELECT or DESCRIBE, of the tables reviews and figures; DESCRIBE figures lists its columns. "
    "Steps and intervals are only in the reviews themselves"
)
_LESS = "add WHERE or LIMIT, or select fewer columns"


def answer(statement: str, *, database: Path, copies: Path, most_rows: int, timeout_s: float) -> pa.Table:
    """Return the answer to a statement; see ``Index.sql``. ``copies`` is the directory of the copy to ask."""
    if len(statement) > LONGEST:
        raise UsageError(
            f"sql: {len(statement):,} characters are too many", hint=f"write at most {LONGEST:,}"
        )
    question = {
        "database": str(database),
        "copies": str(copies),
        "statement": statement,
        "most_rows": most_rows,
        "timeout_s": timeout_s,
    }
    try:
        process = subprocess.run(
            [sys.executable, "-m", "iogauge.index.sandbox"],
            input=json.dumps(question).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            check=False,
            timeout=timeout_s + _START_S,
        )
    except subprocess.TimeoutExpired:
        raise _too_long(timeout_s) from None
    if process.returncode == -signal.SIGALRM:
        raise _too_long(timeout_s)
    kind, _, content = process.stdout.partition(b"\n")
    if process.returncode or kind not in (b"ok", b"error"):
        raise IogaugeError("sql: the statement needs too much memory", hint=_LESS)
    if kind == b"error":
        error = json.loads(content)
        raise IogaugeError(error["message"], hint=error["hint"])
    import pyarrow as pa

    return pa.ipc.open_stream(content).read_all()


def own_answer(cursor: duckdb.DuckDBPyConnection, statement: str) -> pa.Table:
    """Return the answer to a statement of this process's user; see ``Index.query``. Ctrl-C ends it."""
    import duckdb

    from iogauge.store.query import interruptible_answer

    try:
        if any(one.type != duckdb.StatementType.SELECT for one in cursor.extract_statements(statement)):
            raise IogaugeError("query: only SELECT and DESCRIBE are allowed", hint=_TABLES)
        table = interruptible_answer(cursor, statement)
    except duckdb.OutOfMemoryException as error:
        raise IogaugeError(f"query: {error}", hint=_LESS) from error
    except duckdb.Error as error:
        if is_damage(error):
            raise
        raise IogaugeError(f"query: {' '.join(str(error).split())}", hint=_TABLES) from error
    if table is None:
        raise IogaugeError("query: this statement has no answer", hint=_TABLES)
    return table


def _too_long(timeout_s: float) -> IogaugeError:
    return IogaugeError(f"sql: no answer within {timeout_s:g} s", hint=_LESS)
