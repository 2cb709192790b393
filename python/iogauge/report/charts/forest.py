"""Forest plots: the ratio of B's figures to A's with its interval, step by step, on a logarithmic axis.

Left of 1, B's figure is the smaller one. The colour is that of the better drive, as in the charts of the suite. A point
is filled if the difference is established. Within the grey band, the margin, a difference counts as none.

``comparison`` computes the ratios. Source: S. Lewis and M. Clarke, "Forest plots: trying to see the wood and the
trees" (BMJ 322, 2001).
"""

from __future__ import annotations

import altair as alt

from iogauge.comparison.findings import place_text, seen, told_metrics
from iogauge.comparison.pairwise import METRICS, Compared, SuiteCompared
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import Chart, Choice, finished, log_ticks, patch
from iogauge.report.charts.theme import DRIVES, INK, SHAPES, STAIR, STAIR_FILL, WIDTH
from iogauge.results.figure import MEAN, metric_text, value_text
from iogauge.text.numbers import figure

_STEP = 24
"""The height of a row in pixels."""
_CHOSEN = "datum.metric === chosen"
NEITHER = "no difference seen"


def forest_charts(compared: SuiteCompared, *, name: str, places: tuple[int, int]) -> tuple[Chart, ...]:
    """Return a chart for each series of a suite. ``places`` are the indices of A and B among the page's drives."""
    return tuple(
        _chart(compared, series, figures, name=f"{name}-{number}", places=places)
        for number, (series, figures) in enumerate(compared.by_series().items(), 1)
    )


def _chart(
    compared: SuiteCompared, series: str, figures: tuple[Compared, ...], *, name: str, places: tuple[int, int]
) -> Chart:
    overall = [figure for figure in compared.overall if figure.position.series == series]
    table = Table.of([_row(compared, figure) for figure in (*figures, *overall)])
    # The figure that the suite is about comes first, and is shown first.
    metrics = dict.fromkeys(
        metric
        for metric in (next(told_metrics(figures)), *METRICS)
        if any(figure.metric == metric for figure in figures)
    )
    title = f"{series or compared.title}: {compared.after.name} against {compared.before.name}"
    choices = {
        metric: Choice(
            _text(metric),
            "log",
            {
                "log": patch(
                    title=f"{series or compared.title}: {_text(metric)} of {compared.after.name}, "
                    f"as a multiple of that of {compared.before.name}",
                    subtitle="Lines: 95 % intervals. Band: the margin within which a difference counts as "
                    "none. Filled: established. The colour is that of the better drive.",
                    description=f"The ratio of B's {metric_text(metric)} to A's at each step, with its interval.",
                    chosen=metric,
                    **_axis(compared, table, metric),
                )
            },
        )
        for metric in metrics
    }
    spec = finished(_layers(compared, table, places))
    return Chart(name, title, table, {"log": spec}, choices, chosen="Figure")


def _text(metric: str) -> str:
    return "Mean" if metric == MEAN else metric_text(metric)


def _row(compared: SuiteCompared, pair: Compared) -> Row:
    value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
    differs = pair.clear or seen(pair)
    better = compared.after.name if (value > 1) != pair.latency else compared.before.name
    return {
        "metric": pair.metric,
        "step": place_text(pair),
        "a": value_text(pair.metric, pair.before),
        "b": value_text(pair.metric, pair.after),
        "ratio": value,
        "low": low,
        "high": high,
        "interval": "" if low is None or high is None else f"{figure(low)} to {figure(high)}",
        "better": better if differs else NEITHER,
        "established": pair.clear,
    }


def _axis(compared: SuiteCompared, table: Table, metric: str) -> dict[str, list[float]]:
    """Return domain and ticks of a figure's axis: just wide enough for its own ratios and the margin."""
    rows = [row for row in table.records() if row["metric"] == metric]
    bounds = [row[column] for row in rows for column in ("ratio", "low", "high")]
    domain, ticks = log_ticks([*bounds, 1 + compared.margin, 1 / (1 + compared.margin)])
    return {"domain": domain, "ticks": ticks}


def _layers(compared: SuiteCompared, table: Table, places: tuple[int, int]) -> alt.LayerChart:
    records = table.records()
    steps = list(dict.fromkeys(str(row["step"]) for row in records))
    margin = 1 + compared.margin
    names = [compared.before.name, compared.after.name, NEITHER]
    inks = [*(DRIVES[place % len(DRIVES)] for place in places), STAIR]
    shapes = [*(SHAPES[place % len(SHAPES)] for place in places), "diamond"]
    base = alt.Chart().transform_filter(_CHOSEN)
    y = alt.Y(
        "step:N",
        sort=steps,
        axis=alt.Axis(title=None, labelLimit=260, grid=True),
        # A step keeps its row whichever figure is chosen.
        scale=alt.Scale(domain=steps),
    )
    x = alt.X(
        "ratio:Q",
        axis=alt.Axis(
            title="Ratio to A, logarithmic", values=alt.ExprRef("ticks"), format=",~f", labelOverlap="greedy"
        ),
        scale=alt.Scale(type="log", domain=alt.ExprRef("domain"), nice=False),
    )
    legend = alt.Legend(title="Better", columns=1)
    color = alt.Color("better:N", scale=alt.Scale(domain=names, range=inks), legend=legend)
    shape = alt.Shape("better:N", scale=alt.Scale(domain=names, range=shapes), legend=legend)
    tooltip = [
        alt.Tooltip("step:N", title="step"),
        alt.Tooltip("a:N", title="A"),
        alt.Tooltip("b:N", title="B"),
        alt.Tooltip("ratio:Q", title="B / A", format=",.4~r"),
        alt.Tooltip("interval:N", title="95 %"),
        alt.Tooltip("established:N", title="established"),
    ]
    band = base.transform_calculate(margin_low=str(1 / margin), margin_high=str(margin))
    once = band.transform_aggregate(groupby=["margin_low", "margin_high"])
    points = base.encode(x=x, y=y, color=color, shape=shape, tooltip=tooltip)
    return alt.LayerChart(
        layer=[
            once.mark_rect(color=STAIR_FILL, opacity=0.45).encode(
                x=alt.X("margin_low:Q"), x2="margin_high:Q"
            ),
            once.mark_rule(color=INK).encode(x=alt.datum(1)),
            base.transform_filter("isValid(datum.low) && isValid(datum.high)")
            .mark_rule(strokeWidth=2)
            .encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=color),
            points.transform_filter("datum.established").mark_point(size=70, filled=True, opacity=1),
            points.transform_filter("!datum.established").mark_point(size=70, filled=False, opacity=1),
        ],
        width=WIDTH,
        height=_STEP * len(steps),
    )
