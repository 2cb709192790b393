"""The figures of up to 50 reviews beside those of one of them, the baseline, where they have the same position.

It is a quick table from the intervals of single runs. ``iogauge.comparison`` tests two reviews properly, over their
repeats. Where a position was run several times, the value is the median of its runs, and the interval goes from the
lowest bound of any to the highest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError, UsageError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MOST = 50
HEAD = ("review", "target", "suite", "series", "label", "axis", "unit", "direction", "position")
_PLACE = HEAD[2:]
"""The columns in which rows of one position agree."""


def figures(cursor: duckdb.DuckDBPyConnection, ids: Sequence[str], metrics: Collection[str]) -> pa.Table:
    """Return the rows of some reviews: see ``Index.figures``."""
    from iogauge.results.tables import bounds_of

    _check_metrics(metrics)
    columns = [column for metric in metrics for column in (metric, *bounds_of(metric))]
    names = ", ".join(
        f'"{name}"' for name in (*HEAD, "step", "repeat", *columns, "pressure_Bps", "supported")
    )
    return _table(
        cursor,
        f"SELECT {names} FROM figures WHERE review IN (SELECT unnest($ids)) ORDER BY rowid",
        {"ids": list(ids)},
    )


def compare(
    cursor: duckdb.DuckDBPyConnection, ids: Sequence[str], baseline: str, metrics: Collection[str]
) -> pa.Table:
    """Return the figures of reviews beside those of the baseline: see ``Index.compare``."""
    from iogauge.results.tables import bounds_of

    if not 2 <= len(set(ids)) <= MOST:
        raise UsageError(f"{len(set(ids))} reviews cannot be compared", hint=f"choose 2 to {MOST}")
    if baseline not in ids:
        raise UsageError(
            f"{baseline}: is not among the reviews to compare", hint="choose one of them as baseline"
        )
    _check_metrics(metrics)
    first = cursor.execute(
        "SELECT target FROM figures WHERE review = ? ORDER BY rowid LIMIT 1", [baseline]
    ).fetchall()
    if not first:
        raise IogaugeError(f"{baseline}: has no figures", hint="choose another review as baseline")
    long = " UNION ALL ".join(
        f"SELECT rowid AS number, {', '.join(HEAD)}, '{metric}' AS metric, {at} AS rank, \"{metric}\" AS value, "
        f'"{low}" AS low, "{high}" AS high FROM chosen WHERE "{metric}" IS NOT NULL'
        for at, metric in enumerate(metrics)
        for low, high in (bounds_of(metric),)
    )
    same = " AND ".join(f"own.{name} IS NOT DISTINCT FROM base.{name}" for name in (*_PLACE, "metric"))
    head = ", ".join(HEAD)
    return _table(
        cursor,
        f"""
        WITH chosen AS MATERIALIZED (SELECT rowid, * FROM figures WHERE review IN (SELECT unnest($ids))),
        long AS ({long}),
        own AS MATERIALIZED (
            SELECT {head}, metric, rank, min(number) AS number, count(*) AS runs, median(value) AS value,
                min(low) AS low, max(high) AS high
            FROM long GROUP BY {head}, metric, rank
        ),
        base AS (SELECT * FROM own WHERE review = $baseline AND target = $target)
        SELECT {", ".join(f"own.{name}" for name in HEAD)}, own.metric, own.runs, own.value, own.low, own.high,
            base.value AS baseline,
            CASE WHEN base.value > 0 THEN own.value / base.value END AS ratio,
            own.low <= base.high AND base.low <= own.high AS overlaps
        FROM own LEFT JOIN base ON {same}
        ORDER BY coalesce(base.number, own.number), own.rank, list_position($ids, own.review), own.number
        """,
        {"ids": list(ids), "baseline": baseline, "target": first[0][0]},
    )


def _table(cursor: duckdb.DuckDBPyConnection, query: str, values: dict[str, Any]) -> pa.Table:
    relation = cursor.sql(query, params=values)
    assert relation is not None  # a SELECT has rows
    table: pa.Table = relation.to_arrow_table()
    return table


def _check_metrics(metrics: Collection[str]) -> None:
    from iogauge.results.tables import METRICS

    if unknown := [metric for metric in metrics if metric not in METRICS]:
        raise UsageError(f"there is no figure {unknown[0]!r}", hint=f"use one of: {', '.join(METRICS)}")
