"""Saved reviews answer SQL, several at once, whatever their directories are called."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Kind
from iogauge.store import Review
from iogauge.store.query import query
from tests import builders

TALLY = builders.tally([100_000] * 7, errors={5: 2})


def saved(path: Path, *, run: tuple[str, ...]) -> Review:
    """A review of two steps, of which ``run`` are complete: two intervals of seven reads each."""
    review = Review.create(path, builders.manifest([builders.step("p0", 0), builders.step("p100", 100)]))
    for step_id in run:
        with review.begin(step_id) as writer:
            writer.interval(builders.interval(0, {Direction.READ: TALLY}))
            writer.interval(builders.interval(1, {Direction.READ: TALLY}))
            writer.finish(builders.record([builders.row("reader", {Direction.READ: TALLY})]))
    return review


def test_intervals_and_totals_come_with_their_step(tmp_path: Path) -> None:
    review = saved(tmp_path / "r", run=("p0", "p100"))
    rows = query(
        review.path,
        "SELECT step, position, sum(ios) AS ios, count(DISTINCT index) AS n FROM intervals "
        "WHERE direction = 'read' GROUP BY ALL ORDER BY position",
    )
    assert rows.to_pylist() == [
        {"step": "p0", "position": 0.0, "ios": 14, "n": 2},
        {"step": "p100", "position": 100.0, "ios": 14, "n": 2},
    ]
    totals = query(
        review.path, "SELECT step, name, ios, errors[5] AS eio FROM totals WHERE direction = 'read'"
    )
    assert {(row["step"], row["name"], row["ios"], row["eio"]) for row in totals.to_pylist()} == {
        ("p0", "reader", 7, 2),
        ("p100", "reader", 7, 2),
    }


def test_histograms_come_out_as_they_went_in(tmp_path: Path) -> None:
    review = saved(tmp_path / "r", run=("p0",))
    (answer,) = query(review.path, "SELECT lat FROM totals WHERE direction = 'read'").to_pylist()
    assert answer["lat"] == TALLY.histograms[Kind.LAT]


def test_several_reviews_are_one_table_even_with_patterns_in_their_names(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("r[1]", "r1", "it's * a ?")]
    for path in paths:
        saved(path, run=("p100",))
    rows = query(paths, "SELECT review, count(*) AS n FROM totals GROUP BY review").to_pylist()
    assert {row["review"]: row["n"] for row in rows} == {str(path): 2 for path in paths}
    steps = query(map(str, paths), "SELECT step, complete FROM steps ORDER BY review, position").to_pylist()
    assert steps == [{"step": "p0", "complete": False}, {"step": "p100", "complete": True}] * 3


def test_a_review_without_a_complete_step_has_the_same_columns(tmp_path: Path) -> None:
    nothing, complete = saved(tmp_path / "a", run=()).path, saved(tmp_path / "b", run=("p0",)).path
    for view in ("intervals", "totals"):
        empty = query(nothing, f"SELECT * FROM {view}")
        assert empty.num_rows == 0
        assert empty.column_names == query(complete, f"SELECT * FROM {view}").column_names


@pytest.mark.parametrize("sql", ["SELEC 1", "SELECT nothing FROM steps", "SELECT * FROM drives", ""])
def test_a_statement_that_fails_is_an_error_with_a_hint(tmp_path: Path, sql: str) -> None:
    with pytest.raises(IogaugeError, match="query:") as caught:
        query(saved(tmp_path / "r", run=("p0",)).path, sql)
    assert caught.value.hint


def test_no_other_file_is_read_and_none_is_written(tmp_path: Path) -> None:
    review = saved(tmp_path / "it's [1]", run=("p0",))
    (tmp_path / "other.csv").write_text("a\n1\n")
    table = str(review.step_path("p0") / "totals.parquet").replace("'", "''")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path}/other.csv')".replace("it's", "it''s"),
        f"SELECT * FROM read_text('{tmp_path}/*')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"COPY (SELECT 1) TO '{tmp_path}/new.csv'",
        f"COPY (SELECT 1 AS a) TO '{table}' (USE_TMP_FILE false)",
        f"SELECT 1; COPY (SELECT 1 AS a) TO '{table}' (USE_TMP_FILE false)",
        f"EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{table}' (USE_TMP_FILE false)",
        f"ATTACH '{tmp_path}/new.db'",
        "SET enable_external_access = true",
    ):
        with pytest.raises(IogaugeError, match="query:") as caught:
            query(review.path, sql)
        assert "no other file" in (caught.value.hint or ""), sql
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    for sql in ("SELECT count(*) AS n FROM totals", "DESCRIBE totals", "SHOW TABLES"):
        assert query(review.path, sql).num_rows


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    review = saved(tmp_path / "r", run=("p0",))
    (review.step_path("p0") / "totals.parquet").write_bytes(b"PAR1")
    with pytest.raises(IogaugeError):
        query(review.path, "SELECT * FROM totals")


def test_an_interrupt_ends_a_query_that_would_take_hours(tmp_path: Path) -> None:
    """The statement itself sends the signal, so that it is certain to be under way."""
    review = saved(tmp_path / "r", run=("p0",))

    def interrupted(number: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return number

    with pytest.raises(KeyboardInterrupt):
        query(
            review.path,
            "SELECT count(*) FROM (SELECT interrupted(ios) AS ios FROM totals LIMIT 1) t, range(10000000) a, "
            "range(1000000) b WHERE a.range * b.range % 7 = t.ios",
            functions={"interrupted": (interrupted, ("BIGINT",), "BIGINT")},
        )


def test_a_query_writes_no_file_however_much_it_sorts(tmp_path: Path) -> None:
    path = saved(tmp_path / "r", run=()).path
    (answer,) = query(path, "SELECT current_setting('temp_directory') AS place").to_pylist()
    assert answer == {"place": ""}
