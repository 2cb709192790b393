"""What a change of a model does to a load: differences of its figures and of its parts, from pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from iogauge.library.models.loads import Replication
from iogauge.results.explained.loads import QUANTILES, ExplainedLoad, label_of
from iogauge.stats.differences.paired import PairedDifference, paired_difference
from iogauge.stats.histogram import Histogram, needed

_SHOWN = (0.5, 0.99, 0.999, 0.9999)
"""The quantiles whose differences are taken."""


@dataclass(frozen=True)
class FigureDifference:
    """What the change does to one figure. Times in ns, rates in requests a second."""

    figure: str
    """``mean``, a quantile, ``IOPS``, or a part of the mean request."""
    before: float
    """In the model: of all runs together."""
    after: float
    """In the changed model."""
    difference: PairedDifference


@dataclass(frozen=True)
class LoadDifferences:
    """What the change does to one load."""

    name: str
    figures: tuple[FigureDifference, ...]
    parts: tuple[FigureDifference, ...]
    """Of the mean request, the largest difference first."""

    def to_dict(self) -> dict[str, Any]:
        """Return all as data that JSON can hold."""
        return {
            "name": self.name,
            "figures": [_data(figure) for figure in self.figures],
            "parts": [_data(part) for part in self.parts],
        }


def differences(pairs: Sequence[tuple[Replication, Replication]]) -> tuple[LoadDifferences, ...]:
    """Return what the second run of each pair has more than the first, load by load."""
    names = [load.name for load in pairs[0][0].loads]
    return tuple(
        _of_load(
            name,
            [{load.name: load for load in before.loads}[name] for before, _ in pairs],
            [{load.name: load for load in after.loads}[name] for _, after in pairs],
        )
        for name in names
        if all(name in {load.name for load in run.loads} for pair in pairs for run in pair)
    )


def _of_load(name: str, before: Sequence[ExplainedLoad], after: Sequence[ExplainedLoad]) -> LoadDifferences:
    merged = [Histogram.merge(load.histogram for load in loads) for loads in (before, after)]
    figures = [_means("mean", [load.mean.lat_ns for load in before], [load.mean.lat_ns for load in after])]
    fewest = min(load.count for load in (*before, *after))
    for q in QUANTILES:
        if q in _SHOWN and fewest >= needed(q):
            difference = paired_difference(
                [load.quantile_ns(q) for load in before], [load.quantile_ns(q) for load in after]
            )
            together = [float(histogram.quantile(q)) for histogram in merged]
            figures.append(FigureDifference(label_of(q), together[0], together[1], difference))
    figures.append(_means("IOPS", [load.iops for load in before], [load.iops for load in after]))
    names = dict.fromkeys(part for load in (*before, *after) for part in load.mean.parts_ns)
    parts = [
        _means(
            part,
            [load.mean.parts_ns.get(part, 0.0) for load in before],
            [load.mean.parts_ns.get(part, 0.0) for load in after],
        )
        for part in names
    ]
    parts.sort(key=lambda part: -abs(part.difference.value))
    return LoadDifferences(name, tuple(figures), tuple(parts))


def _means(label: str, before: Sequence[float], after: Sequence[float]) -> FigureDifference:
    mean_before, mean_after = sum(before) / len(before), sum(after) / len(after)
    return FigureDifference(label, mean_before, mean_after, paired_difference(before, after))


def _data(figure: FigureDifference) -> dict[str, Any]:
    return {
        "figure": figure.figure,
        "before": figure.before,
        "after": figure.after,
        "difference": figure.difference.value,
        "low": figure.difference.low,
        "high": figure.difference.high,
        "shown": figure.difference.shown,
    }
