"""The steps of a saved review, as runs on a model that last as long as their figures need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iogauge import workload
from iogauge.calibrate.trial import SEED
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.schema import Direction, JobFile, Kind, RowResult, RunResult
from iogauge.stats.histogram import Histogram
from iogauge.store import Review

SHORTEST_NS, LONGEST_NS = 20_000_000, 10_000_000_000
RAMP_SHARE = 0.3
"""The ramp as a share of the measured time."""
QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999)
BEYOND = 10
"""Samples beyond a quantile for it to be compared, in the review and on the model."""
TARGET = "model:twin"

Key = tuple[str, Direction, str]
"""A job, a direction, and ``iops``, ``mean``, ``p99``, ..."""


@dataclass(frozen=True, kw_only=True)
class Length:
    """How many I/Os a run on the model has, roughly."""

    ios: int
    """Of all jobs together at least."""
    least: int
    """Of each job and direction, unless all together then have more than ``most``."""
    most: int


@dataclass(frozen=True, kw_only=True)
class ReviewStep:
    """One step of a review."""

    id: str
    jobs: JobFile
    measured: Mapping[Key, float]
    """I/Os a second, or ns."""

    @property
    def kind(self) -> str:
        """The directions in which it has I/Os."""
        return "+".join(sorted({direction.value for _, direction, _ in self.measured}))

    def at(self, length: Length) -> ShortStep:
        """Return the step on the model at a length, with the figures that it supports."""
        rates = {key: value for key, value in self.measured.items() if key[2] == "iops"}
        total, slowest = sum(rates.values()), min(rates.values())
        seconds = max(length.ios / total, min(length.least / slowest, length.most / total))
        measured_ns = min(max(round(seconds * 1e9), SHORTEST_NS), LONGEST_NS)

        def supported(key: Key) -> bool:
            job, direction, what = key
            samples = rates[job, direction, "iops"] * measured_ns / 1e9
            return not what.startswith("p") or samples * (1 - float(what[1:]) / 100) >= BEYOND * 0.999

        changes = {
            "filenames": (TARGET,),
            "runtime_ns": measured_ns,
            "ramp_time_ns": round(measured_ns * RAMP_SHARE),
            "time_based": True,
            "size": None,
        }
        jobs = self.jobs.model_copy(
            update={"jobs": tuple(job.model_copy(update=changes) for job in self.jobs.jobs)}
        )
        figures = {key: value for key, value in self.measured.items() if supported(key)}
        return ShortStep(id=self.id, kind=self.kind, jobs=jobs, measured=figures)


@dataclass(frozen=True, kw_only=True)
class ShortStep:
    """A step as it runs on the model."""

    id: str
    kind: str
    jobs: JobFile
    measured: Mapping[Key, float]

    def modelled(
        self,
        parameters: Mapping[str, Any],
        machine: Mapping[str, Any],
        interrupts: Interrupts,
        *,
        seed: int = SEED,
    ) -> dict[Key, float]:
        """Run it, and return the figures that it has on the model; a job that completes no I/O has none."""
        result = simulate(self.jobs, {TARGET: parameters}, machine, seed=seed, interrupts=interrupts)
        figures = _figures(result, even_unsupported=True)
        return {key: figures[key] for key in self.measured if key in figures}


def steps_of(review: Review, *, suites: Sequence[str] = ()) -> Iterator[ReviewStep]:
    """Yield the complete steps of a review, of these suites or of all."""
    for step in review.manifest.steps:
        if not review.has(step.id) or (suites and step.id.partition(".")[0] not in suites):
            continue
        figures = _figures(review.record(step.id).result)
        if figures:
            yield ReviewStep(id=step.id, jobs=workload.jobs_of(step), measured=figures)


def figures_of(
    row: RowResult, *, quantiles: Sequence[float] = QUANTILES, even_unsupported: bool = False
) -> Iterator[tuple[Direction, str, float]]:
    """Yield the compared figures of one row: IOPS, and the mean and supported quantiles of lat in ns."""
    for direction, tally in row.tallies.items():
        data = tally.histograms.get(Kind.LAT)
        if direction is Direction.SYNC or not tally.ios or data is None:
            continue
        yield direction, "iops", tally.ios / (row.end_ns - row.start_ns) * 1e9
        histogram = Histogram.decode(data, tally.exact.get(Kind.LAT))
        yield direction, "mean", histogram.mean
        for q in quantiles:
            if even_unsupported or histogram.supports(q):
                yield direction, f"p{100 * q:.10g}", float(histogram.quantile(q))


def _figures(result: RunResult, *, even_unsupported: bool = False) -> dict[Key, float]:
    return {
        (row.name, direction, what): value
        for row in result.rows
        for direction, what, value in figures_of(row, even_unsupported=even_unsupported)
    }
