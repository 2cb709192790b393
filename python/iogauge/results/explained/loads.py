"""The loads of explained runs: the requests of a job in one direction, and where their time went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iogauge.schema import DirectionParts, Kind, RowParts, RunResult
from iogauge.stats.histogram import Histogram

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class ExplainedAt:
    """The mean request, or the mean of the requests around a quantile: for p99 those from p98.5 to p99.33."""

    label: str
    """``mean``, or a quantile such as ``p99.9``."""
    quantile: float | None
    """None: all requests."""
    lat_ns: float
    """Their mean latency, of which the parts are parts."""
    parts_ns: dict[str, float]
    """The mean of each part that took time, in the order in which reports list them."""

    @property
    def shares(self) -> dict[str, float]:
        """The parts as fractions of the latency."""
        return {part: value_ns / self.lat_ns for part, value_ns in self.parts_ns.items()}

    @property
    def longest(self) -> str:
        """The part that takes longest."""
        return max(self.parts_ns, key=lambda part: self.parts_ns[part])


@dataclass(frozen=True)
class ExplainedLoad:
    """The requests of a job in one direction, and where their time went."""

    name: str
    """The job and the direction: ``reads, read``; of several rows of one job ``reads 1 of 4, read``."""
    direction: str
    count: int
    iops: float
    histogram: Histogram
    """Of their latencies."""
    at: tuple[ExplainedAt, ...]
    """The mean, and every quantile that the sample supports."""

    @property
    def mean(self) -> ExplainedAt:
        """The mean request."""
        return self.at[0]

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The quantiles that need more requests."""
        supported = {at.label for at in self.at}
        return tuple(label for label in map(label_of, QUANTILES) if label not in supported)

    def quantile_ns(self, q: float) -> float:
        """Return a quantile of the latency, in ns."""
        return float(self.histogram.quantile(q))

    def to_dict(self) -> dict[str, Any]:
        """Return all as data that JSON can hold, ns."""
        return {
            "name": self.name,
            "direction": self.direction,
            "count": self.count,
            "iops": self.iops,
            "at": [
                {
                    "at": at.label,
                    "lat_ns": at.lat_ns,
                    "parts_ns": at.parts_ns,
                    **({} if at.quantile is None else {"quantile_ns": self.quantile_ns(at.quantile)}),
                }
                for at in self.at
            ],
            "unsupported": list(self.unsupported),
        }


def label_of(q: float) -> str:
    """Return the name of a quantile.

    >>> label_of(0.5), label_of(0.9999)
    ('p50', 'p99.99')
    """
    return f"p{100 * q:.10g}"


def explained_loads(
    result: RunResult, explained: Sequence[RowParts], order: Mapping[str, int]
) -> list[ExplainedLoad]:
    """Return the loads of a run, row by row. ``order``: the places of parts in reports."""
    loads = []
    names = _names(result)
    parts_of = {(row.stage, row.row): row for row in explained}
    for name, row in zip(names, result.rows, strict=True):
        seconds = row.seconds(worker for worker in result.workers if worker.row == row.row)
        for direction, parts in parts_of[row.stage, row.row].directions.items():
            tally = row.tallies[direction]
            histogram = Histogram.decode(tally.histograms[Kind.LAT], tally.exact.get(Kind.LAT))
            loads.append(
                ExplainedLoad(
                    name=f"{name}, {direction.value}",
                    direction=direction.value,
                    count=parts.count,
                    iops=parts.count / seconds if seconds else 0.0,
                    histogram=histogram,
                    at=tuple(_at(parts, order)),
                )
            )
    return loads


def _names(result: RunResult) -> list[str]:
    """Return a name for each row. Without ``group_reporting``, each of the threads of a job has a row."""
    rows, before = Counter(row.name for row in result.rows), Counter[str]()
    names = []
    for row in result.rows:
        before[row.name] += 1
        one_of_many = f" {before[row.name]} of {rows[row.name]}" if rows[row.name] > 1 else ""
        names.append(row.name + one_of_many)
    return names


def _at(parts: DirectionParts, order: Mapping[str, int]) -> list[ExplainedAt]:
    return [
        ExplainedAt(
            "mean" if quantile is None else label_of(quantile),
            quantile,
            of.mean_ns,
            {name: of.parts_ns[name] for name in sorted(of.parts_ns, key=lambda name: order[name])},
        )
        for quantile, of in [(None, parts), *((band.quantile, band) for band in parts.bands)]
    ]
