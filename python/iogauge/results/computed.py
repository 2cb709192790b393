"""The figures of a run, computed once: what a reader of the review computed before is not computed again.

``figures_of`` returns figures like any others. Their means, quantiles and rates come from the review's answers
(``store.computed``) where these have them, and are added to them otherwise; what is not kept (histograms, the course
over time) is read from the run's files, once it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict
from functools import cache, cached_property
from importlib import resources

import pydantic

from iogauge.schema import Kind, Model
from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import Histogram
from iogauge.stats.moments import Moment
from iogauge.stats.quantiles import Estimate
from iogauge.store.computed import Answers

PACKAGES = ("schema", "stats", "results")
"""Whose code says what a figure is."""

_ESTIMATE: pydantic.TypeAdapter[Estimate | None] = pydantic.TypeAdapter(Estimate | None)


class _Totals(Model):
    """The fields of ``StepFigures`` that are plain values."""

    kind: Kind
    duration_s: float
    ios: int
    iops: float
    rate_Bps: float
    max_ns: int | float | None
    pressure_Bps: float
    errors: int
    flagged: int
    late: int
    in_flight: int
    loop_gap_max_ns: int
    device_mean_ns: float | None
    reported: bool


@cache
def code() -> str:
    """Return what differs wherever the code that computes figures does."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        folder = resources.files("iogauge") / package
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def figures_of(answers: Answers, compute: Callable[[], StepFigures]) -> StepFigures:
    """Return the figures that ``compute`` returns, as far as possible without calling it.

    ``answers`` are what is known of them; whatever else is read from the figures is added there.
    """
    known = _Known(answers, compute)
    if "totals" not in answers:
        totals = _Totals(**{name: getattr(known.figures, name) for name in _Totals.model_fields})
        answers["totals"] = totals.model_dump(mode="json")
    totals = _Totals.model_validate(answers["totals"])
    return StepFigures(**dict(totals), latencies=known, course=known)


class _Known:
    """Latencies and course of a run: answers that are known, and whatever else is asked, computed."""

    def __init__(self, answers: Answers, compute: Callable[[], StepFigures]) -> None:
        self._answers = answers
        self._compute = compute

    @cached_property
    def figures(self) -> StepFigures:
        """The figures themselves."""
        return self._compute()

    @property
    def histogram(self) -> Histogram:
        return self.figures.histogram

    @property
    def moments(self) -> tuple[Moment, ...]:
        return self.figures.moments

    def mean(self) -> Estimate | None:
        return self._answer("mean", lambda figures: figures.mean)

    def quantile(self, q: float) -> Estimate | None:
        return self._answer(f"quantile {q!r}", lambda figures: figures.quantile(q))

    def iops(self) -> Estimate:
        return self._answer("iops", lambda figures: figures.iops_estimate) or self.figures.iops_estimate

    def pressure(self) -> Estimate:
        return (
            self._answer("pressure", lambda figures: figures.pressure_estimate)
            or self.figures.pressure_estimate
        )

    def _answer(self, question: str, answer: Callable[[StepFigures], Estimate | None]) -> Estimate | None:
        if question not in self._answers:
            estimate = answer(self.figures)
            self._answers[question] = None if estimate is None else asdict(estimate)
        return _ESTIMATE.validate_python(self._answers[question])
