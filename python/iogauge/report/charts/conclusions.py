"""What a suite concludes from several steps together, drawn: a value from round to round, and one over two axes.

The convergence plot is the specification's: the values, the window of rounds that was asked for steadiness, the mean of
the window with a tenth on either side, and the line of best fit. The matrix is coloured by value, which it also names.

Does not judge: what is steady, and over which window, is the suite's (``results.conclusions``).
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


def conclusion_charts(drive: SuiteResult, shown: Conclusions, *, name: str) -> tuple[Chart, ...]:
    """Return the charts of what a suite has to show of one drive, those that there are."""
    found = []
    if shown.convergences:
        found.append(convergence_chart(drive, shown.convergences, name=f"{name}-convergence"))
    if shown.matrices:
        found.append(matrix_chart(drive, shown.matrices, name=f"{name}-matrix"))
    return tuple(found)


def convergence_chart(drive: SuiteResult, found: Sequence[Convergence], *, name: str) -> Chart:
    """Return the values of every round, with a choice of what was followed; ``found`` has at least one."""
    rows: list[Row] = []
    for choice, each in enumerate(found, 1):
        (start, low), (end, high) = each.fit
        for place, (at, value) in enumerate(zip(each.places, each.values, strict=True)):
            rows.append(
                {
                    "choice": choice,
                    "followed": each.title,
                    "at": at,
                    "value": value,
                    "in_window": each.first <= place <= each.last,
                    "mean": each.mean,
                    "least": each.range[0],
                    "most": each.range[1],
                    "window_from": start,
                    "window_to": end,
                    "fit_from": low,
                    "fit_to": high,
                    "steady": each.steady,
                }
            )
    choices = {
        f"{choice}": _offered(
            each.title,
            title=f"{numbers.capitalised(each.title)}, {each.unit}, from round to round: {drive.label}",
            subtitle=f"{'Steady' if each.steady else 'Not steady'}. Grey: the window. Dotted: its mean, and a tenth up "
            "and down. Red: the line of best fit.",
            description=f"{each.title} in {each.unit} at each {each.axis}, and the window that was judged.",
            choice=choice,
        )
        for choice, each in enumerate(found, 1)
    }
    return Chart(
        name,
        f"From round to round: {drive.label}",
        Table.of(rows),
        {"linear": finished(_course(found[0].axis))},
        choices,
        chosen="Followed",
    )


def _offered(label: str, *, title: str, subtitle: str, description: str, choice: int) -> Choice:
    patched = patch(title=title, subtitle=subtitle, description=description, chosen=choice)
    return Choice(label, "linear", {"linear": patched})


def _course(axis: str) -> alt.LayerChart:
    base = alt.Chart().transform_filter(_CHOSEN)
    # What is the same in every row is drawn from the first one of its choice.
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


def matrix_chart(drive: SuiteResult, found: Sequence[Matrix], *, name: str) -> Chart:
    """Return values over two axes, with a choice of matrices; ``found`` has at least one."""
    rows: list[Row] = []
    for choice, each in enumerate(found, 1):
        most = max((value for _, _, value in each.cells), default=0.0)
        for place, (column, row, value) in enumerate(each.cells):
            rows.append(
                {
                    "choice": choice,
                    "matrix": each.title,
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
            each.title,
            title=f"{numbers.capitalised(each.title)}: {drive.label}",
            subtitle=f"In {each.unit}; the darker, the more.",
            description=f"{each.title} in {each.unit} by {each.columns} and {each.rows}.",
            choice=choice,
        )
        for choice, each in enumerate(found, 1)
    }
    return Chart(
        name,
        f"Over two axes: {drive.label}",
        Table.of(rows),
        {"linear": finished(_cells(found))},
        choices,
        chosen="Matrix",
    )


def _cells(found: Sequence[Matrix]) -> alt.LayerChart:
    first = found[0]
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
