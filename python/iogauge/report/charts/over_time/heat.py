"""One drive's latencies over time as a heat map: the number of requests in each cell of time and latency.

A line of p99 shows one figure of each interval. A heat map shows the distribution, so that two groups of requests, or a
stall that delayed few of them, can be seen. The number of cells is limited: a report stays small after a long run.

Source: B. Gregg, "Visualizing System Latency" (ACM Queue 8, 2010).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, on_one_clock, us
from iogauge.report.charts.specification import Chart, finished, log_axis, patch, single
from iogauge.report.charts.theme import DRIVES, WIDTH
from iogauge.report.charts.vega import Spec
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
    scale, ticks = log_axis([*table.column("low_us"), *table.column("high_us")])
    starts, ends, requests = (table.numbers(column) for column in ("start_s", "end_s", "requests"))
    rates = [count / (stop - start) for count, start, stop in zip(requests, starts, ends, strict=True)]
    per_second = {"calculate": "datum.requests / (datum.end_s - datum.start_s)", "as": "a_second"}
    cells = vega.drawn(
        vega.transformed(vega.unit(), per_second),
        vega.mark("rect", color=DRIVES[0], strokeWidth=0),
        x=vega.number(
            "start_s",
            axis={"title": "Measured time, s", "tickCount": 8},
            scale={"domain": [0, max(ends)], "nice": False},
        ),
        x2=vega.end("end_s"),
        y=vega.number(
            "low_us",
            axis={"title": f"{capitalised(drive.plan.judged)} latency, µs", "values": ticks, **vega.IN_US},
            scale=scale,
        ),
        y2=vega.end("high_us"),
        # One ink with varying opacity is readable on paper and on a dark screen.
        opacity=vega.number(
            "a_second",
            scale={"type": "log", "domain": [min(rates), max(*rates, 2 * min(rates))], "range": [0.12, 1]},
            legend=None,
        ),
        tooltip=[
            vega.number("start_s", title="from, s", format=".2f"),
            vega.number("end_s", title="to, s", format=".2f"),
            vega.number("low_us", title="latency from, µs", format=",.4~r"),
            vega.number("high_us", title="to, µs", format=",.4~r"),
            vega.number("requests", title="requests", format=","),
        ],
    )
    return finished(vega.layered(cells, width=WIDTH, height=260))
