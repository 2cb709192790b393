"""SQL over the index reads two tables, and whatever else a statement wants does no harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.index import Index
from tests.fast.index.saved import STEPS, saved

PATIENCE_S = 300
"""A busy machine may need long for a short answer."""

pytestmark = pytest.mark.slow  # every statement starts a process


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    directory = tmp_path_factory.mktemp("asked")
    saved(directory / "a", run=STEPS)
    saved(directory / "b", run=("p0",))
    with Index.open(directory) as index:
        index.refresh()
        yield index


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT review, complete FROM reviews ORDER BY 1", [("a", 2), ("b", 1)]),
        ("SELECT review, count(*) FROM figures GROUP BY ALL ORDER BY 1 -- end", [("a", 2), ("b", 1)]),
        ("FROM reviews SELECT count(*)", [(2,)]),
        ("WITH best AS (SELECT max(iops) FROM figures) SELECT count(*) FROM best;", [(1,)]),
    ],
)
def test_statements_have_answers(index: Index, statement: str, expected: list[tuple[object, ...]]) -> None:
    assert [tuple(row.values()) for row in index.sql(statement, timeout_s=PATIENCE_S).to_pylist()] == expected


def test_describe_lists_columns(index: Index) -> None:
    names = index.sql("DESCRIBE figures", timeout_s=PATIENCE_S)["column_name"].to_pylist()
    assert {"review", "p99.9_ns", "iops_low"} <= set(names)


def test_rows_beyond_the_most_are_left_out(index: Index) -> None:
    assert index.sql("SELECT * FROM range(1000000000)", most_rows=2500, timeout_s=PATIENCE_S).num_rows == 2500


def test_an_answer_follows_a_change(index: Index) -> None:
    assert index.sql("SELECT count(*) AS n FROM reviews", timeout_s=PATIENCE_S).to_pylist() == [{"n": 2}]
    saved(index.directory / "c")
    index.refresh()
    try:
        assert index.sql("SELECT count(*) AS n FROM reviews", timeout_s=PATIENCE_S).to_pylist() == [{"n": 3}]
    finally:
        (index.directory / "c").rename(index.directory.parent / "c")
        index.refresh()


HOSTILE = [
    "COPY reviews TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT parquet)",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS other",
    "ATTACH '/etc/passwd'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "FORCE INSTALL httpfs FROM community",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/proc/self/environ')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('http://127.0.0.1:1/x.parquet')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT getenv('HOME')",
    "PRAGMA database_list",
    "PRAGMA enable_external_access",
    "SET enable_external_access = true",
    "SET memory_limit = '100GB'",
    "RESET lock_configuration",
    "CREATE TABLE x (y INTEGER)",
    "CREATE SECRET s (TYPE s3)",
    "DROP TABLE listed",
    "DELETE FROM listed",
    "UPDATE listed SET review = 'x'",
    "INSERT INTO versions VALUES (2)",
    "CHECKPOINT",
    "VACUUM",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE x AS SELECT 1",
    "BEGIN TRANSACTION",
    "USE memory",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE listed",
    "SELECT",
    "",
    ";",
    "-- nothing",
    "SELECT * FROM nothing",
    "SELECT no_such_function(1)",
    "SELECT * FROM query('DROP TABLE listed')",
    "SELECT '\0'; DROP TABLE listed",
]


@pytest.mark.parametrize("statement", HOSTILE)
def test_a_statement_that_does_not_read_is_refused(index: Index, tmp_path: Path, statement: str) -> None:
    out = tmp_path / "out"
    with pytest.raises(IogaugeError) as error:
        index.sql(statement.format(out=out) if "{out}" in statement else statement)
    assert error.value.hint
    assert "root:" not in str(error.value)
    assert not out.exists()
    assert index.reviews().total == 2


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "SELECT repeat('x', 4000000000)",
        "SELECT length(string_agg(repeat('x', 100000), '')) FROM range(1000000)",
        "SELECT * FROM range(10000000000) ORDER BY hash(range)",
        "SELECT list(range) FROM range(10000000000)",
        "SELECT repeat('x', 1000000) FROM range(100000)",
        "SELECT regexp_matches(repeat('a', 100000000), '(a*)*b')",
    ],
)
def test_a_statement_that_needs_too_much_ends(index: Index, statement: str) -> None:
    with pytest.raises(IogaugeError, match=r"memory|no answer within|too large") as error:
        index.sql(statement, timeout_s=1)
    assert error.value.hint
    assert index.reviews().total == 2


def test_a_statement_of_any_length_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="characters"):
        index.sql("SELECT " + "1+" * 100_000 + "1")
    with pytest.raises(IogaugeError):
        index.sql("SELECT " + "(" * 40_000 + "1" + ")" * 40_000)
