"""Several runs of one step, pooled: histograms are merged, rates averaged, and intervals come from how the runs differ.

Runs are the replicates (``repeats.py``): one run does not show how the next will differ. So the interval of every
figure comes from its spread from run to run. Counts add up. Moments stay with their run.

Source: docs/statistics.md, "Repeats".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from iogauge.stats.figure import Figure, Unit
from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import Histogram, all_but_one, needed
from iogauge.stats.moments import Moment
from iogauge.stats.repeats import Variation, repeated, variation


def pooled(runs: Sequence[StepFigures]) -> StepFigures:
    """Return the figures of a step that was run several times; a single run's are returned as they are.

    If the measured job completed nothing in one run, the pooled estimates have no interval, since a latency of zero has
    no logarithm. Quantiles that were reported without samples cannot be pooled.
    """
    first, *others = runs
    if not others:
        return first
    course = _PooledCourse(tuple(runs))
    return replace(
        first,
        duration_s=sum(run.duration_s for run in runs),
        ios=sum(run.ios for run in runs),
        iops=course.iops().value,
        rate_Bps=_rate([run.rate_Bps for run in runs]),
        pressure_Bps=course.pressure().value,
        course=course,
        latencies=_Pooled(tuple(runs)),
        max_ns=max((run.max_ns for run in runs if run.max_ns is not None), default=None),
        errors=sum(run.errors for run in runs),
        flagged=sum(run.flagged for run in runs),
        late=sum(run.late for run in runs),
        in_flight=sum(run.in_flight for run in runs),
        loop_gap_max_ns=max(run.loop_gap_max_ns for run in runs),
        device_mean_ns=_mean_of_known([run.device_mean_ns for run in runs]),
        runs=len(runs),
    )


@dataclass(frozen=True)
class _Pooled:
    """The merged latencies of several runs, with intervals from how the runs differ."""

    runs: tuple[StepFigures, ...]

    @cached_property
    def histogram(self) -> Histogram:
        return Histogram.merge([run.histogram for run in self.runs])

    @cached_property
    def _all_but_one(self) -> Sequence[Histogram]:
        histograms = [run.histogram for run in self.runs]
        return all_but_one(histograms) if all(histogram.count for histogram in histograms) else []

    def mean(self) -> Figure | None:
        if not self.histogram.count:
            return _mean_reported(self.runs)
        return _estimate([run.mean for run in self.runs], merged=self.histogram.mean)

    def quantile(self, q: float) -> Figure | None:
        if not self.histogram.count:
            return None
        return _estimate(
            [run.quantile(q) for run in self.runs],
            merged=float(self.histogram.quantile(q)),
            others=[float(histogram.quantile(q)) for histogram in self._all_but_one],
            q=q,
        )


@dataclass(frozen=True)
class _PooledCourse:
    """The courses of several runs, one after the other, with intervals from how the runs differ."""

    runs: tuple[StepFigures, ...]

    @property
    def moments(self) -> tuple[Moment, ...]:
        return tuple(moment for run in self.runs for moment in run.moments)

    def silent(self) -> int:
        return sum(run.silent for run in self.runs)

    def iops(self) -> Figure:
        return _rate_of_runs(
            [run.iops for run in self.runs], count=sum(run.ios for run in self.runs), unit="IOPS"
        )

    def pressure(self) -> Figure:
        return _rate_of_runs([run.pressure_Bps for run in self.runs], count=0, unit="B/s")


def variations(runs: Sequence[StepFigures], quantiles: Iterable[float]) -> dict[str, Variation]:
    """Return how much each figure of a step varies from run to run, by name; empty for a single run.

    Names are ``iops``, ``mean`` and ``p50``, ``p99``, .... A figure is left out where a run lacks it or its sample does
    not support it.
    """
    by_name: dict[str, Variation | None] = {}
    if all(run.iops > 0 for run in runs):
        by_name["iops"] = variation([run.iops for run in runs], [None] * len(runs))
    for q in (None, *quantiles):
        name = figure_name(q)
        figures = [run.mean if q is None else run.quantile(q) for run in runs]
        estimates = [estimate for estimate in figures if estimate and estimate.supported]
        if len(estimates) == len(runs) and all(estimate.value > 0 for estimate in estimates):
            by_name[name] = variation(
                [estimate.value for estimate in estimates], [estimate.log_error for estimate in estimates]
            )
    return {name: value for name, value in by_name.items() if value is not None}


def figure_name(q: float | None) -> str:
    """Return the name of a quantile in ``variations``; ``None`` stands for the mean.

    >>> figure_name(0.5), figure_name(0.9999), figure_name(None)
    ('p50', 'p99.99', 'mean')
    """
    return "mean" if q is None else f"p{q * 100:.12g}"


def _rate(values: Sequence[float]) -> float:
    """Return the geometric mean of rates, or the arithmetic mean where one of them is 0."""
    return repeated(values).value if all(value > 0 for value in values) else _mean(values)


def _rate_of_runs(values: Sequence[float], *, count: int, unit: Unit) -> Figure:
    """Return the pooled rate of several runs, without an interval where one of them is 0."""
    spread = repeated(values) if all(value > 0 for value in values) else None
    low, high = (spread.low, spread.high) if spread else (None, None)
    return Figure(_rate(values), low, high, count=count, dependence=True, unit=unit)


def _estimate(
    estimates: Sequence[Figure | None],
    *,
    merged: float,
    others: Sequence[float] | None = None,
    q: float | None = None,
) -> Figure:
    """Return one estimate for those of all runs: of the ``q``-quantile, or of the mean where ``q`` is ``None``.

    ``merged`` and ``others`` are as for ``repeated``.
    """
    known = [estimate for estimate in estimates if estimate is not None]
    count = sum(estimate.count for estimate in known)
    positive = merged > 0 and len(known) == len(estimates) and all(estimate.value > 0 for estimate in known)
    values = [estimate.value for estimate in known]
    spread = repeated(values, merged=merged, others=others) if positive else None
    enough = needed(q) if q is not None else 0
    return Figure(
        merged,
        spread.low if spread else None,
        spread.high if spread else None,
        supported=count >= enough,
        needed=enough,
        count=count,
        dependence=True,
    )


def _mean_reported(runs: Sequence[StepFigures]) -> Figure | None:
    """Return the mean over all requests of runs that were reported without samples."""
    known = [run.mean for run in runs if run.mean is not None]
    if len(known) < len(runs):
        return None
    count = sum(mean.count for mean in known)
    return _estimate(known, merged=sum(mean.value * mean.count for mean in known) / count)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_of_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None
