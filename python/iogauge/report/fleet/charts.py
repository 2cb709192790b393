"""The picture of a fleet: every drive a point, its latency beside that of its peers; outliers have their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from iogauge.report.charts import vega
from iogauge.report.charts.data import Table
from iogauge.report.charts.specification import Chart, Choice, finished, log_axis, patch
from iogauge.report.charts.theme import ALARM, DRIVES, INK, STAIR, WIDTH
from iogauge.report.charts.vega import Spec
from iogauge.report.fleet.view import Drive, FleetView, Standing

HEIGHT = 340
_MOST_NAMED = 8
"""The most drives with their names beside them; one stands for all drives of a slow host or model."""
_MANY = 2000
"""A page has no static picture of more drives."""
_LOOKS = {
    Standing.NORMAL: (STAIR, "circle"),
    Standing.SLOW: (ALARM, "triangle-up"),
    Standing.SLOW_TAIL: (ALARM, "triangle-right"),
    Standing.OF_HOST: (DRIVES[1], "square"),
    Standing.OF_SLOT: (DRIVES[2], "cross"),
    Standing.OF_MODEL: (DRIVES[0], "diamond"),
}
_NORMAL = f"datum.standing === '{Standing.NORMAL}'"
_BY_RATE: Spec = {"title": "Requests a second, as a multiple of its peers'", "format": ",~r", "tickCount": 8}
_WIDE = 3.0
"""An axis whose end is more than this many times its start is logarithmic."""


def drives_chart(view: FleetView) -> Chart:
    """Return the drives by host, or by their rate: the reader chooses."""
    table = drives_table(view)
    named = "Named: the slowest of those that are judged slow. " if view.outliers else ""
    choices = {
        "host": Choice(
            "By host",
            "log",
            {
                "log": {
                    **patch(
                        title="Every drive beside its peers, by host",
                        subtitle=f"Mean latency as a multiple of its peers'. {named}Lines: 95 % intervals.",
                        description="The latency of each drive as a multiple of that of its peers, by host.",
                    ),
                    "layer": _layers(table, _by_host(view.judged), "place", [-1, len(view.judged)]),
                }
            },
        ),
        "rate": Choice(
            "Against its rate",
            "log",
            {
                "log": {
                    **patch(
                        title="Every drive beside its peers: latency against rate",
                        subtitle="Both as multiples of the peers'. A slow drive stands at the upper left. "
                        "Lines: 95 % intervals.",
                        description="The latency of each drive against its rate, both relative to its peers.",
                    ),
                    "layer": _layers(table, _BY_RATE, "rate", _ends(table.numbers("rate"))),
                }
            },
        ),
    }
    spec = finished({"width": WIDTH, "height": HEIGHT})
    return Chart(
        "fleet-drives",
        "Every drive beside its peers",
        table,
        {"log": spec},
        choices,
        chosen="Drives",
        dense=len(table.rows) > _MANY,
    )


def drives_table(view: FleetView) -> Table:
    """Return a row for each drive, in the order of hosts; ``place`` is its place there, ``name`` what is drawn."""
    named = set(_named(view.outliers))
    return Table.of(
        [
            {
                "drive": drive.name,
                "host": drive.host,
                "model": drive.model,
                "firmware": drive.firmware,
                "slot": drive.slot,
                "slowness": drive.slowness,
                "low": drive.low,
                "high": drive.high,
                "tail": drive.tail,
                "rate": drive.rate,
                "slow_share": drive.slow_share,
                "standing": drive.standing.value,
                "place": place,
                "name": _name(drive) if drive in named else "",
            }
            for place, drive in enumerate(view.judged)
        ]
    )


def _named(outliers: Sequence[Drive]) -> Iterator[Drive]:
    """Yield the drives to name: the slowest, and of a slow host, slot or model the slowest one alone."""
    seen: set[tuple[Standing, str]] = set()
    for drive in outliers:
        group = drive.standing, _name(drive)
        if group not in seen and len(seen) < _MOST_NAMED:
            seen.add(group)
            yield drive


def _name(drive: Drive) -> str:
    shared = {
        Standing.OF_HOST: f"host {drive.host}",
        Standing.OF_SLOT: f"slot {drive.slot}",
        Standing.OF_MODEL: f"{drive.model} {drive.firmware}".strip(),
    }
    return shared.get(drive.standing, drive.name)


def _by_host(drives: Sequence[Drive]) -> Spec:
    """Return the axis of the drives' places: the name of a host stands below the middle of its drives."""
    places: dict[str, list[int]] = {}
    for place, drive in enumerate(drives):
        places.setdefault(drive.host, []).append(place)
    middles = {sum(own) / len(own): host for host, own in places.items()}
    return {
        "title": "Host",
        "values": list(middles),
        "labelExpr": f"({json.dumps({f'{at:g}': host for at, host in middles.items()})})[datum.value]",
        "labelOverlap": "greedy",
        "labelSeparation": 8,
        "ticks": False,
        "grid": False,
    }


def _ends(values: Sequence[float]) -> list[float]:
    """Return the ends of an axis that has all values, with some room; differences below 5 % look small on it."""
    low, high = min([*values, 0.95]), max([*values, 1.05])
    room = 0.05 * (high - low)
    return [low - room, high + room]


def _layers(table: Table, axis: Spec, column: str, domain: list[float]) -> list[Spec]:
    present = [standing for standing in _LOOKS if standing.value in set(table.column("standing"))]
    names = [standing.value for standing in present]
    scale_of = {
        part: {"domain": names, "range": [_LOOKS[standing][index] for standing in present]}
        for index, part in enumerate(("color", "shape"))
    }
    legend: Spec = {"title": None}
    color = vega.name("standing", scale=scale_of["color"], legend=legend)
    shape = vega.name("standing", scale=scale_of["shape"], legend=legend)
    x = vega.number(column, axis=axis, scale={"domain": domain, "nice": False, "zero": False})
    y = vega.number("slowness", axis=_slowness_axis(table), scale=_slowness_scale(table))
    base = vega.unit(x=x, y=y)
    slow = vega.filtered(base, f"!({_NORMAL})")
    common: dict[str, Spec | list[Spec]] = {"color": color, "shape": shape, "tooltip": _tooltip()}
    return [
        vega.drawn({"data": {"values": [{}]}}, vega.mark("rule", color=INK), y={"datum": 1}),
        vega.drawn(
            vega.filtered(base, _NORMAL), vega.mark("point", size=22, filled=True, opacity=0.75), **common
        ),
        vega.drawn(
            vega.filtered(slow, "isValid(datum.low) && isValid(datum.high)"),
            vega.mark("rule", strokeWidth=1.5),
            y=vega.number("low", axis=_slowness_axis(table), scale=_slowness_scale(table)),
            y2=vega.end("high"),
            color=color,
        ),
        vega.drawn(slow, vega.mark("point", size=80, filled=True, opacity=1), **common),
        *(_names(base, condition, align) for condition, align in _aligned(column, domain)),
    ]


def _names(base: Spec, condition: str, align: str) -> Spec:
    """Return the names above the intervals of those drives for which ``condition`` is true."""
    top = {"calculate": "isValid(datum.high) ? datum.high : datum.slowness", "as": "top"}
    return vega.drawn(
        vega.transformed(vega.filtered(base, f"datum.name !== '' && {condition}"), top),
        vega.mark("text", align=align, baseline="bottom", dy=-5, fontSize=12, color=INK),
        y=vega.number("top"),
        text=vega.name("name"),
    )


def _aligned(column: str, domain: Sequence[float]) -> Iterator[tuple[str, str]]:
    """Yield conditions and how names are aligned then: near an end of the axis they would reach beyond it."""
    low, high = domain
    first, last = low + 0.15 * (high - low), high - 0.15 * (high - low)
    yield f"datum.{column} < {first}", "left"
    yield f"datum.{column} >= {first} && datum.{column} <= {last}", "center"
    yield f"datum.{column} > {last}", "right"


def _slowness_scale(table: Table) -> Spec:
    values = _slownesses(table)
    if max(values) > _WIDE * min(values):
        return log_axis(values)[0]
    return {"domain": _ends(values), "nice": False, "zero": False}


def _slowness_axis(table: Table) -> Spec:
    values = _slownesses(table)
    wide = max(values) > _WIDE * min(values)
    ticks: Spec = {"values": log_axis(values)[1]} if wide else {"tickCount": 6}
    return {"title": "Latency, as a multiple of its peers'", "format": ",~r", **ticks}


def _slownesses(table: Table) -> list[float]:
    """Return what the axis must have: all points, and the intervals that are drawn."""
    bounds = [
        value
        for row in table.records()
        if row["standing"] != Standing.NORMAL.value
        for value in (row["low"], row["high"])
        if isinstance(value, int | float) and value > 0
    ]
    return [1.0, *(value for value in table.numbers("slowness") if value > 0), *bounds]


def _tooltip() -> list[Spec]:
    return [
        *(vega.name(word) for word in ("drive", "host", "model", "firmware", "slot")),
        vega.name("standing", title="judged"),
        vega.number("slowness", title="latency / peers", format=",.3~r"),
        vega.number("tail", title="p99 / peers", format=",.3~r"),
        vega.number("rate", title="rate / peers", format=",.3~r"),
        vega.number("slow_share", title="slow for", format=".1%"),
    ]
