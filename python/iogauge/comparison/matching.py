"""Finds the figures of two sides that can be compared: those at the same position, in the same repeats.

Two steps match if they have the same suite and series, and the same label or the same place on the axis. A series with
increasing writes may have steps that were scaled to each drive. There, and only there, the latency of the side that
lacks a step is interpolated between its two neighbouring steps, linearly in its logarithm. Rates are not interpolated,
and nothing is extrapolated. So swapping the sides gives the same figures, with inverse ratios.

With repeats on both sides, a repeat's number is its block. A figure is compared over the blocks that both sides have;
with fewer than two such blocks it is left out.

A series is also compared over its steps: by the geometric mean in each block. The mean leaves out steps that lack a
block, interpolated steps, and quantiles that too few samples support.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from iogauge.results.figures import IOPS, MEAN, RATE, PositionFigure, quantile_metric
from iogauge.results.position import PositionKey

METRICS = (IOPS, MEAN, *map(quantile_metric, (0.5, 0.99, 0.999)))
"""The metrics that are compared, in the order of the table."""
OVERALL = (IOPS, MEAN, quantile_metric(0.99))
"""The metrics by which a series is compared over its steps."""
ALL_STEPS = "all steps"

Repeats = dict[int, PositionFigure]
"""One figure of one side, by repeat."""
Figures = dict[tuple[PositionKey, str], Repeats]
"""The figures of one side, by position and metric."""


@dataclass(frozen=True, kw_only=True)
class Match:
    """One figure that both sides have, with the same repeats on both if there are several."""

    position: PositionKey
    metric: str
    before: Repeats
    """A's figures."""
    after: Repeats
    """B's figures."""
    interpolated: bool = False
    """Whether one side has no such step, so that its figures lie between two of its steps."""
    averaged: tuple[int, int] | None = None
    """For a mean over a series: the number of its steps in the mean, and of all its steps."""

    @property
    def figures(self) -> tuple[PositionFigure, ...]:
        """The figures of both sides."""
        return (*self.before.values(), *self.after.values())

    @property
    def positive(self) -> bool:
        """Whether all figures are positive, so that they have ratios."""
        return all(figure.value > 0 for figure in self.figures)

    @property
    def supported(self) -> bool:
        """Whether enough samples support all figures."""
        return all(figure.supported for figure in self.figures)


def figures_by_position(rows: Iterable[PositionFigure], suite: str) -> Figures:
    """Return the figures of a suite by position, metric and repeat."""
    figures: Figures = {}
    for row in rows:
        if row.position.suite == suite:
            figures.setdefault((row.position, row.metric), {})[row.repeat] = row
    return figures


def have_repeats(before: Figures, after: Figures) -> bool:
    """Return whether some figure has several repeats on A, and some on B."""
    return all(max(map(len, figures.values()), default=0) > 1 for figures in (before, after))


def match_figures(before: Figures, after: Figures, *, repeated: bool) -> list[Match]:
    """Return the figures that both sides have, in the order of A; ``repeated``: in two repeats or more.

    Steps that only B has are among A's by their place. If not ``repeated``, the figures of a match may be of different
    repeats.
    """
    matches = []
    for position, metric in _in_order(before, after):
        sides = [figures.get((position, metric)) for figures in (before, after)]
        ours, theirs = (
            exact or _interpolated(figures, position, metric)
            for exact, figures in zip(sides, (before, after), strict=True)
        )
        match = Match(position=position, metric=metric, before=ours, after=theirs, interpolated=None in sides)
        if repeated:
            match = _common_repeats(match)
        if metric in METRICS and min(len(match.before), len(match.after)) >= (2 if repeated else 1):
            matches.append(match)
    return matches


def _in_order(before: Figures, after: Figures) -> list[tuple[PositionKey, str]]:
    """Return the positions and metrics of both sides: series in the order of A, their steps up or down the axis."""
    keys = [*before, *(key for key in after if key not in before)]
    series: dict[PositionKey, list[tuple[PositionKey, str]]] = {}
    for position, metric in keys:
        series.setdefault(replace(position, label="", at=0.0), []).append((position, metric))
    for steps in series.values():
        places = [position.at for position, _ in steps if (position, _) in before]
        if not any(position.label for position, _ in steps) and len(steps) > len(places):
            falling = bool(places) and places[0] > places[-1]
            steps.sort(key=lambda step: step[0].at, reverse=falling)
    return [step for steps in series.values() for step in steps]


def _common_repeats(match: Match) -> Match:
    """Return a match without the repeats that one side lacks."""
    repeats = sorted(match.before.keys() & match.after.keys())
    return replace(
        match,
        before={repeat: match.before[repeat] for repeat in repeats},
        after={repeat: match.after[repeat] for repeat in repeats},
    )


def _interpolated(figures: Figures, position: PositionKey, metric: str) -> Repeats:
    """Return a side's latency between the two steps around a position; empty if there are none.

    The bounds of the interval are interpolated like the value, so the result is no more certain than the two steps.
    """
    if metric in (IOPS, RATE) or position.label:
        return {}
    series = {
        other.at: repeats
        for (other, its_metric), repeats in figures.items()
        if its_metric == metric
        and replace(other, at=position.at) == position
        and all(figure.pressed for figure in repeats.values())
    }
    for low, high in pairwise(sorted(series)):
        if low < position.at < high:
            share = (position.at - low) / (high - low)
            return {
                repeat: _between(series[low][repeat], series[high][repeat], position, share)
                for repeat in sorted(series[low].keys() & series[high].keys())
            }
    return {}


def _between(
    low: PositionFigure, high: PositionFigure, position: PositionKey, share: float
) -> PositionFigure:
    def logarithmic(first: float | None, second: float | None) -> float | None:
        if not first or not second:
            return None
        return math.exp((1 - share) * math.log(first) + share * math.log(second))

    return replace(
        low,
        position=position,
        value=logarithmic(low.value, high.value) or 0.0,
        low=logarithmic(low.low, high.low),
        high=logarithmic(low.high, high.high),
        supported=low.supported and high.supported,
        long_enough=low.long_enough and high.long_enough,
        pressure_Bps=(1 - share) * low.pressure_Bps + share * high.pressure_Bps,
    )


def series_means(steps: Iterable[Match]) -> list[Match]:
    """Return a match for each series and metric of ``OVERALL``: the geometric mean over its steps in each block."""
    series: dict[tuple[PositionKey, str], list[Match]] = {}
    for step in steps:
        if step.metric in OVERALL:
            position = replace(step.position, label=ALL_STEPS, at=0.0)
            series.setdefault((position, step.metric), []).append(step)
    means = []
    for (position, metric), members in series.items():
        blocks = max((step.before.keys() for step in members), key=len)
        complete = [
            step
            for step in members
            if blocks <= step.before.keys() and not step.interpolated and step.positive and step.supported
        ]
        if len(complete) > 1:
            means.append(
                Match(
                    position=position,
                    metric=metric,
                    before=_means(position, [step.before for step in complete], blocks),
                    after=_means(position, [step.after for step in complete], blocks),
                    averaged=(len(complete), len(members)),
                )
            )
    return means


def _means(position: PositionKey, steps: Sequence[Repeats], blocks: Iterable[int]) -> Repeats:
    """Return one side's mean over steps in each block."""
    first = steps[0][min(steps[0])]
    return {
        block: replace(
            first,
            position=position,
            value=statistics.geometric_mean(step[block].value for step in steps),
            low=None,
            high=None,
        )
        for block in blocks
    }


def unmatched(before: Figures, after: Figures, matched: Iterable[Match]) -> int:
    """Return how many steps of either side have no match.

    Steps are not left out if places of the other side lie between them.
    """
    positions = {match.position for match in matched}
    return len({position for position, _ in (*before, *after)} - positions)
