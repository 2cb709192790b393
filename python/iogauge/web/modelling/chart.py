"""A model and the changed one side by side: the parts of their mean latency as stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.specification import Chart, finished, patch, single
from iogauge.report.charts.theme import DRIVES, INK, STAIR, WIDTH

if TYPE_CHECKING:
    from iogauge.library.models.what_if import LoadDifferences

SIDES = ("model", "changed")
_BAR = 38
"""The height of a bar with its gap, in pixels."""
_REST = "all other parts"


def side_by_side(differences: Sequence[LoadDifferences], *, order: Sequence[str], title: str) -> Chart:
    """Return two bars for each load; a whisker at the end of the second is the 95 % interval of the difference.

    ``order``: the names of all parts, in the order in which reports list them.
    """
    longest = _longest(differences)
    named = [part for part in order if part in longest]
    rows: list[Row] = []
    for load in differences:
        mean = load.figures[0]
        before = {part.figure: part.before for part in load.parts}
        after = {part.figure: part.after for part in load.parts}
        interval = (mean.before + mean.difference.low, mean.before + mean.difference.high)
        rows += _rows(load.name, SIDES[0], mean.before, before, named, None)
        rows += _rows(load.name, SIDES[1], mean.after, after, named, interval)
    texts = patch(
        title="Mean latency, model and changed model",
        subtitle=f"{title}. The whisker is the 95 % interval of the difference.",
        description=f"Parts of the mean latency of the model and of the changed model. {title}.",
    )
    return single("side-by-side", Table.of(rows, digits=5), _spec(named, 2 * len(differences)), texts)


def _longest(differences: Sequence[LoadDifferences]) -> list[str]:
    lengths: dict[str, float] = {}
    for load in differences:
        for part in load.parts:
            share = max(part.before / load.figures[0].before, part.after / load.figures[0].after)
            lengths[part.figure] = max(lengths.get(part.figure, 0.0), share)
    return sorted(lengths, key=lambda part: -lengths[part])[: len(DRIVES) - 1]


def _rows(
    load: str,
    side: str,
    mean_ns: float,
    parts_ns: Mapping[str, float],
    named: Sequence[str],
    interval: tuple[float, float] | None,
) -> list[Row]:
    pieces = {part: parts_ns.get(part, 0.0) for part in named}
    pieces[_REST] = max(mean_ns - sum(pieces.values()), 0.0)
    rows: list[Row] = []
    reached = 0.0
    for part, value_ns in pieces.items():
        last = part == _REST
        rows.append(
            {
                "load": load,
                "side": side,
                "bar": f"{load}: {side}",
                "part": part,
                "part_us": us(value_ns),
                "lat_us": us(mean_ns),
                "from_us": us(reached),
                "to_us": us(reached + value_ns),
                "low_us": us(interval[0]) if interval and last else None,
                "high_us": us(interval[1]) if interval and last else None,
            }
        )
        reached += value_ns
    return rows


def _spec(named: Sequence[str], bars: int) -> vega.Spec:
    base = vega.unit(
        y=vega.name(
            "bar", sort=None, axis={"title": None, "labelColor": INK, "labelLimit": 300, "grid": False}
        )
    )
    pieces = vega.drawn(
        base,
        vega.mark("bar", height={"band": 0.7}),
        x=vega.number("from_us", axis={"title": "Mean lat, µs"}, scale={"zero": True}),
        x2=vega.end("to_us"),
        color=vega.name(
            "part",
            scale={"domain": [*named, _REST], "range": [*DRIVES[: len(named)], STAIR]},
            legend={"title": None, "symbolType": "square"},
        ),
        tooltip=[
            vega.name("bar", title="of"),
            vega.name("part", title="part"),
            vega.number("part_us", title="time, µs", format=",.4~r"),
            vega.number("lat_us", title="of lat, µs", format=",.4~r"),
        ],
    )
    whisker = vega.drawn(
        vega.filtered(base, "datum.high_us !== null"),
        vega.mark("rule", color=INK, strokeWidth=2),
        x=vega.number("low_us"),
        x2=vega.end("high_us"),
    )
    ends = [
        vega.drawn(
            vega.filtered(base, "datum.high_us !== null"),
            vega.mark("tick", color=INK, thickness=2, size=12),
            x=vega.number(end),
        )
        for end in ("low_us", "high_us")
    ]
    return finished(vega.layered(pieces, whisker, *ends, width=WIDTH, height=_BAR * bars))
