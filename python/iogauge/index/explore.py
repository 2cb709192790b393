"""One metric of one load over positions, dates or drives, for any number of reviews at once.

Where several runs of a group have the same place, the value is their median, and the interval becomes the range of
their values: it then says how much runs differ, and not how sure one run is. ``runs`` tells which of both it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError

if TYPE_CHECKING:
    import duckdb

_DRIVE = "CASE WHEN len(drives) = 1 THEN drives[1] ELSE target END"
GROUPS = {
    "drive": _DRIVE,
    "host": "coalesce(nullif(host, ''), 'unknown host')",
    "review": "figures.review",
    "all": "'all reviews'",
}
"""What can tell the lines of a chart apart."""
PLACES = {"position": "position", "date": "created", "drive": _DRIVE}
"""What a figure can be drawn over."""
MOST_GROUPS = 6
"""Those with most reviews are shown."""
MOST_ROWS = {"position": 2000, "date": 2000, "drive": 60}
"""Points by place: of dates the newest, of drives those with most reviews."""


@dataclass(frozen=True)
class Load:
    """A load that reviews ran: its suite, series and direction."""

    suite: str
    series: str
    direction: str
    axis: str
    unit: str
    positions: tuple[tuple[float, str], ...]
    """Each position that it was run at, with the label of its step."""
    reviews: int
    """How many reviews have it."""


@dataclass(frozen=True, slots=True)
class ExploredPoint:
    """One point: the figure of a group at a place. Latencies are in nanoseconds."""

    group: str
    place: float | str | datetime
    """A position, a drive, or when the review began (UTC, without a zone)."""
    label: str
    """What the suite calls the position; empty: nothing."""
    review: str
    """The only review; empty: there are several."""
    reviews: int
    runs: int
    value: float
    """Of several runs the median."""
    low: float | None
    """The bounds of the 95 % interval; of several runs, the lowest and the highest value."""
    high: float | None
    supported: bool
    """Whether the samples of all runs support it."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """The figures of a load, and what was left out of them."""

    points: tuple[ExploredPoint, ...]
    reviews: int
    """How many reviews have such a figure."""
    groups: int
    """How many groups there are, of which ``points`` has at most ``MOST_GROUPS``."""
    in_all: int
    """How many points these groups have, of which ``points`` has at most ``MOST_ROWS``."""


def loads(cursor: duckdb.DuckDBPyConnection, ids: Sequence[str] = ()) -> list[Load]:
    """Return the loads of reviews, or of all, in the order of their suites and series."""
    chosen, values = _chosen(ids)
    rows = cursor.execute(
        f"""
        SELECT suite, coalesce(series, ''), direction, any_value(axis), coalesce(any_value(unit), ''),
            list(DISTINCT {{'at': position, 'label': coalesce(label, '')}}), count(DISTINCT review)
        FROM figures WHERE position IS NOT NULL {chosen}
        GROUP BY suite, coalesce(series, ''), direction ORDER BY suite, min(rowid)
        """,
        values,
    ).fetchall()
    return [
        Load(suite, series, direction, axis or "", unit, _labelled(places), reviews)
        for suite, series, direction, axis, unit, places, reviews in rows
    ]


def explore(
    cursor: duckdb.DuckDBPyConnection,
    load: Load,
    metric: str,
    *,
    over: str = "position",
    group: str = "drive",
    at: float | None = None,
    ids: Sequence[str] = (),
) -> Exploration:
    """Return a metric of a load: see ``Index.explore``. Raises UsageError if a name cannot be."""
    from iogauge.results.figures import quantile_metric
    from iogauge.results.tables import METRICS, QUANTILES, bounds_of

    for name, word, words in (("over", over, PLACES), ("group", group, GROUPS), ("metric", metric, METRICS)):
        if word not in words:
            raise UsageError(f"{name} {word[:40]!r} is unknown", hint=f"use one of: {', '.join(words)}")
    low, high = bounds_of(metric)
    chosen, values = _chosen(ids)
    values |= {"suite": load.suite, "series": load.series, "direction": load.direction}
    if over != "position":
        chosen += " AND position = $at"
        values["at"] = load.positions[0][0] if at is None else at
    grouped = GROUPS["all" if over == "drive" else group]
    quantile = {quantile_metric(q): q for q in QUANTILES}.get(metric)
    supported = "true" if quantile is None else f"coalesce(supported, 0) >= {quantile}"
    rows = f"""
        rows AS MATERIALIZED (
            SELECT figures.review, {grouped} AS grouped, {PLACES[over]} AS place, label, created,
                "{metric}" AS value, "{low}" AS low, "{high}" AS high, {supported} AS supported
            FROM figures JOIN listed USING (review)
            WHERE suite = $suite AND coalesce(series, '') = $series AND direction = $direction
                AND "{metric}" IS NOT NULL AND {PLACES[over]} IS NOT NULL {chosen}
        ),
        shown AS (
            SELECT grouped FROM rows GROUP BY grouped ORDER BY count(DISTINCT review) DESC, grouped
            LIMIT {MOST_GROUPS}
        )"""
    by_review = ", review" if over == "date" else ""
    points = cursor.execute(
        f"""
        WITH {rows}
        SELECT grouped, place, coalesce(any_value(label), ''),
            CASE WHEN count(DISTINCT review) = 1 THEN any_value(review) ELSE '' END,
            count(DISTINCT review) AS reviews, count(*), median(value),
            CASE WHEN count(*) = 1 THEN min(low) ELSE min(value) END,
            CASE WHEN count(*) = 1 THEN max(high) ELSE max(value) END, bool_and(supported), count(*) OVER ()
        FROM (SELECT * FROM rows SEMI JOIN shown USING (grouped)) GROUP BY grouped, place{by_review}
        ORDER BY {_ORDERS[over]} LIMIT {MOST_ROWS[over]}
        """,
        values,
    ).fetchall()
    counts = cursor.execute(
        f"WITH {rows} SELECT count(DISTINCT review), count(DISTINCT grouped) FROM rows", values
    ).fetchone()
    assert counts is not None  # an aggregate has a row
    reviews, groups = counts
    in_all = points[0][-1] if points else 0
    return Exploration(tuple(ExploredPoint(*point[:-1]) for point in points), reviews, groups, in_all)


_ORDERS = {
    "position": "grouped, place",
    "date": "place DESC, grouped",
    "drive": "reviews DESC, place",
}


def _chosen(ids: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the condition that chooses reviews, and its values; none chooses all."""
    return ("AND figures.review IN (SELECT unnest($ids))", {"ids": list(ids)}) if ids else ("", {})


def _labelled(places: Sequence[dict[str, Any]]) -> tuple[tuple[float, str], ...]:
    labels = {place["at"]: place["label"] for place in sorted(places, key=lambda place: place["label"])}
    return tuple(sorted(labels.items()))
