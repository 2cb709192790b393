"""A chart: Vega-Lite specifications that hold no data, and the one table that all of them draw.

The page, the pictures made for scripts and the ones saved from the page are drawn from the same specifications.
What they show is in ``charts_pressure.py`` and ``charts_time.py``; how they look, in ``charts_theme.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt

from iogauge.report.charts_data import Table
from iogauge.report.charts_theme import config

Spec = dict[str, Any]

DATASET = "rows"
"""What every specification calls the table that it draws."""


@dataclass(frozen=True)
class Chart:
    """One chart and its data. ``variants`` are specifications by ``(statistic, scale)``; the page offers them all."""

    name: str
    """Unique in a report, usable as a file name."""
    title: str
    table: Table
    variants: dict[tuple[str, str], Spec]
    scales: dict[str, str]
    """The kind of latency axis, ``linear`` or ``log``, that suits each statistic."""

    def spec(self, statistic: str, scale: str | None = None) -> Spec:
        """Return a whole specification: with its data, and with the fitting axis unless ``scale`` is named."""
        spec = self.variants[statistic, scale or self.scales[statistic]]
        return {**spec, "datasets": {DATASET: self.table.records()}, "config": config()}


def log_axis(values: Iterable[object]) -> tuple[alt.Scale, list[float]]:
    """Return a logarithmic scale that just holds the positive numbers of ``values``, and its ticks.

    Ticks are 1, 2 and 5 times powers of ten, or powers of ten alone over more than three decades.
    """
    found = [float(value) for value in values if isinstance(value, int | float) and value > 0] or [1.0]
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    fine = max(found) <= 1000 * min(found)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in ((1, 2, 5) if fine else (1,))]
    first = max(tick for tick in ticks if tick <= min(found))
    last = min((tick for tick in ticks if tick >= max(found) and tick > first), default=10 * first)
    return alt.Scale(type="log", domain=[first, last], nice=False), [t for t in ticks if first <= t <= last]


def finished(
    chart: alt.LayerChart | alt.VConcatChart, *, title: str, subtitle: str, description: str
) -> Spec:
    """Return the specification of a chart, bound to its table by name; colours and fonts come with the data.

    Not validated here: the specifications are fixed, tests compile every one, and it would take as long again.
    """
    spec: Spec = chart.properties(
        data=alt.NamedData(name=DATASET),
        title=alt.TitleParams(title, subtitle=subtitle),
        description=description,
    ).to_dict(validate=False)
    del spec["config"]
    return spec
