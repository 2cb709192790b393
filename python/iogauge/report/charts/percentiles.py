"""How many requests were done by when, on a scale of nines: a curve for each drive, at one step at a time.

Every nine is as wide as the one before, so that the tail is not squeezed into the last pixels. What the sample supports
is solid; beyond it the curve is dashed, with hollow points, down to its one slowest request. Repeats of a step are
one sample: their histograms are merged.

Source: the percentile plots of HdrHistogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import altair as alt

from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.latency import LOG_FROM, by_drive
from iogauge.report.charts.specification import Chart, Choice, finished, log_ticks, patch
from iogauge.report.charts.theme import DASHES, DRIVES, HEIGHT, INK, PAPER, SHAPES, WIDTH
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.histogram import EXCEEDANCES, Histogram
from iogauge.text.numbers import capitalised

_A_NINE = 6
"""Points within a factor of ten of what lies beyond."""
_NAMED = {0.5: "50 %"} | {10.0**-n: f"{100 - 10 ** (2 - n):.{max(n - 2, 0)}f} %" for n in range(1, 10)}
_MARKED = tuple(_NAMED)
"""Where a curve has a point: the quantiles that people name."""


def percentile_chart(drives: Sequence[SuiteResult], *, name: str) -> Chart | None:
    """Return the curves of the drives' common suite, with a choice of steps; ``None`` where nothing completed."""
    places = _places(drives)
    table = percentile_table(drives, places)
    if not table.rows:
        return None
    plan = drives[0].plan
    return Chart(
        name,
        f"{capitalised(plan.judged)} latency by percentile",
        table,
        {"log": finished(_curves([drive.label for drive in drives], plan.judged))},
        {f"step-{number}": _choice(table, number, words, plan.judged) for number, words in enumerate(places, 1)},
        chosen="Step",
    )  # fmt: skip


def _places(drives: Sequence[SuiteResult]) -> list[str]:
    """Return the steps of all drives by name, each once, in the order of their plans."""
    return list(dict.fromkeys(position.name for drive in drives for position in drive.positions))


def percentile_table(drives: Iterable[SuiteResult], places: Sequence[str]) -> Table:
    """Return one row for each drive, step and quantile: ``choice`` counts the steps from 1.

    ``beyond`` is the share of requests that took longer. The last row of a step is its slowest request.
    """
    number = {words: count for count, words in enumerate(places, 1)}
    rows: list[Row] = []
    for drive in drives:
        for position in drive.positions:
            figures, words = position.figures, position.name
            if not figures.whole.count:
                continue
            rows += [
                {"drive": drive.label, "choice": number[words], "step": words, **point}
                for point in _points(figures.whole)
            ]
    return Table.of(rows, digits=5)


def _points(whole: Histogram) -> Iterator[Row]:
    """Yield the curve of one sample, from the median on."""
    steps = range(math.floor(math.log10(whole.count) * _A_NINE) + 1)
    shares = {0.5, *(10 ** (-step / _A_NINE) for step in steps)}
    places = sorted({share for share in shares if 1 / whole.count < share <= 0.5}, reverse=True)
    for beyond in (*places, 1 / whole.count):
        yield {
            "beyond": beyond,
            "percentile": f"{100 * (1 - beyond):.10g} %",
            "latency_us": us(whole.quantile(round(1 - beyond, 12)) if beyond in shares else whole.max),
            "supported": beyond * whole.count >= EXCEEDANCES * (1 - 1e-9),
            "marked": any(math.isclose(beyond, named) for named in _MARKED),
        }


def _choice(table: Table, number: int, words: str, judged: str) -> Choice:
    shown = [row for row in table.records() if row["choice"] == number]
    latencies = [float(row["latency_us"] or 0) for row in shown]
    domain, ticks = log_ticks(latencies)
    rare = min(float(row["beyond"] or 1) for row in shown)
    said = (
        "Dashed and hollow: fewer than ten samples lie beyond."
        if any(not row["supported"] for row in shown)
        else ""
    )
    patched = patch(
        title=f"{capitalised(judged)} latency by percentile: {words}",
        subtitle=f"{said} The last point is the slowest request.".strip(),
        description=f"Latency in microseconds at each percentile of the {judged}s of the step {words}.",
        chosen=number,
        domain=domain if max(latencies) > LOG_FROM * min(latencies) else [domain[0], domain[-1]],
        ticks=ticks,
        shares=[0.5, rare * 0.7],
        nines=[share for share in _MARKED if share >= rare * 0.7],
    )
    return Choice(words, "log", {"log": patched})


def _curves(labels: Sequence[str], judged: str) -> alt.LayerChart:
    several = len(labels) > 1
    legend = alt.Legend(title=None, symbolOpacity=1) if several else None
    color = alt.Color("drive:N", scale=by_drive(labels, DRIVES), legend=legend)
    named = {f"{share:.10g}": words for share, words in _NAMED.items()}
    label = " : ".join(
        f"abs(datum.value - {share}) < {float(share) / 100} ? '{words}'" for share, words in named.items()
    )
    x = alt.X(
        "beyond:Q",
        scale=alt.Scale(type="log", domain=alt.ExprRef("shares"), nice=False),
        axis=alt.Axis(
            title="Requests that were done by then",
            values=alt.ExprRef("nines"),
            labelExpr=f"{label} : ''",
            labelOverlap="greedy",
            grid=True,
        ),
    )
    y = alt.Y(
        "latency_us:Q",
        scale=alt.Scale(type="log", domain=alt.ExprRef("domain"), nice=False),
        axis=alt.Axis(
            title=f"{capitalised(judged)} latency, µs",
            values=alt.ExprRef("ticks"),
            titleColor=INK,
            format=",~f",
        ),
    )
    base = alt.Chart().encode(x=x, y=y, color=color)
    # A window finds the last supported point of each curve, from which the dashes go on.
    dashed = base.transform_window(
        next_supported="lead(supported)",
        groupby=["drive"],
        sort=[alt.SortField("beyond", order="descending")],
    ).transform_filter("!datum.supported || datum.next_supported === false")
    solid = base.transform_filter("datum.supported").mark_line(strokeWidth=2.25)
    if several:
        solid = solid.encode(
            strokeDash=alt.StrokeDash("drive:N", scale=by_drive(labels, DASHES), legend=legend)
        )
    points = (
        base.transform_filter("datum.marked || !datum.supported")
        .mark_point(size=45, strokeWidth=1.5, opacity=1)
        .encode(
            shape=alt.Shape("drive:N", scale=by_drive(labels, SHAPES), legend=legend),
            fill=alt.condition("datum.supported", color, alt.value(PAPER)),
            tooltip=[
                alt.Tooltip("drive:N", title="drive"),
                alt.Tooltip("percentile:N", title="percentile"),
                alt.Tooltip("latency_us:Q", title="latency, µs", format=",.5~r"),
                alt.Tooltip("supported:N", title="supported by its sample"),
            ],
        )
    )
    layers = [dashed.mark_line(strokeWidth=1.25, strokeDash=[1, 3]), solid, points]
    chosen = alt.FilterTransform(filter="datum.choice === chosen")
    return alt.LayerChart(layer=layers, width=WIDTH, height=HEIGHT, transform=[chosen])
