"""Questions that come with the view, as SQL over the index's tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Query:
    """A question and its SQL."""

    name: str
    sql: str


BUILT_IN = (
    Query(
        "Fastest p99.9 of random reads by drive",
        """SELECT drives[1] AS drive, round(min("p99.9_ns") / 1000, 1) AS p99_9_us, count(DISTINCT review) AS reviews
FROM figures JOIN reviews USING (review)
WHERE direction = 'read' AND pattern = 'random' AND supported >= 0.999
GROUP BY drive ORDER BY p99_9_us""",
    ),
    Query(
        "Most IOPS of each drive, and where",
        """SELECT drives[1] AS drive, round(max(iops)) AS most_iops, arg_max(suite, iops) AS suite,
  arg_max(series, iops) AS series, arg_max(position, iops) AS position
FROM figures JOIN reviews USING (review)
GROUP BY drive ORDER BY most_iops DESC""",
    ),
    Query(
        "Did the main figure change over time?",
        """SELECT created, value, low, high, drives[1] AS drive, metric, unit, review
FROM reviews WHERE value IS NOT NULL
ORDER BY drive, metric, created""",
    ),
    Query(
        "Spread between reviews of the same drive and load",
        """SELECT drives[1] AS drive, suite, series, position, direction, count(*) AS runs,
  round(100 * (max(iops) - min(iops)) / median(iops), 1) AS spread_percent
FROM figures JOIN reviews USING (review)
GROUP BY ALL HAVING count(*) > 1 ORDER BY spread_percent DESC""",
    ),
    Query(
        "Reviews by host and month",
        """SELECT date_trunc('month', created) AS month, count(*) AS reviews, host
FROM reviews GROUP BY ALL ORDER BY month, host""",
    ),
    Query(
        "Steps with failed requests",
        """SELECT review, target, suite, step, errors FROM figures WHERE errors > 0 ORDER BY errors DESC""",
    ),
    Query(
        "Reviews that are incomplete or damaged",
        """SELECT review, created, complete, planned, running, problem, hint
FROM reviews WHERE problem IS NOT NULL OR complete < planned ORDER BY created DESC""",
    ),
)
