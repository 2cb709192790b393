"""Charts of what a suite concludes from several steps: a value over rounds, and a value over two axes.

The convergence plot is that of the specification. It shows the value of each round, the window of rounds that was
tested for steady state, the mean of the window plus and minus a tenth, and the line of best fit. The matrix shows each
value as a colour and as a number.

The suite decides what is steady, and over which window (``results.conclusions``).
Source: SNIA PTS 2.0.2, the plots of every test.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import Chart, Choice, finished, patch
from iogauge.report.charts.theme import ALARM, DRIVES, HEIGHT, INK, SOFT, STAIR_FILL, WIDTH
from iogauge.results.conclusions import Conclusions, Convergence, Matrix
from iogauge.results.suite_result import SuiteResult
from iogauge.text import numbers

_CHOSEN = "datum.choice === chosen"


def conclusion_charts(drive: SuiteResult, conclusions: Conclusions, *, name: str) -> tuple[Chart, ...]:
    """Return the charts of a suite's conclusions on one drive; none if it has no convergences and no matrices."""
    charts = []
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


def _course(axis: str) -> alt.LayerChart:
    base = alt.Chart().transform_filter(_CHOSEN)
    # Window, levels and fit are equal in all rows of a choice: one row draws them.
    once = base.transform_aggregate(
        groupby=["window_from", "window_to", "mean", "least", "most", "fit_from", "fit_to"]
    )
    x = alt.X(
        "at:Q",
        axis=alt.Axis(title=numbers.capitalised(axis), tickMinStep=1),
        scale=alt.Scale(zero=False, nice=False, padding=14),
    )
    y = alt.Y(
        "value:Q",
        axis=alt.Axis(title=None, format=",~r", grid=True),
        scale=alt.Scale(zero=True),
    )
    window = once.mark_rect(color=STAIR_FILL, opacity=0.45).encode(x=alt.X("window_from:Q"), x2="window_to:Q")
    levels = once.transform_fold(["mean", "least", "most"], as_=["level", "height"]).mark_rule(
        color=SOFT, strokeDash=[2, 3], strokeWidth=1.5
    )
    fit = once.mark_rule(color=ALARM, strokeWidth=2).encode(
        x="window_from:Q", x2="window_to:Q", y=alt.Y("fit_from:Q"), y2="fit_to:Q"
    )
    course = base.encode(x=x, y=y)
    points = course.mark_point(size=60, filled=True, opacity=1, color=DRIVES[0]).encode(
        tooltip=[
            alt.Tooltip("at:Q", title=axis, format=",~r"),
            alt.Tooltip("value:Q", title="value", format=",.5~r"),
            alt.Tooltip("in_window:N", title="in the window"),
        ]
    )
    return alt.LayerChart(
        layer=[
            window,
            levels.encode(x="window_from:Q", x2="window_to:Q", y=alt.Y("height:Q")),
            fit,
            course.mark_line(strokeWidth=1.75, color=DRIVES[0]),
            points,
        ],
        width=WIDTH,
        height=HEIGHT * 0.75,
    )


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


def _cells(first: Matrix) -> alt.LayerChart:
    order = alt.EncodingSortField(field="place", op="min")
    base = (
        alt.Chart(width=WIDTH, height=HEIGHT * 0.75)
        .transform_filter(_CHOSEN)
        .encode(
            x=alt.X(
                "column:N", sort=order, axis=alt.Axis(title=numbers.capitalised(first.columns), labelAngle=0)
            ),
            y=alt.Y("row:N", sort=order, axis=alt.Axis(title=numbers.capitalised(first.rows))),
        )
    )
    cells = base.mark_rect(color=DRIVES[0]).encode(
        opacity=alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.05, 0.6]), legend=None)
    )
    texts = base.mark_text(fontSize=12, color=INK).encode(text="text:N")
    return alt.LayerChart(layer=[cells, texts])
