"""Latency by percentile on a scale of nines: a curve for each drive, one step at a time.

Every nine has the same width, so that the tail is not squeezed into the last pixels. The curve is solid as far as the
sample supports it. Beyond, it is dashed with hollow points, up to the slowest request. Repeats of a step are one
sample: their histograms are merged.

Source: the percentile plots of HdrHistogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.latency import LOG_FROM, by_drive, drive_legend, filled_if_supported
from iogauge.report.charts.specification import LOG_SCALE, Chart, Choice, finished, log_ticks, patch
from iogauge.report.charts.theme import DASHES, DRIVES, HEIGHT, INK, SHAPES, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.histogram import EXCEEDANCES, Histogram
from iogauge.text.numbers import capitalised

_A_NINE = 6
"""The number of points for each nine."""
_NAMED = {0.5: "50 %"} | {10.0**-n: f"{100 - 10 ** (2 - n):.{max(n - 2, 0)}f} %" for n in range(1, 10)}
_MARKED = tuple(_NAMED)
"""The quantiles that people name: the curve has a point at each of them."""


def percentile_chart(drives: Sequence[SuiteResult], *, name: str) -> Chart | None:
    """Return the curves of the drives' common suite, with a choice of steps; ``None`` if nothing completed."""
    positions = _positions(drives)
    table = percentile_table(drives, positions)
    if not table.rows:
        return None
    plan = drives[0].plan
    return Chart(
        name,
        f"{capitalised(plan.judged)} latency by percentile",
        table,
        {"log": finished(_curves([drive.label for drive in drives], plan.judged))},
        {f"step-{number}": _choice(table, number, name, plan.judged) for number, name in enumerate(positions, 1)},
        chosen="Step",
    )  # fmt: skip


def _positions(drives: Sequence[SuiteResult]) -> list[str]:
    """Return the names of the positions of all drives, without duplicates, in the order of their plans."""
    return list(dict.fromkeys(position.name for drive in drives for position in drive.positions))


def percentile_table(drives: Iterable[SuiteResult], positions: Sequence[str]) -> Table:
    """Return one row for each drive, step and quantile. ``choice`` counts the steps from 1.

    ``beyond`` is the share of requests that took longer. The last row of a step is its slowest request.
    """
    number = {name: count for count, name in enumerate(positions, 1)}
    rows: list[Row] = []
    for drive in drives:
        for position in drive.positions:
            name, histogram = position.name, position.figures.histogram
            if not histogram.count:
                continue
            rows += [
                {"drive": drive.label, "choice": number[name], "step": name, **point}
                for point in _points(histogram)
            ]
    return Table.of(rows, digits=5)


def _points(histogram: Histogram) -> Iterator[Row]:
    """Yield the points of the curve of one sample, from the median up."""
    steps = range(math.floor(math.log10(histogram.count) * _A_NINE) + 1)
    shares = {0.5, *(10 ** (-step / _A_NINE) for step in steps)}
    points = sorted({share for share in shares if 1 / histogram.count < share <= 0.5}, reverse=True)
    for beyond in (*points, 1 / histogram.count):
        yield {
            "beyond": beyond,
            "percentile": f"{100 * (1 - beyond):.10g} %",
            "latency_us": us(
                histogram.quantile(round(1 - beyond, 12)) if beyond in shares else histogram.max
            ),
            "supported": beyond * histogram.count >= EXCEEDANCES * (1 - 1e-9),
            "marked": any(math.isclose(beyond, named) for named in _MARKED),
        }


def _choice(table: Table, number: int, position: str, judged: str) -> Choice:
    rows = [row for row in table.records() if row["choice"] == number]
    latencies = [float(row["latency_us"] or 0) for row in rows]
    domain, ticks = log_ticks(latencies)
    rare = min(float(row["beyond"] or 1) for row in rows)
    unsupported = (
        "Dashed and hollow: fewer than ten samples lie beyond."
        if any(not row["supported"] for row in rows)
        else ""
    )
    patched = patch(
        title=f"{capitalised(judged)} latency by percentile: {position}",
        subtitle=f"{unsupported} The last point is the slowest request.".strip(),
        description=f"Latency in microseconds at each percentile of the {judged}s of the step {position}.",
        chosen=number,
        domain=domain if max(latencies) > LOG_FROM * min(latencies) else [domain[0], domain[-1]],
        ticks=ticks,
        shares=[0.5, rare * 0.7],
        nines=[share for share in _MARKED if share >= rare * 0.7],
    )
    return Choice(position, "log", {"log": patched})


def _curves(labels: Sequence[str], judged: str) -> Spec:
    legend = drive_legend(labels)
    color = by_drive(labels, DRIVES, legend=legend)
    named = {f"{share:.10g}": percent for share, percent in _NAMED.items()}
    label = " : ".join(
        f"abs(datum.value - {share}) < {float(share) / 100} ? '{percent}'" for share, percent in named.items()
    )
    x = vega.number(
        "beyond",
        scale={**LOG_SCALE, "domain": vega.parameter("shares")},
        axis={
            "title": "Percentile",
            "values": vega.parameter("nines"),
            "labelExpr": f"{label} : ''",
            "labelOverlap": "greedy",
            "grid": True,
        },
    )
    y = vega.number(
        "latency_us",
        scale={**LOG_SCALE, "domain": vega.parameter("domain")},
        axis={
            "title": f"{capitalised(judged)} latency, µs",
            "values": vega.parameter("ticks"),
            "titleColor": INK,
            **vega.IN_US,
        },
    )
    base = vega.unit(x=x, y=y, color=color)
    # The window marks the last supported point of each curve, where the dashes start.
    window = {
        "window": [{"op": "lead", "field": "supported", "as": "next_supported"}],
        "groupby": ["drive"],
        "sort": [{"field": "beyond", "order": "descending"}],
    }
    beyond = vega.filtered(
        vega.transformed(base, window), "!datum.supported || datum.next_supported === false"
    )
    dashed = vega.drawn(beyond, vega.mark("line", strokeWidth=1.25, strokeDash=[1, 3]))
    dash = {"strokeDash": by_drive(labels, DASHES, legend=legend)} if len(labels) > 1 else {}
    solid = vega.drawn(vega.filtered(base, "datum.supported"), vega.mark("line", strokeWidth=2.25), **dash)
    points = vega.drawn(
        vega.filtered(base, "datum.marked || !datum.supported"),
        vega.mark("point", size=45, strokeWidth=1.5, opacity=1),
        shape=by_drive(labels, SHAPES, legend=legend),
        fill=filled_if_supported(color),
        tooltip=[
            vega.name("drive", title="drive"),
            vega.name("percentile", title="percentile"),
            vega.number("latency_us", title="latency, µs", format=",.5~r"),
            vega.name("supported", title="supported by its sample"),
        ],
    )
    chosen = {"filter": "datum.choice === chosen"}
    return vega.layered(dashed, solid, points, width=WIDTH, height=HEIGHT, transform=[chosen])
