"""Runs one SQL statement on a copy of an index: ``python -m iogauge.index.sandbox``, started by ``index.sql``.

A statement can come from a stranger. DuckDB refuses it every file, but not memory or time: ``repeat('x', 4e9)`` takes
gigabytes that no setting of DuckDB counts. So it runs in this process, which the kernel limits and ``index.sql`` ends.

It reads JSON from stdin: the database, the directory for copies of it, the statement and the limits. It writes to
stdout: ``ok`` and the answer as an Arrow stream, or ``error`` and JSON with the message and the hint.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

MEMORY = "300MB"
"""What DuckDB allows itself."""
MEMORY_BYTES = 1 << 30
"""What the kernel allows the process."""
ANSWER_BYTES = 64 << 20
"""The largest answer."""
_HINT = "ask with SELECT or DESCRIBE, of the tables reviews and figures; DESCRIBE figures lists its columns"
_LESS = "add WHERE or LIMIT, or select fewer columns"


class _RefusedError(Exception):
    """Why a statement has no answer; the second argument is the hint."""


def main(stdin: BinaryIO) -> bytes:
    """Return the answer to the question on ``stdin``."""
    question = json.load(stdin)
    os.nice(10)
    # These are imported before the time begins.
    import duckdb  # noqa: F401
    import pyarrow as pa  # noqa: F401

    from iogauge.index.database import private_copy

    try:
        copy = private_copy(Path(question["database"]), Path(question["copies"]))
    except OSError as error:
        return _error(
            f"sql: the index cannot be copied: {error}", "free some space in the temporary directory"
        )
    for limit, bytes_ in (
        (resource.RLIMIT_DATA, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (bytes_, bytes_))
    # The signal ends this process, whatever it does.
    signal.setitimer(signal.ITIMER_REAL, float(question["timeout_s"]))
    try:
        answer = _answer(copy, question)
    except _RefusedError as refused:
        return _error(*refused.args)
    return b"ok\n" + answer.to_pybytes()


def _error(message: str, hint: str) -> bytes:
    return b"error\n" + json.dumps({"message": message, "hint": hint}).encode()


def _answer(copy: Path, question: Mapping[str, Any]) -> pa.Buffer:
    import duckdb
    import pyarrow as pa

    from iogauge.index.database import connect

    statement, most_rows = str(question["statement"]), int(question["most_rows"])
    try:
        connection = connect(copy, memory=MEMORY, read_only=True)
        statements = connection.extract_statements(statement)
        if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
            raise _RefusedError("sql: only one SELECT or DESCRIBE is allowed", _HINT)
        relation = connection.sql(statement)
        assert relation is not None  # a SELECT has an answer
        batches = relation.limit(most_rows).to_arrow_reader(1024)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batches.schema) as stream:
            for batch in batches:
                stream.write_batch(batch)
                if sink.tell() > ANSWER_BYTES:
                    raise _RefusedError("sql: the answer is too large", _LESS)
        return sink.getvalue()
    except (duckdb.OutOfMemoryException, MemoryError, pa.ArrowMemoryError) as error:
        raise _RefusedError("sql: the statement needs too much memory", _LESS) from error
    except (duckdb.Error, pa.ArrowException) as error:
        raise _RefusedError(f"sql: {' '.join(str(error).split())}", _HINT) from error


def _write(answer: bytes) -> None:
    """Write the answer to the descriptor of stdout, which is the pipe to ``index.sql``."""
    left = memoryview(answer)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        _write(main(sys.stdin.buffer))
