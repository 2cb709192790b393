"""Cache the figures of a run, so that the next reader of its review need not compute them again.

``figures_of`` takes means, quantiles and rates from the review's answers (``store.computed``), and computes and adds
those that are missing. Histograms and the course over time are not cached; they are read from the run's files when
needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, cached_property
from importlib import resources
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from iogauge.schema import Kind, Model
from iogauge.stats.figure import Figure
from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import Histogram
from iogauge.stats.moments import Moment
from iogauge.store.computed import Answers

PACKAGES = ("schema", "stats", "results")
"""The packages whose code computes figures."""

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
_COUNT = TypeAdapter(int)
_ESTIMATE = TypeAdapter(Figure)
_ESTIMATE_OR_NONE: TypeAdapter[Figure | None] = TypeAdapter(Figure | None)


@cache
def code() -> str:
    """Return a digest of the code that computes figures."""
    digest = hashlib.sha256()
    for package in PACKAGES:
        folder = resources.files("iogauge") / package
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def figures_of(answers: Answers, compute: Callable[[], StepFigures]) -> StepFigures:
    """Return the figures that ``compute`` returns, and call it only for what ``answers`` lack.

    Figures that had to be computed are added to ``answers`` as they are read.
    """
    cached = _Cached(answers, compute)

    def totals() -> _Totals:
        return _Totals(**{name: getattr(cached.figures, name) for name in _Totals.model_fields})

    fields = answer(answers, "totals", _TOTALS, totals)
    return StepFigures(**dict(fields), latencies=cached, course=cached)


def answer(answers: Answers, question: str, kind: TypeAdapter[T], compute: Callable[[], T]) -> T:
    """Return a cached answer, or compute and add it if it is missing or not of its ``kind``."""
    try:
        return kind.validate_python(answers[question])
    except (KeyError, ValidationError):
        answers[question] = kind.dump_python(compute(), mode="json", warnings=False)
    # Converted like a cached answer, so that the first reader and later ones get the same types.
    return kind.validate_python(answers[question])


class _Cached:
    """Latencies and course of a run, from cached answers or computed from its files."""

    def __init__(self, answers: Answers, compute: Callable[[], StepFigures]) -> None:
        self._answers = answers
        self._compute = compute

    @cached_property
    def figures(self) -> StepFigures:
        """The computed figures."""
        return self._compute()

    @property
    def histogram(self) -> Histogram:
        return self.figures.histogram

    @property
    def moments(self) -> tuple[Moment, ...]:
        return self.figures.moments

    def mean(self) -> Figure | None:
        return answer(self._answers, "mean", _ESTIMATE_OR_NONE, lambda: self.figures.mean)

    def quantile(self, q: float) -> Figure | None:
        question = f"quantile {q!r}"
        return answer(self._answers, question, _ESTIMATE_OR_NONE, lambda: self.figures.quantile(q))

    def silent(self) -> int:
        return answer(self._answers, "silent", _COUNT, lambda: self.figures.silent)

    def iops(self) -> Figure:
        return answer(self._answers, "iops", _ESTIMATE, lambda: self.figures.iops_figure)

    def pressure(self) -> Figure:
        return answer(self._answers, "pressure", _ESTIMATE, lambda: self.figures.pressure_figure)
