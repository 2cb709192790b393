"""How many times B's figures are A's, step by step, with their intervals: a forest plot on a logarithmic axis.

To the left of 1, B's figure is the smaller one. The colour is that of the drive which is the better one there, as in
the charts of the suite; a point is filled where the difference is established, and the band is the margin within which
differences are taken as none.

Does not compare: see ``compare.py``. Source: S. Lewis and M. Clarke, "Forest plots: trying to see the wood and the
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
"""Height of a row, in pixels."""
_CHOSEN = "datum.metric === chosen"
NEITHER = "no difference seen"


def forest_charts(found: SuiteCompared, *, name: str, places: tuple[int, int]) -> tuple[Chart, ...]:
    """Return a chart for each series of a suite. ``places``: which of the page's drives A and B are, from 0."""
    return tuple(
        _chart(found, series, figures, name=f"{name}-{number}", places=places)
        for number, (series, figures) in enumerate(found.by_series().items(), 1)
    )


def _chart(
    found: SuiteCompared, series: str, figures: tuple[Compared, ...], *, name: str, places: tuple[int, int]
) -> Chart:
    wholes = [each for each in found.overall if each.position.series == series]
    table = Table.of([_row(found, each) for each in (*figures, *wholes)])
    # What the suite is about comes first, and is shown first.
    metrics = dict.fromkeys(
        metric
        for metric in (next(told_metrics(figures)), *METRICS)
        if any(each.metric == metric for each in figures)
    )
    title = f"{series or found.title}: {found.after.name} against {found.before.name}"
    choices = {
        metric: Choice(
            _text(metric),
            "log",
            {
                "log": patch(
                    title=f"{series or found.title}: {_text(metric)} of {found.after.name}, "
                    f"times that of {found.before.name}",
                    subtitle="Lines: 95 % intervals. Band: the margin within which nothing differs. Filled: "
                    "established. The colour is that of the better drive.",
                    description=f"How many times B's {metric_text(metric)} is A's at each step, with its interval.",
                    chosen=metric,
                    **_axis(found, table, metric),
                )
            },
        )
        for metric in metrics
    }
    spec = finished(_layers(found, table, places))
    return Chart(name, title, table, {"log": spec}, choices, chosen="Figure")


def _text(metric: str) -> str:
    return "Mean" if metric == MEAN else metric_text(metric)


def _row(found: SuiteCompared, each: Compared) -> Row:
    value, low, high = each.ratio.value, each.ratio.low, each.ratio.high
    told = each.clear or seen(each)
    better = found.after.name if (value > 1) != each.latency else found.before.name
    return {
        "metric": each.metric,
        "step": place_text(each),
        "a": value_text(each.metric, each.before),
        "b": value_text(each.metric, each.after),
        "ratio": value,
        "low": low,
        "high": high,
        "interval": "" if low is None or high is None else f"{figure(low)} to {figure(high)}",
        "better": better if told else NEITHER,
        "established": each.clear,
    }


def _axis(found: SuiteCompared, table: Table, metric: str) -> dict[str, list[float]]:
    """Return the axis of a figure: its domain just holds its own ratios and the margin, not those of the others."""
    rows = [row for row in table.records() if row["metric"] == metric]
    bounds = [row[column] for row in rows for column in ("ratio", "low", "high")]
    domain, ticks = log_ticks([*bounds, 1 + found.margin, 1 / (1 + found.margin)])
    return {"domain": domain, "ticks": ticks}


def _layers(found: SuiteCompared, table: Table, places: tuple[int, int]) -> alt.LayerChart:
    records = table.records()
    steps = list(dict.fromkeys(str(row["step"]) for row in records))
    margin = 1 + found.margin
    names = [found.before.name, found.after.name, NEITHER]
    inks = [*(DRIVES[place % len(DRIVES)] for place in places), STAIR]
    shapes = [*(SHAPES[place % len(SHAPES)] for place in places), "diamond"]
    base = alt.Chart().transform_filter(_CHOSEN)
    y = alt.Y(
        "step:N",
        sort=steps,
        axis=alt.Axis(title=None, labelLimit=260, grid=True),
        # Every step has its row, whichever figure is chosen.
        scale=alt.Scale(domain=steps),
    )
    x = alt.X(
        "ratio:Q",
        axis=alt.Axis(
            title="Times A, logarithmic", values=alt.ExprRef("ticks"), format=",~f", labelOverlap="greedy"
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
        alt.Tooltip("ratio:Q", title="B is ... times A", format=",.4~r"),
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
