"""One drive's latencies over time as a heat map: the number of requests in each cell of time and latency.

A line of p99 shows one figure of each interval. A heat map shows the distribution, so that two groups of requests, or a
stall that delayed few of them, can be seen. The number of cells is limited: a report stays small after a long run.

Source: B. Gregg, "Visualizing System Latency" (ACM Queue 8, 2010).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import altair as alt

from iogauge.report.charts.data import Row, Table, on_one_clock, us
from iogauge.report.charts.specification import Chart, Spec, finished, log_axis, patch, single
from iogauge.report.charts.theme import DRIVES, WIDTH
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.moments import LEVELS
from iogauge.text.numbers import capitalised

COLUMNS, ROWS = 240, 60
"""The most cells along time and along latency."""


def heat_chart(drive: SuiteResult, *, name: str) -> Chart | None:
    """Return the heat map of one drive's steps, one after the other; ``None`` if nothing completed."""
    table = heat_table(drive)
    if not table.rows:
        return None
    patched = patch(
        title=f"Every latency over time: {drive.label}",
        subtitle="Darker cells hold more requests a second. Steps follow one another.",
        description=f"The rate of {drive.plan.judged}s in each cell of time and latency.",
    )
    return single(name, table, _spec(drive, table), patched, dense=True)


def heat_table(drive: SuiteResult) -> Table:
    """Return one row for each cell in which a request completed, at most ``COLUMNS`` by ``ROWS`` of them.

    Neighbouring intervals are joined if there are more than ``COLUMNS``, levels of latency if more than ``ROWS``.
    """
    slices = list(on_one_clock(drive))
    levels = [level for _, moment, _, _ in slices for level, _ in moment.levels]
    if not levels:
        return Table.of([])
    least = min(levels)
    joined = math.ceil((max(levels) - least + 1) / ROWS)
    total_s = slices[-1][3]
    cells: dict[int, Counter[int]] = defaultdict(Counter)
    spans: dict[int, tuple[float, float]] = {}
    for index, (_, moment, start_s, end_s) in enumerate(slices):
        column = index if len(slices) <= COLUMNS else int((start_s + end_s) / 2 / total_s * COLUMNS)
        spans[column] = (spans.get(column, (start_s, end_s))[0], end_s)
        for level, count in moment.levels:
            cells[column][(level - least) // joined] += count
    rows: list[Row] = []
    for column, counts in cells.items():
        start_s, end_s = spans[column]
        for row, count in sorted(counts.items()):
            low = least + row * joined
            rows.append(
                {
                    "start_s": start_s,
                    "end_s": end_s,
                    "low_us": us(10 ** (low / LEVELS)),
                    "high_us": us(10 ** ((low + joined) / LEVELS)),
                    "requests": count,
                }
            )
    return Table.of(rows, digits=5)


def _spec(drive: SuiteResult, table: Table) -> Spec:
    records = table.records()
    scale, ticks = log_axis([row[column] for row in records for column in ("low_us", "high_us")])
    rates = [
        float(row["requests"] or 0) / (float(row["end_s"] or 0) - float(row["start_s"] or 0))
        for row in records
    ]
    cells = (
        alt.Chart(width=WIDTH, height=260)
        .transform_calculate(a_second="datum.requests / (datum.end_s - datum.start_s)")
        .mark_rect(color=DRIVES[0], strokeWidth=0)
        .encode(
            x=alt.X(
                "start_s:Q",
                axis=alt.Axis(title="Measured time, s", tickCount=8),
                scale=alt.Scale(domain=[0, max(float(row["end_s"] or 0) for row in records)], nice=False),
            ),
            x2="end_s:Q",
            y=alt.Y(
                "low_us:Q",
                axis=alt.Axis(
                    title=f"{capitalised(drive.plan.judged)} latency, µs", values=ticks, format=",~f"
                ),
                scale=scale,
            ),
            y2="high_us:Q",
            # One ink with varying opacity is readable on paper and on a dark screen.
            opacity=alt.Opacity(
                "a_second:Q",
                scale=alt.Scale(
                    type="log", domain=[min(rates), max(*rates, 2 * min(rates))], range=[0.12, 1]
                ),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("start_s:Q", title="from, s", format=".2f"),
                alt.Tooltip("end_s:Q", title="to, s", format=".2f"),
                alt.Tooltip("low_us:Q", title="latency from, µs", format=",.4~r"),
                alt.Tooltip("high_us:Q", title="to, µs", format=",.4~r"),
                alt.Tooltip("requests:Q", title="requests", format=","),
            ],
        )
    )
    return finished(alt.LayerChart(layer=[cells]))
