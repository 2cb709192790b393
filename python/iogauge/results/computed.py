"""The figures of a run, computed once: what a reader of the review computed before is not computed again.

``figures_of`` returns figures like any others. Their means, quantiles and rates come from the review's answers
(``store.computed``) where these have them, and are added to them otherwise; what is not kept (histograms, the course
over time) is read from the run's files, once it is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, cached_property
from importlib import resources
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from iogauge.schema import Kind, Model
from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import Histogram
from iogauge.stats.moments import Moment
from iogauge.stats.quantiles import Estimate
from iogauge.store.computed import Answers

PACKAGES = ("schema", "stats", "results")
"""Whose code says what a figure is."""

T = TypeVar("T")


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


_TOTALS = TypeAdapter(_Totals)
_ESTIMATE = TypeAdapter(Estimate)
_ESTIMATE_OR_NONE: TypeAdapter[Estimate | None] = TypeAdapter(Estimate | None)


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

    def totals() -> _Totals:
        return _Totals(**{name: getattr(known.figures, name) for name in _Totals.model_fields})

    fields = answer(answers, "totals", _TOTALS, totals)
    return StepFigures(**dict(fields), latencies=known, course=known)


def answer(answers: Answers, question: str, kind: TypeAdapter[T], compute: Callable[[], T]) -> T:
    """Return an answer that is known, or else compute and add it. One that is not of its ``kind`` is computed again."""
    try:
        return kind.validate_python(answers[question])
    except (KeyError, ValidationError):
        answers[question] = kind.dump_python(compute(), mode="json", warnings=False)
    # As it is read back, so that whoever asks first and whoever asks later get the same types.
    return kind.validate_python(answers[question])


class _Known:
    """Latencies and course of a run: known answers, and others computed from its files."""

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
        return answer(self._answers, "mean", _ESTIMATE_OR_NONE, lambda: self.figures.mean)

    def quantile(self, q: float) -> Estimate | None:
        question = f"quantile {q!r}"
        return answer(self._answers, question, _ESTIMATE_OR_NONE, lambda: self.figures.quantile(q))

    def iops(self) -> Estimate:
        return answer(self._answers, "iops", _ESTIMATE, lambda: self.figures.iops_estimate)

    def pressure(self) -> Estimate:
        return answer(self._answers, "pressure", _ESTIMATE, lambda: self.figures.pressure_estimate)
