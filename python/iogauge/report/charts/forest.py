"""Forest plots: the ratio of B's figures to A's with its interval, step by step, on a logarithmic axis.

Left of 1, B's figure is the smaller one. The colour is that of the better drive, as in the charts of the suite. A point
is filled if the difference is established. Within the grey band, the margin, a difference counts as none.

``comparison`` computes the ratios. Source: S. Lewis and M. Clarke, "Forest plots: trying to see the wood and the
trees" (BMJ 322, 2001).
"""

from __future__ import annotations

from iogauge.comparison.findings import main_metrics
from iogauge.comparison.matching import METRICS
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.wording import place_text
from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import LOG_SCALE, Chart, Choice, finished, log_ticks, patch
from iogauge.report.charts.theme import DRIVES, INK, SHAPES, STAIR, STAIR_FILL, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.figures import MEAN, metric_text, value_text
from iogauge.text.numbers import figure

_STEP = 24
"""The height of a row in pixels."""
_CHOSEN = "datum.metric === chosen"
NEITHER = "no difference seen"


def forest_charts(compared: SuiteComparison, *, name: str, places: tuple[int, int]) -> tuple[Chart, ...]:
    """Return a chart for each series of a suite. ``places`` are the indices of A and B among the page's drives."""
    return tuple(
        _chart(compared, series, figures, name=f"{name}-{number}", places=places)
        for number, (series, figures) in enumerate(compared.by_series().items(), 1)
    )


def _chart(
    compared: SuiteComparison,
    series: str,
    figures: tuple[FigurePair, ...],
    *,
    name: str,
    places: tuple[int, int],
) -> Chart:
    overall = compared.overall_of(series)
    table = Table.of([_row(compared, figure) for figure in (*figures, *overall)])
    # The figure that the suite is about comes first, and is shown first.
    metrics = dict.fromkeys(
        metric
        for metric in (next(main_metrics(figures)), *METRICS)
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


def _row(compared: SuiteComparison, pair: FigurePair) -> Row:
    value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
    differs = pair.clear or pair.apparent
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


def _axis(compared: SuiteComparison, table: Table, metric: str) -> dict[str, list[float]]:
    """Return domain and ticks of a figure's axis: just wide enough for its own ratios and the margin."""
    rows = [row for row in table.records() if row["metric"] == metric]
    bounds = [row[column] for row in rows for column in ("ratio", "low", "high")]
    domain, ticks = log_ticks([*bounds, 1 + compared.margin, 1 / (1 + compared.margin)])
    return {"domain": domain, "ticks": ticks}


def _layers(compared: SuiteComparison, table: Table, places: tuple[int, int]) -> Spec:
    steps = list(dict.fromkeys(map(str, table.column("step"))))
    margin = 1 + compared.margin
    names = [compared.before.name, compared.after.name, NEITHER]
    inks = [*(DRIVES[place % len(DRIVES)] for place in places), STAIR]
    shapes = [*(SHAPES[place % len(SHAPES)] for place in places), "diamond"]
    base = vega.filtered(vega.unit(), _CHOSEN)
    # A step keeps its row whichever figure is chosen.
    axis = {"title": None, "labelLimit": 260, "grid": True}
    y = vega.name("step", sort=steps, axis=axis, scale={"domain": steps})
    x = vega.number(
        "ratio",
        axis={
            "title": "Ratio to A, logarithmic",
            "values": vega.parameter("ticks"),
            "format": ",~f",
            "labelOverlap": "greedy",
        },
        scale={**LOG_SCALE, "domain": vega.parameter("domain")},
    )
    legend = {"title": "Better", "columns": 1}
    color = vega.name("better", scale={"domain": names, "range": inks}, legend=legend)
    shape = vega.name("better", scale={"domain": names, "range": shapes}, legend=legend)
    tooltip = [
        vega.name("step", title="step"),
        vega.name("a", title="A"),
        vega.name("b", title="B"),
        vega.number("ratio", title="B / A", format=",.4~r"),
        vega.name("interval", title="95 %"),
        vega.name("established", title="established"),
    ]
    # The margin is equal in all rows: one row draws it.
    once = vega.transformed(
        base,
        {"calculate": str(1 / margin), "as": "margin_low"},
        {"calculate": str(margin), "as": "margin_high"},
        {"aggregate": [], "groupby": ["margin_low", "margin_high"]},
    )
    band = vega.mark("rect", color=STAIR_FILL, opacity=0.45)
    bounded = vega.filtered(base, "isValid(datum.low) && isValid(datum.high)")
    points: dict[str, Spec | list[Spec]] = {
        "x": x,
        "y": y,
        "color": color,
        "shape": shape,
        "tooltip": tooltip,
    }
    filled, hollow = (vega.mark("point", size=70, filled=fill, opacity=1) for fill in (True, False))
    return vega.layered(
        vega.drawn(once, band, x=vega.number("margin_low"), x2=vega.end("margin_high")),
        vega.drawn(once, vega.mark("rule", color=INK), x={"datum": 1}),
        vega.drawn(
            bounded,
            vega.mark("rule", strokeWidth=2),
            x=vega.number("low"),
            x2=vega.end("high"),
            y=y,
            color=color,
        ),
        vega.drawn(vega.filtered(base, "datum.established"), filled, **points),
        vega.drawn(vega.filtered(base, "!datum.established"), hollow, **points),
        width=WIDTH,
        height=_STEP * len(steps),
    )
