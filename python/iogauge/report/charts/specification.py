"""A chart: Vega-Lite specifications that hold no data, and the one table that all of them draw.

The page, the pictures made for scripts and the ones saved from the page are drawn from the same specifications.
What they show is in the other files here; how they look, in ``theme.py``. What a reader can choose (a
statistic, a step) are parameters of a specification, so that one serves for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt
from altair.utils import schemapi

from iogauge.report.charts.data import Table
from iogauge.report.charts.theme import config

# Altair checks every part of a chart against Vega-Lite's schema as it is made, which takes as long as all the rest. The
# specifications are fixed, and tests compile every one.
schemapi.DEBUG_MODE = False

Spec = dict[str, Any]

DATASET = "rows"
"""What every specification calls the table that it draws."""
ONLY = "only"
"""The one choice of a chart that offers none."""


@dataclass(frozen=True)
class Choice:
    """One of the things that a chart can show, such as a statistic or a step."""

    label: str
    scale: str
    """The kind of axis, one of the chart's, that suits it."""
    patches: dict[str, Spec]
    """By kind of axis: the parts of the specification that are this choice's own (``patch``)."""


@dataclass(frozen=True)
class Chart:
    """One chart and its data. Each kind of axis has one specification, and each choice replaces some parts of it."""

    name: str
    """Unique in a report, usable as a file name."""
    title: str
    table: Table
    specs: dict[str, Spec]
    """By kind of latency axis, ``linear`` or ``log``."""
    choices: dict[str, Choice]
    """By key, usable as a part of a file name; the first is shown first."""
    chosen: str = "Statistic"
    """What a choice is called."""
    dense: bool = False
    """Whether it has so many marks that a picture of it would be larger than its data."""

    @property
    def scales(self) -> dict[str, str]:
        """The kind of axis that suits each choice."""
        return {key: choice.scale for key, choice in self.choices.items()}

    @property
    def variants(self) -> dict[tuple[str, str], Spec]:
        """All specifications by choice and kind of axis."""
        return {
            (key, scale): {**spec, **choice.patches[scale]}
            for key, choice in self.choices.items()
            for scale, spec in self.specs.items()
        }

    def spec(self, choice: str, scale: str | None = None) -> Spec:
        """Return a whole specification: with its data, and with the fitting axis unless ``scale`` is named."""
        spec = self.variants[choice, scale or self.scales[choice]]
        return {**spec, "datasets": {DATASET: self.table.records()}, "config": config()}


def single(name: str, table: Table, spec: Spec, patch: Spec, *, dense: bool = False) -> Chart:
    """Return a chart that offers nothing to choose."""
    title = patch["title"]["text"]
    return Chart(name, title, table, {"log": spec}, {ONLY: Choice(title, "log", {"log": patch})}, dense=dense)


def patch(*, title: str, subtitle: str, description: str, **params: object) -> Spec:
    """Return what a choice replaces in a specification: its words, and the values of the parameters that it names."""
    return {
        "title": {"text": title, "subtitle": subtitle},
        "description": description,
        "params": [{"name": name, "value": value} for name, value in params.items()],
    }


def log_ticks(values: Iterable[object]) -> tuple[list[float], list[float]]:
    """Return the domain of a logarithmic axis that just holds the positive numbers of ``values``, and its ticks.

    Ticks are 1, 2 and 5 times powers of ten, or powers of ten alone over more than three decades.
    """
    found = [float(value) for value in values if isinstance(value, int | float) and value > 0] or [1.0]
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    fine = max(found) <= 1000 * min(found)
    ticks = [step * 10.0**power for power in range(low, high + 1) for step in ((1, 2, 5) if fine else (1,))]
    first = max(tick for tick in ticks if tick <= min(found))
    last = min((tick for tick in ticks if tick >= max(found) and tick > first), default=10 * first)
    return [first, last], [tick for tick in ticks if first <= tick <= last]


def log_axis(values: Iterable[object]) -> tuple[alt.Scale, list[float]]:
    """Return a logarithmic scale that just holds the positive numbers of ``values``, and its ticks."""
    domain, ticks = log_ticks(values)
    return alt.Scale(type="log", domain=domain, nice=False), ticks


def finished(chart: alt.LayerChart | alt.VConcatChart) -> Spec:
    """Return the specification of a chart, bound to its table by name; colours and fonts come with the data.

    Its words are its choices' (``patch``). Not validated here: the specifications are fixed, tests compile every one,
    and it would take as long again.
    """
    # Set, not given by a method: Altair's methods copy a chart of charts with all that is in it, several times over.
    chart.data = alt.NamedData(name=DATASET)
    spec: Spec = chart.to_dict(validate=False)
    del spec["config"]
    return spec
