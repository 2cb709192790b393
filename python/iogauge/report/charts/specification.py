"""A chart: Vega-Lite specifications without data, and the table that all of them draw.

The page, exported pictures and pictures saved from the page are all drawn from the same specifications. The other files
of this package make them; ``theme.py`` has the colours and fonts. What a reader can choose, such as a statistic or a
step, is a parameter of a specification, so that one specification serves for all choices.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from iogauge.report.charts.data import Table
from iogauge.report.charts.theme import config
from iogauge.report.charts.vega import Spec

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The language of every specification, which ``drawing`` and the page's script read."""
DATASET = "rows"
"""The name of the table in every specification."""
TITLE_LINE, SUBTITLE_LINE = 76, 112
"""The most characters of a title and of a subtitle that fit on a line of a picture."""
LOG_SCALE: Spec = {"type": "log", "nice": False, "clamp": True}
"""A logarithmic scale. It cannot show 0, so an interval that begins at 0 is drawn to the end of the axis."""
_DOUBLINGS = 8
"""An axis of places is logarithmic if its end is more than this many times its start."""
ONLY = "only"
"""The key of the only choice of a chart without a control."""


@dataclass(frozen=True)
class Choice:
    """One thing that a reader can choose to see in a chart, such as a statistic or a step."""

    label: str
    scale: str
    """The kind of axis that suits it."""
    patches: dict[str, Spec]
    """By kind of axis: the parts of the specification that this choice replaces (``patch``)."""


@dataclass(frozen=True)
class Chart:
    """One chart and its data: a specification for each kind of axis, of which a choice replaces some parts."""

    name: str
    """A name that is unique in a report and usable as a file name."""
    title: str
    table: Table
    specs: dict[str, Spec]
    """By kind of latency axis, ``linear`` or ``log``."""
    choices: dict[str, Choice]
    """By key, usable in a file name; the first is shown first."""
    chosen: str = "Statistic"
    """The label of the control for the choice."""
    dense: bool = False
    """Whether it has so many marks that a picture would be larger than the data."""

    series: str = ""
    """The series of the suite that it shows; empty: all."""
    caption: str = ""
    """Where its figures come from, for a picture that leaves the report."""

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
        """Return a complete specification with its data, on the fitting axis unless ``scale`` names one."""
        spec = self.variants[choice, scale or self.scales[choice]]
        if self.caption:
            spec = {**spec, "title": _in_lines(spec["title"], self.caption)}
        return {**spec, "datasets": {DATASET: self.table.records()}, "config": config()}


def _in_lines(title: Spec, caption: str) -> Spec:
    """Return a title with the caption below its subtitle. A picture would cut off lines that are wider than it is."""
    return {
        **title,
        "text": textwrap.wrap(title["text"], TITLE_LINE),
        "subtitle": [
            line for text in (title["subtitle"], caption) for line in textwrap.wrap(text, SUBTITLE_LINE)
        ],
    }


def single(name: str, table: Table, spec: Spec, patch: Spec, *, dense: bool = False) -> Chart:
    """Return a chart without a choice."""
    title = patch["title"]["text"]
    return Chart(name, title, table, {"log": spec}, {ONLY: Choice(title, "log", {"log": patch})}, dense=dense)


def patch(*, title: str, subtitle: str, description: str, **params: object) -> Spec:
    """Return what a choice replaces in a specification: its texts, and the values of parameters."""
    return {
        "title": {"text": title, "subtitle": subtitle},
        "description": description,
        "params": [{"name": name, "value": value} for name, value in params.items()],
    }


def log_ticks(values: Iterable[object]) -> tuple[list[float], list[float]]:
    """Return the domain and the ticks of a logarithmic axis that just holds the positive numbers of ``values``.

    The domain ends at 1, 2 or 5 times a power of ten, and so do ticks; over more than three decades, ticks are powers
    of ten alone.
    """
    positive = [float(value) for value in values if isinstance(value, int | float) and value > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    powers = [10.0**power for power in range(low, high + 1)]
    steps = [step * power for power in powers for step in (1, 2, 5)]
    first = max(step for step in steps if step <= min(positive))
    last = min((step for step in steps if step >= max(positive) and step > first), default=10 * first)
    ticks = steps if max(positive) <= 1000 * min(positive) else powers
    return [first, last], [tick for tick in ticks if first <= tick <= last]


def log_axis(values: Iterable[object]) -> tuple[Spec, list[float]]:
    """Return a logarithmic scale that just holds the positive numbers of ``values``, and its ticks."""
    domain, ticks = log_ticks(values)
    return {**LOG_SCALE, "domain": domain}, ticks


def long_axis(first: float, last: float) -> Spec:
    """Return what makes a scale of places logarithmic to base 2, if they span many doublings.

    >>> long_axis(1, 64), long_axis(1, 8), long_axis(0, 64)
    ({'type': 'log', 'base': 2}, {}, {})
    """
    return {"type": "log", "base": 2} if first > 0 and last > _DOUBLINGS * first else {}


def finished(chart: Spec) -> Spec:
    """Return the specification of a chart, bound to its table by name.

    Its texts come from its choices (``patch``), its colours and fonts with the data.
    """
    return {"$schema": SCHEMA, "data": {"name": DATASET}, **chart}
