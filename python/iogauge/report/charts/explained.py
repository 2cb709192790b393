"""Where the time of modelled requests goes: the parts of their latency, stacked, at the mean and at quantiles.

Every bar is the mean request or those around a quantile, and its pieces are shares of its latency. So parts of the
median and of the slowest requests can be compared, although these differ a hundredfold. The five longest parts have
colours; the others are one piece.

Source: Intel's evaluation guide, the figure of SSD latency and system latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Row, Table, us
from iogauge.report.charts.specification import Chart, Choice, finished, patch
from iogauge.report.charts.theme import DRIVES, INK, STAIR, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.text import numbers

_BAR = 34
"""The height of a bar with its gap, in pixels."""
_REST = "all other parts"
ALL = "all loads"
"""The choice of several loads side by side."""

Bars = Sequence[tuple[str, float, Mapping[str, float]]]
"""The label, the latency and the parts of each bar, ns."""


def explained_chart(
    loads: Mapping[str, Bars],
    *,
    title: str,
    order: Sequence[str],
    name: str = "explained",
    chosen: str = "Load",
    everything: str = ALL,
) -> Chart:
    """Return the bars, with a choice of loads: all of them first, if there are several.

    ``order``: the names of all parts, in the order in which reports list them. ``chosen`` and ``everything``: what the
    choice, and the choice of all, are called.
    """
    # A memory answers some requests at once: they have no shares.
    loads = {load: [bar for bar in bars if bar[1] > 0] for load, bars in loads.items()}
    loads = {load: bars for load, bars in loads.items() if bars}
    rows: list[Row] = []
    choices: dict[str, Choice] = {}
    shares: dict[str, float] = {}
    for bars in loads.values():
        for _, lat_ns, parts_ns in bars:
            for part, value_ns in parts_ns.items():
                shares[part] = max(shares.get(part, 0.0), value_ns / lat_ns)
    longest = sorted(shares, key=lambda part: -shares[part])[: len(DRIVES) - 1]
    named = [part for part in order if part in longest]
    for number, (load, bars) in enumerate(_choices(loads, everything).items(), start=1):
        for bar in bars:
            rows += [{"choice": number, **row} for row in _rows(bar, named)]
        choices[load] = Choice(load, "log", {"log": _patch(load, loads.get(load, ()), title, number)})
    most = max(map(len, _choices(loads, everything).values()))
    return Chart(
        name,
        f"Where the time goes: {title}",
        Table.of(rows, digits=5),
        {"log": _spec(named, most)},
        choices,
        chosen=chosen,
    )


def _choices(loads: Mapping[str, Bars], everything: str) -> dict[str, Bars]:
    if len(loads) == 1:
        return dict(loads)
    every = [
        (f"{name} {label}", lat_ns, parts_ns)
        for name, bars in loads.items()
        for label, lat_ns, parts_ns in bars
    ]
    return {everything: every, **loads}


def _rows(bar: tuple[str, float, Mapping[str, float]], named: Sequence[str]) -> Iterator[Row]:
    label, lat_ns, parts_ns = bar
    shown = {part: parts_ns.get(part, 0.0) for part in named}
    shown[_REST] = max(lat_ns - sum(shown.values()), 0.0)
    reached = 0.0
    for part, value_ns in shown.items():
        share = value_ns / lat_ns
        yield {
            "at": label,
            "bar": f"{label}: {numbers.duration(lat_ns)}".replace(" us", " µs"),
            "part": part,
            "part_us": us(value_ns),
            "lat_us": us(lat_ns),
            "from_percent": 100 * reached,
            "to_percent": 100 * (reached + share),
        }
        reached += share


def _patch(name: str, bars: Bars, title: str, number: int) -> Spec:
    """Return what the drawing of a choice says; ``bars``: those of a single load."""
    subtitle = f"{title}."
    if bars:
        _, lat_ns, parts_ns = bars[0]
        longest = max(parts_ns, key=lambda part: parts_ns[part])
        share = numbers.percent(parts_ns[longest] / lat_ns)
        subtitle += f" On average {share} of the latency is {longest}."
    return patch(
        title=f"Where the time goes: {name}",
        subtitle=subtitle,
        description=f"Shares of the parts of latency at its mean and around quantiles, {name}.",
        chosen=number,
    )


def _spec(named: Sequence[str], bars: int) -> Spec:
    drawn = vega.drawn(
        vega.filtered(vega.unit(), "datum.choice === chosen"),
        vega.mark("bar", height={"band": 0.72}),
        y=vega.name(
            "bar", sort=None, axis={"title": None, "labelColor": INK, "labelLimit": 360, "grid": False}
        ),
        x=vega.number("from_percent", axis={"title": "Share of lat, %"}, scale={"domain": [0, 100]}),
        x2=vega.end("to_percent"),
        color=vega.name(
            "part",
            scale={"domain": [*named, _REST], "range": [*DRIVES[: len(named)], STAIR]},
            legend={"title": None, "symbolType": "square"},
        ),
        tooltip=[
            vega.name("at", title="at"),
            vega.name("part", title="part"),
            vega.number("part_us", title="time, µs", format=",.4~r"),
            vega.number("lat_us", title="of lat, µs", format=",.4~r"),
        ],
    )
    return finished(vega.layered(drawn, width=WIDTH, height=_BAR * bars))
