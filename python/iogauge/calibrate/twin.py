"""A model that behaves as a drive of one's own: fitted to a saved review of it.

Every step of the review is run on the model as it was run on the drive, for a shorter time, and what its jobs saw is
compared: rates, means and the quantiles that the sample supports. The numbers that a file calls fitted move, in wider
ranges than their own, from where they are.

What a review does not press on stays as unknown as before: its interval says so.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iogauge import models, workload
from iogauge.calibrate.fit import Fitted, Vector, fit
from iogauge.calibrate.numbers import Free, put
from iogauge.calibrate.trial import SEED
from iogauge.run.interrupts import Interrupts
from iogauge.run.modelled import simulate
from iogauge.schema import Direction, JobFile, Kind, RowResult, RunResult
from iogauge.stats.histogram import Histogram
from iogauge.store import Review

MEASURED_NS = 1_000_000_000
RAMP_NS = 300_000_000
WIDER = 4.0
"""A twin's numbers may be so many times beyond what the file that it begins with allows."""

_QUANTILES = (0.5, 0.9, 0.99, 0.999)
_EXPECTED: Mapping[str, float] = {
    "iops": 0.03,
    "mean": 0.05,
    "p50": 0.08,
    "p90": 0.08,
    "p99": 0.12,
    "p99.9": 0.2,
}
"""How well a model can be expected to meet a figure: the smaller, the more it weighs."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of a review beside the twin's."""

    step: str
    job: str
    direction: Direction
    what: str
    """``iops``, ``mean``, ``p99``, ..."""
    measured: float
    """I/Os a second, or ns."""
    modelled: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.modelled / self.measured - 1


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A fitted model, and how near it comes."""

    model: models.ModelFile
    """What the fit began with, of the review's capacity; ``write.with_fit`` puts the numbers in."""
    fitted: Fitted
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class _Step:
    id: str
    jobs: JobFile
    seen: Mapping[tuple[str, Direction, str], float]


def fit_twin(
    review: Review,
    begin_with: models.ModelFile,
    machine: models.ModelFile,
    *,
    interrupts: Interrupts,
    told: Callable[[int, float], None] = lambda _done, _rms: None,
) -> Twin:
    """Return the model that begins with a drive's and comes nearest to a review.

    ``told`` hears how many trials there were and the least root mean square of errors, in units of what is expected.
    Raises IogaugeError: the review holds no complete step.
    """
    steps = list(_steps(review))
    free = [_free(place, entry) for place, entry in begin_with.entries() if entry.range]
    base = begin_with.parameters | {"capacity_bytes": _capacity(review, begin_with)}

    def shown(values: Mapping[str, float]) -> list[Figure]:
        parameters = copy.deepcopy(base)
        for place, value in values.items():
            put(parameters, place, value)
        return list(_compared(steps, parameters, machine.parameters, interrupts))

    def residuals(values: Mapping[str, float]) -> Vector:
        return np.array(
            [np.log(each.modelled / each.measured) / _EXPECTED[each.what] for each in shown(values)]
        )

    fitted = fit(free, residuals, seed=SEED, told=told)
    values = {found.free.place: found.value for found in fitted.numbers}
    tree = dict(begin_with.tree)
    tree["capacity_bytes"] = replace(tree["capacity_bytes"], value=base["capacity_bytes"])
    return Twin(model=replace(begin_with, tree=tree, base=None), fitted=fitted, figures=tuple(shown(values)))


def _free(place: str, entry: models.Entry) -> Free:
    low, high = entry.range or (entry.value, entry.value)
    return Free(place=place, start=max(entry.value, low), low=low / WIDER, high=high * WIDER)


def _capacity(review: Review, begin_with: models.ModelFile) -> int:
    known = review.manifest.target.size_bytes
    return known or int(begin_with.parameters["capacity_bytes"])


def _steps(review: Review) -> Iterator[_Step]:
    for step in review.manifest.plan.steps:
        if not review.has(step.id):
            continue
        record = review.record(step.id)
        text = step.job_file
        jobs = workload.parse(text, source=step.id)
        shorter = tuple(
            job.model_copy(
                update={
                    "filenames": ("model:x",),
                    "runtime_ns": min(job.runtime_ns or MEASURED_NS, MEASURED_NS),
                    "ramp_time_ns": RAMP_NS,
                    "time_based": True,
                    "size": None,
                }
            )
            for job in jobs.jobs
        )
        yield _Step(step.id, jobs.model_copy(update={"jobs": shorter}), _seen(record.result))


def _seen(result: RunResult) -> dict[tuple[str, Direction, str], float]:
    found: dict[tuple[str, Direction, str], float] = {}
    for row in result.rows:
        found |= {(row.name, direction, what): value for direction, what, value in _figures(row)}
    return found


def _figures(row: RowResult) -> Iterator[tuple[Direction, str, float]]:
    for direction, tally in row.tallies.items():
        data = tally.histograms.get(Kind.LAT)
        if direction is Direction.SYNC or not tally.ios or data is None:
            continue
        yield direction, "iops", tally.ios / (row.end_ns - row.start_ns) * 1e9
        histogram = Histogram.decode(data, tally.exact.get(Kind.LAT))
        yield direction, "mean", histogram.mean
        for q in _QUANTILES:
            if histogram.supports(q):
                yield direction, f"p{100 * q:.10g}", float(histogram.quantile(q))


def _compared(
    steps: list[_Step], parameters: Mapping[str, Any], machine: Mapping[str, Any], interrupts: Interrupts
) -> Iterator[Figure]:
    for step in steps:
        result = simulate(step.jobs, {"model:x": parameters}, machine, seed=SEED, interrupts=interrupts)
        seen = _seen(result)
        for (job, direction, what), measured in step.seen.items():
            modelled = seen.get((job, direction, what))
            if modelled is None:
                # Too few for this quantile, or nothing at all: as far off as it can be said to be.
                modelled = measured if what != "iops" else 1.0
            yield Figure(
                step=step.id, job=job, direction=direction, what=what, measured=measured, modelled=modelled
            )
