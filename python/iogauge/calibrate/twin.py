"""Fits a model to your own drive, from a saved review of it.

Every step of the review runs on the model as it ran on the drive, but for a shorter time. The fit compares rates, means
and the quantiles that the sample supports. It moves the numbers that the model's file calls fitted, from their present
values and in wider ranges than the file's.

A number that the review does not exercise stays unknown, and its interval says so.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iogauge import catalog, workload
from iogauge.calibrate.fit import Fitted, Vector, fit
from iogauge.calibrate.numbers import Free, put
from iogauge.calibrate.trial import SEED
from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.schema import Direction, JobFile, Kind, RowResult, RunResult
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.text.option import call

IOS = 100_000
"""I/Os of each step on the model, roughly: enough for a 99.9th percentile."""
SHORTEST_NS, LONGEST_NS = 20_000_000, 10_000_000_000
RAMP_SHARE = 0.3
"""The ramp as a share of the measured time."""
ABSENT = 20.0
"""The residual of a figure that the model does not show."""
PULL = 3.0
"""Weak compared with figures: only numbers that the review cannot tell apart are held together by it."""
ROUNDS = 12
"""Steps of the solver before a restart: a review has many figures, and they are not linear."""
WIDER = 4.0
"""How many times a twin's numbers may exceed the range in the file that it starts from."""

_TARGET = "model:twin"
_QUANTILES = (0.5, 0.9, 0.99, 0.999)
_EXPECTED: Mapping[str, float] = {
    "iops": 0.03,
    "mean": 0.05,
    "p50": 0.08,
    "p90": 0.08,
    "p99": 0.12,
    "p99.9": 0.2,
}
"""The relative error that a model can be expected to reach, by figure. A smaller one weighs more."""


@dataclass(frozen=True, kw_only=True)
class FittedFigure:
    """One figure of a review, and the twin's."""

    step: str
    job: str
    direction: Direction
    what: str
    """``iops``, ``mean``, ``p99``, ..."""
    measured: float
    """I/Os a second, or ns."""
    modelled: float | None
    """None if the model completed too few requests, or none."""

    @property
    def error(self) -> float | None:
        """The relative error."""
        return None if self.modelled is None else self.modelled / self.measured - 1

    @property
    def residual(self) -> float:
        """What the fit minimises: the logarithm of the ratio, in units of the expected error."""
        if self.modelled is None:
            return ABSENT
        return math.log(self.modelled / self.measured) / _EXPECTED[self.what]


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A fitted model, and how close it comes to the review."""

    model: catalog.ModelFile
    """The model that the fit started from, with the review's capacity; ``write.with_fit`` puts the numbers in."""
    fitted: Fitted
    figures: tuple[FittedFigure, ...]


@dataclass(frozen=True)
class _Step:
    id: str
    jobs: JobFile
    seen: Mapping[tuple[str, Direction, str], float]


def fit_twin(
    review: Review,
    begin_with: catalog.ModelFile,
    machine: catalog.ModelFile,
    *,
    interrupts: Interrupts,
    on_trial: Callable[[int, float], None] = lambda _done, _rms: None,
) -> Twin:
    """Return the model that comes closest to a review, starting from a drive's model.

    ``on_trial`` is called with the number of trials and the least root mean square error, in units of the expected
    error. Raises IogaugeError if the review holds no complete step, or the model has no fitted number.
    """
    steps = list(_steps(review))
    if not steps:
        raise IogaugeError(f"{review.path}: no step is complete", hint=call("review", resume=review.path))
    free = [_free(place, entry) for place, entry in begin_with.entries() if entry.range]
    if not free:
        raise IogaugeError(
            f"{begin_with.path}: no number in it is fitted, so the fit can change nothing",
            hint='start from another model, or write kind = "fitted", start and range for a number',
        )
    base = begin_with.parameters | {"capacity_bytes": _capacity(review, begin_with)}

    def shown(values: Mapping[str, float]) -> list[FittedFigure]:
        parameters = copy.deepcopy(base)
        for place, value in values.items():
            put(parameters, place, value)
        return list(_compared(steps, parameters, machine.parameters, interrupts))

    def residuals(values: Mapping[str, float]) -> Vector:
        try:
            return np.array([figure.residual for figure in shown(values)])
        except IogaugeError:
            # The core refuses a number: a file's range may go beyond what the core accepts.
            return np.full(sum(len(step.seen) for step in steps), ABSENT)

    fitted = fit(free, residuals, seed=SEED, rounds=ROUNDS, pull=PULL, on_trial=on_trial)
    values = {number.free.place: number.value for number in fitted.numbers}
    tree = dict(begin_with.tree)
    tree["capacity_bytes"] = replace(tree["capacity_bytes"], value=base["capacity_bytes"])
    return Twin(model=replace(begin_with, tree=tree, base=None), fitted=fitted, figures=tuple(shown(values)))


def _free(place: str, entry: catalog.Entry) -> Free:
    low, high = entry.range or (entry.value, entry.value)
    return Free(place=place, start=max(entry.value, low), low=low / WIDER, high=high * WIDER)


def _capacity(review: Review, begin_with: catalog.ModelFile) -> int:
    known = review.manifest.targets[0].size_bytes
    return known or int(begin_with.parameters["capacity_bytes"])


def _steps(review: Review) -> Iterator[_Step]:
    for step in review.manifest.steps:
        if not review.has(step.id):
            continue
        seen = _seen(review.record(step.id).result)
        jobs = workload.jobs_of(step)
        rate = sum(value for (_, _, what), value in seen.items() if what == "iops")
        yield _Step(step.id, _shorter(jobs, round(IOS / max(rate, 1.0) * 1e9)), seen)


def _shorter(jobs: JobFile, measured_ns: int) -> JobFile:
    """Return the same jobs on the model, for as long as their figures need."""
    measured_ns = min(max(measured_ns, SHORTEST_NS), LONGEST_NS)
    changes = {
        "filenames": (_TARGET,),
        "runtime_ns": measured_ns,
        "ramp_time_ns": round(measured_ns * RAMP_SHARE),
        "time_based": True,
        "size": None,
    }
    return jobs.model_copy(update={"jobs": tuple(job.model_copy(update=changes) for job in jobs.jobs)})


def _seen(result: RunResult) -> dict[tuple[str, Direction, str], float]:
    figures: dict[tuple[str, Direction, str], float] = {}
    for row in result.rows:
        figures |= {(row.name, direction, what): value for direction, what, value in figures_of(row)}
    return figures


def figures_of(row: RowResult) -> Iterator[tuple[Direction, str, float]]:
    """Yield the compared figures of one row: IOPS, and the mean and supported quantiles of lat in ns."""
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
) -> Iterator[FittedFigure]:
    for step in steps:
        result = simulate(step.jobs, {_TARGET: parameters}, machine, seed=SEED, interrupts=interrupts)
        seen = _seen(result)
        for (job, direction, what), measured in step.seen.items():
            yield FittedFigure(
                step=step.id,
                job=job,
                direction=direction,
                what=what,
                measured=measured,
                modelled=seen.get((job, direction, what)),
            )
