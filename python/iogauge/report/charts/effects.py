"""The chart of a ladder: what each tuning changes of a figure, with its interval, beside what was published.

A line is the 95 % interval of a tuning's effect, in the unit of the figure; left of zero the figure is smaller for it.
A point is filled if the effect is established among all tunings. A red cross is the published difference.

The suite computes the effects (``results.conclusions.Effects``). Source: S. Lewis and M. Clarke, "Forest plots: trying
to see the wood and the trees" (BMJ 322, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table
from iogauge.report.charts.specification import Chart, Choice, finished, patch
from iogauge.report.charts.theme import ALARM, DRIVES, INK, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.results.conclusions import EffectRow, Effects
from iogauge.results.suite_result import SuiteResult
from iogauge.text import numbers

_STEP = 34
"""The height of a row in pixels."""
_CHOSEN = "datum.choice === chosen"


def effects_chart(drive: SuiteResult, effects: Sequence[Effects], *, name: str) -> Chart:
    """Return the chart of what tunings change, with a choice between ``effects``, which are not empty."""
    rows = [_row(choice, figure, row) for choice, figure in enumerate(effects, 1) for row in figure.rows]
    choices = {
        f"{choice}": Choice(
            numbers.capitalised(figure.title),
            "linear",
            {
                "linear": patch(
                    title=f"{numbers.capitalised(figure.title)}, change in {figure.unit}: {drive.label}",
                    subtitle="Lines: 95 % intervals. Filled: established. "
                    + (
                        "Red crosses: as published. "
                        if any(row.published is not None for row in figure.rows)
                        else ""
                    )
                    + (
                        "Each is compared with stock."
                        if {row.against for row in figure.rows} == {figure.rows[0].against}
                        else "Each is compared with the one above it, the first with stock."
                    ),
                    description=f"What each tuning changes of {figure.title}, in {figure.unit}, with its interval.",
                    chosen=choice,
                    unit=f"Change in {figure.unit}",
                )
            },
        )
        for choice, figure in enumerate(effects, 1)
    }
    return Chart(
        name,
        f"What each tuning changes: {drive.label}",
        Table.of(rows),
        {"linear": finished(_layers(list(dict.fromkeys(str(row["tuning"]) for row in rows))))},
        choices,
        chosen="Figure",
    )


def _row(choice: int, figure: Effects, row: EffectRow) -> Row:
    return {
        "choice": choice,
        "figure": figure.title,
        "unit": figure.unit,
        "tuning": row.name,
        "against": row.against,
        "change": row.value,
        "low": row.low,
        "high": row.high,
        "text": numbers.change(row.value, row.low, row.high, f" {figure.unit}"),
        "established": row.established,
        "supported": row.supported,
        "published": row.published,
    }


def _layers(tunings: Sequence[str]) -> Spec:
    base = vega.filtered(vega.unit(), _CHOSEN)
    y = vega.name("tuning", sort=tunings, axis={"title": None, "labelLimit": 280, "grid": True})
    axis = {"title": vega.parameter("unit"), "format": "+,~r"}
    x = vega.number("change", axis=axis, scale={"zero": True, "nice": True})
    tooltip = [
        vega.name("tuning", title="tuning"),
        vega.name("against", title="against"),
        vega.name("text", title="change"),
        vega.name("established", title="established"),
        vega.name("supported", title="enough samples"),
        vega.number("published", title="published", format="+,.4~r"),
    ]
    filled, hollow = (
        vega.mark("point", size=80, filled=fill, opacity=1, color=DRIVES[0]) for fill in (True, False)
    )
    bounded = vega.filtered(base, "isValid(datum.low) && isValid(datum.high)")
    published = vega.filtered(base, "isValid(datum.published)")
    return vega.layered(
        vega.drawn(base, vega.mark("rule", color=INK), x={"datum": 0}),
        vega.drawn(
            bounded,
            vega.mark("rule", strokeWidth=2.5, color=DRIVES[0]),
            x=vega.number("low", axis=axis),
            x2=vega.end("high"),
            y=y,
        ),
        vega.drawn(vega.filtered(base, "datum.established"), filled, x=x, y=y, tooltip=tooltip),
        vega.drawn(vega.filtered(base, "!datum.established"), hollow, x=x, y=y, tooltip=tooltip),
        vega.drawn(
            published,
            vega.mark("point", shape="cross", size=50, filled=True, opacity=1, color=ALARM),
            x=vega.number("published", axis=axis),
            y=y,
            tooltip=tooltip,
        ),
        width=WIDTH,
        height=_STEP * len(tunings),
    )
