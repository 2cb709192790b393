"""The loads of explained runs: the requests of a job in one direction, and where their time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iogauge.library.progress import OnProgress, Progress
from iogauge.schema import DirectionParts, JobFile, Kind, RowParts, RunResult
from iogauge.stats.histogram import Histogram

if TYPE_CHECKING:
    from iogauge.catalog import ModelFile

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True)
class ExplainedAt:
    """The mean request, or the mean of the requests around a quantile: for p99 those from p98.5 to p99.33."""

    label: str
    """``mean``, or a quantile such as ``p99.9``."""
    lat_ns: float
    """Their mean latency, of which the parts are parts."""
    parts_ns: dict[str, float]
    """The mean of each part that took time, in the order in which a request comes to them."""

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
    """The job and the direction: ``reads, read``."""
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
                    **({} if q is None else {"quantile_ns": self.quantile_ns(q)}),
                }
                for at, q in zip(self.at, (None, *QUANTILES), strict=False)
            ],
            "unsupported": list(self.unsupported),
        }


@dataclass(frozen=True)
class Replication:
    """One run of the jobs."""

    loads: tuple[ExplainedLoad, ...]


def label_of(q: float) -> str:
    """Return the name of a quantile.

    >>> label_of(0.5), label_of(0.9999)
    ('p50', 'p99.99')
    """
    return f"p{100 * q:.10g}"


def replications(
    jobs: JobFile,
    models: Sequence[tuple[ModelFile, ModelFile]],
    *,
    seed: int,
    count: int,
    on_progress: OnProgress,
) -> list[tuple[Replication, Replication]]:
    """Run the jobs ``count`` times on each model, a drive and its machine, with the same seeds; return the runs of the
    first and the last model in pairs. Raises IogaugeError if the jobs cannot be planned.
    """
    from iogauge.execution.interrupts import Interrupts
    from iogauge.execution.modelled import explain, part_meanings
    from iogauge.workload.regions import seed_for

    order = {meaning.name: place for place, meaning in enumerate(part_meanings())}
    (path,) = {name for job in jobs.jobs for name in job.filenames}
    label, runs = "runs of the jobs", count * len(models)
    on_progress(Progress(event="begin", step=label))
    pairs = []
    with Interrupts() as interrupts:
        for number in range(count):
            own_seed = seed if number == 0 else seed_for(seed, "replication", number)
            run = []
            for place, (drive, machine) in enumerate(models):
                drives = {path: drive.parameters}
                result, rows = explain(jobs, drives, machine.parameters, seed=own_seed, interrupts=interrupts)
                run.append(Replication(tuple(_loads(result, rows, order))))
                done = number * len(models) + place + 1
                on_progress(Progress(event="part", step=label, number=done, steps=runs))
            pairs.append((run[0], run[-1]))
    return pairs


def _loads(result: RunResult, explained: Sequence[RowParts], order: dict[str, int]) -> list[ExplainedLoad]:
    loads = []
    parts_of = {(row.stage, row.row): row for row in explained}
    for row in result.rows:
        seconds = row.seconds(worker for worker in result.workers if worker.row == row.row)
        for direction, parts in parts_of[row.stage, row.row].directions.items():
            tally = row.tallies[direction]
            histogram = Histogram.decode(tally.histograms[Kind.LAT], tally.exact.get(Kind.LAT))
            loads.append(
                ExplainedLoad(
                    name=f"{row.name}, {direction.value}",
                    direction=direction.value,
                    count=parts.count,
                    iops=parts.count / seconds if seconds else 0.0,
                    histogram=histogram,
                    at=tuple(_at(parts, order)),
                )
            )
    return loads


def _at(parts: DirectionParts, order: dict[str, int]) -> list[ExplainedAt]:
    labelled = [("mean", parts), *((label_of(band.quantile), band) for band in parts.bands)]
    return [
        ExplainedAt(
            label,
            of.mean_ns,
            {name: of.parts_ns[name] for name in sorted(of.parts_ns, key=lambda name: order[name])},
        )
        for label, of in labelled
    ]
