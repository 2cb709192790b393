"""Charts of what a suite concludes from several steps: a value over rounds, and a value over two axes.

The convergence plot is that of the specification. It shows the value of each round, the window of rounds that was
tested for steady state, the mean of the window plus and minus a tenth, and the line of best fit. The matrix shows each
value as a colour and as a number.

The suite decides what is steady, and over which window (``results.conclusions``).
Source: SNIA PTS 2.0.2, the plots of every test.
"""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.effects import effects_chart
from iogauge.report.charts.specification import Chart, Choice, finished, patch
from iogauge.report.charts.theme import ALARM, DRIVES, HEIGHT, INK, SOFT, STAIR_FILL, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.conclusions import Conclusions, Convergence, Matrix
from iogauge.results.suite_result import SuiteResult
from iogauge.text import numbers

_CHOSEN = "datum.choice === chosen"


def conclusion_charts(drive: SuiteResult, conclusions: Conclusions, *, name: str) -> tuple[Chart, ...]:
    """Return the charts of a suite's conclusions on one drive; none if it has nothing to draw."""
    charts = []
    if conclusions.effects:
        charts.append(effects_chart(drive, conclusions.effects, name=f"{name}-effects"))
    if conclusions.convergences:
        charts.append(convergence_chart(drive, conclusions.convergences, name=f"{name}-convergence"))
    if conclusions.matrices:
        charts.append(matrix_chart(drive, conclusions.matrices, name=f"{name}-matrix"))
    return tuple(charts)


def convergence_chart(drive: SuiteResult, convergences: Sequence[Convergence], *, name: str) -> Chart:
    """Return the chart of the values of every round, with a choice between ``convergences``, which are not empty."""
    rows: list[Row] = []
    for choice, course in enumerate(convergences, 1):
        (start, low), (end, high) = course.fit
        for index, (at, value) in enumerate(zip(course.places, course.values, strict=True)):
            rows.append(
                {
                    "choice": choice,
                    "followed": course.title,
                    "at": at,
                    "value": value,
                    "in_window": course.first <= index <= course.last,
                    "mean": course.mean,
                    "least": course.range[0],
                    "most": course.range[1],
                    "window_from": start,
                    "window_to": end,
                    "fit_from": low,
                    "fit_to": high,
                    "steady": course.steady,
                }
            )
    choices = {
        f"{choice}": _offered(
            course.title,
            title=f"{numbers.capitalised(course.title)}, {course.unit}, from round to round: {drive.label}",
            subtitle=f"{'Steady' if course.steady else 'Not steady'}. Grey: the window. Dotted: its mean, plus and "
            "minus a tenth. Red: the line of best fit.",
            description=f"{course.title} in {course.unit} at each {course.axis}, and the window that was judged.",
            choice=choice,
        )
        for choice, course in enumerate(convergences, 1)
    }
    return Chart(
        name,
        f"From round to round: {drive.label}",
        Table.of(rows),
        {"linear": finished(_course(convergences[0].axis))},
        choices,
        chosen="Value",
    )


def _offered(label: str, *, title: str, subtitle: str, description: str, choice: int) -> Choice:
    patched = patch(title=title, subtitle=subtitle, description=description, chosen=choice)
    return Choice(label, "linear", {"linear": patched})


def _course(axis: str) -> Spec:
    base = vega.filtered(vega.unit(), _CHOSEN)
    # Window, levels and fit are equal in all rows of a choice: one row draws them.
    columns = ["window_from", "window_to", "mean", "least", "most", "fit_from", "fit_to"]
    once = vega.transformed(base, {"aggregate": [], "groupby": columns})
    window_axis = {"x": vega.number("window_from"), "x2": vega.end("window_to")}
    window = vega.drawn(once, vega.mark("rect", color=STAIR_FILL, opacity=0.45), **window_axis)
    levels = vega.drawn(
        vega.transformed(once, {"fold": ["mean", "least", "most"], "as": ["level", "height"]}),
        vega.mark("rule", color=SOFT, strokeDash=[2, 3], strokeWidth=1.5),
        **window_axis,
        y=vega.number("height"),
    )
    fit = vega.drawn(
        once,
        vega.mark("rule", color=ALARM, strokeWidth=2),
        **window_axis,
        y=vega.number("fit_from"),
        y2=vega.end("fit_to"),
    )
    values = {
        "x": vega.number(
            "at",
            axis={"title": numbers.capitalised(axis), "tickMinStep": 1},
            scale={"zero": False, "nice": False, "padding": 14},
        ),
        "y": vega.number("value", axis={"title": None, "format": ",~r", "grid": True}, scale={"zero": True}),
    }
    line = vega.drawn(base, vega.mark("line", strokeWidth=1.75, color=DRIVES[0]), **values)
    points = vega.drawn(
        base,
        vega.mark("point", size=60, filled=True, opacity=1, color=DRIVES[0]),
        **values,
        tooltip=[
            vega.number("at", title=axis, format=",~r"),
            vega.number("value", title="value", format=",.5~r"),
            vega.name("in_window", title="in the window"),
        ],
    )
    return vega.layered(window, levels, fit, line, points, width=WIDTH, height=HEIGHT * 0.75)


def matrix_chart(drive: SuiteResult, matrices: Sequence[Matrix], *, name: str) -> Chart:
    """Return the chart of a value over two axes, with a choice between ``matrices``, which are not empty."""
    rows: list[Row] = []
    for choice, matrix in enumerate(matrices, 1):
        most = max((value for _, _, value in matrix.cells), default=0.0)
        for place, (column, row, value) in enumerate(matrix.cells):
            rows.append(
                {
                    "choice": choice,
                    "matrix": matrix.title,
                    "column": column,
                    "row": row,
                    "place": place,
                    "value": value,
                    "share": value / most if most else 0.0,
                    "text": numbers.figure(value),
                }
            )
    choices = {
        f"{choice}": _offered(
            matrix.title,
            title=f"{numbers.capitalised(matrix.title)}: {drive.label}",
            subtitle=f"In {matrix.unit}; darker cells are higher.",
            description=f"{matrix.title} in {matrix.unit} by {matrix.columns} and {matrix.rows}.",
            choice=choice,
        )
        for choice, matrix in enumerate(matrices, 1)
    }
    return Chart(
        name,
        f"Over two axes: {drive.label}",
        Table.of(rows),
        {"linear": finished(_cells(matrices[0]))},
        choices,
        chosen="Matrix",
    )


def _cells(first: Matrix) -> Spec:
    order = {"field": "place", "op": "min"}
    base = vega.filtered(
        vega.unit(
            x=vega.name(
                "column", sort=order, axis={"title": numbers.capitalised(first.columns), "labelAngle": 0}
            ),
            y=vega.name("row", sort=order, axis={"title": numbers.capitalised(first.rows)}),
        ),
        _CHOSEN,
    )
    shade = vega.number("share", scale={"domain": [0, 1], "range": [0.05, 0.6]}, legend=None)
    cells = vega.drawn(base, vega.mark("rect", color=DRIVES[0]), opacity=shade)
    texts = vega.drawn(base, vega.mark("text", fontSize=12, color=INK), text=vega.name("text"))
    return vega.layered(cells, texts, width=WIDTH, height=HEIGHT * 0.75)
